import random
import socket
from contextlib import suppress
from fractions import Fraction
from time import process_time
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenteval.domain.errors import InputError
from agenteval.domain.json_value import Json
from agenteval.domain.outcome import ResultStatus, RuleResult
from agenteval.domain.questions import Answers, Cause
from agenteval.domain.scenario import RuleSpec
from agenteval.domain.transcript import Dialog, TurnStatus
from agenteval.rules import EvalRule
from agenteval.rules.build import build
from agenteval.rules.schema_weight import MAX_WEIGHT, PATTERN_WEIGHT, weigh
from tests.fakes.dialogs import CASE, dialog, said

ORDER = {
    "type": "object",
    "properties": {
        "id": {"type": "string", "pattern": r"^[A-Z]{2}\d+$"},
        "items": {"type": "array", "items": {"$ref": "#/$defs/item"}, "minItems": 1},
        "day": {"type": "string", "format": "date"},
    },
    "required": ["id", "items"],
    "additionalProperties": False,
    "$defs": {"item": {"type": "object", "properties": {"价格": {"type": "number"}}, "required": ["价格"]}},
}


def rule(schema: Any) -> EvalRule:
    return build(RuleSpec("json_schema", {"schema": schema}))


def judge(reply: Json, schema: Any = ORDER, to: str = "下单") -> RuleResult:
    result = rule(schema).evaluate(CASE, dialog((to, reply)), Answers())
    assert isinstance(result, RuleResult)
    return result


@pytest.mark.parametrize(
    "reply",
    [
        '{"id": "AB12", "items": [{"价格": 3.5}]}',
        ' \n{"id": "AB12", "items": [{"价格": 3}], "day": "2024-02-29"}\n',
        {"id": "AB12", "items": [{"价格": 3.5}]},
    ],
)
def test_a_reply_that_fits_scores_1(reply: Json) -> None:
    result = judge(reply)
    assert (result.score, result.passed, result.reason) == (Fraction(1), True, "回复符合 Schema。")


@pytest.mark.parametrize(
    ("reply", "path"),
    [
        ('{"id": "ab12", "items": [{"价格": 3.5}]}', "/id"),
        ('{"id": "AB12", "items": [{"价格": 1}, {"价格": "3.5"}]}', "/items/1/价格"),
        ('{"id": "AB12", "items": []}', "/items"),
        ('{"id": "AB12", "items": [{"价格": 1}], "day": "2024-02-30"}', "/day"),
        ('{"id": "AB12"}', ""),
        ({"id": "AB12", "items": [{"价格": 1}], "note": "x"}, ""),
        ("[]", ""),
    ],
)
def test_a_reply_that_does_not_fit_scores_0_and_names_the_place(reply: Json, path: str) -> None:
    result = judge(reply)
    assert (result.score, result.passed) == (Fraction(0), False)
    assert [error["path"] for error in result.detail["errors"]] == [path]
    assert path in result.reason


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("好的，已下单", "回复不符合 Schema：不是 JSON（"),
        ('```json\n{"id": "AB12"}\n```', "回复不符合 Schema：不是 JSON：被包在代码块里。"),
        ('{"id": "AB12"} 以上是您的订单', "不是 JSON（"),
        ("{'id': 'AB12'}", "不是 JSON（"),
        ("NaN", "不是 JSON（"),
        ("[" * 100_000, "不是 JSON（"),
    ],
)
def test_text_that_is_not_json_as_a_whole_scores_0(reply: str, reason: str) -> None:
    result = judge(reply, {})
    assert result.score == 0
    assert reason in result.reason


def test_a_structured_reply_deeper_than_json_can_be_written_scores_0() -> None:
    deep: Json = 1
    for _ in range(5_000):
        deep = [deep]
    assert judge(deep, {}).score == 0


def test_a_reply_as_deep_as_json_is_read_is_judged() -> None:
    assert judge("[" * 1_000 + "]" * 1_000, {"type": "array"}).score == 1


@pytest.mark.parametrize("reply", [None, "", " \u200b"])
def test_an_empty_reply_scores_0(reply: Json) -> None:
    result = judge(reply, {})
    assert (result.score, result.reason) == (Fraction(0), "空回复。")


def test_a_failed_turn_scores_0_whatever_it_carries() -> None:
    talk = dialog(said("{}", to="order please", status=TurnStatus.ERROR))
    result = rule({}).evaluate(CASE, talk, Answers())
    assert isinstance(result, RuleResult)
    assert (result.score, result.reason) == (Fraction(0), "No reply: the agent failed.")


def test_an_empty_list_is_a_reply() -> None:
    assert judge([], {"type": "array"}).score == 1


def test_only_the_last_reply_counts() -> None:
    talk = dialog(("a", "{}"), ("b", "[]"))
    assert isinstance(result := rule({"type": "array"}).evaluate(CASE, talk, Answers()), RuleResult)
    assert result.score == 1
    assert isinstance(result := rule({}).evaluate(CASE, Dialog(()), Answers()), RuleResult)
    assert result.score == 0


def test_at_most_50_errors_are_listed_and_three_told() -> None:
    result = judge([1] * 500, {"items": {"type": "string"}}, to="list them please")
    assert len(result.detail["errors"]) == 50
    assert result.reason.startswith('The reply does not fit the schema: /0 1 is not of type "string"; ')
    assert result.reason.endswith("; and 47 more.")


def test_messages_do_not_repeat_a_large_reply() -> None:
    (error,) = judge(["长" * 10_000], {"type": "object"}).detail["errors"]
    assert len(error["message"]) <= 301


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"type": "nonsense"}, "/type"),
        ({"minLength": "3"}, "/minLength"),
        ({"pattern": "(?=a)b"}, "/pattern"),
        ({"pattern": r"(a)\1"}, "/pattern"),
        ({"pattern": "(a{500}){500}"}, "/pattern"),
        ({"$ref": "#/$defs/nowhere"}, "points to nothing"),
        ({"$defs": {"价": {}}, "$ref": "#/$defs/价"}, "Invalid URI reference"),
        ({"$defs": {"价": {"$ref": "#/$defs/%E4%BB%B7"}}, "$ref": "#/$defs/%E4%BB%B7"}, "leads back to itself"),
        ({"$ref": "other.json"}, "only references within the schema"),
        ({"$ref": "#"}, "only references within the schema"),
        ({"properties": {"default": {"$ref": "file:///etc/passwd"}}}, "only references within the schema"),
        ({"dependencies": {"default": {"$ref": "file:///etc/passwd"}}}, "only references within the schema"),
        ({"$defs": {"a": {"items": {"$ref": "#/$defs/a"}}}, "$ref": "#/$defs/a"}, "leads back to itself"),
        ({"$dynamicRef": "#a"}, "$dynamicRef is not supported"),
        ({"$defs": {"a": {"$id": "http://x/y"}}}, "$id may only stand at the top"),
        ({"$schema": "http://127.0.0.1:9/meta"}, "Unknown meta-schema"),
        ({"enum": [f"{i:01000}" for i in range(66)]}, "at most 65,536 are allowed"),
        ({"enum": list(range(MAX_WEIGHT))}, "bytes, at most"),
        ({"enum": [0] * MAX_WEIGHT}, "too much work"),
        ({"allOf": [{"pattern": "a"}] * (MAX_WEIGHT // PATTERN_WEIGHT + 1)}, "too much work"),
        ({"enum": [{1, 2}]}, "the schema is no JSON"),
        ([], "must be an object"),
    ],
)
def test_a_schema_that_cannot_be_used_is_refused(schema: Any, message: str) -> None:
    with pytest.raises(InputError) as refused:
        rule(schema)
    assert message in str(refused.value)


def test_references_name_any_member() -> None:
    schema = {"$defs": {"价/~": {"allOf": [{"type": "integer"}]}}, "items": {"$ref": "#/$defs/%E4%BB%B7~1~0/allOf/0"}}
    assert judge([1], schema).score == 1
    assert judge(["1"], schema).score == 0


def test_depth_counts_with_references_followed() -> None:
    rule({"$defs": {"deep": negated(25)}, "properties": {"a": {"$ref": "#/$defs/deep"}}})
    with pytest.raises(InputError, match="deeper than 32"):
        rule({"$defs": {"deep": negated(25)}, "properties": {"a": negated(10, {"$ref": "#/$defs/deep"})}})


def negated(times: int, schema: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"not": negated(times - 1, schema)} if times else schema or {}


def test_no_schema_makes_a_connection() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0)
        url = f"http://127.0.0.1:{server.getsockname()[1]}/x"
        for schema in ({"$ref": url}, {"$schema": url}, {"properties": {"const": {"$ref": url}}}, {"$id": url}):
            with suppress(InputError):
                rule(schema)
        with pytest.raises(BlockingIOError):
            server.accept()


def doubling(keyword: str, levels: int) -> dict[str, Any]:
    defs: dict[str, Any] = {
        f"d{i}": {keyword: [{"$ref": f"#/$defs/d{i + 1}"}, {"$ref": f"#/$defs/d{i + 1}"}]} for i in range(levels)
    }
    return {"$defs": {**defs, f"d{levels}": {"type": "string"}}, "$ref": "#/$defs/d0"}


def unevaluated(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"properties": {"a": {}}}
    for _ in range(levels):
        schema = {"allOf": [schema], "unevaluatedProperties": False}
    return schema


NOISE = "".join(random.Random(1).choices("ab", k=75_000))


@pytest.mark.parametrize(
    ("schema", "reply"),
    [
        *((doubling(keyword, levels), [1] * 100) for keyword in ("allOf", "anyOf", "oneOf") for levels in (9, 20, 200)),
        (unevaluated(6), {"b": 1}),
        (unevaluated(15), {"b": 1}),
        ({"uniqueItems": True}, [{"a": i} for i in range(3_000)]),
        ({"items": {"enum": [f"abc{i}" for i in range(3_000)]}}, list(range(10_000))),
        ({"items": {"anyOf": [{"type": "string"}] * 500}}, [1] * 50_000),
        ({"items": {"allOf": [{"type": "string"}] * 20}}, [1] * 2_000),
        ({"pattern": "(a+)+$"}, NOISE),
        ({"pattern": "a[ab]{500}c"}, NOISE),
        ({"allOf": [{"pattern": f"a[ab]{{{i}}}c"} for i in range(450, 490)]}, NOISE),
    ],
)
def test_no_schema_takes_long(schema: Any, reply: Json) -> None:
    started = process_time()
    with suppress(InputError):
        judge(orjson.dumps(reply).decode(), schema)
    assert process_time() - started < 2


@pytest.mark.parametrize("schema", [{}, {"pattern": "a[ab]{500}c"}])
def test_a_reply_that_would_take_too_long_is_not_scored(schema: Any) -> None:
    result = judge("[" + "1," * 600_000 + "1]", schema)
    assert (result.status, result.cause, result.bounds) == (
        ResultStatus.FAILED_TO_SCORE,
        Cause.TOO_LONG,
        (Fraction(0), Fraction(1)),
    )


def test_what_is_too_much_to_list_is_still_decided() -> None:
    result = judge([1] * 60_000, {"items": {"type": "string"}})
    assert (result.score, len(result.detail["errors"])) == (Fraction(0), 1)


@pytest.mark.parametrize(
    ("schema", "weight"),
    [
        ({}, 1),
        ({"type": "string"}, 2),
        ({"enum": ["a", "b"]}, 4),
        ({"$defs": {"s": {"type": "string"}}}, 1),
        ({"$defs": {"s": {"type": "string"}}, "items": {"$ref": "#/$defs/s"}}, 5),
        ({"allOf": [{"type": "string"}], "unevaluatedItems": False}, 1 + 3 * 4),
    ],
)
def test_weight_counts_values_with_references_written_out(schema: Any, weight: int) -> None:
    assert weigh(schema) == weight


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=10,
    ).filter(lambda value: value is not None and not isinstance(value, str))
)
def test_text_and_structure_are_judged_alike(value: Json) -> None:
    schema = {"type": ["array", "object"], "minItems": 1, "minProperties": 1}
    assert judge(orjson.dumps(value).decode(), schema).score == judge(value, schema).score
