"""The contract of rules over every rule that is registered."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import jsonschema_rs
import pytest

from agenteval.domain.questions import Ask
from agenteval.domain.scenario import RuleSpec
from agenteval.domain.transcript import Dialog
from agenteval.judge.panel import ByCode, Panel
from agenteval.plugins import parameters_schema
from agenteval.rules import RULES
from agenteval.rules.build import build
from agenteval.rules.contract import DIALOGS, Answer, leaks, violations


class Example(NamedTuple):
    """Parameters that can be used, and those expected values in them that no judge may see."""

    params: Mapping[str, Any]
    secrets: tuple[str, ...] = ()


EXAMPLES: Mapping[str, Sequence[Example]] = {
    "keyword_match": [
        Example({"all_of": ["好的"], "any_of": ["a", "b"], "none_of": ["抱歉"], "regex": [r"\d{3,}"]}),
        Example({"all_of": ["Booked"], "evaluation_scope": "full_dialog"}),
    ],
    "response_time": [Example({"threshold_ms": 1000}), Example({"threshold_ms": 1000, "aggregate": "p95"})],
    "json_schema": [Example({"schema": {"type": "object", "properties": {"a": {"type": "array"}}}})],
    "semantic_similarity": [Example({"reference": "已经订好了"})],
    "safety": [Example({"words": ["笨蛋"]}), Example({"pii": []})],
    "llm_score": [
        Example({"criteria": "礼貌"}),
        Example({"criteria": "polite", "evaluation_scope": "full_dialog", "samples": 3, "examples": ["好的 - 5"]}),
    ],
    "intent_classification": [
        Example({"intent_taxonomy": {"book": "订票", "cancel": "退票"}, "expected_intent": "book"}),
        Example(
            {
                "intent_taxonomy": {"book": "订票", "cancel": "退票"},
                "expected_intents": [{"turn_index": 0, "intent": "book"}],
            }
        ),
    ],
    "task_completion": [
        Example(
            {
                "mode": "hybrid",
                "required_slots": [
                    {"name": "phone", "description": "电话", "type": "phone", "expected_value": "13912345678"},
                    {"name": "city", "description": "目的地", "expected_value": ["Urumqi", "乌鲁木齐"]},
                    {"name": "day", "description": "日期", "type": "date"},
                ],
                "required_steps": [
                    {"name": "ask", "description": "询问日期"},
                    {"name": "book", "description": "确认订票", "keywords": ["订好了"], "tool": {"name": "book"}},
                ],
            },
            secrets=("13912345678", "Urumqi", "乌鲁木齐"),
        )
    ],
    "conversation_completeness": [Example({}), Example({"intents": ["订票"]}), Example({"stable_intents": True})],
}
PAIRS = [
    pytest.param(name, example, id=f"{name}-{i}")
    for name in RULES.names
    for i, example in enumerate(EXAMPLES.get(name, ()))
]


async def without_a_model(dialog: Dialog, asks: Sequence[Ask]) -> Mapping[str, Answer]:
    return (await Panel(ByCode()).answer(dialog, asks)).answers


@pytest.mark.parametrize("name", RULES.names)
def test_every_rule_has_an_example_here(name: str) -> None:
    assert EXAMPLES.get(name)


@pytest.mark.parametrize("dialog", DIALOGS.values(), ids=DIALOGS.keys())
@pytest.mark.parametrize(("name", "example"), PAIRS)
async def test_a_rule_keeps_its_promises(name: str, example: Example, dialog: Dialog) -> None:
    rule = build(RuleSpec(name, example.params))
    assert await violations(rule, dialog, without_a_model) == []


@pytest.mark.parametrize(("name", "example"), PAIRS)
async def test_expected_values_are_in_no_question(name: str, example: Example) -> None:
    rule = build(RuleSpec(name, example.params))
    for dialog in (DIALOGS["english"], DIALOGS["failed"], DIALOGS["tools"]):
        assert await leaks(rule, dialog, without_a_model, example.secrets) == []


@pytest.mark.parametrize(("name", "example"), PAIRS)
def test_a_rule_describes_itself(name: str, example: Example) -> None:
    rule = RULES.get(name)
    assert rule.name == name
    assert rule.version
    assert rule.__doc__
    schema = parameters_schema(rule)
    jsonschema_rs.meta.validate(schema)
    jsonschema_rs.validate(schema, dict(example.params))
