from fractions import Fraction
from typing import Any

import pytest

from agenteval.domain.errors import InputError
from agenteval.domain.outcome import ResultStatus, RuleResult
from agenteval.domain.questions import Answers
from agenteval.domain.scenario import RuleSpec
from agenteval.domain.transcript import Dialog, Turn, TurnStatus
from agenteval.rules.build import build
from tests.fakes.dialogs import CASE, dialog, said


def judge(*turns: Turn, **params: Any) -> RuleResult:
    result = build(RuleSpec("response_time", {"threshold_ms": 1000, **params})).evaluate(
        CASE, dialog(*turns), Answers()
    )
    assert isinstance(result, RuleResult)
    return result


def took(*latencies_ms: float | None, status: TurnStatus = TurnStatus.OK) -> list[Turn]:
    return [said("好的", "查一下天气", latency_ms=ms, status=status) for ms in latencies_ms]


@pytest.mark.parametrize(
    ("latency_ms", "threshold_ms", "score"),
    [
        (999.4, 1000, Fraction(1)),
        (1000, 1000, Fraction(1)),
        (0.1 + 0.2, 0.3, Fraction(1)),
        (1500, 1000, Fraction(2, 3)),
        (4000, "1000", Fraction(1, 4)),
        (0.0, 1, Fraction(1)),
    ],
)
def test_score_falls_beyond_the_threshold(latency_ms: float, threshold_ms: Any, score: Fraction) -> None:
    result = judge(*took(latency_ms), threshold_ms=threshold_ms)
    assert (result.score, result.passed) == (score, score == 1)


@pytest.mark.parametrize(
    ("aggregate", "latencies_ms", "decisive"),
    [
        ("last", [9000, 800], 800),
        ("max", [9000, 800], 9000),
        ("p95", [*range(1, 20), 5000], 19),  # rank 19 of 20
        ("p95", [*range(1, 19), 5000], 5000),  # rank 19 of 19
        ("max", [500, None], 500),
    ],
)
def test_the_aggregate_says_which_time_counts(aggregate: str, latencies_ms: list[float], decisive: float) -> None:
    assert judge(*took(*latencies_ms), aggregate=aggregate).detail["latency_ms"] == decisive


@pytest.mark.parametrize("status", [TurnStatus.TIMEOUT, TurnStatus.ERROR])
@pytest.mark.parametrize("aggregate", ["last", "max", "p95"])
def test_a_failed_turn_scores_0_however_fast_it_failed(status: TurnStatus, aggregate: str) -> None:
    result = judge(*took(5.0), *took(3.0, status=status), aggregate=aggregate)
    assert (result.score, result.passed, result.detail["latency_ms"]) == (Fraction(0), False, None)


def test_an_earlier_failure_does_not_count_for_the_last_turn() -> None:
    assert judge(*took(None, status=TurnStatus.TIMEOUT), *took(5.0)).passed


@pytest.mark.parametrize("turns", [[], took(None), took(5.0, status=TurnStatus.NOT_DELIVERED), took(5.0, None)])
def test_nothing_recorded_is_not_applicable(turns: list[Turn]) -> None:
    result = judge(*turns)
    assert (result.status, result.score) == (ResultStatus.NOT_APPLICABLE, None)


def test_the_reason_tells_time_and_threshold() -> None:
    assert judge(*took(1500)).reason == "最后一轮用时 1500 ms，超过阈值 1000 ms。"
    assert judge(*took(None, status=TurnStatus.TIMEOUT)).reason == "最后一轮没有响应（阈值 1000 ms）。"
    english = said("Sure", "how is the weather", latency_ms=12.3)
    assert judge(english, aggregate="p95").reason == "The p95 turn took 12.3 ms, within 1000 ms."
    assert Dialog((english,)).language == "en"


@pytest.mark.parametrize(
    "params", [{"threshold_ms": 0}, {"threshold_ms": -1}, {"threshold_ms": True}, {"aggregate": "mean"}]
)
def test_bad_parameters_are_refused(params: dict[str, Any]) -> None:
    with pytest.raises(InputError) as refused:
        judge(**params)
    assert f"params/{next(iter(params))}" in str(refused.value)
