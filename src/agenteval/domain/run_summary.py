"""Aggregates of a run: each rate with its n of N, worst case and interval (docs/explanation/judgement.md, part 4)."""

from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import Any

from agenteval.domain.outcome import ONE, ZERO, CaseOutcome, OutcomeCause, SuccessLevel
from agenteval.domain.ports import Usage
from agenteval.domain.questions import Cause
from agenteval.domain.statistics import (
    Interval,
    disagreement,
    effective_n,
    interval,
    mean,
    pass_at_k,
    pass_hat_k,
    percentile_nearest_rank,
)


class MeasureName(StrEnum):
    """The four rates of a run, each a mean over attempts."""

    INTENT_ACCURACY = "intent_accuracy"
    AVG_COMPLETION = "avg_completion"
    SUCCESS_RATE = "success_rate"
    PASS_RATE = "pass_rate"  # noqa: S105

    def of(self, outcome: CaseOutcome) -> tuple[Fraction | None, Fraction] | None:
        """What an attempt adds: its value, None when not measured, and the least that it can be. None when it does not
        carry the measure."""
        match self:
            case MeasureName.INTENT_ACCURACY:
                return (_flag(outcome.l1_intent), ZERO) if outcome.has_l1 else None
            case MeasureName.AVG_COMPLETION:
                low = outcome.l2_bounds[0] if outcome.l2_bounds else ZERO
                return (outcome.l2_completion, low) if outcome.has_l2 else None
            case MeasureName.SUCCESS_RATE:
                low = outcome.level_bounds[0].value_of_success if outcome.level_bounds else ZERO
                return outcome.success_level.value_of_success if outcome.success_level else None, low
            case MeasureName.PASS_RATE:
                return _flag(outcome.passed), ZERO


@dataclass(frozen=True, slots=True)
class Measure:
    """A mean over attempts: measured in `n` of `of`. `value` is None when n is 0. `worst_case` lets what was not
    measured enter at its low bound; None when there is nothing to measure. `interval` is as wide as that of
    `effective_n` attempts at different cases."""

    value: Fraction | None
    n: int
    of: int
    worst_case: Fraction | None
    interval: Interval | None
    effective_n: Fraction


@dataclass(frozen=True, slots=True)
class Share:
    """How often a slot was filled or a step done: `count` of `n` measured; `unmeasured` beside them."""

    count: int
    n: int
    unmeasured: int

    @property
    def value(self) -> Fraction | None:
        return Fraction(self.count, self.n) if self.n else None


@dataclass(frozen=True, slots=True)
class Repeated:
    """pass^k and pass@k over the `n` of `of` cases with at least `k` repeats whose `passed` is known."""

    k: int
    n: int
    of: int
    pass_hat_k: Fraction | None
    pass_at_k: Fraction | None


@dataclass(frozen=True, slots=True)
class Disagreement:
    """How likely two of the same thing differ: two repeats of a case in whether they pass, or two of the judge's votes
    on an item; over `n` cases or items of which there are two. `value` is None when `n` is 0."""

    value: Fraction | None
    n: int


@dataclass(frozen=True, slots=True)
class UsageTotal:
    """Sums over calls. Tokens and cost are of the calls that tell; `without_tokens` and `without_cost` count the rest,
    and a sum over none is None."""

    calls: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: Fraction | None = None
    without_tokens: int = 0
    without_cost: int = 0

    @classmethod
    def of(cls, usages: Iterable[Usage]) -> "UsageTotal":
        usages = list(usages)
        tokens = [u for u in usages if u.input_tokens is not None and u.output_tokens is not None]
        costs = [u.cost for u in usages if u.cost is not None]
        return cls(
            calls=len(usages),
            input_tokens=sum(u.input_tokens or 0 for u in tokens) if tokens else None,
            output_tokens=sum(u.output_tokens or 0 for u in tokens) if tokens else None,
            cost=sum(costs, ZERO) if costs else None,
            without_tokens=len(usages) - len(tokens),
            without_cost=len(usages) - len(costs),
        )


@dataclass(frozen=True, slots=True)
class RunSummary:
    """What a run says of an agent. `attempts` have an outcome, `unmade` are wanted and have none yet. `levels` counts
    attempts by L3, None for what is not settled. Latencies are of the `latency_n` turns of `latency_of` that have one;
    a turn that timed out has none. `agent_varies` is between repeats of a case, and so holds what the judge adds;
    `judge_varies` is between votes on one item of one dialog."""

    cases: int
    attempts: int
    levels: Mapping[SuccessLevel | None, int]
    intent_accuracy: Measure
    avg_completion: Measure
    success_rate: Measure
    pass_rate: Measure
    unmade: int = 0
    repeated: tuple[Repeated, ...] = ()
    flaky: tuple[str, ...] = ()
    agent_varies: Disagreement = Disagreement(None, 0)
    judge_varies: Disagreement = Disagreement(None, 0)
    conflicts: int = 0
    layers_disagree: int = 0
    latency_p50_ms: float | None = None
    latency_p95_ms: float | None = None
    latency_n: int = 0
    latency_of: int = 0
    slots: Mapping[str, Share] = field(default_factory=dict)
    steps: Mapping[str, Share] = field(default_factory=dict)
    confusion: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    causes: Mapping[str, int] = field(default_factory=dict)
    usage: UsageTotal = UsageTotal()


@dataclass(frozen=True, slots=True)
class AttemptFacts:
    """What a summary needs of one attempt. `latencies_ms` are of all turns, None where not measured; `details` are the
    `detail`s of its results, one for each; `causes` why results are missing."""

    outcome: CaseOutcome
    latencies_ms: Sequence[float | None] = ()
    details: Sequence[Mapping[str, Any]] = ()
    causes: Sequence[str] = ()

    @property
    def counts(self) -> bool:
        """Whether rates are over it: not when it has no rule, whatever became of the dialog, or none that applies."""
        return bool(self.details) and self.outcome.cause is not OutcomeCause.NO_RULES


class Tally:
    """Folds attempts into a summary, case by case. Its memory grows with the distinct results, and by 8 bytes with each
    latency; not with the cases."""

    def __init__(self) -> None:
        self._cases = self._unmade = 0
        self._levels: Counter[SuccessLevel | None] = Counter()
        self._series = {name: _Series() for name in MeasureName}
        self._passes: Counter[tuple[int, int]] = Counter()
        self._flaky: list[str] = []
        self._conflicts = self._disagreements = 0
        self._latencies = array("d")
        self._turns = 0
        self._slots: dict[str, Counter[bool | None]] = {}
        self._steps: dict[str, Counter[bool | None]] = {}
        self._confusion: dict[str, Counter[str]] = {}
        self._causes: Counter[str] = Counter()

    def add_case(self, case_id: str, attempts: Sequence[AttemptFacts]) -> None:
        """All repeats of one case, the last attempt of each."""
        self._cases += 1
        for attempt in attempts:
            self._add(attempt)
        if outcomes := [attempt.outcome for attempt in attempts if attempt.counts]:
            self._add_outcomes(case_id, outcomes)

    def add_unmade(self, n: int, outcome: CaseOutcome, *, begun: bool) -> None:
        """`n` repeats of a case that were wanted and have no outcome yet, with what is known of it beforehand: which
        layers the case carries, or that it has no rule. `begun`: other repeats of it are added by `add_case`."""
        self._cases += not begun
        self._unmade += n
        if outcome.cause is OutcomeCause.NO_RULES:
            return
        for name, series in self._series.items():
            series.add([added] * n if (added := name.of(outcome)) else [])
        if not begun:
            self._passes[0, 0] += 1

    def add_awaiting(self, n: int) -> None:
        """So many of the repeats without an outcome have a dialog, and wait for the judge's answers."""
        self._causes.update({Cause.PENDING.value: n} if n else {})

    def _add_outcomes(self, case_id: str, outcomes: Sequence[CaseOutcome]) -> None:
        for name, series in self._series.items():
            series.add([added for outcome in outcomes if (added := name.of(outcome)) is not None])
        known = [o.passed for o in outcomes if o.passed is not None]
        self._passes[len(known), sum(known)] += 1
        if len(set(known)) > 1:
            self._flaky.append(case_id)

    def _add(self, attempt: AttemptFacts) -> None:
        self._levels[attempt.outcome.success_level] += 1
        self._conflicts += attempt.outcome.verdict_conflict is True
        self._disagreements += attempt.outcome.layers_disagree
        self._turns += len(attempt.latencies_ms)
        self._latencies.extend(taken for taken in attempt.latencies_ms if taken is not None)
        self._causes.update(attempt.causes)
        for detail in attempt.details:
            _count(self._slots, detail.get("slots", {}), "filled")
            _count(self._steps, detail.get("steps", {}), "done")
            if (predicted := detail.get("predicted")) is not None:
                self._confusion.setdefault(str(detail.get("expected")), Counter())[str(predicted)] += 1

    def summary(self, usage: UsageTotal = UsageTotal(), votes: Iterable[Collection[int]] = ()) -> RunSummary:
        """`votes`: how many of the judge's samples were for what, for each item that was voted on."""
        most = max((n for n, _ in self._passes), default=0)
        return RunSummary(
            cases=self._cases,
            attempts=self._levels.total(),
            unmade=self._unmade,
            levels=dict(self._levels),
            **{name.value: series.measure() for name, series in self._series.items()},
            repeated=tuple(self._repeated(k) for k in range(1, most + 1)) if most > 1 else (),
            flaky=tuple(self._flaky),
            agent_varies=Disagreement(*disagreement((c, n - c) for n, c in self._passes.elements())),
            judge_varies=Disagreement(*disagreement(votes)),
            conflicts=self._conflicts,
            layers_disagree=self._disagreements,
            latency_p50_ms=percentile_nearest_rank(self._latencies, 50),
            latency_p95_ms=percentile_nearest_rank(self._latencies, 95),
            latency_n=len(self._latencies),
            latency_of=self._turns,
            slots={name: _share(counts) for name, counts in self._slots.items()},
            steps={name: _share(counts) for name, counts in self._steps.items()},
            confusion={expected: dict(found) for expected, found in self._confusion.items()},
            causes=dict(self._causes),
            usage=usage,
        )

    def _repeated(self, k: int) -> Repeated:
        counts = list(self._passes.elements())
        hat, left_out = pass_hat_k(counts, k)
        at, _ = pass_at_k(counts, k)
        return Repeated(k, len(counts) - left_out, len(counts), hat, at)


class _Series:
    """The measured values of one measure, case by case."""

    def __init__(self) -> None:
        self._cases: Counter[tuple[Fraction, ...]] = Counter()
        self._of = 0
        self._worst = ZERO

    def add(self, repeats: Sequence[tuple[Fraction | None, Fraction]]) -> None:
        """What the repeats of one case add, as `MeasureName.of` tells it."""
        self._of += len(repeats)
        self._worst += sum((low if value is None else value for value, low in repeats), ZERO)
        if known := tuple(value for value, _ in repeats if value is not None):
            self._cases[known] += 1

    def measure(self) -> Measure:
        cases = list(self._cases.elements())
        values = [value for case in cases for value in case]
        return Measure(
            value=mean(values),
            n=len(values),
            of=self._of,
            worst_case=self._worst / self._of if self._of else None,
            interval=interval(cases),
            effective_n=effective_n(cases),
        )


def _flag(value: bool | None) -> Fraction | None:
    return None if value is None else ONE if value else ZERO


def _count(into: dict[str, Counter[bool | None]], items: Mapping[str, Mapping[str, Any]], member: str) -> None:
    """Items that left the denominator are not counted at all."""
    for name, item in items.items():
        if item.get("status") not in {"declined", "left"}:
            into.setdefault(name, Counter())[item.get(member)] += 1


def _share(counts: Counter[bool | None]) -> Share:
    return Share(count=counts[True], n=counts[True] + counts[False], unmeasured=counts[None])
