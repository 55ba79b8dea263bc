"""What is kept of a run: its cases, and of each attempt at a case the rows written while it goes on."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from agenteval.domain.json_value import Json, as_text, canonical
from agenteval.domain.outcome import CaseOutcome, RuleResult
from agenteval.domain.ports import Call
from agenteval.domain.questions import Answers, Ask, Cause, Unscored
from agenteval.domain.quick_init import quick_init
from agenteval.domain.review import Queue, Review, ReviewItem
from agenteval.domain.scenario import Case
from agenteval.domain.transcript import Dialog, Turn


class RunStatus(StrEnum):
    """`interrupted`: stopped by a person or a crash; `failed`: could not go on, not deliver every message or not have
    every dialog judged; `awaiting_judge`: all is done but what waits for the answers to a batch file. All three can be
    resumed."""

    RUNNING = "running"
    COMPLETED = "completed"
    INTERRUPTED = "interrupted"
    AWAITING_JUDGE = "awaiting_judge"
    FAILED = "failed"


class AttemptStatus(StrEnum):
    """`interrupted`: the run ended in the middle of the dialog; it is kept, and its case begins anew.
    `awaiting_judge`: some of its questions wait in a batch file; its dialog is judged again when they are answered."""

    OPEN = "open"
    FINISHED = "finished"
    AWAITING_JUDGE = "awaiting_judge"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True)
class Run:
    """`config` is the snapshot of all that the results depend on, without secrets; `error` says why it failed."""

    id: str
    name: str
    config: Mapping[str, Json]
    created_at: datetime
    repeats: int = 1
    status: RunStatus = RunStatus.RUNNING
    finished_at: datetime | None = None
    error: str = ""

    @property
    def rescored_from(self) -> str | None:
        """The run whose dialogs these are, when no agent was talked to."""
        return as_text(self.config["rescored_from"]) if "rescored_from" in self.config else None


@dataclass(frozen=True, slots=True)
class RunCase:
    """A case in its run: `n` counts from 0 in the order of the scenarios; `case.id` is unique in the run."""

    n: int
    scenario: str
    case: Case


@quick_init
@dataclass(frozen=True, slots=True)
class AttemptKey:
    """Repeats and attempts count from 1. A repeat is wanted; a further attempt makes up for one that was interrupted,
    not delivered or not judged.

    `id` is a hash of the others, with the case's number before it: rows written one after the other then stand side by
    side in every index, which halves the cost of writing 100,000 cases.
    """

    run_id: str
    n: int
    case_id: str
    repeat: int
    attempt: int
    id: str = field(init=False)

    def __post_init__(self) -> None:
        identity = canonical([self.run_id, self.case_id, self.repeat, self.attempt])
        object.__setattr__(self, "id", f"{self.n:08x}-{hashlib.sha256(identity).hexdigest()[:24]}")


@quick_init
@dataclass(frozen=True, slots=True)
class Held:
    """A dialog that is over: that of an earlier attempt, to be judged again, or one that was recorded."""

    conversation_id: str
    dialog: Dialog


@quick_init
@dataclass(frozen=True, slots=True)
class Work:
    """One attempt to be made. With `held` there is nobody to talk to any more."""

    key: AttemptKey
    case: Case
    held: Held | None = None


@quick_init
@dataclass(frozen=True, slots=True)
class AttemptStarted:
    key: AttemptKey
    conversation_id: str
    started_at: datetime


@quick_init
@dataclass(frozen=True, slots=True)
class TurnSending:
    """Stored before the message is sent: after a crash it tells that the agent may have got it."""

    key: AttemptKey
    index: int
    message: str
    sent_at: datetime


@quick_init
@dataclass(frozen=True, slots=True)
class TurnDone:
    key: AttemptKey
    turn: Turn


@quick_init
@dataclass(frozen=True, slots=True)
class CaseRecord:
    """All that came of an attempt. `asks` are the questions by key, `answers` what was said to them."""

    started: AttemptStarted
    dialog: Dialog
    asks: Mapping[str, Ask]
    answers: Answers
    calls: tuple[Call, ...]
    results: tuple[RuleResult, ...]
    outcome: CaseOutcome
    finished_at: datetime

    @property
    def status(self) -> AttemptStatus:
        pending = any(isinstance(answer, Unscored) and answer.cause is Cause.PENDING for _, answer in self.answers)
        return AttemptStatus.AWAITING_JUDGE if pending else AttemptStatus.FINISHED


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """An answer as it was stored: `answer` becomes an object again together with its question."""

    key: str
    item: str
    text: str
    by: str | None
    cause: str | None
    answer: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class AttemptView:
    """An attempt as it is stored. `sending` is a message that was being sent when the run was interrupted; an attempt
    that did not finish has neither results nor outcome. `reviews`: the oldest first."""

    key: AttemptKey
    status: AttemptStatus
    conversation_id: str
    started_at: datetime
    finished_at: datetime | None
    dialog: Dialog
    sending: str | None = None
    answers: tuple[StoredAnswer, ...] = ()
    calls: tuple[Call, ...] = ()
    results: tuple[RuleResult, ...] = ()
    outcome: CaseOutcome | None = None
    reviews: tuple[Review, ...] = ()


@dataclass(frozen=True, slots=True)
class Waiting:
    """An item of an attempt that a person should look at, and why. `label` is that of its rule."""

    queue: Queue
    place: RunCase
    attempt: AttemptView
    label: str
    item: ReviewItem


@dataclass(frozen=True, slots=True)
class CaseView:
    """A case with all its attempts, in the order of repeats and attempts."""

    place: RunCase
    attempts: tuple[AttemptView, ...] = field(default=())

    def superseded(self, attempt: AttemptView) -> bool:
        """Whether a later attempt at the same repeat finished, or came as far as this one and waits for the judge: then
        this one counts nowhere."""
        return any(
            (other.status is AttemptStatus.FINISHED or attempt.status is other.status is AttemptStatus.AWAITING_JUDGE)
            and other.key.repeat == attempt.key.repeat
            and other.key.attempt > attempt.key.attempt
            for other in self.attempts
        )
