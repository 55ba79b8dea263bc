"""What came out: the result of a rule, the outcome of a case."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from functools import total_ordering
from typing import Any

from agenteval.domain.evidence import Span
from agenteval.domain.questions import Cause
from agenteval.domain.quick_init import quick_init
from agenteval.domain.scenario import EffectivePolicy, Layer

ZERO, ONE = Fraction(0), Fraction(1)


class ResultStatus(StrEnum):
    """`skipped`: not run, because the dialog could not be delivered; it counts as unmeasured."""

    SCORED = "scored"
    NOT_APPLICABLE = "not_applicable"
    FAILED_TO_SCORE = "failed_to_score"
    SKIPPED = "skipped"


@quick_init
@dataclass(frozen=True, slots=True)
class RuleResult:
    """What one rule says of one dialog (the seed's EvalResult).

    `score` in 0..1 exists only when scored; `low` and `high` bound it whenever it may be anything. `passed` is known
    when scored, and also when both bounds lie on one side of the rule's own threshold. `may_leave`: some completion of
    what is unknown makes the rule not applicable. `vetoes`: critical items that fail in every completion;
    `open_vetoes`: in some, not all. `detail` is the rule's own structure (`slots`, `steps`, `intents`, ...). The engine
    fills what the case decides: `label`, `layer`, `weight`, `hard`, `implicit`.
    """

    rule: str
    status: ResultStatus
    score: Fraction | None = None
    low: Fraction | None = None
    high: Fraction | None = None
    passed: bool | None = None
    cause: Cause | None = None
    may_leave: bool = False
    reason: str = ""
    evidence: tuple[Span, ...] = ()
    detail: Mapping[str, Any] = field(default_factory=dict)
    vetoes: tuple[str, ...] = ()
    open_vetoes: tuple[str, ...] = ()
    version: str = ""
    label: str = ""
    layer: Layer | None = None
    weight: Fraction = ONE
    hard: bool = False
    implicit: bool = False

    def __post_init__(self) -> None:
        if (self.status is ResultStatus.SCORED) != (self.score is not None):
            raise ValueError(f"{self.rule}: a score exists exactly when the result is scored")
        if self.score is not None and self.passed is None:
            raise ValueError(f"{self.rule}: scored, but neither passed nor failed")
        low, high = self.bounds
        # Of two whole numbers: a comparison of fractions takes ten times as long, and every result is made twice.
        if low.numerator < 0 or high.numerator > high.denominator or (low is not high and low > high):
            raise ValueError(f"{self.rule}: bounds must satisfy 0 <= low <= high <= 1, not {low} and {high}")

    @property
    def bounds(self) -> tuple[Fraction, Fraction]:
        if self.score is not None:
            return self.score, self.score
        return (ZERO if self.low is None else self.low), (ONE if self.high is None else self.high)

    @property
    def applicable(self) -> bool:
        return self.status is not ResultStatus.NOT_APPLICABLE


@total_ordering
class SuccessLevel(StrEnum):
    """L3, ordered from failure to success."""

    FAILURE = "failure"
    PARTIAL = "partial"
    SUCCESS = "success"

    @property
    def value_of_success(self) -> Fraction:
        """What the level counts in success_rate."""
        return _VALUES[self]

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, SuccessLevel):
            return NotImplemented
        return self.value_of_success < other.value_of_success


_VALUES = {SuccessLevel.FAILURE: ZERO, SuccessLevel.PARTIAL: Fraction(1, 2), SuccessLevel.SUCCESS: ONE}


class Source(StrEnum):
    """What decided the level. `error`: nothing could, so it is null."""

    LAYERED = "layered"
    STRICT = "strict"
    RULES = "rules"
    HARD = "hard"
    REVIEW = "review"
    ERROR = "error"


class OutcomeCause(StrEnum):
    NO_RULES = "no_rules"
    TARGET_ERROR = "target_error"
    NOT_DELIVERED = "not_delivered"
    UNSCORED = "unscored"


@quick_init
@dataclass(frozen=True, slots=True)
class CaseOutcome:
    """The three layers of one attempt.

    `has_l1`, `has_l2`: the case carries the layer and not all of its rules are known to have left; the layer's value is
    None when unknown or absent. `level_bounds` is set when the level is not settled. `layers_disagree`: intent wrong
    although the task was completed, which a person should look at.
    """

    success_level: SuccessLevel | None
    passed: bool | None
    policy: EffectivePolicy
    source: Source
    cause: OutcomeCause | None = None
    level_bounds: tuple[SuccessLevel, SuccessLevel] | None = None
    has_l1: bool = False
    l1_intent: bool | None = None
    has_l2: bool = False
    l2_completion: Fraction | None = None
    l2_bounds: tuple[Fraction, Fraction] | None = None
    rules_passed: bool | None = None
    weighted_score: Fraction | None = None
    verdict_conflict: bool | None = None
    layers_disagree: bool = False
