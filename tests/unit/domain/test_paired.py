"""Exact tests against scipy and statsmodels, as oracles; the interval of a difference by simulation."""

from fractions import Fraction
from itertools import product
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import permutation_test
from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar
from statsmodels.stats.multitest import multipletests

from agenteval.domain.paired import EXACT_PAIRS, Bits, Method, difference_interval, holm, mcnemar, permutation

F = Fraction
TOLERANCE = 1e-12


def seeded(seed: int) -> Bits:
    return Random(seed).getrandbits


def no_bits(_: int) -> int:
    raise AssertionError("an exact test draws nothing")


scores = st.sampled_from([F(0), F(1, 3), F(1, 2), F(4, 5), F(1)])
differences = st.builds(lambda a, b: a - b, scores, scores)
quarters = st.integers(-4, 4).map(lambda n: Fraction(n, 4))
"""What a float holds exactly: scipy compares sums of floats, and ties count."""


@pytest.mark.parametrize(("fell", "rose"), [(0, 0), (1, 0), (0, 5), (6, 0), (3, 3), (2, 9), (40, 61), (300, 250)])
def test_mcnemar_is_that_of_statsmodels(fell: int, rose: int) -> None:
    test = mcnemar(fell, rose)
    expected = statsmodels_mcnemar([[7, fell], [rose, 5]], exact=True).pvalue
    assert abs(float(test.p) - expected) < TOLERANCE
    assert test.method is Method.MCNEMAR
    assert test.error is None


def test_six_cases_that_all_fell_are_no_chance_and_five_may_be() -> None:
    assert mcnemar(6, 0).p == F(2, 64)
    assert mcnemar(5, 0).p == F(2, 32)


@given(st.lists(differences, max_size=7))
def test_permutation_counts_every_assignment_of_signs(pairs: list[Fraction]) -> None:
    sums = [
        sum((s * d for s, d in zip(signs, pairs, strict=True)), F(0)) for signs in product((-1, 1), repeat=len(pairs))
    ]
    observed = abs(sum(pairs, F(0)))
    assert permutation(pairs, no_bits).p == F(sum(abs(total) >= observed for total in sums), len(sums))


@given(st.lists(quarters, min_size=2, max_size=9))
def test_permutation_is_that_of_scipy(pairs: list[Fraction]) -> None:
    values = np.array([float(d) for d in pairs])
    expected = permutation_test(
        (values,), np.mean, permutation_type="samples", n_resamples=np.inf, alternative="two-sided", vectorized=True
    ).pvalue
    assert abs(float(permutation(pairs, no_bits).p) - expected) < TOLERANCE


@given(st.integers(0, EXACT_PAIRS), st.integers(0, 40))
def test_permutation_of_changes_of_equal_size_is_mcnemar(fell: int, same: int) -> None:
    pairs = [F(-1)] * fell + [F(1)] * (EXACT_PAIRS - fell) + [F(0)] * same
    assert permutation(pairs, no_bits).p == mcnemar(fell, EXACT_PAIRS - fell).p


def test_no_pair_that_differs_tells_nothing() -> None:
    assert permutation([], no_bits).p == permutation([F(0)] * 30, no_bits).p == mcnemar(0, 0).p == 1


def test_beyond_fifteen_pairs_it_is_simulated_and_says_so() -> None:
    pairs = [F(-1)] * 12 + [F(1)] * 4 + [F(1, 3)] * 5
    test = permutation(pairs, seeded(1))
    assert test.method is Method.SIMULATED
    assert test.error is not None
    assert 0 < test.error < 0.004
    assert test == permutation(pairs, seeded(1))
    assert test != permutation(pairs, seeded(2))


@pytest.mark.parametrize(("fell", "rose"), [(12, 4), (9, 8), (20, 3), (17, 0)])
def test_a_simulated_p_lies_within_its_error(fell: int, rose: int) -> None:
    test = permutation([F(-1)] * fell + [F(1)] * rose, seeded(0))
    assert test.error is not None
    assert abs(float(test.p - mcnemar(fell, rose).p)) <= 4 * test.error + 1e-4


def test_a_simulated_p_is_never_zero() -> None:
    assert permutation([F(1)] * 200, seeded(0)).p > 0


@given(st.lists(st.fractions(0, 1), min_size=1, max_size=6))
def test_holm_is_that_of_statsmodels(p_values: list[Fraction]) -> None:
    adjusted = holm(dict(enumerate(p_values)))
    expected = multipletests([float(p) for p in p_values], method="holm")[1]
    assert [float(adjusted[i]) for i in range(len(p_values))] == pytest.approx(list(expected), abs=TOLERANCE)


def test_holm_by_hand() -> None:
    # Smallest first: 3 x .01; then the larger of that and 2 x .04; then the larger of that and 1 x .05.
    assert holm({"a": F(4, 100), "b": F(1, 100), "c": F(5, 100)}) == {"a": F(8, 100), "b": F(3, 100), "c": F(8, 100)}


@given(st.lists(st.tuples(scores, scores), min_size=1, max_size=30))
def test_the_interval_holds_the_difference(pairs: list[tuple[Fraction, Fraction]]) -> None:
    before, after = [(b,) for b, _ in pairs], [(a,) for _, a in pairs]
    bounds = difference_interval(before, after)
    assert bounds is not None
    difference = float(sum(a - b for b, a in pairs)) / len(pairs)
    assert -1 <= bounds.low <= difference + 1e-9
    assert difference - 1e-9 <= bounds.high <= 1
    mirrored = difference_interval(after, before)
    assert mirrored is not None
    assert (mirrored.low, mirrored.high) == pytest.approx((-bounds.high, -bounds.low))


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ((14, 0, 5, 22), (0.011, 0.226)),  # Altman et al. 2000, Statistics with Confidence, table 6.2
        ((1, 7, 1, 12), (-0.507, -0.026)),  # Bentur et al. 2009, in Fagerland et al. 2014
    ],
)
def test_the_interval_of_proportions_is_newcombes(
    counts: tuple[int, int, int, int], expected: tuple[float, float]
) -> None:
    both, fell, rose, neither = counts
    pairs = [(1, 1)] * both + [(1, 0)] * fell + [(0, 1)] * rose + [(0, 0)] * neither
    bounds = difference_interval([(F(before),) for before, _ in pairs], [(F(after),) for _, after in pairs])
    assert bounds is not None
    assert (bounds.low, bounds.high) == pytest.approx(expected, abs=0.0006)


@given(st.lists(st.lists(scores, min_size=1, max_size=3), min_size=1, max_size=20))
def test_runs_of_few_cases_that_agree_may_still_differ(cases: list[list[Fraction]]) -> None:
    bounds = difference_interval(cases, cases)
    assert bounds is not None
    assert bounds.low < -0.01 < 0.01 < bounds.high


def test_no_cases_no_interval() -> None:
    assert difference_interval([], []) is None


@pytest.mark.parametrize("n", [5, 10, 30, 100])
def test_the_interval_covers_the_true_difference(n: int) -> None:
    """Pairs that share half of what decides them, .5 before and .7 after."""
    rng, held, runs = Random(0), 0, 400
    for _ in range(runs):
        shared = [rng.random() for _ in range(n)]
        draws = [[u if rng.random() < 0.5 else rng.random() for u in shared] for _ in range(2)]
        before, after = [(F(u < 0.5),) for u in draws[0]], [(F(u < 0.7),) for u in draws[1]]
        bounds = difference_interval(before, after)
        assert bounds is not None
        held += bounds.low <= 0.2 <= bounds.high
    assert held / runs >= 0.92
