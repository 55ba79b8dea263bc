"""Aggregates: what was measured, of how many, and what it could be at worst."""

from collections.abc import Collection, Iterable
from dataclasses import replace
from fractions import Fraction
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agenteval.domain.outcome import CaseOutcome, OutcomeCause, Source, SuccessLevel
from agenteval.domain.ports import Usage
from agenteval.domain.run_summary import AttemptFacts, Disagreement, Measure, RunSummary, Tally, UsageTotal
from agenteval.domain.scenario import EffectivePolicy

POLICY = EffectivePolicy.of()
FAILURE, PARTIAL, SUCCESS = SuccessLevel.FAILURE, SuccessLevel.PARTIAL, SuccessLevel.SUCCESS


def settled(level: SuccessLevel, l1: bool | None = None, l2: str | None = None) -> CaseOutcome:
    completion = None if l2 is None else Fraction(l2)
    return CaseOutcome(
        level,
        level is not FAILURE,
        POLICY,
        Source.LAYERED,
        has_l1=l1 is not None,
        l1_intent=l1,
        has_l2=l2 is not None,
        l2_completion=completion,
        l2_bounds=None if completion is None else (completion, completion),
    )


def open_(low: SuccessLevel, high: SuccessLevel, *, passed: bool | None = None) -> CaseOutcome:
    return CaseOutcome(None, passed, POLICY, Source.ERROR, OutcomeCause.UNSCORED, level_bounds=(low, high))


def summarised(*cases: list[CaseOutcome], votes: Iterable[Collection[int]] = ()) -> RunSummary:
    tally = Tally()
    for i, outcomes in enumerate(cases):
        tally.add_case(f"case-{i}", [AttemptFacts(outcome, details=[{}]) for outcome in outcomes])
    return tally.summary(votes=votes)


def figures(measure: Measure) -> tuple[Fraction | None, int, int, Fraction | None]:
    return measure.value, measure.n, measure.of, measure.worst_case


def test_the_four_rates_of_the_seed() -> None:
    summary = summarised(
        [settled(SUCCESS, True, "1")],
        [settled(PARTIAL, True, "0.6")],
        [settled(FAILURE, False, "0.8")],
        [settled(FAILURE, True, "0.4")],
    )
    assert figures(summary.intent_accuracy) == (Fraction(3, 4), 4, 4, Fraction(3, 4))
    assert figures(summary.avg_completion) == (Fraction("0.7"), 4, 4, Fraction("0.7"))  # (1 + .6 + .8 + .4)/4
    assert figures(summary.success_rate) == (Fraction(3, 8), 4, 4, Fraction(3, 8))  # (1 + .5)/4
    assert figures(summary.pass_rate) == (Fraction(1, 2), 4, 4, Fraction(1, 2))
    assert summary.levels == {SUCCESS: 1, PARTIAL: 1, FAILURE: 2}


def test_what_was_not_measured_is_left_out_and_enters_the_worst_case_at_its_low() -> None:
    summary = summarised([settled(SUCCESS)], [open_(PARTIAL, SUCCESS, passed=True)], [open_(FAILURE, SUCCESS)])
    assert figures(summary.success_rate) == (Fraction(1), 1, 3, Fraction(1, 2))  # (1 + .5 + 0)/3
    assert figures(summary.pass_rate) == (Fraction(1), 2, 3, Fraction(2, 3))  # 2 of 2 known; (1 + 1 + 0)/3
    assert summary.levels[None] == 2


def test_an_open_completion_enters_the_worst_case_at_its_low() -> None:
    half_known = replace(open_(FAILURE, SUCCESS), has_l2=True, l2_bounds=(Fraction("0.4"), Fraction("0.9")))
    summary = summarised([settled(SUCCESS, l2="1")], [half_known])
    assert figures(summary.avg_completion) == (Fraction(1), 1, 2, Fraction("0.7"))  # (1 + .4)/2


def test_layers_count_only_the_cases_that_carry_them() -> None:
    summary = summarised([settled(SUCCESS, l1=True)], [settled(FAILURE)])
    assert figures(summary.intent_accuracy) == (Fraction(1), 1, 1, Fraction(1))
    assert figures(summary.avg_completion) == (None, 0, 0, None)


def test_cases_without_rules_count_nowhere_but_among_the_attempts() -> None:
    nothing = CaseOutcome(None, None, POLICY, Source.ERROR, OutcomeCause.NO_RULES)
    summary = summarised([nothing], [settled(SUCCESS)])
    assert (summary.cases, summary.attempts) == (2, 2)
    assert figures(summary.success_rate) == (Fraction(1), 1, 1, Fraction(1))


def test_a_case_without_rules_counts_nowhere_even_when_its_dialog_failed() -> None:
    tally = Tally()
    tally.add_case("a", [AttemptFacts(settled(SUCCESS), details=[{}])] * 2)
    for cause, level in ((OutcomeCause.TARGET_ERROR, FAILURE), (OutcomeCause.NOT_DELIVERED, None)):
        failed = CaseOutcome(level, None if level is None else False, POLICY, Source.ERROR, cause)
        tally.add_case(cause, [AttemptFacts(failed)])
    tally.add_case("b", [AttemptFacts(CaseOutcome(None, None, POLICY, Source.ERROR, OutcomeCause.NO_RULES))])
    summary = tally.summary()
    assert (summary.cases, summary.attempts) == (4, 5)
    assert figures(summary.success_rate) == figures(summary.pass_rate) == (Fraction(1), 2, 2, Fraction(1))
    assert [(repeated.n, repeated.of) for repeated in summary.repeated] == [(1, 1), (1, 1)]


def test_an_undelivered_case_with_rules_is_unmeasured() -> None:
    lost = CaseOutcome(None, None, POLICY, Source.ERROR, OutcomeCause.NOT_DELIVERED, has_l1=True)
    summary = summarised([settled(SUCCESS, l1=True)], [lost])
    assert figures(summary.success_rate) == figures(summary.intent_accuracy) == (Fraction(1), 1, 2, Fraction(1, 2))


def test_what_was_not_made_yet_is_of_every_measure_that_its_case_carries() -> None:
    to_come = CaseOutcome(None, None, POLICY, Source.ERROR, has_l2=True)
    tally = Tally()
    tally.add_case("a", [AttemptFacts(settled(SUCCESS, l2="1"), details=[{}])])
    tally.add_unmade(1, to_come, begun=True)
    tally.add_unmade(2, to_come, begun=False)
    tally.add_unmade(2, replace(to_come, cause=OutcomeCause.NO_RULES), begun=False)
    summary = tally.summary()
    assert (summary.cases, summary.attempts, summary.unmade) == (3, 1, 5)
    assert figures(summary.success_rate) == figures(summary.pass_rate) == (Fraction(1), 1, 4, Fraction(1, 4))
    assert figures(summary.avg_completion) == (Fraction(1), 1, 4, Fraction(1, 4))
    assert figures(summary.intent_accuracy) == (None, 0, 0, None)
    assert summary.levels == {SUCCESS: 1}


def test_a_case_without_any_repeat_yet_is_of_the_cases_with_repeats() -> None:
    tally = Tally()
    tally.add_case("a", [AttemptFacts(settled(SUCCESS), details=[{}])] * 2)
    tally.add_unmade(2, CaseOutcome(None, None, POLICY, Source.ERROR), begun=False)
    assert [(repeated.n, repeated.of) for repeated in tally.summary().repeated] == [(1, 2), (1, 2)]


def test_nothing_measured_is_none_everywhere() -> None:
    summary = summarised([open_(FAILURE, SUCCESS)] * 2)
    assert summary.success_rate.value is None
    assert summary.success_rate.interval is None
    assert summary.pass_rate.value is None
    assert summary.latency_p50_ms is None
    assert [repeated.pass_hat_k for repeated in summary.repeated] == []


def test_what_the_agent_and_what_the_judge_varies_is_kept_apart() -> None:
    summary = summarised(
        [settled(SUCCESS), settled(FAILURE), settled(SUCCESS)],
        [settled(SUCCESS), settled(SUCCESS)],
        [settled(SUCCESS), open_(FAILURE, SUCCESS)],
        votes=[(2, 1), (3,), (1, 1, 1), (1,)],
    )
    # Of 3 repeats with 2 alike 2 of 3 pairs differ, of the other case's none; the third case has one known repeat.
    assert summary.agent_varies == Disagreement(Fraction(1, 3), 2)
    # 2/3, 0 and 1; a single vote has none to differ from
    assert summary.judge_varies == Disagreement(Fraction(5, 9), 3)


def test_without_repeats_and_votes_nothing_is_said_to_vary() -> None:
    summary = summarised([settled(SUCCESS)], [settled(FAILURE)])
    assert summary.agent_varies == summary.judge_varies == Disagreement(None, 0)


def test_repeats() -> None:
    summary = summarised(
        [settled(SUCCESS), settled(FAILURE), settled(SUCCESS)],
        [settled(SUCCESS)] * 3,
        [settled(SUCCESS), open_(FAILURE, SUCCESS)],
    )
    assert summary.flaky == ("case-0",)
    one, two, three = summary.repeated
    assert (one.k, one.n, one.of) == (1, 3, 3)
    # pass^2: C(2,2)/C(3,2) = 1/3 and 1; pass@2: 1 - C(1,2)/C(3,2) = 1 and 1; the third case has one known repeat
    assert (two.pass_hat_k, two.pass_at_k, two.n, two.of) == (Fraction(2, 3), Fraction(1), 2, 3)
    assert (three.pass_hat_k, three.pass_at_k) == (Fraction(1, 2), Fraction(1))


def test_slots_steps_confusion_and_latency() -> None:
    tally = Tally()
    slots = {"name": {"filled": True}, "phone": {"filled": False}, "time": {"filled": None}}
    details: list[dict[str, Any]] = [
        {"slots": slots, "steps": {"confirm": {"done": True}, "greet": {"done": None, "status": "left"}}},
        {"expected": "book", "predicted": "cancel"},
    ]
    tally.add_case("a", [AttemptFacts(settled(SUCCESS), [10.0, 30.0], details, ["needs_judge"])])
    tally.add_case("b", [AttemptFacts(settled(FAILURE), [20.0, None], [{"slots": {"name": {"filled": False}}}])])
    summary = tally.summary()
    assert (summary.slots["name"].value, summary.slots["name"].n) == (Fraction(1, 2), 2)
    assert (summary.slots["time"].value, summary.slots["time"].unmeasured) == (None, 1)
    assert set(summary.steps) == {"confirm"}
    assert summary.confusion == {"book": {"cancel": 1}}
    assert (summary.latency_p50_ms, summary.latency_p95_ms) == (20.0, 30.0)
    assert (summary.latency_n, summary.latency_of) == (3, 4)
    assert summary.causes == {"needs_judge": 1}


def test_usage_sums_keep_unknown_apart() -> None:
    total = UsageTotal.of([Usage(10, 5, Fraction("0.01")), Usage(1, None, None), Usage()])
    assert (total.calls, total.input_tokens, total.output_tokens, total.cost) == (3, 10, 5, Fraction("0.01"))
    assert (total.without_tokens, total.without_cost) == (2, 2)
    nothing = UsageTotal.of([Usage()])
    assert (nothing.input_tokens, nothing.cost) == (None, None)


outcomes = st.one_of(
    st.sampled_from([settled(SUCCESS, True, "1"), settled(PARTIAL, True, "0.5"), settled(FAILURE, False, "0")]),
    st.sampled_from([open_(FAILURE, SUCCESS), open_(PARTIAL, SUCCESS, passed=True)]),
)


@given(st.lists(st.lists(outcomes, min_size=1, max_size=3), max_size=6))
def test_rates_stay_in_their_bounds(cases: list[list[CaseOutcome]]) -> None:
    summary = summarised(*cases)
    for measure in (summary.intent_accuracy, summary.avg_completion, summary.success_rate, summary.pass_rate):
        assert 0 <= measure.n <= measure.of
        assert (measure.value is None) == (measure.n == 0) == (measure.interval is None)
        if measure.value is not None and measure.interval is not None:
            assert measure.interval.low <= measure.value <= measure.interval.high
            assert measure.worst_case is not None
            assert 0 <= measure.worst_case <= 1
