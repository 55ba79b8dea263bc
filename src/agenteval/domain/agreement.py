"""How far a judge can be trusted, from what people said of the same items."""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

from agenteval.domain.statistics import Z_95, Interval


@dataclass(frozen=True, slots=True)
class Agreement:
    """Of `n` pairs with a verdict on both sides `same` agree; `left_out` have none on one side. `kappa` is None when
    nothing can be said: no pairs, or agreement by chance is certain."""

    n: int
    same: int
    left_out: int
    kappa: Fraction | None


def agreement(pairs: Sequence[tuple[Hashable | None, Hashable | None]]) -> Agreement:
    """Cohen's kappa (Cohen 1960), exact: (p_o - p_e) / (1 - p_e). None in a pair stands for unscored."""
    both = [(a, b) for a, b in pairs if a is not None and b is not None]
    n = len(both)
    same = sum(a == b for a, b in both)
    firsts, seconds = Counter(a for a, _ in both), Counter(b for _, b in both)
    by_chance = sum(count * seconds[label] for label, count in firsts.items())  # of n²
    kappa = Fraction(n * same - by_chance, n * n - by_chance) if n * n != by_chance else None
    return Agreement(n, same, len(pairs) - n, kappa)


@dataclass(frozen=True, slots=True)
class CorrectedRate:
    """A judged rate freed of the judge's errors, with the sensitivity and specificity that people found it to have."""

    rate: float
    interval: Interval
    sensitivity: Fraction
    specificity: Fraction
    reviewed: int


def corrected_rate(
    judged: tuple[int, int], found_positive: tuple[int, int], found_negative: tuple[int, int]
) -> CorrectedRate | None:
    """The true rate of positives, from `judged` (positives, all) and from what people reviewed: `found_positive` are
    the truly positive items (called so by the judge, all), `found_negative` the truly negative ones (called so, all).

    Rogan & Gladen 1978: (p + sp - 1) / (se + sp - 1), clipped to [0, 1]; interval of Lang & Reiczigel 2014. None when a
    reviewed class is empty, nothing was judged, or the judge is no better than chance (se + sp <= 1).
    """
    if not (judged[1] and found_positive[1] and found_negative[1]):
        return None
    se, sp = Fraction(*found_positive), Fraction(*found_negative)
    if se + sp <= 1:
        return None
    rate = (Fraction(*judged) + sp - 1) / (se + sp - 1)
    return CorrectedRate(
        rate=float(min(max(rate, Fraction(0)), Fraction(1))),
        interval=_lang_reiczigel(judged, found_positive, found_negative),
        sensitivity=se,
        specificity=sp,
        reviewed=found_positive[1] + found_negative[1],
    )


def _lang_reiczigel(judged: tuple[int, int], positive: tuple[int, int], negative: tuple[int, int]) -> Interval:
    """Lang & Reiczigel, "Confidence limits for prevalence of disease adjusted for estimated sensitivity and
    specificity", Preventive Veterinary Medicine 113 (2014): each proportion is first drawn towards ½ (the judged one
    by z²/2 of z² more, sensitivity and specificity by 1 of 2 more), then the delta method with the shift dp."""
    z = Z_95
    n, n_positive, n_negative = judged[1] + z * z, positive[1] + 2, negative[1] + 2
    p = (judged[0] + z * z / 2) / n
    se, sp = (positive[0] + 1) / n_positive, (negative[0] + 1) / n_negative
    youden = se + sp - 1
    if youden <= 0:
        return Interval(0.0, 1.0)
    rate = (p + sp - 1) / youden
    shift = 2 * z * z * (rate * se * (1 - se) / n_positive - (1 - rate) * sp * (1 - sp) / n_negative)
    variance = p * (1 - p) / n + rate**2 * se * (1 - se) / n_positive + (1 - rate) ** 2 * sp * (1 - sp) / n_negative
    half_width = z * sqrt(variance) / youden
    low, high = rate + shift - half_width, rate + shift + half_width
    return Interval(min(max(low, 0.0), 1.0), min(max(high, 0.0), 1.0))
