"""response_time: how long the agent took to answer."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from agenteval.domain.exact import measured
from agenteval.domain.outcome import ONE, ZERO, RuleResult
from agenteval.domain.questions import Answers
from agenteval.domain.scenario import Case
from agenteval.domain.statistics import percentile_nearest_rank
from agenteval.domain.text import Language
from agenteval.domain.transcript import Dialog, Turn, TurnStatus
from agenteval.rules import EvalRule, register_rule
from agenteval.rules.params import Milliseconds
from agenteval.rules.reasons import say

NEVER = float("inf")


@register_rule
@dataclass(frozen=True)
class ResponseTime(EvalRule):
    """The time to the last reply, or the longest (`max`) or the 95th percentile (`p95`, nearest rank) of all turns.

    Score: 1 within the threshold, beyond it threshold / time. A turn that timed out or failed took forever: 0. It
    passes within the threshold. Turns without a recorded time do not count; without any the rule is not applicable.
    """

    name = "response_time"
    version = "1"

    threshold_ms: Milliseconds
    aggregate: Literal["last", "max", "p95"] = "last"

    def evaluate(self, case: Case, dialog: Dialog, answers: Answers) -> RuleResult:
        turns = dialog.turns[-1:] if self.aggregate == "last" else dialog.turns
        taken = [latency for turn in turns if (latency := _latency_ms(turn)) is not None]
        slowest = _aggregate(self.aggregate, taken)
        if slowest is None:
            return self.not_applicable(say(dialog.language, "没有记录响应时间。", "No response time was recorded."))
        score = _score(slowest, self.threshold_ms)
        return self.scored(
            score,
            passed=score == ONE,
            reason=self._reason(slowest, dialog.language),
            detail={
                "latency_ms": None if slowest == NEVER else slowest,
                "threshold_ms": float(self.threshold_ms),
                "aggregate": self.aggregate,
                "turns": len(taken),
                "failed_turns": taken.count(NEVER),
            },
        )

    def _reason(self, latency_ms: float, language: Language) -> str:
        turn = say(language, *_TURNS[self.aggregate])
        limit = f"{float(self.threshold_ms):.12g} ms"
        if latency_ms == NEVER:
            return say(
                language, f"{turn}没有响应（阈值 {limit}）。", f"The {turn} got no response (threshold {limit})."
            )
        taken = f"{round(latency_ms, 1):.12g} ms"
        if measured(latency_ms) <= self.threshold_ms:
            return say(
                language, f"{turn}用时 {taken}，不超过阈值 {limit}。", f"The {turn} took {taken}, within {limit}."
            )
        return say(language, f"{turn}用时 {taken}，超过阈值 {limit}。", f"The {turn} took {taken}, over {limit}.")


_TURNS = {
    "last": ("最后一轮", "last turn"),
    "max": ("最慢的一轮", "slowest turn"),
    "p95": ("p95 轮次", "p95 turn"),
}


def _latency_ms(turn: Turn) -> float | None:
    """None when nothing was measured: not recorded, or the message never reached the agent."""
    if turn.status in {TurnStatus.TIMEOUT, TurnStatus.ERROR}:
        return NEVER
    return turn.latency_ms if turn.status is TurnStatus.OK else None


def _aggregate(kind: str, latencies_ms: Sequence[float]) -> float | None:
    if kind == "p95":
        return percentile_nearest_rank(latencies_ms, 95)
    return max(latencies_ms, default=None)


def _score(latency_ms: float, threshold_ms: Fraction) -> Fraction:
    if latency_ms == NEVER:
        return ZERO
    latency = measured(latency_ms)
    return ONE if latency <= threshold_ms else threshold_ms / latency
