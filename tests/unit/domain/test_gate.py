from fractions import Fraction
from random import Random

import pytest

from agenteval.domain.comparison import Comparison, compare
from agenteval.domain.gate import Check, Demand, Gate, check
from agenteval.domain.outcome import CaseOutcome, Source, SuccessLevel
from agenteval.domain.run_summary import AttemptFacts, RunSummary, Tally
from agenteval.domain.scenario import EffectivePolicy, Policy

F = Fraction
LEVELS = {"s": SuccessLevel.SUCCESS, "p": SuccessLevel.PARTIAL, "f": SuccessLevel.FAILURE, "?": None}


def outcome(letter: str) -> CaseOutcome:
    level = LEVELS[letter]
    passed = None if level is None else level is not SuccessLevel.FAILURE
    return CaseOutcome(level, passed, EffectivePolicy.of(Policy()), Source.LAYERED)


def summary(levels: str) -> RunSummary:
    """A case for each letter."""
    tally = Tally()
    for i, letter in enumerate(levels):
        tally.add_case(f"case-{i}", [AttemptFacts(outcome(letter), details=[{}])])
    return tally.summary()


def comparison(before: str, after: str) -> Comparison:
    sides = [{f"case-{i}": [outcome(letter)] for i, letter in enumerate(side)} for side in (before, after)]
    return compare(sides[0], sides[1], Random(0).getrandbits)


def met(gate: Gate, levels: str, since: str | None = None) -> dict[Demand, bool]:
    found = check(gate, summary(levels), comparison(since, levels) if since else None)
    return {one.demand: one.met for one in found}


def test_without_a_demand_nothing_is_checked() -> None:
    assert not Gate()
    assert check(Gate(), summary("f?")) == ()


def test_a_threshold_of_zero_is_a_demand() -> None:
    assert Gate(max_unscored=0)
    assert met(Gate(min_pass_rate=F(0)), "ff") == {Demand.MIN_PASS_RATE: True, Demand.MAX_UNSCORED: True}


@pytest.mark.parametrize(("wanted", "reached"), [(F(7, 10), True), (F(7, 10) + F(1, 10**12), False)])
def test_a_rate_on_its_threshold_passes_exactly(wanted: Fraction, reached: bool) -> None:
    assert met(Gate(min_pass_rate=wanted), "sssssspfff")[Demand.MIN_PASS_RATE] is reached


def test_partial_success_counts_half_in_the_success_rate_and_whole_in_passing() -> None:
    gate = Gate(min_success_rate=F(3, 4), min_pass_rate=F(1))
    assert check(gate, summary("sp"))[:2] == (
        Check(Demand.MIN_SUCCESS_RATE, True, F(3, 4), F(3, 4)),
        Check(Demand.MIN_PASS_RATE, True, F(1), F(1)),
    )


def test_any_demand_allows_nothing_unscored_unless_said() -> None:
    assert met(Gate(min_pass_rate=F(1, 2)), "s?") == {Demand.MIN_PASS_RATE: True, Demand.MAX_UNSCORED: False}
    assert met(Gate(min_pass_rate=F(1, 2), max_unscored=1), "s?")[Demand.MAX_UNSCORED] is True


def test_what_was_not_measured_reaches_nothing() -> None:
    found = check(Gate(min_pass_rate=F(0), max_unscored=9), summary("??"))
    assert found[0] == Check(Demand.MIN_PASS_RATE, False, None, F(0))


@pytest.mark.parametrize(
    ("before", "after", "holds"),
    [
        ("sssss" + "s" * 5, "fffff" + "s" * 5, False),  # 5 fell, none rose: p = 1/32
        ("ssss" + "s" * 6, "ffff" + "s" * 6, True),  # 1/16: may be chance
        ("sssssf" + "s" * 4, "fffffs" + "s" * 4, True),  # 5 fell, one rose
        ("ssss", "sssf", False),  # of four pairs no drop could ever be told from chance
        ("ssss", "ssss", True),
        ("fs", "ss", True),
        ("??", "ss", False),  # nothing to compare
    ],
)
def test_a_drop_is_a_regression_unless_chance_explains_it(before: str, after: str, holds: bool) -> None:
    assert met(Gate(no_regression=True), after, since=before)[Demand.NO_REGRESSION] is holds


def test_a_regression_names_what_dropped() -> None:
    found = check(Gate(no_regression=True), summary("fff"), comparison("sss", "fff"))
    assert [change.measure.value for change in found[-1].dropped] == ["success_rate", "pass_rate"]


def test_without_a_run_to_compare_with_nothing_is_said_to_hold() -> None:
    assert met(Gate(no_regression=True), "s")[Demand.NO_REGRESSION] is False
