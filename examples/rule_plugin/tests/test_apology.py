from collections.abc import Mapping, Sequence

import pytest
from agenteval_apology.apology import Apology, ApologyAnswer, Verdict

from agenteval.domain.outcome import ResultStatus, RuleResult
from agenteval.domain.questions import Answers, Ask, Cause, Judged
from agenteval.domain.scenario import Case
from agenteval.domain.transcript import Dialog, Turn
from agenteval.judge.panel import ByCode, Panel
from agenteval.rules.contract import DIALOGS, Answer, violations

CASE = Case("late", ("我的快递怎么还没到",))


def dialog(reply: str) -> Dialog:
    return Dialog((Turn(0, "我的快递怎么还没到", reply),))


async def without_a_model(talk: Dialog, asks: Sequence[Ask]) -> Mapping[str, Answer]:
    return (await Panel(ByCode()).answer(talk, asks)).answers


async def judge(reply: str, verdict: ApologyAnswer | None = None) -> RuleResult:
    """The result with `verdict` from the judge, or without a judge."""
    rule, talk = Apology(words=("请谅解",)), dialog(reply)
    asks = list(rule.ask(CASE, talk, Answers()))
    answers = dict(await without_a_model(talk, asks))
    if verdict:
        answers = {ask.key: Judged(verdict, "model:test") for ask in asks}
    return rule.evaluate(CASE, talk, Answers(answers))


@pytest.mark.parametrize("reply", ["非常抱歉，明天送到", "我们的失误，请谅解", "Sorry about that!"])
async def test_the_usual_words_need_no_model(reply: str) -> None:
    result = await judge(reply)
    assert result.score == 1
    assert result.evidence[0].text in reply


@pytest.mark.parametrize("reply", ["明天送到", "没什么好抱歉的"])
async def test_everything_else_needs_a_judge(reply: str) -> None:
    result = await judge(reply)
    assert (result.status, result.cause) == (ResultStatus.FAILED_TO_SCORE, Cause.NEEDS_JUDGE)


async def test_the_judges_verdict_counts() -> None:
    missing = await judge("明天送到", ApologyAnswer("没有致歉", Verdict.MISSING, None))
    assert (missing.score, missing.passed, missing.reason) == (0, False, "没有致歉")
    fine = await judge("已经送到了", ApologyAnswer("一切正常", Verdict.NOT_NEEDED, None))
    assert fine.status is ResultStatus.NOT_APPLICABLE


async def test_an_empty_reply_scores_0() -> None:
    assert (await judge(" ")).score == 0


def test_an_apology_needs_a_quote() -> None:
    with pytest.raises(ValueError, match="needs a quote"):
        ApologyAnswer("", Verdict.APOLOGISED, None)


@pytest.mark.parametrize("talk", DIALOGS.values(), ids=DIALOGS.keys())
async def test_it_keeps_the_contract_of_rules(talk: Dialog) -> None:
    assert await violations(Apology(), talk, without_a_model) == []
