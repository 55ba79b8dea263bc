from fractions import Fraction
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import cohens_kappa

from agenteval.domain.agreement import agreement, corrected_rate

F = Fraction


def test_kappa_by_hand() -> None:
    """20 yes/yes, 5 yes/no, 10 no/yes, 15 no/no: p_o = 35/50, p_e = (25·30 + 25·20)/2500 = 1/2, kappa = .2/.5."""
    pairs = [("yes", "yes")] * 20 + [("yes", "no")] * 5 + [("no", "yes")] * 10 + [("no", "no")] * 15
    found = agreement(pairs)
    assert (found.n, found.same, found.left_out, found.kappa) == (50, 35, 0, F(2, 5))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=40))
def test_kappa_is_that_of_statsmodels(pairs: list[tuple[int, int]]) -> None:
    found = agreement(pairs)
    if found.kappa is None:
        assert len({label for pair in pairs for label in pair}) == 1
        return
    table = np.zeros((4, 4))
    for pair in pairs:
        table[pair] += 1
    assert float(found.kappa) == pytest.approx(cohens_kappa(table, return_results=False), abs=1e-12)


def test_what_one_side_left_unscored_is_counted_and_left_out() -> None:
    found = agreement([("met", "met"), (None, "met"), ("unmet", None), ("unmet", "unmet")])
    assert (found.n, found.left_out, found.kappa) == (2, 2, F(1))


@pytest.mark.parametrize("pairs", [[], [("met", "met")] * 5, [(None, "met")]])
def test_without_chance_to_disagree_there_is_no_kappa(pairs: list[tuple[str | None, str | None]]) -> None:
    assert agreement(pairs).kappa is None


def test_the_corrected_rate_by_hand() -> None:
    """60 of 100 judged positive, se 9/10, sp 8/10: (.6 + .8 - 1) / (.9 + .8 - 1) = 4/7."""
    found = corrected_rate((60, 100), (9, 10), (8, 10))
    assert found is not None
    assert found.rate == pytest.approx(4 / 7)
    assert (found.sensitivity, found.specificity, found.reviewed) == (F(9, 10), F(8, 10), 20)
    assert found.interval.low < 4 / 7 < found.interval.high


@pytest.mark.parametrize(
    ("judged", "positive", "negative"),
    [((0, 0), (9, 10), (8, 10)), ((6, 10), (0, 0), (8, 10)), ((6, 10), (9, 10), (0, 0)), ((6, 10), (5, 10), (5, 10))],
    ids=["nothing judged", "no positive reviewed", "no negative reviewed", "no better than chance"],
)
def test_what_cannot_be_corrected_is_null(
    judged: tuple[int, int], positive: tuple[int, int], negative: tuple[int, int]
) -> None:
    assert corrected_rate(judged, positive, negative) is None


def test_a_rate_beyond_the_judges_errors_ends_at_the_edge() -> None:
    found = corrected_rate((1, 100), (9, 10), (8, 10))
    assert found is not None
    assert (found.rate, found.interval.low) == (0.0, 0.0)


@pytest.mark.parametrize("truth", [0.2, 0.5, 0.8])
def test_the_interval_covers_the_truth(truth: float) -> None:
    """A judge of sensitivity .9 and specificity .8, 200 items judged, 40 of each class reviewed."""
    rng, runs, held = Random(0), 1_000, 0
    for _ in range(runs):
        judged = sum(rng.random() < (0.9 if rng.random() < truth else 0.2) for _ in range(200))
        positive, negative = (sum(rng.random() < share for _ in range(40)) for share in (0.9, 0.8))
        found = corrected_rate((judged, 200), (positive, 40), (negative, 40))
        held += found is not None and found.interval.low <= truth <= found.interval.high
    assert 0.93 <= held / runs <= 0.985
