"""What an agent must have said for a step with keywords to be done."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
import yaml

from agenteval.rules.completion.forms import StepVerdict
from agenteval.rules.completion.items import Step
from agenteval.rules.completion.steps import by_code
from tests.fakes.scripted_case import dialog_of

CLAIMS: Mapping[str, Sequence[str]] = yaml.safe_load(
    Path(__file__).parents[3].joinpath("cases/claims.yaml").read_text("utf-8")
)


@pytest.mark.parametrize(("status", "marked"), [(status, said) for status in CLAIMS for said in CLAIMS[status]])
def test_a_step_is_done_only_where_the_agent_claims_it(status: str, marked: str) -> None:
    before, keyword, after = marked.replace("]", "[").split("[")
    answer = by_code(Step("step", "", keywords=(keyword,)), dialog_of([["", before + keyword + after]]))
    assert answer is not None
    assert answer.status == status


@pytest.mark.parametrize(
    ("name", "description", "keyword", "reply"),
    [
        ("ask_reason", "", "what is wrong", "May I ask what is wrong with it?"),
        ("reason", "the agent asks for the reason of the return", "reason", "What is the reason for your return?"),
        ("原因", "询问退货原因", "退货原因", "请问退货原因是什么？"),
        ("确认", "追问故障现象", "什么现象", "出现了什么现象呢？"),
    ],
)
def test_a_question_does_a_step_that_is_to_ask(name: str, description: str, keyword: str, reply: str) -> None:
    dialog = dialog_of([["", reply]])
    asked = by_code(Step(name, description, keywords=(keyword,)), dialog)
    told = by_code(Step("told", "the task is done 处理问题", keywords=(keyword,)), dialog)
    assert (asked and asked.status, told and told.status) == (StepVerdict.DONE, StepVerdict.NOT_DONE)


def test_asking_does_not_excuse_a_denial() -> None:
    dialog = dialog_of([["", "I cannot ask what is wrong."]])
    asked = by_code(Step("ask", "ask what is wrong", keywords=("what is wrong",)), dialog)
    assert asked
    assert asked.status is StepVerdict.NOT_DONE
