"""Pooled HTTP sessions, one for each origin. What comes back is a Response or a NetError, whatever went wrong.

Nothing is retried and no redirect is followed here: a caller sees the 3xx and decides. The one exception is aiohttp's
own: a request whose method is idempotent (GET) is repeated once when a kept-alive connection turns out to be dead. A
POST in that place is reported as dropped and possibly delivered, which is the safe reading for a message to an agent;
idle connections are therefore closed after `KEEP_ALIVE_S`, before usual servers close them.
"""

import re
import time
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import lru_cache
from types import TracebackType
from typing import Any, Self

import aiohttp
import orjson
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.connector import Connection

from agenteval.domain.json_value import Json
from agenteval.domain.quick_init import quick_init
from agenteval.net import forbid
from agenteval.net.errors import NetError, NetFault
from agenteval.net.guard import Guard, Origin, origin

MAX_REPLY_BYTES = 2 * 1024 * 1024
CONNECT_TIMEOUT_S = 10.0
KEEP_ALIVE_S = 1.5
JSON_HEADERS = {"Content-Type": "application/json", "Accept": "application/json"}

_NUMBER = re.compile(r"[0-9]{1,9}(\.[0-9]+)?")

_connected: ContextVar[bool] = ContextVar("connected", default=False)


@quick_init
@dataclass(frozen=True, slots=True)
class Response:
    """`headers` is case-insensitive, `body` decoded from its content encoding, `latency_ms` until its last byte."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    latency_ms: float

    def json(self) -> Json:
        """Raises NetError when the body is not JSON in UTF-8."""
        try:
            value: Json = orjson.loads(self.body)
        except orjson.JSONDecodeError as error:
            raise NetError(NetFault.PROTOCOL, f"the reply is not JSON: {error}", delivered=True) from error
        return value

    @property
    def retry_after_s(self) -> float | None:
        """What the server asked to wait (RFC 9110 10.2.3, or `retry-after-ms`), never negative; a date counts from the
        server's own clock. None without a usable value."""
        milliseconds = self.headers.get("retry-after-ms", "")
        seconds = self.headers.get("Retry-After", "")
        if _NUMBER.fullmatch(milliseconds):
            return float(milliseconds) / 1000
        if _NUMBER.fullmatch(seconds):
            return float(seconds)
        try:
            waiting = parsedate_to_datetime(seconds) - parsedate_to_datetime(self.headers.get("Date", ""))
        except (TypeError, ValueError):
            return None
        return max(0.0, waiting.total_seconds())


class _Resolver(AbstractResolver):
    """Resolves once and lets through what the guard allows; the connector then uses these very addresses."""

    def __init__(self, guard: Guard, target: Origin, names: AbstractResolver) -> None:
        self._guard = guard
        self._target = target
        self._names = names

    async def resolve(self, host: str, port: int = 0, family: int = 0) -> list[ResolveResult]:
        found = await self._names.resolve(host, port, family=family)  # type: ignore[arg-type]
        self._guard.check(self._target, [result["host"] for result in found])
        return found

    async def close(self) -> None:
        await self._names.close()


class _Connector(aiohttp.TCPConnector):
    """Notes when a request has its connection: what fails before was certainly not delivered. (Trace hooks tell the
    same for a quarter more CPU per call.)"""

    async def connect(self, *args: Any, **kwargs: Any) -> Connection:
        connection = await super().connect(*args, **kwargs)
        _connected.set(True)
        return connection


class Session:
    """One origin's connections. Its limits are the caller's: it opens as many connections as there are requests.

    Cookies are not kept, so that no conversation sees another's. Proxy settings of the environment are ignored.
    """

    def __init__(
        self,
        url: str,
        *,
        guard: Guard,
        max_reply_bytes: int = MAX_REPLY_BYTES,
        connect_timeout_s: float = CONNECT_TIMEOUT_S,
        resolver: AbstractResolver | None = None,
    ) -> None:
        self.origin = origin(url)
        guard.check_literal(self.origin)
        self._guard = guard
        self._max_reply_bytes = max_reply_bytes
        self._connect_timeout_s = connect_timeout_s
        self._names = resolver
        self._client: aiohttp.ClientSession | None = None

    async def request(
        self,
        method: str,
        url: str,
        *,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        timeout_s: float,
    ) -> Response:
        """One exchange with this session's origin, within `timeout_s` from connecting to the last byte. Connecting may
        take half of it at most, so that a connection that never comes is not taken for an answer that never comes.

        Any status is a Response. Raises NetError; RuntimeError when a write transaction is open.
        """
        if forbid.get():
            raise RuntimeError("a network call inside a write transaction")
        if origin(url) != self.origin:
            raise NetError(NetFault.FORBIDDEN, f"{url} is not at {self.origin}", delivered=False)
        _connected.set(False)
        started_s = time.perf_counter()
        try:
            async with self._open().request(
                method,
                url,
                data=body,
                headers=headers,
                timeout=_timeout(timeout_s, self._connect_timeout_s),
                allow_redirects=False,
            ) as reply:
                content = await self._read(reply)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise _net_error(error, self.origin, timeout_s) from error
        return Response(reply.status, reply.headers, content, (time.perf_counter() - started_s) * 1000)

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()
            self._client = None

    def _open(self) -> aiohttp.ClientSession:
        """Opened on first use, as it belongs to the running event loop."""
        if self._client is None:
            names = self._names or aiohttp.ThreadedResolver()
            connector = _Connector(
                limit=0, keepalive_timeout=KEEP_ALIVE_S, resolver=_Resolver(self._guard, self.origin, names)
            )
            self._client = aiohttp.ClientSession(
                connector=connector, trust_env=False, cookie_jar=aiohttp.DummyCookieJar()
            )
        return self._client

    async def _read(self, reply: aiohttp.ClientResponse) -> bytes:
        """The decoded body, piece by piece: a small compressed body can unfold to gigabytes."""
        pieces: list[bytes] = []
        size = 0
        while piece := await reply.content.readany():
            pieces.append(piece)
            size += len(piece)
            if size > self._max_reply_bytes:
                reply.close()
                raise NetError(
                    NetFault.TOO_LARGE, f"the reply is larger than {self._max_reply_bytes} bytes", delivered=True
                )
        return b"".join(pieces)


@lru_cache(maxsize=64)
def _timeout(total_s: float, connect_s: float) -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(total=total_s, connect=min(connect_s, total_s / 2))


class Sessions:
    """One session for each origin, shared by whatever talks to it."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._sessions: dict[Origin, Session] = {}

    def at(self, url: str) -> Session:
        """Raises NetError when `url` cannot be used or names an address that is not allowed."""
        target = origin(url)
        if target not in self._sessions:
            self._sessions[target] = Session(url, guard=self._guard)
        return self._sessions[target]

    async def close(self) -> None:
        for session in self._sessions.values():
            await session.close()
        self._sessions.clear()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def _net_error(error: Exception, target: Origin, timeout_s: float) -> NetError:
    """The most specific classes first: aiohttp's derive from one another."""
    delivered = _connected.get()
    match error:
        case TimeoutError() if delivered:
            fault, message = NetFault.TIMEOUT, f"no complete reply from {target} within {timeout_s:g} s"
        case TimeoutError():
            fault, message = NetFault.TIMEOUT, f"no connection to {target} in time"
        case aiohttp.ClientConnectorDNSError():
            fault, message = NetFault.DNS, f"cannot find the host {target.host}"
        case aiohttp.ClientSSLError():
            fault, message = NetFault.TLS, f"no secure connection to {target}: {error}"
        case aiohttp.ClientConnectorError():
            fault, message = NetFault.CONNECT, f"cannot connect to {target}: {error.strerror or error}"
        case aiohttp.ClientResponseError():
            fault, message = NetFault.PROTOCOL, f"{target} does not speak HTTP as it should: {error.message}"
        case aiohttp.ClientConnectionError() | aiohttp.ClientPayloadError() | OSError():
            fault, message = NetFault.DROPPED, f"{target} closed the connection before its reply was complete"
        case _:
            fault, message, delivered = NetFault.PROTOCOL, f"cannot send this request to {target}: {error}", False
    return NetError(fault, message, delivered=delivered)
