"""What every channel must do, whatever its agent speaks: one agent, reached over each of them."""

import asyncio
import sys
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias

import orjson
import pytest
from aiohttp import web

from agenteval.channels import CHANNELS
from agenteval.channels.build import factory
from agenteval.channels.exchange import exchange
from agenteval.domain.ports import Channel
from agenteval.domain.target import Target
from agenteval.domain.text import clean
from agenteval.domain.transcript import Dialog, ToolCall, Turn, TurnStatus
from agenteval.net.clock import SystemClock
from agenteval.net.guard import Guard
from agenteval.plugins import parameters_schema
from tests.contract.conforming_agent import HALF_AN_EMOJI, LARGE, SECRET, TOOL_CALLS, answer
from tests.fakes import scripted_model
from tests.fakes.server import LoopbackServer, hang

HERE = Path(__file__).parent
PEOPLE = 8
AWKWARD = ("你好，订票 👨‍👩‍👧", 'quote " \\ and\nline', "{message} {{x}} ${HOME}", "\u202eabc\u0301", " ", "字" * 5_000)
SCRIPTS: Mapping[str, tuple[str, ...]] = {
    **{
        f"person-{i}": (f"我叫小{i}", "ok", "What did I say first?" if i % 2 else "我最先说的是什么？")
        for i in range(PEOPLE)
    },
    "silent": ("say nothing", "say null", "still there?"),
    "awkward": AWKWARD,
    "emoji": ("cut an emoji",),
    "large": ("say a lot",),
    "hang": ("hang",),
    "tools": ("use tools",),
    "secret": ("tell a secret",),
}
"""The messages of each case, by its id; recorded for `replay`."""

Params: TypeAlias = Mapping[str, Any]


class Agent(LoopbackServer):
    def __init__(self) -> None:
        super().__init__()
        self.said: defaultdict[str, list[str]] = defaultdict(list)
        self.app.router.add_post("/chat", self._chat)

    async def _chat(self, request: web.Request) -> web.Response:
        asked = orjson.loads(await request.read())
        message, earlier = asked["message"], self.said[asked["conversation_id"]]
        if message == "hang":
            await hang()
        replied = answer(message, earlier)
        earlier.append(message)
        return web.json_response(replied)


@asynccontextmanager
async def over_http() -> AsyncIterator[Params]:
    async with Agent() as agent:
        yield {"url": f"{agent.url}/chat", "reply": "reply", "tool_calls": {"path": "tool_calls"}}


def _completion(request: Mapping[str, Any]) -> scripted_model.Answer:
    said = [message["content"] for message in request["messages"] if message["role"] == "user"]
    if said[-1] == "hang":
        return scripted_model.Hang()
    replied = answer(said[-1], said[:-1])
    calls = [
        {"id": str(i), "type": "function", "function": {"name": call["name"], "arguments": _arguments(call)}}
        for i, call in enumerate(replied.get("tool_calls", []))
    ]
    if replied["reply"] == HALF_AN_EMOJI:
        return scripted_model.Body(b'{"choices": [{"message": {"content": "\\u597d\\u7684\\ud83d"}}]}')
    return scripted_model.Message({"content": replied["reply"], **({"tool_calls": calls} if calls else {})})


def _arguments(call: Mapping[str, Any]) -> str:
    return orjson.dumps(call.get("arguments")).decode()


@asynccontextmanager
async def over_openai_chat() -> AsyncIterator[Params]:
    async with scripted_model.ScriptedModel(_completion) as model:
        yield {"base_url": model.base_url, "model": "any"}


async def reply(message: str, session: Any) -> Any:
    """The agent of the `python` channel."""
    if message == "hang":
        await asyncio.Event().wait()
    earlier = session.state.setdefault("earlier", [])
    replied = answer(message, earlier)
    earlier.append(message)
    return replied


@asynccontextmanager
async def over_python() -> AsyncIterator[Params]:
    yield {"callable": f"{__file__}:reply"}


@asynccontextmanager
async def over_command() -> AsyncIterator[Params]:
    yield {"command": [sys.executable, str(HERE / "conforming_agent.py")]}


@asynccontextmanager
async def over_replay() -> AsyncIterator[Params]:
    yield {"dialogs": {case: Dialog(tuple(_recorded(messages))) for case, messages in SCRIPTS.items()}}


def _recorded(messages: tuple[str, ...]) -> list[Turn]:
    turns = []
    for index, message in enumerate(messages):
        if message == "hang":
            turns.append(Turn(index, message, status=TurnStatus.TIMEOUT, error="no reply within 5 s"))
        else:
            replied = answer(message, messages[:index])
            calls = tuple(ToolCall(**call) for call in replied.get("tool_calls", []))
            turns.append(Turn(index, message, replied["reply"], calls, latency_ms=12.5))
    return turns


AGENTS: Mapping[str, Callable[[], AbstractAsyncContextManager[Params]]] = {
    "http": over_http,
    "openai_chat": over_openai_chat,
    "python": over_python,
    "command": over_command,
    "replay": over_replay,
}


@pytest.fixture(params=CHANNELS.names)
async def channel(request: pytest.FixtureRequest) -> AsyncIterator[Channel]:
    async with AGENTS[request.param]() as params:
        target = Target("agent", request.param, params)
        made = factory(target).create(target, Guard())
        yield made
        await made.close()
        await made.close()


async def talk(channel: Channel, case_id: str, timeout_s: float = 5) -> list[Turn]:
    conversation = channel.open(f"attempt-of-{case_id}", case_id)
    clock, secrets = SystemClock(), {SECRET}
    try:
        return [
            await exchange(conversation, index, message, clock=clock, timeout_s=timeout_s, retries=0, secrets=secrets)
            for index, message in enumerate(SCRIPTS[case_id])
        ]
    finally:
        await conversation.close()
        await conversation.close()


@pytest.mark.parametrize("name", CHANNELS.names)
def test_every_channel_has_an_agent_here_and_a_schema(name: str) -> None:
    assert name in AGENTS
    assert parameters_schema(CHANNELS.get(name))["type"] == "object"


def test_no_channel_is_broken() -> None:
    assert CHANNELS.problems == []


async def test_a_healthy_agent_is_reachable(channel: Channel) -> None:
    await channel.check()


async def test_dialogs_side_by_side_keep_their_own_memory(channel: Channel) -> None:
    dialogs = await asyncio.gather(*(talk(channel, f"person-{i}") for i in range(PEOPLE)))
    assert [[turn.reply for turn in turns] for turns in dialogs] == [
        [f"我叫小{i}", "ok", f"我叫小{i}"] for i in range(PEOPLE)
    ]
    assert all(turn.latency_ms is not None and turn.latency_ms >= 0 for turns in dialogs for turn in turns)


async def test_saying_nothing_is_an_answer_and_the_dialog_goes_on(channel: Channel) -> None:
    turns = await talk(channel, "silent")
    assert [turn.status for turn in turns] == [TurnStatus.OK] * 3
    assert [turn.answered for turn in turns] == [False, False, True]


async def test_what_is_said_is_stored_as_it_is(channel: Channel) -> None:
    turns = await talk(channel, "awkward")
    assert [(turn.sent_message, turn.reply) for turn in turns] == [(text, text) for text in AWKWARD]


async def test_half_an_emoji_is_replaced(channel: Channel) -> None:
    (turn,) = await talk(channel, "emoji")
    assert (turn.status, turn.reply) == (TurnStatus.OK, clean(HALF_AN_EMOJI))


async def test_a_reply_of_a_megabyte_is_kept_whole(channel: Channel) -> None:
    (turn,) = await talk(channel, "large")
    assert turn.reply == LARGE


async def test_tool_calls_come_through(channel: Channel) -> None:
    (turn,) = await talk(channel, "tools")
    assert turn.reply == "已预订"
    assert [(call.name, call.arguments) for call in turn.tool_calls] == [
        (call["name"], call.get("arguments")) for call in TOOL_CALLS
    ]


async def test_a_secret_of_the_target_comes_through_nowhere(channel: Channel) -> None:
    (turn,) = await talk(channel, "secret")
    assert turn.reply == "我的密钥是 [secret]"
    assert [call.arguments for call in turn.tool_calls] == [{"key": "[secret]"}]
    assert SECRET not in str(turn)


async def test_an_agent_that_hangs_is_timed_out_and_the_next_dialog_works(channel: Channel) -> None:
    (turn,) = await talk(channel, "hang", timeout_s=0.05)
    assert (turn.status, turn.reply, turn.latency_ms) == (TurnStatus.TIMEOUT, None, None)
    assert [turn.reply for turn in await talk(channel, "person-1")] == ["我叫小1", "ok", "我叫小1"]


async def test_cancellation_ends_at_once(channel: Channel) -> None:
    talking = asyncio.create_task(talk(channel, "hang"))
    await asyncio.wait([talking], timeout=0.05)
    started_s = time.perf_counter()
    talking.cancel()
    await asyncio.wait([talking])
    assert talking.cancelled() or talking.result()[0].status is TurnStatus.TIMEOUT  # a recorded one comes at once
    assert time.perf_counter() - started_s < 0.5


async def test_a_dialog_that_was_only_opened_can_be_closed(channel: Channel) -> None:
    conversation = channel.open("attempt", "silent")
    await conversation.close()
    await conversation.close()
