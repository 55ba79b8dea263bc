"""Numbers as people write them."""

from fractions import Fraction
from typing import Any

import pytest

from agenteval.domain.exact import exact, reaches


@pytest.mark.parametrize(
    ("written", "value"),
    [
        (0.7, Fraction(7, 10)),
        ("0.70", Fraction(7, 10)),
        (1, Fraction(1)),
        ("1/3", Fraction(1, 3)),
        ("1e-3", Fraction(1, 1000)),
    ],
)
def test_a_number_is_what_was_written(written: float | str, value: Fraction) -> None:
    assert exact(written) == value


@pytest.mark.parametrize(
    "written",
    [
        "",
        "one",
        "nan",
        float("inf"),
        "1/0",
        True,
        "9" * 5000,
        "1e999999999",
        "1E-99999999",
        "1e400",
        "-1e400",
        "1e-400",
        "1" + "0" * 400,
        [1],
        None,
    ],
)
def test_what_is_no_number_or_would_never_end_is_refused(written: Any) -> None:
    with pytest.raises(ValueError, match="must be a finite number, not"):
        exact(written)


@pytest.mark.parametrize(
    ("low", "high", "threshold", "answer"),
    [
        ("0", "1", "0", True),
        ("0.8", "0.9", "0.8", True),
        ("0.5", "0.79", "0.8", False),
        ("0.5", "0.8", "0.8", None),
        ("1/3", "1/3", "1/3", True),
    ],
)
def test_bounds_reach_a_threshold_when_all_between_them_does(
    low: str, high: str, threshold: str, answer: bool | None
) -> None:
    assert reaches(Fraction(low), Fraction(high), Fraction(threshold)) is answer
