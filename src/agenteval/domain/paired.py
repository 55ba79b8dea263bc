"""Whether two runs differ, from the cases that both have: exact tests, several measures at once, and how large the
difference may be.

P-values are two-sided. Exact ones are fractions; a simulated one is told as such, with its standard error.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from math import comb, lcm, sqrt
from typing import TypeAlias, TypeVar

from agenteval.domain.statistics import Interval, interval, mean

Name = TypeVar("Name")
Bits: TypeAlias = Callable[[int], int]
"""So many fair bits as a whole number: `random.Random(seed).getrandbits`."""

EXACT_PAIRS = 15
"""Up to so many pairs that differ, every assignment of signs is counted; 2^15 of them."""
RESAMPLES = 20_000


class Method(StrEnum):
    MCNEMAR = "mcnemar_exact"
    PERMUTATION = "permutation_exact"
    SIMULATED = "permutation_monte_carlo"


@dataclass(frozen=True, slots=True)
class PairedTest:
    """`p`: how likely a difference at least as large would be if the runs did not differ, 0..1. `error` is the standard
    error of a simulated `p`; None when it is exact."""

    method: Method
    p: Fraction
    error: float | None = None


def mcnemar(fell: int, rose: int) -> PairedTest:
    """Exact McNemar test of the pairs that changed, in either direction; those that did not change tell nothing.

    Under the null each change is a fair coin: p = min(1, 2·P(Binomial(n, ½) <= min)), McNemar 1947, exact form.
    """
    n = fell + rose
    tail = sum(comb(n, i) for i in range(min(fell, rose) + 1))
    return PairedTest(Method.MCNEMAR, min(Fraction(1), Fraction(2 * tail, 2**n)))


def permutation(differences: Sequence[Fraction], bits: Bits) -> PairedTest:
    """Sign-flip test of the mean of paired differences (Fisher 1935; Pitman 1937): under the null each pair might as
    well have been the other way round.

    Up to EXACT_PAIRS pairs that differ, all assignments are counted. Beyond, RESAMPLES are drawn from `bits`, and
    the observed one counts as drawn, so that p is never 0 (Phipson & Smyth 2010).
    """
    scale = lcm(*(difference.denominator for difference in differences))
    sizes = Counter(abs(int(difference * scale)) for difference in differences if difference)
    observed = abs(int(sum(differences) * scale))
    if sizes.total() <= EXACT_PAIRS:
        as_far = sum(ways for total, ways in _sums(sizes).items() if abs(total) >= observed)
        return PairedTest(Method.PERMUTATION, Fraction(as_far, 2 ** sizes.total()))
    as_far = sum(abs(_drawn(sizes, bits)) >= observed for _ in range(RESAMPLES))
    p = Fraction(as_far + 1, RESAMPLES + 1)
    return PairedTest(Method.SIMULATED, p, sqrt(p * (1 - p) / RESAMPLES))


def _sums(sizes: Mapping[int, int]) -> Counter[int]:
    """How many assignments of signs give each sum."""
    sums = Counter({0: 1})
    for size, count in sizes.items():
        longer: Counter[int] = Counter()
        for total, ways in sums.items():
            for up in range(count + 1):
                longer[total + size * (2 * up - count)] += ways * comb(count, up)
        sums = longer
    return sums


def _drawn(sizes: Mapping[int, int], bits: Bits) -> int:
    """One sum with fair signs; pairs of equal size are drawn together, a bit for each."""
    return sum(size * (2 * bits(count).bit_count() - count) for size, count in sizes.items())


def holm(p_values: Mapping[Name, Fraction]) -> dict[Name, Fraction]:
    """P-values adjusted for looking at several measures at once (Holm 1979): the chance that any of them is called
    different by mistake stays below the level."""
    adjusted: dict[Name, Fraction] = {}
    highest = Fraction(0)
    for rank, (name, p) in enumerate(sorted(p_values.items(), key=lambda item: item[1])):
        highest = max(highest, min(Fraction(1), (len(p_values) - rank) * p))
        adjusted[name] = highest
    return {name: adjusted[name] for name in p_values}


def difference_interval(before: Sequence[Sequence[Fraction]], after: Sequence[Sequence[Fraction]]) -> Interval | None:
    """95 % interval of mean(after) - mean(before), within [-1, 1]; each is the scored repeats of the same cases in the
    same order. None without cases.

    The limits of the two means are combined with the correlation ρ of the cases' means (MOVER, Zou & Donner 2008; for
    proportions method 10 of Newcombe 1998): d - √((a - l_a)² + (u_b - b)² - 2ρ(a - l_a)(u_b - b)) and likewise up.
    """
    first, second = interval(before), interval(after)
    if first is None or second is None:
        return None
    b, a = (float(_grand_mean(values)) for values in (before, after))
    rho = _correlation([_mean(case) for case in before], [_mean(case) for case in after])
    down = _combined(a - second.low, first.high - b, rho)
    up = _combined(second.high - a, b - first.low, rho)
    return Interval(max(-1.0, a - b - down), min(1.0, a - b + up))


def _combined(x: float, y: float, rho: float) -> float:
    return sqrt(max(0.0, x * x + y * y - 2 * rho * x * y))


def _grand_mean(values: Sequence[Sequence[Fraction]]) -> Fraction:
    return _mean([value for case in values for value in case])


def _mean(values: Sequence[Fraction]) -> Fraction:
    average = mean(values)
    if average is None:
        raise ValueError("a paired case has at least one measured value on each side")
    return average


def _correlation(xs: Sequence[Fraction], ys: Sequence[Fraction]) -> float:
    """Pearson's, corrected for continuity where it is above 0, so that runs of few cases that agree are not taken for
    equal: for proportions (ad - bc - n/2)/√..., as in Newcombe's method 10. 0 where one side does not vary."""
    x_mean, y_mean = _mean(xs), _mean(ys)
    xx = sum((x - x_mean) ** 2 for x in xs)
    yy = sum((y - y_mean) ** 2 for y in ys)
    xy = sum((x - x_mean) * (y - y_mean) for x, y in zip(xs, ys, strict=True))
    if xy > 0:
        xy = max(xy - Fraction(1, 2), Fraction(0))
    return float(xy) / sqrt(xx * yy) if xx and yy else 0.0
