"""How often the 95 % interval holds the true rate, simulated over a grid with a fixed seed.

The simulation works on arrays; that it is the product's formula is tested first.
"""

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray

from agenteval.domain.statistics import Z_95, interval

Floats: TypeAlias = NDArray[np.float64]

RATES = (0.2, 0.35, 0.5, 0.65, 0.8)
ICCS = (0.0, 0.3, 0.7, 1.0)
CASES = (10, 20, 50, 100)
REPEATS = range(1, 9)
Cell: TypeAlias = tuple[float, float, int, int]
"""Rate, ICC, cases, repeats."""
Simulate: TypeAlias = Callable[[np.random.Generator, Cell, int], tuple[Floats, Floats]]


def binary(rng: np.random.Generator, rate: float, icc: float, runs: int, cases: int) -> Floats:
    """Each case's own chance to pass: beta-binomial, whose correlation within cases is `icc`."""
    if icc == 0:
        return np.full((runs, cases), rate)
    if icc == 1:
        return (rng.random((runs, cases)) < rate).astype(float)
    spread = (1 - icc) / icc
    return rng.beta(rate * spread, (1 - rate) * spread, (runs, cases))


def bounds(sums: Floats, squares: Floats, repeats: int) -> tuple[Floats, Floats]:
    """The interval of each run, from the sum and the sum of squares of each case's values: (runs, cases)."""
    cases = sums.shape[1]
    total = cases * repeats
    mean = sums.sum(axis=1) / total
    icc = np.ones(len(mean))
    if repeats > 1:
        between = repeats * ((sums / repeats - mean[:, None]) ** 2).sum(axis=1) / (cases - 1)
        within = (squares - sums * sums / repeats).sum(axis=1) / (total - cases)
        spread = between + (repeats - 1) * within
        varies = spread > 1e-12
        icc[varies] = np.clip((between - within)[varies] / spread[varies], 0, 1)
    n = total / (1 + (repeats - 1) * icc)
    centre = (mean + Z_95**2 / (2 * n)) / (1 + Z_95**2 / n)
    half_width = Z_95 / (1 + Z_95**2 / n) * np.sqrt(mean * (1 - mean) / n + Z_95**2 / (4 * n * n))
    return centre - half_width, centre + half_width


def coverage(simulate: Simulate, runs: int) -> dict[Cell, float]:
    rng = np.random.default_rng(0)
    held = {}
    for cell in product(RATES, ICCS, CASES, REPEATS):
        low, high = bounds(*simulate(rng, cell, runs), cell[3])
        held[cell] = float(np.mean((low <= cell[0]) & (cell[0] <= high)))
    return held


def binary_sums(rng: np.random.Generator, cell: Cell, runs: int) -> tuple[Floats, Floats]:
    rate, icc, cases, repeats = cell
    sums = rng.binomial(repeats, binary(rng, rate, icc, runs, cases)).astype(float)
    return sums, sums


def level_sums(rng: np.random.Generator, cell: Cell, runs: int) -> tuple[Floats, Floats]:
    """Success, partial and failure: each repeat is its case's own level with chance √icc, else drawn anew."""
    rate, icc, cases, repeats = cell
    half = min(rate, 1 - rate)
    levels, chances = (0.0, 0.5, 1.0), (1 - rate - half / 2, half, rate - half / 2)

    def drawn() -> Floats:
        return rng.choice(levels, size=(runs, cases), p=chances)

    own, sums, squares = drawn(), np.zeros((runs, cases)), np.zeros((runs, cases))
    for _ in range(repeats):
        value = np.where(rng.random((runs, cases)) < icc**0.5, own, drawn())
        sums += value
        squares += value * value
    return sums, squares


@pytest.mark.parametrize(("cases", "repeats"), [(10, 1), (10, 8), (20, 3)])
def test_the_simulated_formula_is_the_products(cases: int, repeats: int) -> None:
    rng = np.random.default_rng(1)
    for icc in ICCS:
        chances = binary(rng, 0.35, icc, 5, cases)
        passes = (rng.random((5, cases, repeats)) < chances[:, :, None]).astype(int)
        low, high = bounds(passes.sum(axis=2).astype(float), passes.sum(axis=2).astype(float), repeats)
        for run in range(5):
            exact = interval([[Fraction(int(value)) for value in case] for case in passes[run]])
            assert exact is not None
            assert (exact.low, exact.high) == pytest.approx((low[run], high[run]), abs=1e-9)


def test_passing_is_covered_in_93_to_98_per_cent(audit: bool) -> None:
    held = coverage(binary_sums, 20_000 if audit else 1_000)
    assert 0.93 <= sum(held.values()) / len(held) <= 0.98
    assert min(share for (_, _, cases, _), share in held.items() if cases == 10) >= 0.85
    assert min(share for (_, _, cases, _), share in held.items() if cases >= 20) >= 0.89


def test_levels_are_covered_in_92_per_cent(audit: bool) -> None:
    held = coverage(level_sums, 10_000 if audit else 400)
    assert min(held.values()) >= 0.92
