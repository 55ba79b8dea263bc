import asyncio
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenteval.domain.errors import ModelError, ModelUnavailable
from agenteval.domain.ports import ChatRequest, Message
from agenteval.models.ladder import OPTIONAL, Mode, Structured
from tests.fakes.scripted_model import Answer, ScriptedModel, Slow, Status
from tests.unit.models.conftest import Judge, Remembered

SCHEMA = {"type": "object", "properties": {"q1": {"type": "string"}}, "required": ["q1"], "additionalProperties": False}
ASK = ChatRequest((Message("system", "你是评审"), Message("user", "对话")), "id-1", schema=SCHEMA)


def shape(request: Any) -> str:
    if "response_format" in request:
        return "json_schema"
    return "tool" if "tools" in request else "prompted"


def shapes(server: ScriptedModel) -> list[str]:
    return [shape(asked.json) for asked in server.requests]


@pytest.mark.parametrize(
    ("refuses", "expected"),
    [
        ((), ["json_schema"]),
        (("response_format",), ["json_schema", "tool"]),
        (("response_format", "tools"), ["json_schema", "tool", "prompted"]),
        (("response_format", "tool_choice"), ["json_schema", "tool", "prompted"]),
    ],
)
async def test_a_refused_form_falls_one_step_and_the_answer_is_the_same(
    judge: Judge, capabilities: Remembered, refuses: Iterable[str], expected: list[str]
) -> None:
    async with ScriptedModel(lambda _: {"q1": "是"}, refuses=refuses) as server:
        model = judge(server)
        for _ in range(2):
            assert (await model.complete(ASK)).text == '{"q1":"是"}'
        assert shapes(server) == [*expected, expected[-1]]
        assert capabilities == {(server.base_url, "judge-1"): expected[-1]}


async def test_what_was_found_out_is_remembered_across_runs(judge: Judge) -> None:
    async with ScriptedModel(lambda _: {"q1": "是"}, refuses=["response_format", "seed"]) as server:
        await judge(server).complete(ASK)
        before = len(server.requests)
        await judge(server).complete(ASK)
        assert shapes(server)[before:] == ["tool"]
        assert "seed" not in server.requests[-1].json


async def test_what_is_remembered_in_no_known_words_is_found_out_anew(judge: Judge, capabilities: Remembered) -> None:
    async with ScriptedModel(lambda _: {"q1": "是"}) as server:
        capabilities[server.base_url, "judge-1"] = "telepathy"
        await judge(server).complete(ASK)
    assert list(capabilities.values()) == ["json_schema"]


async def test_concurrent_first_calls_find_out_once(judge: Judge) -> None:
    async with ScriptedModel(lambda _: {"q1": "是"}, refuses=["response_format", "tools"]) as server:
        model = judge(server)
        await asyncio.gather(*(model.complete(ASK) for _ in range(20)))
        assert shapes(server) == ["json_schema", "tool", *["prompted"] * 20]


async def test_a_first_call_that_fails_does_not_hold_the_others_one_by_one(judge: Judge) -> None:
    async with ScriptedModel(lambda _: Slow(0.005, Status(400, "no"))) as server:
        model = judge(server)
        results = await asyncio.gather(*(model.complete(ASK) for _ in range(10)), return_exceptions=True)
        assert all(isinstance(result, ModelError) for result in results)
        assert server.max_in_flight > 1


@pytest.mark.parametrize("structured", ["json_schema", "tool", "prompted"])
async def test_a_step_that_was_set_is_used_and_not_left(
    judge: Judge, capabilities: Remembered, structured: str
) -> None:
    async with ScriptedModel(lambda _: {"q1": "是"}) as server:
        await judge(server, structured=structured).complete(ASK)
        assert shapes(server) == [structured]
    async with ScriptedModel(refuses=["response_format", "tools", "messages"]) as server:
        with pytest.raises(ModelError, match="AGENTEVAL_JUDGE_STRUCTURED"):
            await judge(server, structured=structured).complete(ASK)
        assert len(server.requests) == 1
    assert capabilities == {}


@pytest.mark.parametrize(
    "body",
    [
        b'{"error":{"message":"Invalid parameter: \'response_format\' of type \'json_schema\' is not supported"}}',
        b'{"error":{"message":"Invalid schema for response_format \'answer\': \'minLength\' is not permitted"}}',
        b'{"error":"structured outputs are not supported"}',
        b'{"detail":[{"loc":["body","response_format"],"msg":"Extra inputs are not permitted","input":{"seed":1}}]}',
        b'{"object":"error","message":"guided decoding is off","code":400}',
        b"response_format.type must be text or json_object",
    ],
)
@pytest.mark.parametrize("status", [400, 404, 422, 501])
async def test_refusals_are_understood_in_the_words_of_many_servers(judge: Judge, status: int, body: bytes) -> None:
    def script(request: Any) -> Answer:
        return Status(status, body=body) if "response_format" in request else {"q1": "是"}

    async with ScriptedModel(script) as server:
        assert (await judge(server).complete(ASK)).text == '{"q1":"是"}'
        assert shapes(server) == ["json_schema", "tool"]
        assert server.requests[-1].json["temperature"] == 0


@pytest.mark.parametrize(
    "fault",
    [Status(400, "messages must not be empty"), Status(500, "response_format"), Status(401, "response_format")],
)
async def test_other_errors_do_not_fall(judge: Judge, fault: Status) -> None:
    async with ScriptedModel(lambda _: fault) as server:
        with pytest.raises(ModelError):
            await judge(server).complete(ASK)
        assert set(shapes(server)) == {"json_schema"}


async def test_plain_text_in_spite_of_an_accepted_schema_is_an_answer(judge: Judge) -> None:
    async with ScriptedModel(lambda _: "I think it was fine.") as server:
        assert (await judge(server).complete(ASK)).text == "I think it was fine."
        assert shapes(server) == ["json_schema"]


@pytest.mark.parametrize("name", ["temperature", "seed"])
async def test_an_optional_parameter_that_is_refused_is_left_out(judge: Judge, name: str) -> None:
    async with ScriptedModel(lambda _: {"q1": "是"}, refuses=[name]) as server:
        model = judge(server)
        for _ in range(2):
            await model.complete(ASK)
        assert [name in asked.json for asked in server.requests] == [True, False, False]
        assert set(shapes(server)) == {"json_schema"}


async def test_the_newer_name_of_the_token_limit_is_tried(judge: Judge) -> None:
    async with ScriptedModel(lambda _: {"q1": "是"}, refuses=["max_tokens"]) as server:
        await judge(server, max_tokens=500).complete(ASK)
        assert server.requests[-1].json["max_completion_tokens"] == 500
        assert "max_tokens" not in server.requests[-1].json


async def test_a_model_that_takes_nothing_but_messages(judge: Judge) -> None:
    refuses = ["response_format", "tools", "temperature", "seed", "max_tokens"]
    async with ScriptedModel(lambda _: {"q1": "是"}, refuses=refuses) as server:
        assert (await judge(server, max_tokens=9).complete(ASK)).text == '{"q1":"是"}'
        assert server.requests[-1].json.keys() == {"model", "messages", "max_completion_tokens"}


async def test_the_prompted_schema_joins_the_system_message_unescaped(judge: Judge) -> None:
    schema = {"type": "object", "properties": {"回答": {"type": "string"}}}
    async with ScriptedModel(lambda _: "{}") as server:
        model = judge(server, structured="prompted")
        await model.complete(ChatRequest((Message("user", "对话"),), "id", schema=schema))
        await model.complete(ChatRequest((Message("system", "评审"), Message("user", "对话")), "id", schema=schema))
        alone, joined = (asked.json["messages"] for asked in server.requests)
        assert [message["role"] for message in alone] == [message["role"] for message in joined] == ["system", "user"]
        assert '"回答"' in alone[0]["content"]
        assert joined[0]["content"].startswith("评审\n\n")
        assert joined[1]["content"] == "对话"


async def test_a_model_that_changes_its_mind_is_followed(judge: Judge, capabilities: Remembered) -> None:
    async with ScriptedModel(lambda _: {"q1": "是"}) as server:
        model = judge(server)
        await model.complete(ASK)
        server.refuses = frozenset({"response_format"})
        await model.complete(ASK)
        assert list(capabilities.values()) == ["tool"]


async def test_an_outage_while_finding_out_is_no_refusal(judge: Judge, capabilities: Remembered) -> None:
    async with ScriptedModel(lambda _: Status(503, "tools are down")) as server:
        with pytest.raises(ModelUnavailable):
            await judge(server).complete(ASK)
    assert capabilities == {}


@given(st.sampled_from(Structured), st.frozensets(st.sampled_from(sorted(OPTIONAL))))
def test_a_mode_survives_being_remembered(structured: Structured, without: frozenset[str]) -> None:
    mode = Mode(structured, without)
    assert Mode.parse(str(mode)) == mode


@given(st.text(max_size=60), st.sampled_from(Structured))
def test_every_complaint_ends_somewhere(noise: str, structured: Structured) -> None:
    """Each step leaves something out, so no server can keep us asking."""
    complaint = f"{noise} response_format tools temperature seed max_tokens"
    modes = [Mode(structured)]
    while lower := modes[-1].after(complaint, fixed=False):
        modes.append(lower)
    assert len(modes) <= len(Structured) + len(OPTIONAL)
    assert len(set(modes)) == len(modes)
