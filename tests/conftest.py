"""Two sizes of the same suite: quick by default, the full counts with FULL_COUNTS=1 (`make audit`)."""

import os

import pytest
from hypothesis import settings

AUDIT = os.environ.get("FULL_COUNTS") == "1"

# The quick profile draws the same examples everywhere, so that red is red for everybody; the audit looks for new ones.
settings.register_profile("fast", max_examples=50, deadline=None, derandomize=True)
settings.register_profile("audit", max_examples=2_000, deadline=None, print_blob=True)
settings.load_profile("audit" if AUDIT else "fast")


@pytest.fixture(scope="session")
def audit() -> bool:
    """Whether to run with the full counts."""
    return AUDIT
