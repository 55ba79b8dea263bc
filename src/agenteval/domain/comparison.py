"""Two runs beside each other, paired by case id: what changed, whether chance explains it, which cases flipped."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from agenteval.domain.json_value import Json
from agenteval.domain.outcome import ZERO, CaseOutcome
from agenteval.domain.paired import Bits, PairedTest, difference_interval, holm, mcnemar, permutation
from agenteval.domain.records import Run
from agenteval.domain.run_summary import MeasureName
from agenteval.domain.statistics import Interval, mean

CaseOutcomes = Mapping[str, Sequence[CaseOutcome]]
"""The outcomes of a run's attempts that count, by case id."""

_YES_OR_NO = {MeasureName.INTENT_ACCURACY, MeasureName.PASS_RATE}


@dataclass(frozen=True, slots=True)
class Change:
    """One measure over the `pairs` of cases that are measured in both runs; `of` carry it in either. The difference is
    after - before, its interval within [-1, 1]. `p_adjusted` is `test.p` after Holm over all measures. Without pairs
    all are None."""

    measure: MeasureName
    pairs: int
    of: int
    before: Fraction | None = None
    after: Fraction | None = None
    interval: Interval | None = None
    test: PairedTest | None = None
    p_adjusted: Fraction | None = None

    @property
    def difference(self) -> Fraction | None:
        return None if self.before is None or self.after is None else self.after - self.before


@dataclass(frozen=True, slots=True)
class Flip:
    """A case that passes more or less often than before: (passed, attempts whose `passed` is known) on each side."""

    case_id: str
    before: tuple[int, int]
    after: tuple[int, int]

    @property
    def change(self) -> Fraction:
        return Fraction(*self.after) - Fraction(*self.before)


@dataclass(frozen=True, slots=True)
class Comparison:
    """`fell` and `rose` are the cases whose passing changed, the largest change first; `only_before` and `only_after`
    those that the other run lacks."""

    changes: tuple[Change, ...]
    fell: tuple[Flip, ...]
    rose: tuple[Flip, ...]
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Setting:
    """A part of the configuration, by its JSON pointer, that two runs do not share; None: it has none."""

    pointer: str
    before: Json
    after: Json


@dataclass(frozen=True, slots=True)
class RunComparison:
    """`changed_cases` are common cases whose content is not the same: their outcomes answer different questions."""

    before: Run
    after: Run
    comparison: Comparison
    settings: tuple[Setting, ...]
    changed_cases: tuple[str, ...]


def compare(before: CaseOutcomes, after: CaseOutcomes, bits: Bits) -> Comparison:
    """`bits` are drawn for tests that must be simulated."""
    common = [case_id for case_id in before if case_id in after]
    changes = [_change(name, [(before[case_id], after[case_id]) for case_id in common], bits) for name in MeasureName]
    adjusted = holm({change.measure: change.test.p for change in changes if change.test})
    flips = sorted(
        (flip for case_id in common if (flip := _flip(case_id, before[case_id], after[case_id]))),
        key=lambda flip: (-abs(flip.change), flip.case_id),
    )
    return Comparison(
        changes=tuple(replace(change, p_adjusted=adjusted.get(change.measure)) for change in changes),
        fell=tuple(flip for flip in flips if flip.change < 0),
        rose=tuple(flip for flip in flips if flip.change > 0),
        only_before=tuple(case_id for case_id in before if case_id not in after),
        only_after=tuple(case_id for case_id in after if case_id not in before),
    )


def _change(
    name: MeasureName, pairs: Sequence[tuple[Sequence[CaseOutcome], Sequence[CaseOutcome]]], bits: Bits
) -> Change:
    carried = [(_values(name, b), _values(name, a)) for b, a in pairs if _carry(name, b) or _carry(name, a)]
    measured = [(b, a) for b, a in carried if b and a]
    if not measured:
        return Change(name, 0, len(carried))
    befores, afters = [b for b, _ in measured], [a for _, a in measured]
    return Change(
        measure=name,
        pairs=len(measured),
        of=len(carried),
        before=mean([value for case in befores for value in case]),
        after=mean([value for case in afters for value in case]),
        interval=difference_interval(befores, afters),
        test=_test(name, measured, bits),
    )


def _test(name: MeasureName, pairs: Sequence[tuple[Sequence[Fraction], Sequence[Fraction]]], bits: Bits) -> PairedTest:
    if name in _YES_OR_NO and all(len(b) == len(a) == 1 for b, a in pairs):
        return mcnemar(fell=sum(b[0] > a[0] for b, a in pairs), rose=sum(b[0] < a[0] for b, a in pairs))
    return permutation([sum(a, ZERO) / len(a) - sum(b, ZERO) / len(b) for b, a in pairs], bits)


def _carry(name: MeasureName, outcomes: Sequence[CaseOutcome]) -> bool:
    return any(name.of(outcome) for outcome in outcomes)


def _values(name: MeasureName, outcomes: Sequence[CaseOutcome]) -> list[Fraction]:
    added = [name.of(outcome) for outcome in outcomes]
    return [one[0] for one in added if one is not None and one[0] is not None]


def _flip(case_id: str, before: Sequence[CaseOutcome], after: Sequence[CaseOutcome]) -> Flip | None:
    flip = Flip(case_id, _passes(before), _passes(after))
    return flip if flip.before[1] and flip.after[1] and flip.change else None


def _passes(outcomes: Sequence[CaseOutcome]) -> tuple[int, int]:
    known = [outcome.passed for outcome in outcomes if outcome.passed is not None]
    return sum(known), len(known)
