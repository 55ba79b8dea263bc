"""What is measured, and what it has to be."""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple


class Target(NamedTuple):
    """`must` and `aim` are limits, from above or below."""

    way: Literal["<=", ">="]
    must: float
    aim: float

    def met_by(self, value: float) -> bool:
        return value <= self.must if self.way == "<=" else value >= self.must


class Figure(NamedTuple):
    """A measured value; `n`: of how many conversations, or program starts."""

    value: float
    n: int


TARGETS = {
    "cpu_ratio": Target("<=", 5, 2.5),
    "wall_over_ideal": Target("<=", 1.25, 1.1),
    "in_flight": Target(">=", 95, 100),
    "calls_per_conversation": Target("<=", 1, 1),
    "prompt_overhead_chars": Target("<=", 1600, 1000),
    "rss_mb_1k": Target("<=", 150, 100),
    "growth_100k": Target("<=", 1.15, 1.05),
    "rule_only_per_s": Target(">=", 10_000, 20_000),
    "help_over_aiohttp": Target("<=", 1.0, 0.4),
    "lost_under_faults": Target("<=", 0, 0),
    "calls_under_faults": Target("<=", 1.12, 1.12),
    "wall_under_faults": Target("<=", 1.0, 1.0),
}
RSS_GROWTH_MB = 30


def target_of(key: str, figures: Mapping[str, Figure]) -> Target:
    """Memory at 100,000 conversations is measured against that at 1,000."""
    if key == "rss_mb_100k":
        flat = figures["rss_mb_1k"].value
        return Target("<=", flat + RSS_GROWTH_MB, flat)
    return TARGETS[key]


def report(figures: Mapping[str, Figure]) -> dict[str, Any]:
    """The values by key, and under `measured` what each was measured on and against."""
    measured = {}
    for key, (value, n) in figures.items():
        way, must, aim = target = target_of(key, figures)
        result = "ok" if target.met_by(value) else "missed"
        measured[key] = {"n": n, "must": f"{way} {must:g}", "aim": f"{way} {aim:g}", "result": result}
    return {**{key: round(figure.value, 3) for key, figure in figures.items()}, "measured": measured}


def lines(reported: Mapping[str, Any]) -> list[str]:
    return [
        f"{key:<24}{reported[key]:>12,.10g}   must {each['must']:<9} aim {each['aim']:<9} {each['result']:<7}"
        f" n {each['n']:,}"
        for key, each in reported["measured"].items()
    ]
