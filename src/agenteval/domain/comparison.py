"""Two runs beside each other, paired by case id: what changed, whether chance explains it, which cases flipped."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from agenteval.domain.json_value import Json
from agenteval.domain.outcome import ONE, ZERO, CaseOutcome
from agenteval.domain.paired import Bits, PairedTest, difference_interval, holm, mcnemar, permutation
from agenteval.domain.records import Run
from agenteval.domain.run_summary import MeasureName
from agenteval.domain.statistics import Interval, mean

CaseOutcomes = Mapping[str, Sequence[CaseOutcome]]
"""The outcomes of a run's attempts that count, by case id."""

Pairs = tuple[tuple[str, tuple[Fraction, ...], tuple[Fraction, ...]], ...]
"""Cases with their measured values in both runs."""


@dataclass(frozen=True, slots=True)
class Change:
    """One measure over the `pairs` of cases that are measured in both runs; `of` carry it in either. The difference is
    after - before, its interval within [-1, 1]. `p_adjusted` is `test.p` after Holm over all that was tested: measures
    with the same values in the same pairs are one quantity, such as success rate and pass rate of cases without
    layers, and are tested once. Without pairs all are None."""

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
    measured = {name: _pairs(name, [(id_, before[id_], after[id_]) for id_ in common]) for name in MeasureName}
    tests = {pairs: _test(pairs, bits) for pairs in dict.fromkeys(pairs for pairs, _ in measured.values()) if pairs}
    adjusted = holm({pairs: test.p for pairs, test in tests.items()})
    changes = [
        _change(name, pairs, of, tests[pairs], adjusted[pairs]) if pairs else Change(name, 0, of)
        for name, (pairs, of) in measured.items()
    ]
    flips = sorted(
        (flip for case_id in common if (flip := _flip(case_id, before[case_id], after[case_id]))),
        key=lambda flip: (-abs(flip.change), flip.case_id),
    )
    return Comparison(
        changes=tuple(changes),
        fell=tuple(flip for flip in flips if flip.change < 0),
        rose=tuple(flip for flip in flips if flip.change > 0),
        only_before=tuple(case_id for case_id in before if case_id not in after),
        only_after=tuple(case_id for case_id in after if case_id not in before),
    )


def _pairs(
    name: MeasureName, cases: Sequence[tuple[str, Sequence[CaseOutcome], Sequence[CaseOutcome]]]
) -> tuple[Pairs, int]:
    """The cases that are measured in both runs, and how many carry the measure in either."""
    carried = [(id_, _values(name, b), _values(name, a)) for id_, b, a in cases if _carry(name, b) or _carry(name, a)]
    return tuple(case for case in carried if case[1] and case[2]), len(carried)


def _change(name: MeasureName, pairs: Pairs, of: int, test: PairedTest, p_adjusted: Fraction) -> Change:
    befores, afters = [b for _, b, _ in pairs], [a for _, _, a in pairs]
    return Change(
        measure=name,
        pairs=len(pairs),
        of=of,
        before=mean([value for case in befores for value in case]),
        after=mean([value for case in afters for value in case]),
        interval=difference_interval(befores, afters),
        test=test,
        p_adjusted=p_adjusted,
    )


def _test(pairs: Pairs, bits: Bits) -> PairedTest:
    if all(len(b) == len(a) == 1 and {*b, *a} <= {ZERO, ONE} for _, b, a in pairs):
        return mcnemar(fell=sum(b > a for _, b, a in pairs), rose=sum(b < a for _, b, a in pairs))
    return permutation([sum(a, ZERO) / len(a) - sum(b, ZERO) / len(b) for _, b, a in pairs], bits)


def _carry(name: MeasureName, outcomes: Sequence[CaseOutcome]) -> bool:
    return any(name.of(outcome) for outcome in outcomes)


def _values(name: MeasureName, outcomes: Sequence[CaseOutcome]) -> tuple[Fraction, ...]:
    added = [name.of(outcome) for outcome in outcomes]
    return tuple(one[0] for one in added if one is not None and one[0] is not None)


def _flip(case_id: str, before: Sequence[CaseOutcome], after: Sequence[CaseOutcome]) -> Flip | None:
    flip = Flip(case_id, _passes(before), _passes(after))
    return flip if flip.before[1] and flip.after[1] and flip.change else None


def _passes(outcomes: Sequence[CaseOutcome]) -> tuple[int, int]:
    known = [outcome.passed for outcome in outcomes if outcome.passed is not None]
    return sum(known), len(known)
