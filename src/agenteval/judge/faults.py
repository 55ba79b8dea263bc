"""What goes wrong in a model's plug-in."""

from collections.abc import Iterator
from contextlib import contextmanager

from agenteval.domain.errors import ModelError, StorageError


@contextmanager
def model_faults() -> Iterator[None]:
    """Whatever a model raises is a ModelError: a fault of its plug-in leaves only what it was asked unscored."""
    try:
        yield
    except (ModelError, StorageError):
        raise
    except Exception as error:
        raise ModelError(f"{type(error).__name__}: {error}") from error
