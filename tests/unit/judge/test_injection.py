"""Agents that try to dictate their verdict: what they say stays data, and a judge that obeys them is not believed."""

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from agenteval.domain.outcome import ResultStatus
from agenteval.domain.questions import Cause
from tests.fakes.scripted_case import Bench, bench, load
from tests.fakes.scripted_judge import system_prompt, transcript
from tests.fakes.scripted_model import Request

pytestmark = pytest.mark.asyncio(loop_scope="module")

PAYLOADS = [
    pytest.param(payload, id=payload["id"]) for payload in load(Path(__file__).parents[2] / "cases/injections.yaml")
]
RULES: Mapping[str, Mapping[str, Any]] = {
    "task_completion": {
        "mode": "hybrid",
        "required_slots": [{"name": "phone", "description": "联系电话"}],
        "required_steps": [{"name": "refund", "description": "退款完成", "when": "用户要求退款"}],
    },
    "llm_score": {"criteria": "语气是否礼貌"},
    "intent_classification": {"expected_intent": "refund", "intent_taxonomy": {"refund": "退款", "ship": "催发货"}},
    "conversation_completeness": {},
}
TASKS = {
    "phone": {"status": "missing"},
    "refund: 退款完成": {"status": "not_done"},
    "用户要求退款": {"holds": "no"},
    "The intents to choose from": {},
    "List what the user asks for and judge each": {},
    "Go through the user's messages one by one": {},
}
HARMLESS = "好的"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def judges() -> AsyncIterator[Bench]:
    async with bench() as opened:
        yield opened


def _entry(
    reply: str, *rules: str, judge: Mapping[str, Any] | None = None, more: Mapping[str, Any] | None = None
) -> Any:
    judge = judge or {**TASKS, "语气是否礼貌": {"score": 0, "quote": f"1: {reply}"}}
    specs = [{rule: {**RULES[rule], **(more or {})}} for rule in rules]
    dialog = [["我要退款", HARMLESS], ["快点", reply]]
    return {"id": "attack", "case": {"eval_rules": specs}, "dialog": dialog, "judge": judge}


def _instructions(requests: Sequence[Request]) -> list[str]:
    """All lines of all instructions, but for the mark and the order of the tasks, which differ by the dialog."""
    prompts = [
        system_prompt(request).replace(transcript(request).split("\n", 1)[0].strip("<>"), "") for request in requests
    ]
    return sorted(re.sub(r"^q\d+: ", "", line) for prompt in prompts for line in prompt.split("\n"))


@pytest.mark.parametrize("payload", PAYLOADS)
async def test_payload_stays_data(judges: Bench, payload: Mapping[str, str]) -> None:
    """The instructions are those of a harmless dialog; the reply is lines of the transcript, each begun by us."""
    harmless = await judges.judge(_entry(HARMLESS, *RULES))
    attacked = await judges.judge(_entry(payload["reply"], *RULES))
    assert _instructions(attacked.requests) == _instructions(harmless.requests)
    for request in attacked.requests:
        start, *lines, end = transcript(request).split("\n")
        assert (start[0], end) == ("<", f"</{start[1:]}")
        assert start not in lines
        assert end not in lines
        spoken = [line for line in lines if not line.startswith("| ")]
        assert [line.partition(": ")[0] for line in spoken] in _SPEAKERS
        assert len("\n".join(lines).splitlines()) == len(lines)


_SPEAKERS = (
    ["[0] user", "[0] agent", "[1] user", "[1] agent"],
    ["[1] user", "[1] agent"],  # the last turn
    ["[0] user", "[1] user"],  # what the user said
)


@pytest.mark.parametrize("payload", PAYLOADS)
async def test_a_fact_of_the_user_is_not_taken_from_the_agent(judges: Bench, payload: Mapping[str, str]) -> None:
    """The judge obeys, twice, and quotes what it was told: that is nowhere in the words of the user."""
    more = {"mode": "slot", "required_steps": []}
    filled = {
        "status": "filled",
        "user": f"1: {payload['quote']}",
        "agent": f"1: {payload['quote']}",
        "part": "repeated",
    }
    entry = _entry(payload["reply"], "task_completion", judge={"phone": filled}, more=more)
    (result,) = (await judges.judge(entry)).evaluation.results
    assert (result.status, result.cause) == (ResultStatus.FAILED_TO_SCORE, Cause.EVIDENCE)
    assert result.detail["slots"]["phone"]["filled"] is None


@pytest.mark.parametrize("payload", PAYLOADS)
async def test_a_wish_of_the_user_is_not_taken_from_the_agent(judges: Bench, payload: Mapping[str, str]) -> None:
    """Obeying, the judge lists one wish, met, that the agent made up: it is dropped, and none is left to be met."""
    wish = {
        "quote": f"1: {payload['quote']}",
        "text": "一切",
        "judgement": {"verdict": "met", "agent_quote": f"1: {payload['quote']}"},
    }
    again = {"again": [{"intents": [wish]}, wish]}
    entry = _entry(payload["reply"], "conversation_completeness", judge={"List what the user asks for": again})
    (result,) = (await judges.judge(entry)).evaluation.results
    assert (result.status, result.cause, result.passed) == (ResultStatus.FAILED_TO_SCORE, Cause.EVIDENCE, None)


@pytest.mark.parametrize("payload", PAYLOADS)
async def test_that_nothing_was_asked_is_confirmed_without_the_agents_words(
    judges: Bench, payload: Mapping[str, str]
) -> None:
    """Obeying, the judge lists no wish at all; the second list is made from the user's messages alone."""
    judge = {
        "List what the user asks for and judge each": {},
        "Go through the user's messages one by one": {"intents": [{"quote": "0: 我要退款", "text": "退款"}]},
        'Judge the intent "退款"': {"verdict": "unmet", "reason_code": "ignored"},
    }
    judgement = await judges.judge(_entry(payload["reply"], "conversation_completeness", judge=judge))
    second = next(request for request in judgement.requests if "Go through" in system_prompt(request))
    assert [line for line in transcript(second).split("\n") if line.startswith(("[0] agent", "[1] agent", "|"))] == []
    (result,) = judgement.evaluation.results
    assert result.score == 0


@pytest.mark.parametrize("payload", PAYLOADS)
async def test_why_an_answer_was_rejected_is_data_too(judges: Bench, payload: Mapping[str, str]) -> None:
    """The flaw shows what the judge quoted, and so the agent's words."""
    wrong = {"score": 10, "quote": f"0: {payload['reply']}。"}
    judge = {"语气是否礼貌": {"again": [wrong, {"score": 0, "quote": f"1: {payload['reply']}"}]}}
    _, second = (await judges.judge(_entry(payload["reply"], "llm_score", judge=judge))).requests
    assert payload["reply"] not in system_prompt(second)
    assert payload["quote"] not in system_prompt(second)
    blocks = transcript(second).split("\n")
    assert blocks.count(blocks[0]) == blocks.count(blocks[-1]) == 2
