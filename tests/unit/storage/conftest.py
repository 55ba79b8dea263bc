from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agenteval.storage.store import Store


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    opened = await Store.open(tmp_path / "agenteval.db")
    yield opened
    await opened.aclose()
