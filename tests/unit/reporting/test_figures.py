"""Numbers for people: exact, never rounded onto a bound, and a dash with its cause where there is none."""

from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agenteval.domain.outcome import CaseOutcome, Source, SuccessLevel
from agenteval.domain.questions import Cause
from agenteval.domain.run_summary import AttemptFacts, Measure, Share, Tally, UsageTotal
from agenteval.domain.scenario import EffectivePolicy
from agenteval.domain.statistics import Interval
from agenteval.reporting import figures
from agenteval.reporting.labels import Labels
from tests.fakes.reports import chinese_report, report_of, undelivered_case, unscored_report

ZH, EN = Labels("zh"), Labels("en")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("0", "0"),
        ("1", "1"),
        ("1/2", "0.5"),
        ("2/3", "0.6667"),
        ("7/10", "0.7"),
        ("1/100000", "0.0001"),  # not 0
        ("99999/100000", "0.9999"),  # not 1
        ("33/40", "0.825"),
        ("12", "12"),
        ("63/10000", "0.0063"),
    ],
)
def test_four_decimals_at_most(value: str, shown: str) -> None:
    assert figures.number(Fraction(value)) == shown


@given(st.fractions(0, 1))
def test_only_an_exact_bound_is_written_as_one(value: Fraction) -> None:
    shown = Fraction(figures.number(value))
    assert abs(shown - value) <= Fraction(1, 10_000)
    assert (shown in (0, 1)) == (value in (0, 1))


@given(st.fractions(0, 1, max_denominator=10**9), st.fractions(0, 1, max_denominator=10**9))
@example(Fraction(13, 24), Fraction("0.5417"))
def test_two_rates_that_differ_are_shown_so(a: Fraction, b: Fraction) -> None:
    shown = [figures.percent(rate, EN, figures.apart(a, b)) for rate in (a, b)]
    assert (shown[0] == shown[1]) == (a == b)


def test_percent_and_share_in_both_languages() -> None:
    assert figures.percent(Fraction(4, 5), EN) == "80 %"
    assert figures.percent(Fraction(4, 5), ZH) == "80%"
    assert figures.percent(Fraction(2, 3), EN) == "66.67 %"
    assert figures.percent(Fraction(1), EN) == "100 %"
    assert figures.percent(Fraction(0), EN) == "0 %"
    assert figures.percent(None, EN) == "—"
    for value, short in (("6/1000", "1 %"), ("995/1000", "99 %"), ("2/3", "67 %"), ("1", "100 %")):
        assert figures.percent(Fraction(value), EN, digits=2) == short
    assert figures.share(Share(4, 5, 1), EN) == "80 % (4 of 5)"
    assert figures.share(Share(4, 5, 1), ZH) == "80%（4/5）"
    assert figures.share(Share(0, 0, 3), EN) == "—"


def test_interval() -> None:
    measure = Measure(Fraction(1, 2), 2, 2, Fraction(1, 2), Interval(0.0945, 0.9055), Fraction(2))
    assert figures.interval(measure, EN) == "9.5–90.5 %"


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [(0.00001, 0.99999, "0.1–99.9 %"), (0.0, 1.0, "0–100 %"), (0.9996, 0.9999, "99.9–99.9 %")],
)
def test_no_bound_of_an_interval_looks_as_if_it_were_0_or_100(low: float, high: float, shown: str) -> None:
    assert (
        figures.interval(Measure(Fraction(1, 2), 2, 2, Fraction(1, 2), Interval(low, high), Fraction(2)), EN) == shown
    )


def test_the_summary_tells_n_of_n_worst_case_and_what_to_mind() -> None:
    l1, l2, _, passes = figures.figures(chinese_report().summary, ZH)
    assert (l1.value, l1.measured, l1.worst_case) == ("75%", "4/5", "60%")  # 3 of 4 measured, 3 of 5 at worst
    assert (l2.measured, passes.measured) == ("5/7", "7/9")
    assert l1.note == "样本少，区间很宽"


@pytest.mark.parametrize("labels", [ZH, EN])
def test_what_was_not_measured_is_a_dash_with_its_cause(labels: Labels) -> None:
    for figure in figures.figures(unscored_report(Cause.NEEDS_JUDGE, Cause.TIE).summary, labels):
        assert (figure.value, figure.worst_case, figure.interval) == ("—", labels("percent", value="0"), "—")
        assert labels("needs_model") in figure.note
        assert labels("cause.tie") in figure.note


def test_repeats_that_agree_do_not_make_many_attempts_of_few_cases() -> None:
    tally = Tally()
    for i in range(7):
        tally.add_case(f"{i}", [AttemptFacts(decided(passed=i > 2), details=[{}])] * 4)
    passing = figures.figures(tally.summary(), EN)[-1]
    assert (passing.of.n, passing.of.effective_n, passing.note) == (28, Fraction(7), "few attempts: mind the interval")
    for i in range(20):
        tally.add_case(f"further {i}", [AttemptFacts(decided(passed=True), details=[{}])])
    assert figures.figures(tally.summary(), EN)[-1].note == ""


def decided(*, passed: bool) -> CaseOutcome:
    level = SuccessLevel.SUCCESS if passed else SuccessLevel.FAILURE
    return CaseOutcome(level, passed, EffectivePolicy.of(), Source.RULES)


def test_of_what_was_not_delivered_the_worst_is_known_and_where_there_is_nothing_it_is_a_dash() -> None:
    *_, level, passes = figures.figures(report_of(undelivered_case(0)).summary, EN)
    assert (level.worst_case, passes.worst_case) == ("0 %", "0 %")
    assert passes.note == "not measured: nothing was delivered"
    assert {figure.worst_case for figure in figures.figures(Tally().summary(), EN)} == {"—"}


@pytest.mark.parametrize(
    ("ms", "shown"),
    [(None, "—"), (0.0, "0 ms"), (0.42, "0.4 ms"), (5.0, "5 ms"), (812.0, "812 ms"), (1240.0, "1.24 s")],
)
def test_latency(ms: float | None, shown: str) -> None:
    assert figures.milliseconds(ms) == shown


def test_latency_tells_in_how_many_turns_it_was_measured() -> None:
    summary = chinese_report().summary
    assert figures.latency(summary, EN) == "median 512 ms · p95 2.31 s (measured in 27 of 28 turns)"
    assert figures.latency(summary, ZH).endswith("（28 轮中测得 27 轮）")
    assert figures.latency(Tally().summary(), EN) == "no latency was recorded"


def test_usage_says_what_it_does_not_know() -> None:
    assert figures.usage(UsageTotal(), EN) == "no call was needed to judge"
    assert figures.usage(UsageTotal(3, None, None, None, 3, 3), EN) == "calls: 3, tokens unknown, cost unknown"
    some = UsageTotal(3, 1200, 80, Fraction("0.0021"), 1, 1)
    assert figures.usage(some, EN) == (
        "calls: 3, tokens: 1,200 in, 80 out (1 more unknown), cost: 0.0021 (1 more unknown)"
    )
