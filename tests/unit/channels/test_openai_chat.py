from collections.abc import Mapping
from typing import Any

import pytest

from agenteval.domain.transcript import ToolCall, TurnStatus
from tests.fakes.scripted_model import Body, Message, ScriptedModel, Status
from tests.unit.channels.talking import talk


def params(model: ScriptedModel, **more: Any) -> Mapping[str, Any]:
    return {"base_url": model.base_url, "model": "agent-1", **more}


async def test_each_message_comes_with_all_that_was_said_before() -> None:
    async with ScriptedModel(lambda request: f"{len(request['messages'])} 条") as model:
        turns = await talk(
            "openai_chat", params(model, system_prompt="你是客服", extra={"temperature": 0}), "你好", "再见"
        )
    assert [turn.reply for turn in turns] == ["2 条", "4 条"]
    assert model.requests[1].json == {
        "model": "agent-1",
        "temperature": 0,
        "messages": [
            {"role": "system", "content": "你是客服"},
            {"role": "user", "content": "你好"},
            {"role": "assistant", "content": "2 条"},
            {"role": "user", "content": "再见"},
        ],
    }


async def test_a_refused_message_is_not_said_twice() -> None:
    async with ScriptedModel(lambda request: str(len(request["messages"])), faults=[None, Status(503)]) as model:
        turns = await talk("openai_chat", params(model), "1", "2", retries=1)
    assert [turn.reply for turn in turns] == ["1", "3"]


async def test_tool_calls_are_taken_with_their_arguments_as_json() -> None:
    calls = [
        {"id": "1", "type": "function", "function": {"name": "book", "arguments": '{"车次": "G101"}'}},
        {"id": "2", "type": "function", "function": {"name": "broken", "arguments": '{"车次": "G1'}},
        {"id": "3", "type": "function", "function": {"name": "bare"}},
    ]
    async with ScriptedModel(lambda _: Message({"content": None, "tool_calls": calls}, "tool_calls")) as model:
        turns = await talk("openai_chat", params(model), "订票", "谢谢")
    assert turns[0].reply is None
    assert turns[0].tool_calls == (
        ToolCall("book", {"车次": "G101"}),
        ToolCall("broken", '{"车次": "G1'),
        ToolCall("bare"),
    )
    assert model.requests[1].json["messages"][1] == {"role": "assistant", "content": ""}


@pytest.mark.parametrize(
    ("fields", "reply"),
    [
        ({"content": None}, None),
        ({"content": ""}, ""),
        ({"content": None, "refusal": "I cannot."}, "I cannot."),
        ({"content": [{"type": "text", "text": "您好"}]}, [{"type": "text", "text": "您好"}]),
        ({"content": "ok", "tool_calls": None}, "ok"),
    ],
)
async def test_what_the_agent_said_is_its_reply(fields: Mapping[str, Any], reply: Any) -> None:
    async with ScriptedModel(lambda _: Message(fields)) as model:
        (turn,) = await talk("openai_chat", params(model), "hi")
    assert (turn.status, turn.reply) == (TurnStatus.OK, reply)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"bad gateway",
        b"[]",
        b'{"choices": []}',
        b'{"choices": [{"message": "hi"}]}',
        b'{"error": {"message": "x"}}',
        b'{"choices": [{"message": {"content": "x", "tool_calls": [{}]}}]}',
        b'{"choices": [{"message": {"content": "x", "tool_calls": {}, "tool_calls": "call"}}]}',
    ],
)
async def test_what_is_no_chat_completion_is_malformed(body: bytes) -> None:
    async with ScriptedModel(lambda _: Body(body)) as model:
        (turn,) = await talk("openai_chat", params(model), "hi")
    assert turn.status is TurnStatus.ERROR
    assert turn.error


async def test_a_wrong_key_is_not_the_agents_failure_and_is_not_shown() -> None:
    key = "sk-canary-0123456789"
    async with ScriptedModel(faults=[Status(401, f"Incorrect API key provided: {key}")]) as model:
        (turn,) = await talk("openai_chat", params(model, api_key=key), "hi")
    assert turn.status is TurnStatus.NOT_DELIVERED
    assert "check the key" in turn.error
    assert key not in turn.error
    assert model.requests[0].headers["Authorization"] == f"Bearer {key}"


async def test_without_a_key_none_is_sent() -> None:
    async with ScriptedModel() as model:
        await talk("openai_chat", params(model), "hi")
    assert "Authorization" not in model.requests[0].headers
