"""Everything that can go wrong, as one tree.

    AgentEvalError
    ├── ConfigError                        settings, a missing plug-in, an unusable rule parameter
    ├── InputError                         a file, row, column or JSON pointer that cannot be used
    ├── StateError
    │   ├── Conflict  NotFound
    ├── TargetError                        the agent under evaluation
    │   ├── TargetTimeout  TargetUnavailable  TargetRateLimited  TargetProtocolError  DestinationForbidden
    ├── ModelError                         a model that judges, embeds or moderates
    │   ├── ModelTimeout  ModelUnavailable  ModelRateLimited  ModelAuthError  ModelRefused  ContextTooLong
    │   ├── Pending
    ├── JudgeError                         a model's answer that gives no verdict
    │   ├── UnparsableAnswer
    │   │   └── AnswerCutOff
    └── StorageError

`code` is stable and meant for machines; `retryable` says whether the same attempt may succeed later.
"""

from collections.abc import Sequence
from typing import ClassVar


class AgentEvalError(Exception):
    """Something that a person can act on: what happened, `where`, and what to do (`fix`)."""

    code: ClassVar[str] = "error"
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, *, where: str = "", fix: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.fix = fix

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        advice = f" ({self.fix})" if self.fix else ""
        return f"{place}{self.message}{advice}"


class ConfigError(AgentEvalError):
    code = "config"


class InputError(AgentEvalError):
    """Input that cannot be used. `problems`: every fault of the file, each with its place, when there are several."""

    code = "input"

    def __init__(self, message: str, *, where: str = "", fix: str = "", problems: Sequence["InputError"] = ()) -> None:
        super().__init__(message, where=where, fix=fix)
        self.problems = tuple(problems)

    @classmethod
    def all(cls, problems: Sequence["InputError"]) -> "InputError":
        """One error that reports all of `problems` (at least one)."""
        if len(problems) == 1:
            return problems[0]
        return cls("\n".join(str(p) for p in problems), problems=problems)


class StateError(AgentEvalError):
    code = "state"


class Conflict(StateError):
    code = "conflict"


class NotFound(StateError):
    code = "not_found"


class TargetError(AgentEvalError):
    """`delivered`: the agent got the message, so the failure is its own; otherwise it is ours or the settings'.
    `retry_after_s`: how long the agent's server asked to wait, seconds, when it did."""

    code = "target"
    delivered: bool = False

    def __init__(
        self,
        message: str,
        *,
        where: str = "",
        fix: str = "",
        delivered: bool | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(message, where=where, fix=fix)
        self.retry_after_s = retry_after_s
        if delivered is not None:
            self.delivered = delivered


class TargetTimeout(TargetError):
    code = "target_timeout"
    retryable = True
    delivered = True


class TargetUnavailable(TargetError):
    code = "target_unavailable"
    retryable = True


class TargetRateLimited(TargetError):
    code = "target_rate_limited"
    retryable = True


class TargetProtocolError(TargetError):
    code = "target_protocol"
    delivered = True


class DestinationForbidden(TargetError):
    code = "destination_forbidden"


class ModelError(AgentEvalError):
    """`retry_after_s`: how long the provider asked to wait, seconds, when it did."""

    code = "model"

    def __init__(self, message: str, *, where: str = "", fix: str = "", retry_after_s: float | None = None) -> None:
        super().__init__(message, where=where, fix=fix)
        self.retry_after_s = retry_after_s


class ModelTimeout(ModelError):
    code = "model_timeout"
    retryable = True


class ModelUnavailable(ModelError):
    code = "model_unavailable"
    retryable = True


class ModelRateLimited(ModelError):
    code = "model_rate_limited"
    retryable = True


class ModelAuthError(ModelError):
    code = "model_auth"


class ModelRefused(ModelError):
    code = "model_refused"


class ContextTooLong(ModelError):
    code = "model_context_too_long"


class Pending(ModelError):
    """The request was written down; its answer comes later."""

    code = "model_pending"


class JudgeError(AgentEvalError):
    code = "judge"


class UnparsableAnswer(JudgeError):
    code = "unparsable"


class AnswerCutOff(UnparsableAnswer):
    """The text is empty, or breaks off though no length limit ended it: it was lost on its way, like a reply."""

    code = "answer_cut_off"
    retryable = True


class StorageError(AgentEvalError):
    code = "storage"
