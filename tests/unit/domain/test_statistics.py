"""Oracle values were computed once, outside this project, with scipy 1.17 `binomtest(c, n).proportion_ci("wilson")` and
pingouin 0.7 `intraclass_corr` (ICC(1,1)); everything else is worked by hand in the comments."""

from collections.abc import Sequence
from fractions import Fraction
from math import sqrt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agenteval.domain.statistics import (
    Interval,
    icc1,
    interval,
    mean,
    pass_at_k,
    pass_hat_k,
    percentile_nearest_rank,
)

Cases = Sequence[Sequence[Fraction]]


def scores(*cases: Sequence[int]) -> Cases:
    return [[Fraction(value) for value in case] for case in cases]


def single_repeats(passed: int, cases: int) -> Cases:
    return scores(*[[1]] * passed, *[[0]] * (cases - passed))


def width(bounds: Interval | None) -> float:
    assert bounds is not None
    return bounds.high - bounds.low


fractions = st.fractions(min_value=0, max_value=1, max_denominator=12)
any_cases = st.lists(st.lists(fractions, max_size=5), max_size=8)
ragged_counts = st.lists(st.integers(0, 6).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))), max_size=8)


def test_mean_is_exact_and_absent_without_values() -> None:
    assert mean([Fraction(7, 10)] * 3) == Fraction(7, 10)
    assert mean([Fraction(1, 3), Fraction(1, 2)]) == Fraction(5, 12)
    assert mean([]) is None


@pytest.mark.parametrize(
    ("passed", "cases", "low", "high"),
    [  # scipy
        (0, 5, 0.0, 0.43448246478317476),
        (5, 5, 0.5655175352168251, 1.0),
        (3, 10, 0.10779126740630102, 0.6032218525388546),
        (47, 50, 0.8378290831116182, 0.979385029651026),
        (1, 1, 0.20654931437723745, 1.0),
    ],
)
def test_without_repeats_the_interval_is_wilsons(passed: int, cases: int, low: float, high: float) -> None:
    bounds = interval(single_repeats(passed, cases))
    assert bounds is not None
    assert (bounds.low, bounds.high) == pytest.approx((low, high), abs=1e-12)


def test_nothing_scored_has_no_interval() -> None:
    assert interval([]) is None
    assert interval([[], []]) is None


def test_cases_without_a_scored_repeat_change_nothing() -> None:
    cases = scores([1, 1, 0], [0, 0, 0], [1, 0, 1])
    assert interval([*cases, []]) == interval(cases)
    assert icc1([[], *cases]) == icc1(cases)


def test_intraclass_correlation_of_equal_repeats() -> None:
    # pingouin, the ratings of Shrout & Fleiss 1979, table 2 (published: ICC(1,1) = .17)
    table = scores([9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7])
    assert float(icc1(table)) == pytest.approx(0.165742, abs=5e-7)
    # Means 2/3, 0, 1, 2/3, grand 7/12. SSB = 3·(1/144 + 49/144 + 25/144 + 1/144) = 19/12, MSB = 19/36;
    # SSW = 2/3 + 2/3 = 4/3, MSW = 1/6; ICC = (19/36 - 6/36) / (19/36 + 2·6/36) = 13/31 (pingouin: 0.419355).
    assert icc1(scores([1, 1, 0], [0, 0, 0], [1, 1, 1], [1, 0, 1])) == Fraction(13, 31)


def test_intraclass_correlation_of_unequal_repeats() -> None:
    # Means 1, 1/3, 0, grand 1/2. SSB = 2/4 + 3/36 + 1/4 = 5/6, MSB = 5/12; SSW = 2/3, MSW = 2/9 (6 - 3 = 3);
    # n0 = (6 - 14/6) / 2 = 11/6; ICC = (7/36) / (5/12 + 5/6·2/9) = 21/65.
    assert icc1(scores([1, 1], [0, 1, 0], [0])) == Fraction(21, 65)


@pytest.mark.parametrize(
    ("cases", "expected"),
    [
        (scores([1, 0, 1]), 1),  # one case
        (scores([1], [0], [1]), 1),  # no repeats within cases
        (scores([1, 1], [1, 1]), 1),  # no variance at all: 0/0
        (scores([1, 1], [0, 0]), 1),  # repeats always agree
        (scores([1, 0], [1, 0]), 0),  # repeats differ, cases do not: negative, clipped
        ([], 1),
    ],
)
def test_intraclass_correlation_at_its_edges(cases: Cases, expected: int) -> None:
    assert icc1(cases) == expected


def test_correlated_repeats_widen_the_interval() -> None:
    # N = 12, r = 3, ρ = 13/31: n = 12 / (1 + 2·13/31) = 372/57 = 6.526; p = 7/12, z² = 3.841459:
    # centre (.583333 + 3.841459/13.052632) / (1 + 3.841459/6.526316) = .877639 / 1.588611 = .552457;
    # half 1.959964/1.588611 · sqrt(.243056/6.526316 + 3.841459/(4·42.592798)) = 1.233759 · .244520 = .301679.
    bounds = interval(scores([1, 1, 0], [0, 0, 0], [1, 1, 1], [1, 0, 1]))
    assert bounds is not None
    assert (bounds.low, bounds.high) == pytest.approx((0.250778, 0.854136), abs=1e-6)


def test_repeats_that_always_agree_count_as_one() -> None:
    assert interval(scores([1, 1, 1], [0, 0, 0])) == interval(scores([1], [0]))


def test_repeats_of_one_case_count_as_one() -> None:
    assert interval(scores([1, 1, 1, 1])) == interval(scores([1]))


@given(any_cases)
@settings(max_examples=60)
def test_the_interval_holds_the_mean_and_stays_within_0_and_1(cases: Cases) -> None:
    bounds = interval(cases)
    average = mean([value for case in cases for value in case])
    if average is None:
        assert bounds is None
    else:
        assert bounds is not None
        assert 0 <= bounds.low <= float(average) <= bounds.high <= 1


@given(any_cases)
@settings(max_examples=60)
def test_intraclass_correlation_stays_within_0_and_1(cases: Cases) -> None:
    assert 0 <= icc1(cases) <= 1


@given(st.integers(1, 30).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
@settings(max_examples=60)
def test_more_cases_with_the_same_rate_narrow_the_interval(passed_of: tuple[int, int]) -> None:
    passed, cases = passed_of
    assert width(interval(single_repeats(2 * passed, 2 * cases))) < width(interval(single_repeats(passed, cases)))


@given(st.lists(st.lists(st.sampled_from([Fraction(0), Fraction(1)]), min_size=3, max_size=3), min_size=1, max_size=8))
@settings(max_examples=60)
def test_repeats_count_for_at_least_one_and_at_most_all_of_them(cases: Cases) -> None:
    average = mean([value for case in cases for value in case])
    assert average is not None

    def wilson_width(n: int) -> float:
        return (
            2
            * 1.959963984540054
            * sqrt(average * (1 - average) / n + 3.841458820694124 / (4 * n * n))
            / (1 + 3.841458820694124 / n)
        )

    assert wilson_width(3 * len(cases)) - 1e-12 <= width(interval(cases)) <= wilson_width(len(cases)) + 1e-12


def test_pass_hat_k_and_pass_at_k_by_hand() -> None:
    counts = [(4, 4), (4, 2), (4, 0), (1, 1)]
    # k = 2: C(4,2)/C(4,2) = 1, C(2,2)/C(4,2) = 1/6, 0; the case with one scored repeat is left out: (1 + 1/6 + 0)/3.
    assert pass_hat_k(counts, 2) == (Fraction(7, 18), 1)
    # k = 2: 1 - C(0,2)/6 = 1, 1 - C(2,2)/6 = 5/6, 1 - C(4,2)/6 = 0: (1 + 5/6 + 0)/3.
    assert pass_at_k(counts, 2) == (Fraction(11, 18), 1)


def test_no_case_with_k_repeats_gives_none() -> None:
    assert pass_hat_k([(1, 1), (2, 0)], 3) == (None, 2)
    assert pass_at_k([], 1) == (None, 0)


@given(ragged_counts)
@settings(max_examples=60)
def test_with_k_1_both_are_the_mean_pass_rate(counts: list[tuple[int, int]]) -> None:
    expected = mean([Fraction(c, n) for n, c in counts if n])
    assert pass_hat_k(counts, 1)[0] == pass_at_k(counts, 1)[0] == expected


@given(ragged_counts, st.integers(1, 6))
@settings(max_examples=60)
def test_all_passing_is_never_likelier_than_one_passing(counts: list[tuple[int, int]], k: int) -> None:
    (every, left_out), (some, left_out_too) = pass_hat_k(counts, k), pass_at_k(counts, k)
    assert left_out == left_out_too == sum(n < k for n, _ in counts)
    if every is None or some is None:
        assert every is some
    else:
        assert 0 <= every <= some <= 1


def test_k_must_be_positive() -> None:
    with pytest.raises(ValueError, match="k must be at least 1"):
        pass_hat_k([(1, 1)], 0)


@pytest.mark.parametrize(
    ("values", "percent", "expected"),
    [
        ([15, 20, 35, 40, 50], 30, 20),  # rank ceil(.3·5) = 2
        ([15, 20, 35, 40, 50], 40, 20),  # rank 2 exactly
        ([50, 15, 40, 20, 35], 50, 35),  # rank ceil(2.5) = 3, unsorted
        ([15, 20, 35, 40, 50], 100, 50),
        (list(range(1, 21)), 95, 19),  # rank 19 exactly; in floats .95·20 may exceed 19
        (list(range(1, 101)), 95, 95),
        ([7], 1, 7),
        ([], 95, None),
    ],
)
def test_percentile_by_nearest_rank(values: list[int], percent: int, expected: int | None) -> None:
    assert percentile_nearest_rank(values, percent) == expected


@pytest.mark.parametrize("percent", [0, 101])
def test_percentile_must_be_a_percentage(percent: int) -> None:
    with pytest.raises(ValueError, match=r"1\.\.100"):
        percentile_nearest_rank([1], percent)
