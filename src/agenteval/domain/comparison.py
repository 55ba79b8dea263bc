"""Two runs beside each other, paired case by case: what changed, whether chance explains it, which cases moved."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from agenteval.domain.json_value import Json
from agenteval.domain.outcome import ONE, ZERO, CaseOutcome, SuccessLevel
from agenteval.domain.paired import Bits, PairedTest, difference_interval, holm, mcnemar, permutation
from agenteval.domain.records import Run
from agenteval.domain.run_summary import MeasureName
from agenteval.domain.statistics import Interval, mean

CaseOutcomes = Mapping[str, Sequence[CaseOutcome]]
"""The outcomes of a run's attempts that count, by case: the same name in both runs is the same case."""

Pairs = tuple[tuple[str, tuple[Fraction, ...], tuple[Fraction, ...]], ...]
"""Cases with their measured values in both runs."""


@dataclass(frozen=True, slots=True)
class Change:
    """One measure over the `pairs` of cases measured in both runs; `of` carry it in either. In `fell` pairs the
    mean is lower than before, in `rose` it is higher. The difference is after - before, its interval within [-1, 1].
    `p_adjusted` is `test.p` after Holm over all that was tested: measures with the same values in the same pairs are
    one quantity, such as success rate and pass rate of cases without layers, and are tested once. Without pairs all
    are None."""

    measure: MeasureName
    pairs: int
    of: int
    fell: int = 0
    rose: int = 0
    before: Fraction | None = None
    after: Fraction | None = None
    interval: Interval | None = None
    test: PairedTest | None = None
    p_adjusted: Fraction | None = None

    @property
    def difference(self) -> Fraction | None:
        return None if self.before is None or self.after is None else self.after - self.before


@dataclass(frozen=True, slots=True)
class Side:
    """A case in one run: a level for each attempt that counts, None for what is not settled, and how many `passed` of
    those of which it is `known`."""

    levels: tuple[SuccessLevel | None, ...]
    passed: int
    known: int
    worth: Fraction
    """Mean of what the levels count in the success rate; of what is not settled the middle of what is possible."""

    @classmethod
    def of(cls, outcomes: Sequence[CaseOutcome]) -> "Side":
        known = [outcome.passed for outcome in outcomes if outcome.passed is not None]
        worth = sum(map(_worth, outcomes), ZERO) / len(outcomes)
        return cls(tuple(outcome.success_level for outcome in outcomes), sum(known), len(known), worth)

    @property
    def shares(self) -> Mapping[SuccessLevel | None, Fraction]:
        return {level: Fraction(n, len(self.levels)) for level, n in Counter(self.levels).items()}


@dataclass(frozen=True, slots=True)
class Moved:
    """A case that came out otherwise than before."""

    case_id: str
    before: Side
    after: Side

    @property
    def passing(self) -> Fraction:
        """By how much more often it passes; 0 when that is not known."""
        if not self.before.known or not self.after.known:
            return ZERO
        return Fraction(self.after.passed, self.after.known) - Fraction(self.before.passed, self.before.known)

    @property
    def directions(self) -> tuple[Fraction, Fraction, Fraction]:
        """Above 0 where it is better than before: in passing, in its levels, in being settled."""
        settled = self.before.shares.get(None, ZERO) - self.after.shares.get(None, ZERO)
        return self.passing, self.after.worth - self.before.worth, settled

    @property
    def rose(self) -> bool:
        """By the first direction in which it moved."""
        return next(filter(None, self.directions), ZERO) > 0


@dataclass(frozen=True, slots=True)
class Comparison:
    """`fell` and `rose` are the cases that came out otherwise, first those that pass less or more often, the largest
    change first; `only_before` and `only_after` those that the other run lacks."""

    changes: tuple[Change, ...]
    fell: tuple[Moved, ...]
    rose: tuple[Moved, ...]
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
    sides = {case_id: (Side.of(before[case_id]), Side.of(after[case_id])) for case_id in common}
    moved = [Moved(case_id, b, a) for case_id, (b, a) in sides.items() if b.shares != a.shares]
    moved.sort(key=lambda case: (not case.passing, *(-abs(by) for by in case.directions), case.case_id))
    return Comparison(
        changes=tuple(changes),
        fell=tuple(case for case in moved if not case.rose),
        rose=tuple(case for case in moved if case.rose),
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
    befores, afters, differences = [b for _, b, _ in pairs], [a for _, _, a in pairs], _differences(pairs)
    return Change(
        measure=name,
        pairs=len(pairs),
        of=of,
        fell=sum(difference < 0 for difference in differences),
        rose=sum(difference > 0 for difference in differences),
        before=mean([value for case in befores for value in case]),
        after=mean([value for case in afters for value in case]),
        interval=difference_interval(befores, afters),
        test=test,
        p_adjusted=p_adjusted,
    )


def _test(pairs: Pairs, bits: Bits) -> PairedTest:
    if all(len(b) == len(a) == 1 and {*b, *a} <= {ZERO, ONE} for _, b, a in pairs):
        return mcnemar(fell=sum(b > a for _, b, a in pairs), rose=sum(b < a for _, b, a in pairs))
    return permutation(_differences(pairs), bits)


def _differences(pairs: Pairs) -> list[Fraction]:
    """Of the means of each case, after - before."""
    return [sum(a, ZERO) / len(a) - sum(b, ZERO) / len(b) for _, b, a in pairs]


def _carry(name: MeasureName, outcomes: Sequence[CaseOutcome]) -> bool:
    return any(name.of(outcome) for outcome in outcomes)


def _values(name: MeasureName, outcomes: Sequence[CaseOutcome]) -> tuple[Fraction, ...]:
    added = [name.of(outcome) for outcome in outcomes]
    return tuple(one[0] for one in added if one is not None and one[0] is not None)


def _worth(outcome: CaseOutcome) -> Fraction:
    low, high = outcome.level_bounds or (SuccessLevel.FAILURE, SuccessLevel.SUCCESS)
    if outcome.success_level is not None:
        low = high = outcome.success_level
    return (low.value_of_success + high.value_of_success) / 2
