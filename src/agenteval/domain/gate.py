"""What a run must reach to pass in a build."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from agenteval.domain.comparison import Change, Comparison
from agenteval.domain.exact import at_least
from agenteval.domain.run_summary import MeasureName, RunSummary

LEVEL = Fraction(1, 20)
"""A drop that chance would bring about less often is a regression."""


class Demand(StrEnum):
    MIN_SUCCESS_RATE = "min_success_rate"
    MIN_PASS_RATE = "min_pass_rate"  # noqa: S105
    MAX_UNSCORED = "max_unscored"
    NO_REGRESSION = "no_regression"


_RATES = {Demand.MIN_SUCCESS_RATE: MeasureName.SUCCESS_RATE, Demand.MIN_PASS_RATE: MeasureName.PASS_RATE}


@dataclass(frozen=True, slots=True)
class Gate:
    """What is demanded; None: not. `max_unscored` is a number of attempts, and 0 once anything is demanded."""

    min_success_rate: Fraction | None = None
    min_pass_rate: Fraction | None = None
    max_unscored: int | None = None
    no_regression: bool = False

    def __bool__(self) -> bool:
        return self != Gate()


@dataclass(frozen=True, slots=True)
class Check:
    """One demand and whether it was met. `found` is a rate, a number of attempts, or None when there is nothing to
    compare; `wanted` likewise, None for a regression, whose `dropped` measures are told instead."""

    demand: Demand
    met: bool
    found: Fraction | int | None = None
    wanted: Fraction | int | None = None
    dropped: tuple[Change, ...] = ()


def check(gate: Gate, summary: RunSummary, since: Comparison | None = None) -> tuple[Check, ...]:
    """`since` is the comparison with the run that must not be fallen behind. A rate that was not measured reaches
    nothing, and a run that shares no measured case with the other cannot be said not to have fallen behind."""
    return tuple(_checks(gate, summary, since)) if gate else ()


def _checks(gate: Gate, summary: RunSummary, since: Comparison | None) -> Iterator[Check]:
    for demand, name in _RATES.items():
        wanted: Fraction | None = getattr(gate, demand)
        if wanted is not None:
            found: Fraction | None = getattr(summary, name).value
            yield Check(demand, found is not None and at_least(found, wanted), found, wanted)
    unscored, allowed = summary.success_rate.of - summary.success_rate.n, gate.max_unscored or 0
    yield Check(Demand.MAX_UNSCORED, unscored <= allowed, unscored, allowed)
    if gate.no_regression:
        changes = since.changes if since else ()
        dropped = tuple(change for change in changes if is_regression(change))
        pairs = max((change.pairs for change in changes), default=0)
        yield Check(Demand.NO_REGRESSION, pairs > 0 and not dropped, pairs, dropped=dropped)


def is_regression(change: Change) -> bool:
    """A drop that chance does not explain. Of so few pairs that no drop could ever be told from chance, every drop is
    one."""
    if change.difference is None or change.difference >= 0:
        return False
    return one_sided(change) < LEVEL or Fraction(1, 2**change.pairs) >= LEVEL


def one_sided(change: Change) -> Fraction:
    """How likely so large a drop would be by chance: half the two-sided p."""
    return Fraction(1) if change.test is None else change.test.p / 2
