"""The contract of rules over every rule that is registered."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import jsonschema_rs
import pytest

from agenteval.domain.forms import Quote
from agenteval.domain.questions import Ask, Cause, value_to_json
from agenteval.domain.review import Review
from agenteval.domain.scenario import Case, RuleSpec
from agenteval.domain.transcript import Dialog
from agenteval.engine.review import ReviewedCase
from agenteval.engine.time_limit import TimeLimit
from agenteval.judge.panel import ByCode, Panel
from agenteval.judge.verify import located
from agenteval.plugins import parameters_schema
from agenteval.rules import RULES
from agenteval.rules.build import bind, build
from agenteval.rules.contract import DIALOGS, Answer, leaks, violations
from tests.fakes.clock import FakeClock


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


@pytest.mark.parametrize("dialog", [DIALOGS[name] for name in ("english", "failed", "structured", "tools")])
@pytest.mark.parametrize(("name", "example"), PAIRS)
async def test_whatever_a_person_says_of_an_item_is_judged(name: str, example: Example, dialog: Dialog) -> None:
    bound = bind(Case("c", ("你好",), (RuleSpec(name, example.params),)))
    case = Case("c", ("你好",))
    reviewed = await ReviewedCase.of(case, dialog, bound, Panel(ByCode()), TimeLimit(FakeClock(), None))
    for item in reviewed.items.values():
        for word, needed in item.verdicts.items():
            quotes = {kind: quote for kind in needed if (quote := _said(dialog, kind))}
            if len(quotes) < len(needed):
                continue
            try:
                value = item.answered(word, quotes, "")
            except ValueError:  # such as an agent who spoke before the user
                continue
            review = Review("r", "a", item.ask.key, name, item.kind, item.name, None, None, word, None,
                            value_to_json(value), "", "anna", FakeClock().now())  # fmt: skip
            (result,) = (await reviewed.with_reviews([review])).results
            assert result.cause is not Cause.RULE_ERROR, result.reason


def _said(dialog: Dialog, kind: type[Quote]) -> Quote | None:
    """All of the first thing that the speaker said."""
    for turn in dialog:
        with suppress(ValueError):
            return located(dialog, kind, f"#{turn.index + 1}")
    return None


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
