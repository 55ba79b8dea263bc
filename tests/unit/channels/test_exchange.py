"""One message and what came of it, whatever the agent does."""

import asyncio
from datetime import date
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenteval.channels.exchange import REPLY_CAP_BYTES, exchange
from agenteval.domain.errors import (
    DestinationForbidden,
    TargetError,
    TargetProtocolError,
    TargetRateLimited,
    TargetTimeout,
    TargetUnavailable,
)
from agenteval.domain.json_value import canonical
from agenteval.domain.ports import AgentReply
from agenteval.domain.transcript import Dialog, ToolCall, Turn, TurnStatus
from agenteval.net.limits import Limits
from tests.fakes.clock import FakeClock


class Scripted:
    """Answers by its script, one entry for each try: a reply, an error to raise, or a function to call."""

    def __init__(self, clock: FakeClock, *script: Any, takes_s: float = 0.0) -> None:
        self.clock = clock
        self.script = list(script)
        self.takes_s = takes_s
        self.got: list[str] = []

    async def send(self, message: str) -> AgentReply:
        self.got.append(message)
        self.clock.passed_s += self.takes_s
        step = self.script.pop(0)
        if isinstance(step, BaseException):
            raise step
        answer = await step() if callable(step) else step
        return answer if isinstance(answer, AgentReply) else AgentReply(answer)

    async def close(self) -> None: ...


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("not even this")

    __repr__ = __str__


async def turn_of(*script: Any, takes_s: float = 0.0, retries: int = 3, message: str = "订票") -> Turn:
    clock = FakeClock()
    return await exchange(
        Scripted(clock, *script, takes_s=takes_s), 2, message, clock=clock, timeout_s=5, retries=retries
    )


async def test_a_reply_becomes_a_turn_with_its_latency() -> None:
    calls = (ToolCall("book", {"火车": "G101"}, {"ok": True}, True),)
    turn = await turn_of(AgentReply("已订好 👍", calls), takes_s=0.25)
    assert turn == Turn(2, "订票", "已订好 👍", calls, latency_ms=250.0)


@pytest.mark.parametrize("reply", [None, "", "   "])
async def test_saying_nothing_is_an_answer(reply: str | None) -> None:
    turn = await turn_of(reply)
    assert (turn.status, turn.reply, turn.answered) == (TurnStatus.OK, reply, False)


@pytest.mark.parametrize("latency_ms", [1234.5, None])
async def test_a_recorded_reply_keeps_its_latency_measured_or_not(latency_ms: float | None) -> None:
    turn = await turn_of(AgentReply("ok", recorded=True, latency_ms=latency_ms), takes_s=9)
    assert turn.latency_ms == latency_ms


async def test_latency_is_never_negative() -> None:
    assert (await turn_of("ok", takes_s=-3)).latency_ms == 0


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (TargetTimeout("too slow"), TurnStatus.TIMEOUT),
        (TargetError("the agent answered 500", delivered=True), TurnStatus.ERROR),
        (TargetUnavailable("dropped", delivered=True), TurnStatus.ERROR),
        (TargetProtocolError("no JSON"), TurnStatus.ERROR),
        (TargetError("the agent answered 404", fix="check the url"), TurnStatus.NOT_DELIVERED),
        (DestinationForbidden("a private address"), TurnStatus.NOT_DELIVERED),
        (ValueError("a bug in the plug-in"), TurnStatus.ERROR),
        (TimeoutError("the agent's own"), TurnStatus.ERROR),
        (ExceptionGroup("several", [ValueError("x")]), TurnStatus.ERROR),
        (KeyError(), TurnStatus.ERROR),
    ],
)
async def test_a_failure_is_data_and_its_reason_is_told(error: Exception, status: TurnStatus) -> None:
    clock = FakeClock()
    conversation = Scripted(clock, error)
    turn = await exchange(conversation, 0, "hi", clock=clock, timeout_s=5, retries=3)
    assert turn.status is status
    assert str(error) in turn.error
    assert (turn.reply, turn.tool_calls, turn.latency_ms) == (None, (), None)
    assert len(conversation.got) == 1  # neither what was delivered nor what cannot get better is sent again
    assert clock.slept == []


async def test_no_error_shows_a_secret_whichever_channel_it_came_through() -> None:
    clock, secret = FakeClock(), "sk-canary-密钥-" + "7" * 20
    for raised in (TargetError(f"no host {secret}"), ValueError("长" * 1_980 + secret[:9] + "\0" + secret[9:])):
        turn = await exchange(
            Scripted(clock, raised), 0, "hi", clock=clock, timeout_s=5, retries=0, secrets=frozenset({secret})
        )
        assert "[secret]" in turn.error
        assert "sk-canary" not in turn.error


SECRET = "sk-canary-密钥-0123"


async def turn_without(secret: str, reply: Any, calls: tuple[ToolCall, ...] = ()) -> Turn:
    clock = FakeClock()
    conversation = Scripted(clock, AgentReply(reply, calls))
    return await exchange(conversation, 0, "hi", clock=clock, timeout_s=5, retries=0, secrets=frozenset({secret}))


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        (f"my key is {SECRET}.", "my key is [secret]."),
        (f"{SECRET[:9]}\0{SECRET[9:]}", "[secret]"),
        ({"k": [f"Bearer {SECRET}", 7, None], SECRET: True}, {"k": ["Bearer [secret]", 7, None], "[secret]": True}),
    ],
)
async def test_no_reply_and_no_tool_call_shows_a_secret(said: Any, kept: Any) -> None:
    turn = await turn_without(SECRET, said, (ToolCall(f"call_{SECRET}", said, said),))
    assert (turn.status, turn.reply) == (TurnStatus.OK, kept)
    assert turn.tool_calls == (ToolCall("call_[secret]", kept, kept),)


async def test_a_secret_that_is_a_number_is_hidden_as_a_number_too() -> None:
    turn = await turn_without("13800138000", {"phone": 13800138000, "total": 2, "price": 1.5})
    assert turn.reply == {"phone": "[secret]", "total": 2, "price": 1.5}


@pytest.mark.parametrize("secret", ["", "7", "the"])
async def test_a_secret_too_short_to_be_one_does_not_mangle_what_is_said(secret: str) -> None:
    said = {"the": "the 7 orders are on their way", "n": 7}
    assert (await turn_without(secret, said)).reply == said


async def test_no_part_of_a_secret_stands_in_a_complaint() -> None:
    turn = await turn_without(SECRET, {"x" * 90 + SECRET})
    assert turn.error.startswith("the reply is no JSON")
    assert "sk-canary" not in turn.error


async def test_what_was_not_delivered_is_tried_again_after_growing_waits() -> None:
    clock = FakeClock()
    down = TargetUnavailable("no connection")
    conversation = Scripted(clock, down, down, down, "back", takes_s=1)
    turn = await exchange(conversation, 0, "hi", clock=clock, timeout_s=5, retries=3, jitter=lambda: 0.0)
    assert (turn.reply, turn.latency_ms) == ("back", 1000)
    assert clock.slept == [0.5, 1.0, 2.0]


async def test_retries_end() -> None:
    clock = FakeClock()
    conversation = Scripted(clock, *[TargetUnavailable("no connection")] * 50)
    turn = await exchange(conversation, 0, "hi", clock=clock, timeout_s=5, retries=20)
    assert (turn.status, len(conversation.got)) == (TurnStatus.NOT_DELIVERED, 21)
    assert max(clock.slept) <= 30
    assert all(shorter >= 0.25 for shorter in clock.slept)


async def test_no_retries_means_one_try() -> None:
    turn = await turn_of(TargetRateLimited("429"), retries=0)
    assert turn.status is TurnStatus.NOT_DELIVERED


@pytest.mark.parametrize(("asked_s", "waited_s"), [(7.0, 7.0), (0.0, 0.0), (3600.0, 30.0)])
async def test_retry_after_is_honoured_up_to_a_cap(asked_s: float, waited_s: float) -> None:
    clock = FakeClock()
    conversation = Scripted(clock, TargetRateLimited("429", retry_after_s=asked_s), "ok")
    await exchange(conversation, 0, "hi", clock=clock, timeout_s=5, retries=3, jitter=lambda: 0.0)
    assert clock.slept == [waited_s]


async def test_a_rate_limit_holds_back_everybody_at_this_target() -> None:
    clock = FakeClock()
    limits = Limits(clock)
    again = Scripted(clock, TargetRateLimited("429", retry_after_s=20), "ok")
    held: list[float] = []

    async def other() -> None:
        await exchange(Scripted(clock, "ok"), 0, "hi", clock=clock, timeout_s=5, retries=0, limiter=limits)
        held.append(clock.passed_s)

    await asyncio.gather(
        exchange(again, 0, "hi", clock=clock, timeout_s=5, retries=1, limiter=limits, jitter=lambda: 0.0), other()
    )
    assert held[0] >= 20


async def test_no_more_messages_than_places_are_on_their_way() -> None:
    clock = FakeClock()
    limits = Limits(clock, max_concurrency=2)
    now = most = 0

    async def answer() -> str:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0)
        now -= 1
        return "ok"

    await asyncio.gather(
        *(
            exchange(Scripted(clock, answer), 0, "hi", clock=clock, timeout_s=5, retries=0, limiter=limits)
            for _ in range(6)
        )
    )
    assert most == 2


async def test_no_reply_in_time_is_a_timeout_of_the_agent() -> None:
    clock = FakeClock()
    conversation = Scripted(clock, asyncio.Event().wait)
    turn = await exchange(conversation, 0, "hi", clock=clock, timeout_s=0.01, retries=3)
    assert (turn.status, turn.error) == (TurnStatus.TIMEOUT, "no reply within 0.01 s")
    assert len(conversation.got) == 1


async def test_an_exception_that_cannot_say_what_it_is_is_told_by_its_type() -> None:
    turn = await turn_of(Unspeakable())
    assert (turn.status, turn.error) == (TurnStatus.ERROR, "Unspeakable: (its message cannot be read)")


@pytest.mark.parametrize(
    ("step", "status"),
    [
        (AgentReply("好的", recorded=True, latency_ms=12.5), TurnStatus.OK),
        (KeyError("no such dialog"), TurnStatus.ERROR),
        (asyncio.CancelledError(), TurnStatus.ERROR),
        ("x" * (REPLY_CAP_BYTES + 1), TurnStatus.ERROR),
    ],
)
async def test_what_was_recorded_is_not_limited_and_fails_as_data_too(step: object, status: TurnStatus) -> None:
    clock = FakeClock()
    turn = await exchange(Scripted(clock, step, takes_s=9.0), 0, "hi", clock=clock, timeout_s=None, retries=0)
    assert turn.status is status
    assert turn.latency_ms == (12.5 if status is TurnStatus.OK else None)


async def test_cancellation_is_passed_on() -> None:
    clock = FakeClock()
    task = asyncio.create_task(
        exchange(Scripted(clock, asyncio.Event().wait), 0, "hi", clock=clock, timeout_s=5, retries=3)
    )
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_an_agent_that_cancels_itself_cancels_nobody_else() -> None:
    turn = await turn_of(asyncio.CancelledError())
    assert turn.status is TurnStatus.ERROR


@pytest.mark.parametrize(
    ("reply", "kept"),
    [
        ("a\ud83db", "a\ufffdb"),
        ("\ud83d\ude00", "😀"),
        ("nul\0l", "null"),
        ({"文\0本": ["\udc00", {"k": "\0"}]}, {"文本": ["\ufffd", {"k": ""}]}),
        (("a", 1, 1.5, True, None), ["a", 1, 1.5, True, None]),
        ([2**63 - 1, 2**63, -(2**80)], [2**63 - 1, "9223372036854775808", "-1208925819614629174706176"]),
    ],
)
async def test_what_storage_cannot_hold_is_cleaned(reply: Any, kept: Any) -> None:
    calls = (ToolCall("to\0ol", reply, reply),)
    turn = await turn_of(AgentReply(reply, calls), message="你\0好\ud800")
    assert turn == Turn(2, "你好\ufffd", kept, (ToolCall("tool", kept, kept),), turn.latency_ms)


async def test_the_message_is_stored_as_it_was_sent() -> None:
    clock = FakeClock()
    conversation = Scripted(clock, "ok")
    turn = await exchange(conversation, 0, "\ud83d 你好", clock=clock, timeout_s=5, retries=0)
    assert [turn.sent_message] == conversation.got


def nested(levels: int) -> Any:
    value: Any = "deep"
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("reply", "complaint"),
    [
        ("x" * (REPLY_CAP_BYTES + 1), "more than the 2097152"),
        (["大" * (REPLY_CAP_BYTES // 3 + 1)], "more than the 2097152"),
        (nested(2_000), "nested deeper"),
        (float("nan"), "no JSON"),
        ({"when": date(2024, 1, 15)}, "no JSON"),
        ([10**5_000], "no JSON: it contains what cannot be shown (int)"),
        ([Unspeakable()], "no JSON: it contains what cannot be shown (Unspeakable)"),
        ({Unspeakable(): 1}, "RuntimeError: not even this"),
        ({1, 2}, "no JSON"),
    ],
)
async def test_what_cannot_be_kept_whole_is_an_error_and_says_so(reply: Any, complaint: str) -> None:
    turn = await turn_of(reply)
    assert (turn.status, turn.reply) == (TurnStatus.ERROR, None)
    assert complaint in turn.error


async def test_tool_calls_count_for_the_cap() -> None:
    turn = await turn_of(AgentReply("ok", (ToolCall("search", result="x" * REPLY_CAP_BYTES),)))
    assert turn.status is TurnStatus.ERROR


async def test_a_reply_just_within_the_cap_is_kept_whole() -> None:
    reply = "x" * (REPLY_CAP_BYTES - 100)
    assert (await turn_of(reply)).reply == reply


async def test_a_plug_in_that_returns_something_else_fails_in_its_turn() -> None:
    async def nothing() -> None:
        return None

    class Careless(Scripted):
        async def send(self, message: str) -> Any:
            return await nothing()

    clock = FakeClock()
    turn = await exchange(Careless(clock), 0, "hi", clock=clock, timeout_s=5, retries=0)
    assert turn.status is TurnStatus.ERROR


async def test_an_endless_error_message_is_visibly_cut() -> None:
    turn = await turn_of(ValueError("长" * 10_000 + "\ud800"))
    assert len(turn.error) < 2_100
    assert turn.error.endswith("… (cut)")
    turn.error.encode()


JSON_WITH_ANY_TEXT = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats() | st.text(st.characters()) | st.binary(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters()), inner, max_size=3),
    max_leaves=8,
)


@given(reply=JSON_WITH_ANY_TEXT, message=st.text(st.characters()))
def test_whatever_is_said_the_turn_can_be_stored(reply: Any, message: str) -> None:
    turn = asyncio.run(turn_of(reply, message=message))
    orjson.dumps([turn.sent_message, turn.reply, turn.error])
    canonical(turn.reply)
    assert Dialog((turn,)).digest
    assert (turn.status is TurnStatus.OK) == (turn.latency_ms is not None)
