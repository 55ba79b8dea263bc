"""Runs, attempts and what came of them, for tests of engine and storage."""

from collections.abc import Iterable
from datetime import timedelta
from fractions import Fraction
from typing import Any

from agenteval.domain.evidence import Match, Span, Speaker
from agenteval.domain.outcome import CaseOutcome, OutcomeCause, ResultStatus, RuleResult, Source, SuccessLevel
from agenteval.domain.ports import Call, Role, Usage
from agenteval.domain.questions import Answers, Ask, Cause, Flags, Judged, Moderation, Similarity, Unscored
from agenteval.domain.records import AttemptKey, AttemptStarted, CaseRecord, Run, RunCase
from agenteval.domain.scenario import Case, EffectivePolicy, RuleSpec
from agenteval.domain.transcript import Dialog
from tests.fakes.clock import START
from tests.fakes.dialogs import dialog, said

POLICY = EffectivePolicy.of()
SUCCESS = CaseOutcome(
    SuccessLevel.SUCCESS, True, POLICY, Source.LAYERED, has_l2=True, l2_completion=Fraction(4, 5), rules_passed=True
)
UNSCORED = CaseOutcome(
    None,
    None,
    POLICY,
    Source.ERROR,
    OutcomeCause.UNSCORED,
    level_bounds=(SuccessLevel.FAILURE, SuccessLevel.SUCCESS),
    has_l2=True,
    l2_bounds=(Fraction(1, 5), Fraction(1)),
)
NOT_DELIVERED = CaseOutcome(None, None, POLICY, Source.ERROR, OutcomeCause.NOT_DELIVERED)
POLITE = RuleResult(
    "llm_score",
    ResultStatus.SCORED,
    score=Fraction(7, 10),
    passed=True,
    reason="语气礼貌",
    evidence=(Span(1, Speaker.AGENT, 0, 0, 2, "您好", Match.EXACT),),
    detail={"score": 7, "of": 10},
    label="tone",
)
MODEL_FAILED = RuleResult("llm_score", ResultStatus.FAILED_TO_SCORE, cause=Cause.MODEL_ERROR, label="tone")
UNJUDGED = RuleResult("task_completion", ResultStatus.FAILED_TO_SCORE, cause=Cause.NEEDS_JUDGE, label="task")
BOOKING = dialog(said("您好，几位？", "订一张桌子", latency_ms=120.0), said({"text": "好的"}, "四位", latency_ms=80.5))


def run(run_id: str = "run", *, repeats: int = 1, age: timedelta = timedelta()) -> Run:
    return Run(run_id, "订餐", {"seed": 7, "target": {"name": "示例"}}, START - age, repeats)


def places(count: int, messages: tuple[str, ...] = ("订一张桌子", "四位")) -> Iterable[RunCase]:
    rules = (RuleSpec("keyword_match", {"all_of": ["好的"]}),)
    return (RunCase(n, "餐厅", Case(f"case-{n}", messages, rules)) for n in range(count))


def key(n: int = 0, *, repeat: int = 1, attempt: int = 1, run_id: str = "run") -> AttemptKey:
    return AttemptKey(run_id, n, f"case-{n}", repeat, attempt)


def started(of: AttemptKey) -> AttemptStarted:
    return AttemptStarted(of, f"conversation-{of.id}", START)


def record(
    of: AttemptKey,
    outcome: CaseOutcome = SUCCESS,
    *,
    said: Dialog = BOOKING,
    results: tuple[RuleResult, ...] = (POLITE, UNJUDGED),
    failure: str = "",
    cost: Fraction | None = Fraction(1, 3000),
) -> CaseRecord:
    asks: list[Ask] = [Similarity("好的", "可以"), Moderation("好的")]
    answers: dict[str, Judged[Any] | Unscored] = {
        asks[0].key: Unscored(Cause.MODEL_ERROR, failure) if failure else Unscored(Cause.NEEDS_JUDGE),
        asks[1].key: Judged(Flags(("none",)), "model:m", ("call",)),
    }
    return CaseRecord(
        started=started(of),
        dialog=said,
        asks={ask.key: ask for ask in asks},
        answers=Answers(answers),
        calls=(Call("call", Role.MODERATION, "m", "hash", Usage(120, 8, cost), 35.5, '{"flags":[]}'),),
        results=results,
        outcome=outcome,
        finished_at=START + timedelta(seconds=2),
    )
