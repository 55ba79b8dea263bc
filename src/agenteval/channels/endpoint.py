"""An agent's HTTP server: what a failed request means for the message in it."""

import codecs
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

import orjson

from agenteval.channels.exchange import time_limit_s
from agenteval.domain.errors import (
    DestinationForbidden,
    TargetError,
    TargetProtocolError,
    TargetRateLimited,
    TargetTimeout,
    TargetUnavailable,
)
from agenteval.domain.json_value import Json
from agenteval.domain.target import Target
from agenteval.net.errors import NetError, NetFault
from agenteval.net.guard import Guard
from agenteval.net.redact import Redactor
from agenteval.net.session import JSON_HEADERS, Response, Session

_CHECK_TIMEOUT_S = 10.0
_EXCERPT = 200
_LOOKED_AT_BYTES = 8 * 1024
_STREAM = "text/event-stream"
_PAGE = (b"<!doctype html", b"<html")
_CHARSET = re.compile(r"""charset\s*=\s*["']?([\w.:-]+)""", re.IGNORECASE)
_WIDER = {"gb2312": "gb18030", "gbk": "gb18030"}  # what servers mean by it
_NO_CHARSETS = {"idna", "punycode", "unicode_escape", "raw_unicode_escape", "undefined"}  # that Python knows
_ADVICE = {
    400: "check the request's body against what the agent expects",
    401: "check the key in the target's headers",
    403: "check the key in the target's headers, and what it may do",
    404: "check the url",
    405: "check url and method",
    422: "check the request's body against what the agent expects",
}


class Endpoint:
    """The server at `url`, and only there. Every failure is a TargetError without secrets."""

    def __init__(self, url: str, target: Target, guard: Guard, *, secrets: frozenset[str] = frozenset()) -> None:
        self._timeout_s = target.timeout_s
        self._redact = Redactor(target.secrets | secrets)
        try:
            self._session = Session(url, guard=guard)
        except NetError as error:
            raise self._failure(error) from error

    async def check(self) -> None:
        """Raises TargetError when nobody can be reached there; whatever answers will do."""
        try:
            await self._session.request("HEAD", f"{self._session.origin}/", timeout_s=_CHECK_TIMEOUT_S)
        except NetError as error:
            if not error.delivered:
                raise self._failure(error) from error

    async def request(
        self, method: str, url: str, *, body: Json = None, headers: Mapping[str, str] | None = None
    ) -> Response:
        """The response if it is a 2xx and may be a reply; `body` None sends none."""
        sent = {name.lower(): value for name, value in {**JSON_HEADERS, **(headers or {})}.items()}
        try:
            response = await self._session.request(
                method,
                url,
                body=None if body is None else orjson.dumps(body),
                headers=sent,
                timeout_s=min(self._timeout_s, time_limit_s.get()),
            )
        except NetError as error:
            raise self._failure(error) from error
        response = _in_utf8(response)
        if not 200 <= response.status < 300:
            raise self._refusal(response)
        if unusable := self._no_reply(response):
            raise unusable
        return response

    async def close(self) -> None:
        await self._session.close()

    def malformed(self, message: str, response: Response) -> TargetProtocolError:
        """The error for a reply that cannot be understood, with its beginning."""
        return TargetProtocolError(message + self._excerpt(response))

    def _failure(self, error: NetError) -> TargetError:
        message = self._redact(error.message)
        match error.fault:
            case NetFault.FORBIDDEN:
                return DestinationForbidden(message)
            case NetFault.TIMEOUT if error.delivered:
                return TargetTimeout(message)
            case NetFault.DNS | NetFault.CONNECT | NetFault.TIMEOUT | NetFault.DROPPED:
                return TargetUnavailable(message, delivered=error.delivered)
            case NetFault.TOO_LARGE | NetFault.PROTOCOL | NetFault.TLS:
                return TargetProtocolError(message, delivered=error.delivered)

    def _refusal(self, response: Response) -> TargetError:
        status = response.status
        message = f"the agent answered {status}{self._excerpt(response)}"
        if status == 429:
            return TargetRateLimited(message, retry_after_s=response.retry_after_s)
        if status == 503:
            return TargetUnavailable(message, retry_after_s=response.retry_after_s)
        if status >= 500:
            return TargetError(message, delivered=True)
        if 300 <= status < 400:
            leads_to = self._redact(response.headers.get("Location", "nowhere"))
            return TargetError(f"the agent answered {status}, a redirect to {leads_to}", fix="give the final url")
        return TargetError(message, fix=_ADVICE.get(status, ""))

    def _no_reply(self, response: Response) -> TargetError | None:
        """What an agent's words cannot be in, so that it is the settings that are wrong, not the agent."""
        kind = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if kind == _STREAM:
            return TargetError(
                f"the agent answers with a stream ({kind}), which is not supported",
                fix="ask for the whole reply at once, such as by stream: false in the request",
            )
        if response.body.lstrip()[:20].lower().startswith(_PAGE):
            return TargetError(
                f"the agent answers with a web page (content type {kind or 'not told'}){self._excerpt(response)}",
                fix="check the url, and the key in the target's headers: it may be a login page",
            )
        return None

    def _excerpt(self, response: Response) -> str:
        """The beginning of the body, without secrets before it is cut: the rest of one would still be one."""
        text = " ".join(self._redact(response.body[:_LOOKED_AT_BYTES].decode(errors="replace")).split())
        return f": {text[:_EXCERPT]}" if text else " with an empty body"


def _in_utf8(response: Response) -> Response:
    """From the charset that the server declares. Where the body is not in that, or nobody knows it, as it came."""
    declared = _CHARSET.search(response.headers.get("Content-Type", ""))
    with suppress(LookupError, UnicodeError):
        charset = codecs.lookup(declared[1]).name if declared else "utf-8"
        if charset != "utf-8" and charset not in _NO_CHARSETS:
            return replace(response, body=response.body.decode(_WIDER.get(charset, charset)).encode())
    return response
