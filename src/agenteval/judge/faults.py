"""What goes wrong in a model's plug-in."""

from collections.abc import Iterator
from contextlib import contextmanager

from agenteval.domain.errors import ModelError, StorageError

CUT_OFF = "cut off: the case's time was used up"
"""Of a call that was made and not waited for to its end; it may have to be paid for."""


@contextmanager
def model_faults() -> Iterator[None]:
    """Whatever a model raises is a ModelError: a fault of its plug-in leaves only what it was asked unscored."""
    try:
        yield
    except (ModelError, StorageError):
        raise
    except Exception as error:
        raise ModelError(f"{type(error).__name__}: {error}") from error
