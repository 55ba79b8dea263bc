from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenteval.domain import comparison
from agenteval.domain.comparison import CaseOutcomes, Change, Comparison, Moved
from agenteval.domain.outcome import CaseOutcome, Source, SuccessLevel
from agenteval.domain.paired import Method
from agenteval.domain.run_summary import MeasureName
from agenteval.domain.scenario import EffectivePolicy, Policy

F = Fraction
LEVELS = {"s": SuccessLevel.SUCCESS, "p": SuccessLevel.PARTIAL, "f": SuccessLevel.FAILURE, "?": None}


def outcome(level: str, *, l1: bool | None = None, l2: Fraction | None = None) -> CaseOutcome:
    reached = LEVELS[level]
    return CaseOutcome(
        success_level=reached,
        passed=None if reached is None else reached is not SuccessLevel.FAILURE,
        policy=EffectivePolicy.of(Policy()),
        source=Source.LAYERED,
        has_l1=l1 is not None,
        l1_intent=l1,
        has_l2=l2 is not None,
        l2_completion=l2,
    )


def run(**levels: str) -> dict[str, list[CaseOutcome]]:
    """Case ids with a letter for each repeat."""
    return {case_id: [outcome(level) for level in repeats] for case_id, repeats in levels.items()}


def compare(before: CaseOutcomes, after: CaseOutcomes) -> Comparison:
    return comparison.compare(before, after, Random(0).getrandbits)


def change(found: Comparison, name: MeasureName) -> Change:
    return next(change for change in found.changes if change.measure is name)


def test_single_repeats_are_paired_and_tested_by_mcnemar() -> None:
    before = run(a="s", b="s", c="s", d="s", e="s", f="s", g="f", h="s")
    after = run(a="f", b="f", c="f", d="f", e="f", f="f", g="f", h="s")
    found = change(compare(before, after), MeasureName.PASS_RATE)
    assert (found.before, found.after, found.difference, found.pairs) == (F(7, 8), F(1, 8), F(-6, 8), 8)
    assert (found.fell, found.rose) == (6, 0)
    assert found.test is not None
    assert (found.test.method, found.test.p) == (Method.MCNEMAR, F(2, 64))
    assert found.interval is not None
    assert found.interval.high < 0


def test_levels_and_repeats_are_tested_by_permutation() -> None:
    compared = compare(run(a="ss", b="sf"), run(a="sf", b="ff"))
    for name in (MeasureName.PASS_RATE, MeasureName.SUCCESS_RATE):
        found = change(compared, name)
        assert found.test is not None
        # Both cases fell by a half: of the four sign assignments two are as far.
        assert (found.test.method, found.test.p) == (Method.PERMUTATION, F(1, 2))


def test_p_is_adjusted_over_the_measures_that_have_one() -> None:
    before = {name: [outcome("s", l1=True)] for name in "abcdefgh"}
    after = {name: [outcome("f", l1=False)] for name in "abcdefgh"}
    compared = compare(before, after)
    tested = [found for found in compared.changes if found.test is not None]
    assert [found.measure.value for found in tested] == ["intent_accuracy", "success_rate", "pass_rate"]
    assert {found.p_adjusted for found in tested} == {F(2, 256)}  # of all the same, so tested once
    assert change(compared, MeasureName.AVG_COMPLETION) == Change(MeasureName.AVG_COMPLETION, 0, 0)


def test_what_differs_in_a_single_pair_is_another_quantity() -> None:
    before = {name: [outcome("s", l1=True)] for name in "abcdefgh"}
    after = {name: [outcome("f" if name != "h" else "p", l1=False)] for name in "abcdefgh"}
    compared = compare(before, after)
    assert [found.p_adjusted for found in compared.changes if found.test] == [
        3 * F(2, 256),
        3 * F(2, 256),
        3 * F(2, 256),
    ]


def test_without_layers_success_and_passing_are_one_quantity() -> None:
    compared = compare(run(a="s", b="s", c="s", d="s", e="s"), run(a="f", b="f", c="f", d="f", e="f"))
    for name in (MeasureName.SUCCESS_RATE, MeasureName.PASS_RATE):
        assert change(compared, name).p_adjusted == F(1, 16)
    many = {f"{n}": "ssf" if n % 3 else "fff" for n in range(40)}
    simulated = compare(run(**many), run(**dict.fromkeys(many, "sff")))
    success, passing = (change(simulated, name) for name in (MeasureName.SUCCESS_RATE, MeasureName.PASS_RATE))
    assert (success.test, success.p_adjusted) == (passing.test, passing.test and passing.test.p)


def test_an_unmeasured_case_is_no_pair_but_counted() -> None:
    found = change(compare(run(a="s", b="?", c="s"), run(a="s", b="f", c="?")), MeasureName.PASS_RATE)
    assert (found.pairs, found.of, found.before, found.after) == (1, 3, F(1), F(1))


def test_nothing_measured_is_null() -> None:
    found = change(compare(run(a="?"), run(a="s")), MeasureName.PASS_RATE)
    assert (found.pairs, found.before, found.difference, found.interval, found.test) == (0, None, None, None, None)
    assert found.p_adjusted is None


def test_every_case_that_came_out_otherwise_is_named_flips_of_passing_first() -> None:
    compared = compare(
        run(a="ss", b="ss", c="ff", d="sf", e="??", f="ss", g="ff"),
        run(a="sf", b="ff", c="fs", d="fs", e="ss", f="sp", g="ff"),
    )
    assert [(case.case_id, case.passing) for case in compared.fell] == [("b", F(-1)), ("a", F(-1, 2)), ("f", F(0))]
    assert [(case.case_id, case.passing) for case in compared.rose] == [("c", F(1, 2)), ("e", F(0))]
    (risen, _) = compared.rose
    assert (risen.before.levels, risen.before.passed, risen.after.known) == ((LEVELS["f"],) * 2, 0, 2)


@pytest.mark.parametrize(("before", "after"), ["sp", "sf", "pf", "s?", "p?", "?f"])
def test_which_way_a_case_moved(before: str, after: str) -> None:
    there, back = compare(run(a=before), run(a=after)), compare(run(a=after), run(a=before))
    assert (case_ids(there.fell), case_ids(there.rose)) == (["a"], [])
    assert (case_ids(back.fell), case_ids(back.rose)) == ([], ["a"])


def test_what_is_not_settled_lies_within_its_bounds() -> None:
    open_ = replace(outcome("?"), level_bounds=(SuccessLevel.PARTIAL, SuccessLevel.SUCCESS), passed=True)
    assert case_ids(compare(run(a="p"), {"a": [open_]}).rose) == ["a"]


def test_cases_of_one_run_alone_are_named() -> None:
    compared = compare(run(a="s", b="s"), run(b="s", c="f"))
    assert (compared.only_before, compared.only_after) == (("a",), ("c",))
    assert change(compared, MeasureName.PASS_RATE).pairs == 1


repeats = st.text("spf?", min_size=1, max_size=3)


@given(st.dictionaries(st.sampled_from("abcdef"), repeats), st.dictionaries(st.sampled_from("abcdef"), repeats))
def test_the_other_way_round_only_the_signs_change(before: dict[str, str], after: dict[str, str]) -> None:
    there, back = compare(run(**before), run(**after)), compare(run(**after), run(**before))
    for one, other in zip(there.changes, back.changes, strict=True):
        assert one.difference == (None if other.difference is None else -other.difference)
        assert (one.pairs, one.of, one.p_adjusted) == (other.pairs, other.of, other.p_adjusted)
    assert case_ids(there.fell) == case_ids(back.rose)
    assert there.only_before == back.only_after


@given(st.dictionaries(st.sampled_from("abcdef"), repeats))
def test_a_run_beside_itself_does_not_differ(levels: dict[str, str]) -> None:
    compared = compare(run(**levels), run(**levels))
    assert all(found.difference in {None, 0} and found.p_adjusted in {None, 1} for found in compared.changes)
    assert compared.fell == compared.rose == ()


def case_ids(cases: Sequence[Moved]) -> list[str]:
    return [case.case_id for case in cases]
