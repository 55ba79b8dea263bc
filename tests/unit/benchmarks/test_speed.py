"""Floor and product on a few conversations, each in a process of its own, and the verdicts on what was measured."""

from pathlib import Path

import pytest

from benchmarks.speed.__main__ import Bench
from benchmarks.speed.figures import TARGETS, Figure, report
from benchmarks.speed.server import counted, fake_model

N = 20
GOOD = {
    **{key: Figure(target.must, N) for key, target in TARGETS.items()},
    "rss_mb_1k": Figure(100, N),
    "rss_mb_100k": Figure(130, N),
}


def test_the_product_scores_every_conversation_with_one_call(tmp_path: Path) -> None:
    with fake_model() as url:
        assert Bench(url, tmp_path, runs=1).product(N)["scored"] == N
        assert counted(url)["requests"] == N


def test_the_floor_makes_one_call_too(tmp_path: Path) -> None:
    with fake_model() as url:
        assert Bench(url, tmp_path, runs=1).floor(N)["cpu_s"] > 0
        assert counted(url)["requests"] == N


def test_each_figure_stands_beside_what_it_must_and_should_be() -> None:
    reported = report(GOOD)
    assert reported["cpu_ratio"] == 5
    assert reported["measured"]["cpu_ratio"] == {"n": N, "must": "<= 5", "aim": "<= 2.5", "result": "ok"}
    assert {each["result"] for each in reported["measured"].values()} == {"ok"}


@pytest.mark.parametrize(
    ("key", "value"), [("cpu_ratio", 5.1), ("in_flight", 94), ("rss_mb_100k", 130.5), ("lost_under_faults", 1)]
)
def test_a_figure_beyond_its_limit_is_missed_and_no_other(key: str, value: float) -> None:
    measured = report({**GOOD, key: Figure(value, N)})["measured"]
    assert [name for name, each in measured.items() if each["result"] == "missed"] == [key]
