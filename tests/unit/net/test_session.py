import asyncio
import gzip
import socket
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from aiohttp.abc import AbstractResolver, ResolveResult

from agenteval.net import forbid
from agenteval.net.errors import NetError, NetFault
from agenteval.net.guard import Guard
from agenteval.net.session import Response, Session, Sessions
from tests.fakes.faulty_agent import FaultyAgent
from tests.fakes.posting import posted

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@pytest.fixture
async def agent() -> AsyncIterator[FaultyAgent]:
    async with FaultyAgent() as server:
        yield server


@pytest.fixture
async def sessions() -> AsyncIterator[Sessions]:
    async with Sessions(Guard()) as pool:
        yield pool


class Names(AbstractResolver):
    """Answers with one list of addresses after the other."""

    def __init__(self, *answers: list[str]) -> None:
        self.answers = list(answers)

    async def resolve(self, host: str, port: int = 0, family: int = 0) -> list[ResolveResult]:
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return [
            ResolveResult(hostname=host, host=address, port=port, family=socket.AF_INET, proto=0, flags=0)
            for address in answer
        ]

    async def close(self) -> None: ...


async def fails(sessions: Sessions, url: str, timeout_s: float = 5) -> tuple[NetFault, bool]:
    with pytest.raises(NetError) as caught:
        await posted(sessions.at(url), url, {"message": "你好"}, timeout_s=timeout_s)
    return caught.value.fault, caught.value.delivered


async def raw_server(handler: Handler) -> tuple[asyncio.Server, str]:
    server = await asyncio.start_server(handler, "127.0.0.1", 0)
    return server, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"


async def test_a_reply_carries_status_headers_body_and_latency(sessions: Sessions, agent: FaultyAgent) -> None:
    url = f"{agent.url}/echo"
    reply = await posted(sessions.at(url), url, {"message": "你好 😀"}, timeout_s=5)
    assert (reply.status, reply.json()) == (200, {"reply": "你好 😀"})
    assert reply.headers["content-TYPE"].startswith("application/json")
    assert 0 < reply.latency_ms < 5000


async def test_chinese_is_sent_unescaped(sessions: Sessions) -> None:
    seen = asyncio.get_running_loop().create_future()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.set_result(await reader.readuntil('你好"}'.encode()))
        writer.close()

    server, url = await raw_server(answer)
    async with server:
        await fails(sessions, url)
    assert b"\\u" not in await seen


@pytest.mark.parametrize("path", ["500", "503", "429", "404", "empty", "redirect"])
async def test_any_status_is_a_reply_and_no_redirect_is_followed(
    sessions: Sessions, agent: FaultyAgent, path: str
) -> None:
    url = f"{agent.url}/{path}"
    reply = await posted(sessions.at(url), url, {"message": "hi"}, timeout_s=5)
    assert reply.status == {"empty": 200, "redirect": 307}.get(path) or reply.status == int(path)
    assert len(agent.received) == 1


@pytest.mark.parametrize(
    ("headers", "wait_s"),
    [
        ({}, None),
        ({"Retry-After": "7"}, 7.0),
        ({"Retry-After": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "Retry-After": "1"}, 0.25),
        ({"Retry-After": "Mon, 15 Jan 2024 08:00:30 GMT", "Date": "Mon, 15 Jan 2024 08:00:00 GMT"}, 30.0),
        ({"Retry-After": "Mon, 15 Jan 2024 07:00:00 GMT", "Date": "Mon, 15 Jan 2024 08:00:00 GMT"}, 0.0),
        ({"Retry-After": "Mon, 15 Jan 2024 08:00:30 GMT"}, None),
        ({"Retry-After": "Mon, 15 Jan 2024 08:00:30", "Date": "Mon, 15 Jan 2024 08:00:00 GMT"}, None),
        ({"Retry-After": "-5"}, None),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "inf"}, None),
        ({"Retry-After": "٣"}, None),
    ],
)
def test_how_long_the_server_asked_to_wait(headers: dict[str, str], wait_s: float | None) -> None:
    assert Response(429, headers, b"", 1.0).retry_after_s == wait_s


@pytest.mark.parametrize(
    ("path", "timeout_s", "fault"),
    [
        ("hang", 0.04, NetFault.TIMEOUT),
        ("drip", 0.04, NetFault.TIMEOUT),
        ("drop", 5, NetFault.DROPPED),
        ("drop-mid-body", 5, NetFault.DROPPED),
        ("too-large", 5, NetFault.TOO_LARGE),
        ("gzip-bomb", 5, NetFault.TOO_LARGE),
    ],
)
async def test_what_fails_after_sending_says_that_it_may_have_arrived(
    sessions: Sessions, agent: FaultyAgent, path: str, timeout_s: float, fault: NetFault
) -> None:
    assert await fails(sessions, f"{agent.url}/{path}", timeout_s) == (fault, True)


async def test_a_megabyte_arrives_whole(sessions: Sessions, agent: FaultyAgent) -> None:
    url = f"{agent.url}/large"
    reply = await posted(sessions.at(url), url, {"message": "hi"}, timeout_s=5)
    assert reply.json() == {"reply": "大" * (1024 * 1024 // 3)}


@pytest.mark.parametrize("path", ["broken-json", "binary", "empty"])
async def test_a_body_that_is_not_json_is_told_when_it_is_read(
    sessions: Sessions, agent: FaultyAgent, path: str
) -> None:
    url = f"{agent.url}/{path}"
    reply = await posted(sessions.at(url), url, {"message": "hi"}, timeout_s=5)
    with pytest.raises(NetError) as caught:
        reply.json()
    assert (caught.value.fault, caught.value.delivered) == (NetFault.PROTOCOL, True)


async def test_garbage_instead_of_http_is_a_protocol_error(sessions: Sessions) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"SSH-2.0-OpenSSH\r\n\r\n")
        writer.close()

    server, url = await raw_server(answer)
    async with server:
        assert await fails(sessions, url) == (NetFault.PROTOCOL, True)


async def test_a_broken_content_encoding_is_not_taken_for_an_empty_reply(sessions: Sessions) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        body = gzip.compress(b'{"reply": "hello"}')
        body = body[:12] + bytes(8) + body[20:]
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        writer.close()

    server, url = await raw_server(answer)
    async with server:
        fault, delivered = await fails(sessions, url)
    assert (fault, delivered) == (NetFault.DROPPED, True)


async def test_what_fails_before_sending_was_certainly_not_delivered(sessions: Sessions) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        closed_port = unused.getsockname()[1]
    assert await fails(sessions, f"http://127.0.0.1:{closed_port}/") == (NetFault.CONNECT, False)


async def test_an_unknown_host_was_not_delivered() -> None:
    class Nobody(Names):
        async def resolve(self, host: str, port: int = 0, family: int = 0) -> list[ResolveResult]:
            raise OSError("unknown")

    session = Session("http://agent.example/", guard=Guard(), resolver=Nobody([]))
    with pytest.raises(NetError) as caught:
        await session.request("GET", "http://agent.example/", timeout_s=5)
    await session.close()
    assert (caught.value.fault, caught.value.delivered) == (NetFault.DNS, False)


@pytest.mark.parametrize("which", ["connect", "total"])
async def test_a_connection_that_takes_too_long_was_not_delivered(which: str) -> None:
    class Slow(Names):
        async def resolve(self, host: str, port: int = 0, family: int = 0) -> list[ResolveResult]:
            await asyncio.sleep(60)
            return []

    session = Session(
        "http://agent.example/",
        guard=Guard(),
        resolver=Slow([]),
        connect_timeout_s=0.02 if which == "connect" else 60,
    )
    with pytest.raises(NetError) as caught:
        await session.request("GET", "http://agent.example/", timeout_s=0.02 if which == "total" else 60)
    await session.close()
    assert (caught.value.fault, caught.value.delivered) == (NetFault.TIMEOUT, False)


async def test_plain_http_behind_an_https_url_is_a_tls_error(sessions: Sessions, agent: FaultyAgent) -> None:
    assert await fails(sessions, agent.url.replace("http:", "https:")) == (NetFault.TLS, False)


async def test_a_header_that_cannot_be_sent_is_reported(sessions: Sessions, agent: FaultyAgent) -> None:
    with pytest.raises(NetError) as caught:
        await sessions.at(agent.url).request("GET", agent.url, headers={"X-Key": "a\r\nInjected: yes"}, timeout_s=5)
    assert caught.value.fault is NetFault.PROTOCOL


async def test_a_dead_kept_alive_connection_is_not_used_twice_for_a_message(sessions: Sessions) -> None:
    """The second message goes into a connection that the server closes without a word: it may have arrived."""
    requests = 0

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal requests
        while await reader.read(65536):
            requests += 1
            if requests == 2:
                break
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
        writer.close()

    server, url = await raw_server(answer)
    async with server:
        await posted(sessions.at(url), url, {}, timeout_s=5)
        assert await fails(sessions, url) == (NetFault.DROPPED, True)
    assert requests == 2


async def test_connections_are_reused_and_shared_by_one_origin(sessions: Sessions) -> None:
    connections = 0

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        while await reader.read(65536):
            writer.write(b"HTTP/1.1 200 OK\r\nSet-Cookie: s=1\r\nContent-Length: 2\r\n\r\n{}")
        writer.close()

    server, url = await raw_server(answer)
    async with server:
        for path in ("v1/a", "v1/b"):
            await posted(sessions.at(url + path), url + path, {}, timeout_s=5)
        assert sessions.at(url) is sessions.at(url + "v1/c")
        await sessions.close()
    assert connections == 1


async def test_no_cookie_travels_from_one_request_to_the_next(sessions: Sessions) -> None:
    heads: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await reader.read(65536):
            heads.append(head)
            writer.write(b"HTTP/1.1 200 OK\r\nSet-Cookie: s=1\r\nContent-Length: 2\r\n\r\n{}")
        writer.close()

    server, url = await raw_server(answer)
    async with server:
        for _ in range(2):
            await sessions.at(url).request("GET", url, timeout_s=5)
        await sessions.close()
    assert len(heads) == 2
    assert b"cookie" not in heads[1].lower()


async def test_proxy_settings_of_the_environment_are_ignored(
    sessions: Sessions, agent: FaultyAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    url = f"{agent.url}/echo"
    assert (await posted(sessions.at(url), url, {"message": "hi"}, timeout_s=5)).status == 200


async def test_waiting_for_the_network_inside_a_write_transaction_is_a_bug(
    sessions: Sessions, agent: FaultyAgent
) -> None:
    token = forbid.set(True)
    with pytest.raises(RuntimeError, match="write transaction"):
        await sessions.at(agent.url).request("GET", agent.url, timeout_s=5)
    forbid.reset(token)
    assert agent.received == []


async def test_a_session_sends_its_requests_to_its_own_origin_only(sessions: Sessions, agent: FaultyAgent) -> None:
    with pytest.raises(NetError) as caught:
        await sessions.at(agent.url).request("GET", "http://127.0.0.1:1/messages/1", timeout_s=5)
    assert caught.value.fault is NetFault.FORBIDDEN


async def test_a_name_that_leads_to_a_private_address_is_not_connected(agent: FaultyAgent) -> None:
    """DNS rebinding: the address that was checked is the address that is used, and each new answer is checked."""
    port = agent.url.rpartition(":")[2]
    url = f"http://agent.example:{port}/echo"
    for answers in ([["127.0.0.1"]], [["8.8.8.8", "127.0.0.1"]]):
        session = Session(url, guard=Guard(private=False), resolver=Names(*answers))
        with pytest.raises(NetError) as caught:
            await posted(session, url, {"message": "hi"}, timeout_s=5)
        await session.close()
        assert caught.value.fault is NetFault.FORBIDDEN
    assert agent.received == []

    session = Session(url, guard=Guard.of(["agent.example"], private=False), resolver=Names(["127.0.0.1"]))
    assert (await posted(session, url, {"message": "hi"}, timeout_s=5)).status == 200
    await session.close()


async def test_an_address_that_is_not_allowed_is_refused_before_anything_is_sent() -> None:
    with pytest.raises(NetError) as caught:
        Session("http://127.0.0.1:8000/", guard=Guard(private=False))
    assert caught.value.fault is NetFault.FORBIDDEN


async def test_cancelling_a_request_leaves_the_session_usable(sessions: Sessions, agent: FaultyAgent) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.03):
            await posted(sessions.at(agent.url), f"{agent.url}/hang", {}, timeout_s=60)
    assert (await posted(sessions.at(agent.url), f"{agent.url}/echo", {}, timeout_s=5)).status == 200
