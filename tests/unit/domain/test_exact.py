from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenteval.domain.exact import at_least, exact, measured


def test_numbers_are_taken_as_written() -> None:
    assert exact(0.7) == exact("0.7") == Fraction(7, 10)
    assert exact("1/3") == Fraction(1, 3)
    assert exact(3) == 3


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), "much", "1/0", True])
def test_what_is_no_number_is_refused(bad: object) -> None:
    with pytest.raises(ValueError, match="number"):
        exact(bad)  # type: ignore[arg-type]


def test_computed_floats_lose_their_noise() -> None:
    assert measured((0.7 + 0.7 + 0.7) / 3) == Fraction(7, 10)  # the float is 0.6999999999999998
    assert measured(Fraction(1, 3)) == Fraction(1, 3)


@given(st.integers(1, 12), st.integers(1, 12), st.integers(0, 100), st.integers(0, 100))
def test_a_weighted_mean_on_its_threshold_passes(a: int, b: int, x: int, y: int) -> None:
    mean = (a * Fraction(x, 100) + b * Fraction(y, 100)) / (a + b)
    assert at_least(mean, mean)
    assert at_least(mean, Fraction(0))
    assert not at_least(mean, mean + Fraction(1, 10**12))


@given(st.integers(0, 1000))
def test_floats_with_few_digits_are_exact_both_ways(thousandths: int) -> None:
    assert measured(thousandths / 1000) == exact(str(thousandths / 1000)) == Fraction(thousandths, 1000)
