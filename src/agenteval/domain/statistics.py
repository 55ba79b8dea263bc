"""Summaries of many attempts: means, intervals, agreement between repeats, pass^k and pass@k, percentiles.

Rates are exact fractions; only the bounds of an interval are floats, because the formula takes a square root.
Nothing scored gives None, never 0.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb, sqrt
from statistics import NormalDist
from typing import TypeVar

Number = TypeVar("Number", int, float, Fraction)

Z_95 = NormalDist().inv_cdf(0.975)
"""Two-sided 95 % quantile of the normal distribution, Φ⁻¹(.975) = 1.95996..."""


@dataclass(frozen=True, slots=True)
class Interval:
    """Two-sided 95 % confidence interval of a rate, 0 <= low <= high <= 1."""

    low: float
    high: float


def mean(values: Sequence[Fraction]) -> Fraction | None:
    """Arithmetic mean; None when there is nothing to average."""
    return sum(values, Fraction(0)) / len(values) if values else None


def icc1(values_by_case: Sequence[Sequence[Fraction]]) -> Fraction:
    """How alike the repeats of one case are: intraclass correlation ICC(1), clipped to [0, 1].

    One-way analysis of variance (MSB between, MSW within cases) with k cases of n_i scored repeats, N together:
    (MSB - MSW) / (MSB + (n0 - 1)·MSW), n0 = (N - Σn_i²/N) / (k - 1). Shrout & Fleiss 1979 for equal n_i; n0 for
    unequal n_i: Donner 1986. Cases without a scored repeat do not count.

    1 when undefined (fewer than 2 cases, no repeats within cases, or all values equal): repeats are then taken to
    add nothing, which is the cautious side for an interval.
    """
    cases = [case for case in values_by_case if case]
    sizes = [len(case) for case in cases]
    k, total = len(cases), sum(sizes)
    if k < 2 or total == k:
        return Fraction(1)
    case_means = [sum(case, Fraction(0)) / len(case) for case in cases]
    grand_mean = sum((value for case in cases for value in case), Fraction(0)) / total
    between = sum((n * (m - grand_mean) ** 2 for n, m in zip(sizes, case_means, strict=True)), Fraction(0)) / (k - 1)
    within = sum(
        ((value - m) ** 2 for case, m in zip(cases, case_means, strict=True) for value in case), Fraction(0)
    ) / (total - k)
    n0 = (total - Fraction(sum(n * n for n in sizes), total)) / (k - 1)
    spread = between + (n0 - 1) * within
    return max(Fraction(0), (between - within) / spread) if spread else Fraction(1)


def effective_n(values_by_case: Sequence[Sequence[Fraction]]) -> Fraction:
    """How many independent scores say as much as the scored repeats of each case do: N / (1 + (r - 1)·ρ), the design
    effect of Kish 1965, where r is the mean number of repeats per case and ρ = `icc1`. 0 when nothing was scored."""
    cases = [case for case in values_by_case if case]
    total = sum(len(case) for case in cases)
    return total / (1 + (Fraction(total, len(cases)) - 1) * icc1(cases)) if cases else Fraction(0)


def interval(values_by_case: Sequence[Sequence[Fraction]]) -> Interval | None:
    """95 % interval of the mean of scores in [0, 1], given as the scored repeats of each case.

    Wilson 1927 with p = mean of all N repeats (conservative for means on [0, 1]: their variance is at most p(1 - p))
    and n = `effective_n`. None when nothing was scored.
    """
    average = mean([value for case in values_by_case for value in case])
    if average is None:
        return None
    n = float(effective_n(values_by_case))
    p = float(average)
    centre = (p + Z_95**2 / (2 * n)) / (1 + Z_95**2 / n)
    half_width = Z_95 / (1 + Z_95**2 / n) * sqrt(float(average * (1 - average)) / n + Z_95**2 / (4 * n * n))
    # The formula never leaves [0, 1] nor excludes p; its last float digit can.
    return Interval(max(0.0, min(centre - half_width, p)), min(1.0, max(centre + half_width, p)))


def pass_hat_k(counts: Sequence[tuple[int, int]], k: int) -> tuple[Fraction | None, int]:
    """pass^k: the chance that all of k repeats pass, from (n scored, c passed) per case, and the cases left out.

    Mean over cases of C(c, k) / C(n, k) (tau-bench, Yao et al. 2024). Cases with n < k are left out and counted;
    None when none remains.
    """
    return _mean_over_cases(counts, k, lambda n, c: Fraction(comb(c, k), comb(n, k)))


def pass_at_k(counts: Sequence[tuple[int, int]], k: int) -> tuple[Fraction | None, int]:
    """pass@k: the chance that at least one of k repeats passes, from (n scored, c passed) per case.

    Mean over cases of 1 - C(n - c, k) / C(n, k) (Chen et al. 2021). Cases with n < k are left out and counted;
    None when none remains.
    """
    return _mean_over_cases(counts, k, lambda n, c: 1 - Fraction(comb(n - c, k), comb(n, k)))


def disagreement(groups: Iterable[Collection[int]]) -> tuple[Fraction | None, int]:
    """How likely two of one group differ, and over how many groups; each is given as how many of it said what.

    Mean of 1 - Σ c(c - 1) / (n(n - 1)), the unbiased index of Simpson 1949. Groups of one are left out; None when
    none remains.
    """
    found = []
    for counts in groups:
        pairs = sum(counts) * (sum(counts) - 1)
        if pairs:
            found.append(1 - Fraction(sum(count * (count - 1) for count in counts), pairs))
    return mean(found), len(found)


def percentile_nearest_rank(values: Sequence[Number], percent: int) -> Number | None:
    """The smallest recorded value with at least `percent` (1..100) per cent of the values at or below it.

    None when nothing was recorded.
    """
    if not 1 <= percent <= 100:
        raise ValueError(f"percent must be within 1..100, not {percent}")
    return sorted(values)[-(-percent * len(values) // 100) - 1] if values else None


def _mean_over_cases(
    counts: Sequence[tuple[int, int]], k: int, estimate: Callable[[int, int], Fraction]
) -> tuple[Fraction | None, int]:
    if k < 1:
        raise ValueError(f"k must be at least 1, not {k}")
    estimates = [estimate(n, c) for n, c in counts if n >= k]
    return mean(estimates), len(counts) - len(estimates)
