"""Agents behind HTTP endpoints, over real connections on loopback."""

import asyncio
import socket
from collections.abc import AsyncIterator, Mapping
from typing import Any

import orjson
import pytest
from aiohttp import web

from agenteval.channels.build import factory
from agenteval.domain.errors import DestinationForbidden, InputError, TargetUnavailable
from agenteval.domain.target import Target
from agenteval.domain.transcript import ToolCall, Turn, TurnStatus
from agenteval.net.guard import Guard
from tests.fakes.clock import FakeClock
from tests.fakes.faulty_agent import FaultyAgent
from tests.fakes.server import LoopbackServer
from tests.unit.channels.talking import channel, talk

OK, TIMEOUT, ERROR, NOT_DELIVERED = TurnStatus


@pytest.fixture
async def agent() -> AsyncIterator[FaultyAgent]:
    async with FaultyAgent() as faulty:
        yield faulty


class Asked(dict[str, Any]):
    """What an agent was sent: method, path, query, headers, and the body as JSON."""


class ScriptedAgent(LoopbackServer):
    """Answers each request with the next of `answers`: JSON, a Response, or an async function of what was asked."""

    def __init__(self, *answers: Any) -> None:
        super().__init__()
        self.answers = list(answers)
        self.asked: list[Asked] = []
        self.app.router.add_route("*", "/{path:.*}", self._any)

    async def _any(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        self.asked.append(
            Asked(
                method=request.method,
                path=request.raw_path,
                headers=request.headers,
                body=orjson.loads(body) if body else None,
            )
        )
        answer = self.answers.pop(0)
        if callable(answer):
            answer = await answer(self.asked[-1])
        return answer if isinstance(answer, web.StreamResponse) else web.json_response(answer)


async def ask(agent: FaultyAgent, path: str, message: str = "你好", **options: Any) -> Turn:
    params = {"url": f"{agent.url}/{path}", "reply": "reply"}
    (turn,) = await talk("http", params, message, **options)
    return turn


@pytest.mark.parametrize(
    ("path", "status", "error"),
    [
        ("500", ERROR, "the agent answered 500: injected 500"),
        ("drop", ERROR, "closed the connection"),
        ("drop-mid-body", ERROR, "closed the connection before its reply was complete"),
        ("broken-json", ERROR, 'the reply is no JSON: {"reply": "you'),
        ("binary", ERROR, "the reply is no JSON"),
        ("text", ERROR, "the reply is no JSON: 你好"),
        ("empty", ERROR, "the reply is no JSON with an empty body"),
        ("too-large", ERROR, "larger than 2097152 bytes"),
        ("gzip-bomb", ERROR, "larger than 2097152 bytes"),
        ("503", NOT_DELIVERED, "the agent answered 503: injected 503"),
        ("429", NOT_DELIVERED, "the agent answered 429 with an empty body"),
        ("404", NOT_DELIVERED, "the agent answered 404: injected 404 (check the url)"),
        ("401", NOT_DELIVERED, "check the key"),
        ("redirect", NOT_DELIVERED, "the agent answered 307, a redirect to /echo (give the final url)"),
    ],
)
async def test_each_failure_is_told_and_belongs_to_whom_it_should(
    agent: FaultyAgent, path: str, status: TurnStatus, error: str
) -> None:
    turn = await ask(agent, path)
    assert (turn.status, turn.reply) == (status, None)
    assert error in turn.error
    assert len(agent.received) == 1


@pytest.mark.parametrize("reply", ["reply", None])
@pytest.mark.parametrize(
    ("kind", "body", "error"),
    [
        (
            "text/event-stream",
            "data: 您好\n\n",
            "a stream (text/event-stream), which is not supported (ask for the whole",
        ),
        ("Text/Event-Stream; charset=utf-8", "", "a stream (text/event-stream)"),
        (
            "text/html",
            " <!DOCTYPE html><title>Log in</title>",
            "a web page (content type text/html): <!DOCTYPE html><ti",
        ),
        (
            "application/json",
            "<html>",
            "a web page (content type application/json): <html> (check the url, and the key",
        ),
    ],
)
async def test_what_no_agent_says_is_a_matter_of_the_settings(
    reply: str | None, kind: str, body: str, error: str
) -> None:
    answer = web.Response(body=body.encode(), headers={"Content-Type": kind})
    async with ScriptedAgent(answer) as agent:
        (turn,) = await talk("http", {"url": agent.url, "reply": reply}, "你好", retries=3)
    assert (turn.status, turn.reply, len(agent.asked)) == (NOT_DELIVERED, None, 1)
    assert error in turn.error


async def test_words_of_the_type_that_frameworks_give_them_are_a_reply() -> None:
    async with ScriptedAgent(web.Response(text="<b>您好</b>", content_type="text/html")) as agent:
        (turn,) = await talk("http", {"url": agent.url}, "你好")
    assert (turn.status, turn.reply) == (OK, "<b>您好</b>")


@pytest.mark.parametrize("path", ["hang", "drip"])
async def test_no_complete_reply_in_time_is_a_timeout(agent: FaultyAgent, path: str) -> None:
    turn = await ask(agent, path, timeout_s=0.05)
    assert (turn.status, turn.error.endswith("within 0.05 s")) == (TIMEOUT, True)


@pytest.mark.parametrize("path", ["503-then-ok", "429-then-ok"])
async def test_a_refused_message_is_sent_again(agent: FaultyAgent, path: str) -> None:
    turn = await ask(agent, path, retries=1)
    assert (turn.status, turn.reply, len(agent.received)) == (OK, "你好", 2)


async def test_the_server_says_how_long_to_wait(agent: FaultyAgent) -> None:
    clock = FakeClock()
    await ask(agent, "429", retries=1, clock=clock)
    assert 7 <= clock.slept[0] < 8


@pytest.mark.parametrize("path", ["500", "drop", "broken-json"])
async def test_a_delivered_message_is_never_sent_again(agent: FaultyAgent, path: str) -> None:
    await ask(agent, path, retries=5)
    assert len(agent.received) == 1


async def test_nobody_listening_is_not_the_agents_failure() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound but not listening: connections are refused
        clock = FakeClock()
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/chat"
        (turn,) = await talk("http", {"url": url}, "hi", clock=clock, retries=2)
        assert (turn.status, len(clock.slept)) == (NOT_DELIVERED, 2)
        assert "cannot connect to http://127.0.0.1:" in turn.error
        over = channel("http", {"url": url})
        with pytest.raises(TargetUnavailable, match="cannot connect"):
            await over.check()
        await over.close()


@pytest.mark.parametrize(("timeout_s", "left_s"), [(0.1, None), (60, 0.1)])
async def test_a_connection_that_never_comes_is_no_timeout_of_the_agent(timeout_s: float, left_s: float | None) -> None:
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        queued = [socket.socket() for _ in range(4)]
        for waiting in queued:  # fill the queue of the listener: further connections get no answer
            waiting.setblocking(False)
            waiting.connect_ex(full.getsockname())
        url = f"http://127.0.0.1:{full.getsockname()[1]}/"
        (turn,) = await talk("http", {"url": url}, "hi", timeout_s=timeout_s, left_s=left_s)
        for waiting in queued:
            waiting.close()
    assert (turn.status, turn.error.partition(" to ")[0]) == (NOT_DELIVERED, "no connection")


async def test_forbidden_destinations_are_refused_before_anything_is_sent() -> None:
    target = Target("agent", "http", {"url": "http://127.0.0.1:9/"})
    with pytest.raises(DestinationForbidden, match=r"AGENTEVAL_ALLOWED_TARGETS=127\.0\.0\.1:9"):
        factory(target).create(target, Guard(private=False))


@pytest.mark.parametrize("path", ["404", "hang", "500", "drop"])
async def test_whatever_answers_is_reachable_and_got_no_message(agent: FaultyAgent, path: str) -> None:
    over = channel("http", {"url": f"{agent.url}/{path}"})
    await over.check()
    await over.close()
    assert agent.received == []


def json_of(body: bytes) -> web.Response:
    return web.Response(body=body, content_type="application/json")


@pytest.mark.parametrize(
    ("answer", "reply", "calls"),
    [
        ({"reply": "您好", "tool_calls": [{"name": "greet"}]}, "您好", (ToolCall("greet"),)),
        ({"reply": None}, None, ()),
        ({"answer": "您好"}, {"answer": "您好"}, ()),
        (["您", "好"], ["您", "好"], ()),
        (web.Response(text="plain 您好"), "plain 您好", ()),
        (web.Response(), "", ()),
        (web.Response(body=b'\xef\xbb\xbf{"reply": "with a BOM"}', content_type="application/json"), "with a BOM", ()),
        (web.Response(body=b'{"reply": "half \\ud83d"}', content_type="application/json"), "half \ufffd", ()),
        (json_of(b'{"\\ud83d": 1}'), {"\ufffd": 1}, ()),
        (json_of(b'{"order": 12345678901234567890123}'), {"order": "12345678901234567890123"}, ()),
        (json_of(b"[-9223372036854775808, 9223372036854775808]"), [-(2**63), "9223372036854775808"], ()),
        (json_of(b"9" * 5_000), "9" * 5_000, ()),
    ],
)
async def test_without_a_path_the_answer_is_the_common_shape_or_all_of_it_is_the_reply(
    answer: Any, reply: Any, calls: Any
) -> None:
    async with ScriptedAgent(answer) as agent:
        (turn,) = await talk("http", {"url": agent.url}, "你好")
    assert (turn.status, turn.reply, turn.tool_calls) == (OK, reply, calls)


@pytest.mark.parametrize("levels", [102, 300, 2_000, 200_000])
async def test_a_reply_that_is_nested_too_deeply_is_told_in_one_way(levels: int) -> None:
    async with ScriptedAgent(json_of(b"[" * levels + b"]" * levels)) as agent:
        (turn,) = await talk("http", {"url": agent.url}, "你好")
    assert (turn.status, turn.error) == (ERROR, "the reply is nested deeper than 100 levels")


async def test_half_an_emoji_comes_back_whole_in_what_was_said_before() -> None:
    halved = b'{"reply": {"\\ud83d": "\\ude00"}, "id": "\\ud83d"}'
    params = {
        "reply": "reply",
        "request": ["{history}", "{conversation_id}", "{message}"],
        "conversation_id_path": "id",
    }
    async with ScriptedAgent(json_of(halved), {"reply": "ok"}) as agent:
        turns = await talk("http", {**params, "url": f"{agent.url}/{{conversation_id}}"}, "你好", "再见")
    assert [turn.status for turn in turns] == [OK, OK]
    history, id_, _ = agent.asked[1]["body"]
    assert (history[1]["content"], id_) == ('{"\ufffd":"\ufffd"}', "\ufffd")


@pytest.mark.parametrize(
    ("params", "place"),
    [
        ({"request": {"text": "hello"}}, "request or url"),
        ({"request": ["{history}"]}, "request or url"),
        ({"method": "GET"}, "url (GET has no body)"),
    ],
)
def test_a_request_that_never_tells_the_message_is_refused(params: dict[str, Any], place: str) -> None:
    with pytest.raises(InputError) as refused:
        factory(Target("bot", "http", {"url": "http://127.0.0.1:9/", **params}))
    assert place in str(refused.value)


@pytest.mark.parametrize(
    ("kind", "charset", "reply"),
    [
        ("text/plain", "gbk", "联通：您好"),
        ("text/plain", '"GB2312"', "您好，朱镕基"),  # a character that GB2312 lacks, as servers send it
        ("application/json", "iso-8859-1", "Café résumé"),
        ("application/json", "utf-16", "您好"),
        ("text/plain", "big5", "您好"),
        ("text/plain", "utf8", "您好"),
    ],
)
async def test_the_declared_charset_counts(kind: str, charset: str, reply: str) -> None:
    text = orjson.dumps({"reply": reply}).decode() if kind == "application/json" else reply
    encoding = "gb18030" if "2312" in charset else charset
    headers = {"Content-Type": f"{kind}; charset={charset}"}
    async with ScriptedAgent(web.Response(body=text.encode(encoding), headers=headers)) as agent:
        (turn,) = await talk("http", {"url": agent.url}, "你好")
    assert (turn.status, turn.reply) == (OK, reply)


@pytest.mark.parametrize("charset", ["x-unknown", "base64", "ascii", "punycode"])
async def test_a_charset_that_is_none_or_wrong_leaves_utf_8(charset: str) -> None:
    headers = {"Content-Type": f"text/plain; charset={charset}"}
    async with ScriptedAgent(web.Response(body="您好".encode(), headers=headers)) as agent:
        (turn,) = await talk("http", {"url": agent.url}, "你好")
    assert (turn.status, turn.reply) == (OK, "您好")


@pytest.mark.parametrize(
    ("body", "key"), [('{"字": "a", "字": "b"}', "字"), ('{"reply": {"字": 1, "\\u5b57": 2}}', "字")]
)
async def test_a_key_that_stands_twice_is_an_error_of_the_answer(body: str, key: str) -> None:
    async with ScriptedAgent(json_of(body.encode())) as agent:
        (turn,) = await talk("http", {"url": agent.url}, "你好")
    assert (turn.status, turn.error) == (ERROR, f"an object in the reply has the key {key!r} twice")


async def test_what_is_neither_json_nor_text_is_malformed(agent: FaultyAgent) -> None:
    (turn,) = await talk("http", {"url": f"{agent.url}/binary"}, "你好")
    assert (turn.status, turn.error.partition(":")[0]) == (ERROR, "the reply is neither JSON nor text in UTF-8")


async def test_the_request_is_what_the_template_says() -> None:
    params = {
        "method": "PUT",
        "headers": {"X-Session": "s-{conversation_id}", "content-type": "application/vnd.api+json"},
        "request": {"input": {"text": "{message}", "n": "{turn_index}"}, "past": "{history}", "all": "{messages}"},
        "reply": "/out/0",
    }
    async with ScriptedAgent({"out": ["您好"]}, {"out": [None]}) as agent:
        turns = await talk(
            "http", {**params, "url": f"{agent.url}/v1/{{conversation_id}}/chat?n={{turn_index}}"}, "你好", "再见"
        )
    first, second = agent.asked
    assert [turn.reply for turn in turns] == ["您好", None]
    assert (first["method"], first["path"], second["path"]) == (
        "PUT",
        "/v1/attempt-1/chat?n=0",
        "/v1/attempt-1/chat?n=1",
    )
    assert first["headers"].getall("Content-Type") == ["application/vnd.api+json"]
    assert first["headers"]["X-Session"] == second["headers"]["X-Session"] == "s-attempt-1"
    assert first["body"] == {
        "input": {"text": "你好", "n": 0},
        "past": [],
        "all": [{"role": "user", "content": "你好"}],
    }
    assert second["body"]["past"] == [{"role": "user", "content": "你好"}, {"role": "assistant", "content": "您好"}]


async def test_a_message_in_the_url_stays_one_value() -> None:
    async with ScriptedAgent("ok") as agent:
        await talk("http", {"url": f"{agent.url}/chat/{{message}}?q={{message}}", "method": "GET"}, "a&b=?/../c 你#")
    path, _, query = agent.asked[0]["path"].partition("?")
    assert path == "/chat/a&b=%3F%2F..%2Fc%20%E4%BD%A0%23"
    assert query == "q=a%26b%3D?/../c%20%E4%BD%A0%23"
    assert agent.asked[0]["body"] is None


async def test_an_id_given_by_the_agent_is_sent_from_then_on() -> None:
    body = {"session": "{conversation_id}", "text": "{message}"}
    async with ScriptedAgent({"sid": 42, "a": "x"}, {"sid": 43, "a": "y"}, {"a": "z"}) as agent:
        params = {"url": agent.url, "request": body, "reply": "a", "conversation_id_path": "sid"}
        turns = await talk("http", params, "1", "2", "3")
    assert [turn.reply for turn in turns] == ["x", "y", "z"]
    assert [asked["body"]["session"] for asked in agent.asked] == [None, 42, 42]


async def test_an_agent_that_should_give_an_id_and_does_not_fails() -> None:
    async with ScriptedAgent({"a": "x"}) as agent:
        (turn,) = await talk("http", {"url": agent.url, "reply": "a", "conversation_id_path": "sid"}, "1")
    assert (turn.status, turn.error) == (ERROR, "nothing at 'sid' in the reply (its members are a)")


async def test_a_message_that_was_refused_is_no_turn_of_the_agents() -> None:
    body = {"n": "{turn_index}", "past": "{history}", "said": "{message}"}
    async with ScriptedAgent("a", web.Response(status=503), "b") as agent:
        await talk("http", {"url": agent.url, "request": body}, "1", "2", retries=1)
    assert [asked["body"]["n"] for asked in agent.asked] == [0, 1, 1]
    assert agent.asked[1]["body"] == agent.asked[2]["body"]


async def test_tool_calls_are_read_by_their_paths() -> None:
    answer = {
        "out": "已订",
        "trace": {
            "steps": [{"fn": {"id": "book", "in": {"n": 1}}, "out": [1], "success": False}, {"fn": {"id": "bye"}}]
        },
    }
    paths = {"path": "trace.steps", "name": "fn.id", "arguments": "fn.in", "result": "out", "ok": "success"}
    async with ScriptedAgent(answer, {"out": "无"}, {"out": "null", "trace": {"steps": None}}) as agent:
        turns = await talk("http", {"url": agent.url, "reply": "out", "tool_calls": paths}, "1", "2", "3")
    assert turns[0].tool_calls == (ToolCall("book", {"n": 1}, [1], False), ToolCall("bye"))
    assert [turn.tool_calls for turn in turns[1:]] == [(), ()]


async def test_the_result_of_a_tool_call_says_whether_it_succeeded_where_the_call_does_not() -> None:
    calls = [{"name": "book", "ok": "false"}, {"name": "book", "result": {"error": "已约满"}}, {"name": "look"}]
    async with ScriptedAgent({"reply": "约好了", "tool_calls": calls}) as agent:
        (turn,) = await talk("http", {"url": agent.url}, "约周一")
    assert [call.ok for call in turn.tool_calls] == [False, False, None]


@pytest.mark.parametrize(
    "calls",
    [{"name": "book"}, "book", [{"nam": "book"}], ["book"], [{"name": ""}], [{"name": "book", "ok": "maybe"}]],
)
async def test_tool_calls_that_cannot_be_read_are_an_error(calls: Any) -> None:
    async with ScriptedAgent({"reply": "ok", "tools": calls}) as agent:
        (turn,) = await talk("http", {"url": agent.url, "reply": "reply", "tool_calls": {"path": "tools"}}, "hi")
    assert turn.status is ERROR
    assert "tool call" in turn.error


async def test_no_content_is_an_empty_reply() -> None:
    async with ScriptedAgent(web.Response(status=204)) as agent:
        (turn,) = await talk("http", {"url": agent.url, "reply": "reply"}, "hi")
    assert (turn.status, turn.reply) == (OK, None)


@pytest.mark.parametrize("before", ["", "x" * 180])
async def test_secrets_appear_in_no_error_not_even_in_part(before: str) -> None:
    key = "sk-canary-0123456789"

    async def echo_headers(asked: Asked) -> web.Response:
        return web.Response(status=401, text=f"{before}bad key {asked['headers']['Authorization']}")

    async with ScriptedAgent(echo_headers) as agent:
        params = {"url": agent.url, "headers": {"Authorization": f"Bearer {key}"}}
        (turn,) = await talk("http", params, "hi", secrets=frozenset({key}))
    assert turn.status is NOT_DELIVERED
    assert "bad key" in turn.error
    assert "sk-" not in turn.error


# ---- polling ---------------------------------------------------------------------------------------------------------


def polling(url: str, **poll: Any) -> Mapping[str, Any]:
    return {
        "url": f"{url}/messages",
        "reply": "reply",
        "poll": {"url": f"{url}/messages/{{id}}", "id_path": "id", "done_path": "status", "interval_ms": 1, **poll},
    }


async def test_a_slow_agent_is_polled_until_it_is_done(agent: FaultyAgent) -> None:
    turns = await talk("http", polling(agent.url, done_value="done"), "你好", "再见")
    assert [turn.reply for turn in turns] == ["你好", "再见"]
    assert agent.polls == {"m1": 3, "m2": 3}


@pytest.mark.parametrize("pending", [{}, {"reply": None}, {"reply": False}])
async def test_without_a_value_anything_but_null_and_false_is_done(pending: Any) -> None:
    async with ScriptedAgent({"id": 7}, pending, {"reply": ""}) as agent:
        (turn,) = await talk("http", polling(agent.url, done_path="reply"), "hi")
    assert (turn.reply, agent.asked[1]["path"]) == ("", "/messages/7")


async def test_a_poll_that_is_refused_is_repeated() -> None:
    refused = web.Response(status=429, headers={"Retry-After": "0"})
    async with ScriptedAgent({"id": 1}, web.Response(status=503), refused, {"status": "ok", "reply": "x"}) as agent:
        (turn,) = await talk("http", polling(agent.url), "hi")
    assert turn.reply == "x"


@pytest.mark.parametrize("status", [404, 500])
async def test_a_poll_that_fails_is_the_agents_failure_as_it_got_the_message(status: int) -> None:
    async with ScriptedAgent({"id": 1}, web.Response(status=status)) as agent:
        (turn,) = await talk("http", polling(agent.url), "hi", retries=3)
    assert (turn.status, len(agent.asked)) == (ERROR, 2)
    assert f"polling: the agent answered {status}" in turn.error


async def test_an_agent_that_is_never_done_is_timed_out(agent: FaultyAgent) -> None:
    (turn,) = await talk("http", polling(agent.url, done_value="never"), "hi", timeout_s=0.05)
    assert (turn.status, turn.error) == (TIMEOUT, "no reply within 0.05 s")


async def test_an_answer_without_the_id_is_malformed() -> None:
    async with ScriptedAgent({"job": 1}) as agent:
        (turn,) = await talk("http", polling(agent.url), "hi")
    assert (turn.status, turn.error) == (ERROR, "nothing at 'id' in the reply (its members are job)")


async def test_a_cancelled_request_lets_its_connection_go() -> None:
    arrived, left = asyncio.Event(), asyncio.Event()

    async def hang(_asked: Asked) -> web.Response:
        arrived.set()
        try:
            await asyncio.Event().wait()
        finally:
            left.set()
        raise AssertionError

    async with ScriptedAgent(hang) as agent:
        talking = asyncio.create_task(talk("http", {"url": agent.url}, "hi"))
        await arrived.wait()
        talking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await talking
        await asyncio.wait_for(left.wait(), 1)


async def test_a_header_that_cannot_be_sent_is_no_failure_of_the_agent(agent: FaultyAgent) -> None:
    (turn,) = await talk("http", {"url": f"{agent.url}/echo", "headers": {"X-Note": "a\nb"}}, "hello")
    assert turn.status is NOT_DELIVERED
    assert not agent.received
