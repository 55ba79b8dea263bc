"""Exact numbers: rates stay fractions, so a score on its threshold passes."""

import re
from fractions import Fraction

MEASURED_DIGITS = 9
_FAR = re.compile(r"[eE][+-]?[\d_]{4,}")  # 1e999999999 would be written out, digit by digit


def exact(number: Fraction | float | str) -> Fraction:
    """A number that a person wrote, as written: 0.7 is 7/10. Raises ValueError when it, whatever it is, is not a finite
    number, or so large or small that no float comes near it."""
    if isinstance(number, Fraction):
        return number
    written = str(number)
    try:
        if not _FAR.search(written):
            value = Fraction(written)
            if bool(float(value)) == bool(value):
                return value
    except (ValueError, ArithmeticError):
        pass
    raise ValueError(f"must be a finite number, not {written:.40}")


def measured(number: Fraction | float) -> Fraction:
    """A number that was computed: floats are rounded to 9 digits, so that noise in the last bits decides nothing."""
    return number if isinstance(number, Fraction) else exact(round(number, MEASURED_DIGITS))


def at_least(value: Fraction, threshold: Fraction) -> bool:
    """The one comparison with a threshold; being on it passes, and 0 is a threshold like any other."""
    return value >= threshold


def reaches(low: Fraction, high: Fraction, threshold: Fraction) -> bool | None:
    """Whether a value between the bounds is at least the threshold; None when that depends on where it lies."""
    worst, best = at_least(low, threshold), at_least(high, threshold)
    return worst if worst == best else None
