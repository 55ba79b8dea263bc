from fractions import Fraction
from typing import Any

import pytest

from agenteval.domain.errors import InputError
from agenteval.domain.forms import load
from agenteval.domain.outcome import ResultStatus, RuleResult
from agenteval.domain.questions import DIALOG, LAST_TURN, Answers, Ask, Cause, Judged, Question, Unscored
from agenteval.domain.scenario import RuleSpec
from agenteval.domain.transcript import Dialog, TurnStatus
from agenteval.judge.panel import Panel
from agenteval.rules import EvalRule
from agenteval.rules.build import build
from agenteval.rules.builtin.llm_score import Grade
from tests.fakes.dialogs import CASE, dialog, said
from tests.fakes.scripted_panel import Answer, ScriptedStep, Tries

TALK = dialog(("查酒店", "已查到三家酒店"), ("订第二家", "好的，已为您预订，祝您入住愉快！"))
GOOD = {"reason": "语气礼貌", "quote": {"turn": 1, "text": "祝您入住愉快"}, "score": 8}


def rule(**params: Any) -> EvalRule:
    return build(RuleSpec("llm_score", {"criteria": "语气礼貌", **params}))


async def judge(answer: Answer, talk: Dialog = TALK, **params: Any) -> RuleResult:
    asks = list(rule(**params).ask(CASE, talk, Answers()))
    said = await Panel(ScriptedStep(lambda _: answer)).answer(talk, asks)
    result = rule(**params).evaluate(CASE, talk, Answers(said.answers))
    assert isinstance(result, RuleResult)
    return result


def question(**params: Any) -> Question[Any]:
    (ask,) = rule(**params).ask(CASE, TALK, Answers())
    assert isinstance(ask, Question)
    return ask


@pytest.mark.parametrize(
    ("points", "min_score", "passed"),
    [(8, 7, True), (7, 7, True), (6, 7, False), (7, 7.5, False), (0, 0, True), (10, 10, True)],
)
async def test_points_are_a_tenth_each_and_pass_at_min_score(points: int, min_score: float, *, passed: bool) -> None:
    result = await judge({**GOOD, "score": points}, min_score=min_score)
    assert (result.score, result.passed) == (Fraction(points, 10), passed)


async def test_the_result_carries_reason_quote_and_points() -> None:
    result = await judge(GOOD)
    assert result.reason == "8/10 (>= 7)：语气礼貌"
    assert [(span.turn, span.text) for span in result.evidence] == [(1, "祝您入住愉快")]
    assert result.detail == {"points": 8, "min_score": 7.0}


async def test_what_is_noteworthy_of_the_answer_is_told() -> None:
    grade = load(Grade, GOOD)
    result = await judge(Judged(grade, "model:m", turns_seen=((0, 1),), votes=(("8", 2), ("3", 1)), repaired=True))
    assert result.detail["votes"] == {"8": 2, "3": 1}
    assert (result.detail["turns_seen"], result.detail["repaired"]) == ([[0, 1]], True)


@pytest.mark.parametrize(
    ("answer", "cause"),
    [
        ({**GOOD, "score": 11}, Cause.SCHEMA),
        ({**GOOD, "score": -1}, Cause.SCHEMA),
        ({**GOOD, "score": "8"}, Cause.SCHEMA),
        ({**GOOD, "score": 0.8}, Cause.SCHEMA),
        ({**GOOD, "score": True}, Cause.SCHEMA),
        ({"reason": "8 分", "quote": GOOD["quote"]}, Cause.SCHEMA),
        ({**GOOD, "quote": None}, Cause.SCHEMA),
        ({**GOOD, "quote": {"turn": 1, "text": "非常抱歉"}}, Cause.EVIDENCE),
        ({**GOOD, "quote": {"turn": 1, "text": "订第二家"}}, Cause.EVIDENCE),
        (Unscored(Cause.TIE), Cause.TIE),
        (None, Cause.NEEDS_JUDGE),
    ],
)
async def test_what_is_not_a_verified_grade_is_no_score(answer: Answer, cause: Cause) -> None:
    result = await judge(answer)
    assert (result.status, result.cause, result.score) == (ResultStatus.FAILED_TO_SCORE, cause, None)
    assert result.reason.startswith("未评分：")


async def test_a_second_answer_repairs_the_first() -> None:
    assert (await judge(Tries({**GOOD, "score": 11}, GOOD))).score == Fraction(4, 5)


def test_the_scope_is_what_the_judge_sees() -> None:
    assert question().view == LAST_TURN
    assert question(evaluation_scope="full_dialog").view == DIALOG


def test_the_question_is_the_criteria_and_its_guide_the_prompt_with_the_examples() -> None:
    asked = question(examples=["“好的” - 5", "“不知道” - 0"], samples=3)
    assert (asked.text, asked.samples) == ("语气礼貌", 3)
    assert asked.guide.endswith("Examples:\n- “好的” - 5\n- “不知道” - 0")
    assert len(question().guide) < 400


def test_votes_compare_the_points_alone() -> None:
    grades = [question().form(reason, None, points) for reason, points in (("a", 8), ("b", 8), ("a", 7))]
    assert grades[0].ballot() == grades[1].ballot() != grades[2].ballot()


@pytest.mark.parametrize(
    ("talk", "scope", "reason"),
    [
        (dialog(("你好", "您好"), ("在吗", " ")), "last_turn", "空回复。"),
        (dialog(("你好", None), ("在吗", "")), "full_dialog", "空回复：整个对话中没有任何回复。"),
        (
            dialog(said("partial", "hello there", status=TurnStatus.ERROR)),
            "last_turn",
            "No reply: the agent failed.",
        ),
        (Dialog(()), "full_dialog", "Empty reply: the agent said nothing in the whole dialog."),
    ],
)
async def test_an_empty_reply_scores_0_without_a_question(talk: Dialog, scope: str, reason: str) -> None:
    asks: list[Ask] = list(rule(evaluation_scope=scope).ask(CASE, talk, Answers()))
    assert not asks
    result = await judge(None, talk, evaluation_scope=scope)
    assert (result.score, result.passed, result.reason) == (Fraction(0), False, reason)
    assert (await judge(None, talk, evaluation_scope=scope, min_score=0)).passed is True


async def test_one_empty_reply_among_others_is_judged_in_the_full_dialog() -> None:
    talk = dialog(("你好", "您好"), ("在吗", ""))
    answer = {"reason": "x", "quote": {"turn": 0, "text": "您好"}, "score": 3}
    assert (await judge(answer, talk, evaluation_scope="full_dialog")).score == Fraction(3, 10)


def test_punctuation_is_a_reply() -> None:
    assert list(rule().ask(CASE, dialog(("你好", "？")), Answers()))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"criteria": " "}, "criteria is blank"),
        ({"examples": ["a", ""]}, "examples[1] is blank"),
        ({"min_score": 11}, "less than or equal to 10"),
        ({"samples": 2}, "1, 3 or 5"),
        ({"evaluation_scope": "all"}, "last_turn"),
    ],
)
def test_bad_parameters_are_refused(params: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as refused:
        rule(**params)
    assert message in str(refused.value)
