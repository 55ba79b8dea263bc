"""What goes wrong in a model's plug-in."""

from types import TracebackType

from agenteval.domain.errors import ModelError, StorageError

CUT_OFF = "cut off: the case's time was used up"
"""Of a call that was made and not waited for to its end; it may have to be paid for."""


class ModelFaults:
    """Whatever a model raises is a ModelError: a fault of its plug-in leaves only what it was asked unscored."""

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, Exception) and not isinstance(error, ModelError | StorageError):
            raise ModelError(f"{type(error).__name__}: {error}") from error
