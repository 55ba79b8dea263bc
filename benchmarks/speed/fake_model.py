"""A model server on loopback with OpenAI's interface, which judges the conversations of this benchmark at once.

`python -m benchmarks.speed.fake_model` prints its port and serves until its stdin ends. POST /admin sets latency and
faults, if it names them, and begins counting anew; GET /admin tells what was counted. It stands on raw protocols, so
that with a core of its own it is never what the others wait for.
"""

import asyncio
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

import orjson
import uvloop

from benchmarks.speed.conversations import REFUSALS


class Fault(StrEnum):
    SERVER_ERROR = "500"
    RATE_LIMITED = "429"
    DROPPED = "dropped"
    MALFORMED = "malformed"
    UNANSWERED = "unanswered"


FAULT_PERIOD = 50
FAULT_SHIFT = 11
FAULTS = {7: Fault.SERVER_ERROR, 17: Fault.RATE_LIMITED, 27: Fault.DROPPED, 37: Fault.UNANSWERED, 47: Fault.MALFORMED}


def fault_at(call: int) -> Fault | None:
    """2 % of each kind by the number of the call, never two at once. The places move from period to period: with 100
    calls in flight a repeated call comes about 100 calls later, and would meet the same fault again and again; so the
    same fault comes 39, 78 or 117 calls later, but not about 100."""
    return FAULTS.get((call + FAULT_SHIFT * (call // FAULT_PERIOD)) % FAULT_PERIOD)


_LINE = re.compile(r"^(?:\[\d+\] )?(user|agent|assistant): (.*)$", re.MULTILINE)
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_REASONS = {200: "OK", 429: "Too Many Requests", 500: "Internal Server Error"}


@dataclass(slots=True)
class Counts:
    """`prompt_chars`: of all messages, without the schema. `in_flight`: requests that wait for their answer now."""

    requests: int = 0
    prompt_chars: int = 0
    in_flight: int = 0
    max_in_flight: int = 0


class Server:
    def __init__(self) -> None:
        self.counts = Counts()
        self._latency_s = 0.0
        self._has_faults = False

    def admin(self, body: bytes) -> bytes:
        if body:
            wanted = orjson.loads(body)
            self._latency_s = wanted.get("latency_ms", 1000 * self._latency_s) / 1000
            self._has_faults = wanted.get("faults", self._has_faults)
            self.counts = Counts(in_flight=self.counts.in_flight)
        return _http(200, asdict(self.counts))

    def complete(self, body: bytes, reply: Callable[[bytes | None], None]) -> None:
        """Calls `reply` when the time has come: with the whole response, with None to drop the connection; never, if
        that is the fault."""
        counts = self.counts
        counts.requests += 1
        counts.in_flight += 1
        counts.max_in_flight = max(counts.max_in_flight, counts.in_flight)
        fault = fault_at(counts.requests) if self._has_faults else None
        request = orjson.loads(body)
        prompts = [message["content"] for message in request["messages"]]
        counts.prompt_chars += sum(map(len, prompts))
        if fault is Fault.UNANSWERED:
            return
        response = _response(request, prompts, fault)
        if self._latency_s:
            asyncio.get_running_loop().call_later(self._latency_s, reply, response)
        else:
            reply(response)


class Connection(asyncio.Protocol):
    def __init__(self, server: Server) -> None:
        self._server = server
        self._received = b""
        self._waiting = 0
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]

    def connection_lost(self, _error: Exception | None) -> None:
        self._server.counts.in_flight -= self._waiting
        self._waiting = 0
        self._transport = None

    def data_received(self, data: bytes) -> None:
        self._received += data
        while (end := self._received.find(b"\r\n\r\n") + 4) > 3:
            head = self._received[:end]
            length = _LENGTH.search(head)
            whole = end + (int(length[1]) if length else 0)
            if len(self._received) < whole:
                return
            body, self._received = self._received[end:whole], self._received[whole:]
            if b" /admin " in head:
                self._write(self._server.admin(body))
            else:
                self._waiting += 1
                self._server.complete(body, self._reply)

    def _reply(self, response: bytes | None) -> None:
        if self._transport is None:
            return
        self._waiting -= 1
        self._server.counts.in_flight -= 1
        self._write(response)

    def _write(self, response: bytes | None) -> None:
        if self._transport is None:
            return
        if response is None:
            self._transport.abort()
        else:
            self._transport.write(response)


def _response(request: Any, prompts: Sequence[str], fault: Fault | None) -> bytes | None:
    match fault:
        case Fault.SERVER_ERROR | Fault.RATE_LIMITED:
            return _http(int(fault), {"error": {"message": f"injected {fault}"}})
        case Fault.DROPPED:
            return None
    content = orjson.dumps(answer(request["response_format"]["json_schema"]["schema"], prompts[-1])).decode()
    if fault is Fault.MALFORMED:
        content = content[: len(content) // 2]
    asked, said = sum(map(len, prompts)) // 4, len(content) // 4
    return _http(
        200,
        {
            "id": "chatcmpl-0",
            "object": "chat.completion",
            "created": 0,
            "model": request["model"],
            "choices": [{"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": asked, "completion_tokens": said, "total_tokens": asked + said},
        },
    )


def _http(status: int, value: object) -> bytes:
    body = orjson.dumps(value)
    head = f"HTTP/1.1 {status} {_REASONS[status]}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}"
    return head.encode() + b"\r\n\r\n" + body


# ---- answers ---------------------------------------------------------------------------------------------------------


def answer(schema: Any, transcript: str) -> dict[str, Any]:
    """What fits `schema`, the floor's or the product's, of the two things asked for in turns 0 and 2 and answered in 1
    and 2. Every quote is verbatim. Anything else (a model's check) gets `{"ok": true}`."""
    said = _LINE.findall(transcript)
    users = [text for speaker, text in said if speaker == "user"]
    replies = [text for speaker, text in said if speaker != "user"]
    if len(users) < 4:
        return {"ok": True}
    found = [(0, users[0], 1, replies[1]), (2, users[2], 2, replies[2])]
    if "intents" in schema["properties"]:
        intents = [{"intent": ask, "met": reply not in REFUSALS, "evidence": reply} for _, ask, _, reply in found]
        met = sum(reply not in REFUSALS for *_, reply in found)
        return {"intents": intents, "score": met / len(found), "reason": "" if met == 2 else "one is unmet"}
    return {key: {"intents": [_intent(*each) for each in found]} for key in schema["required"]}


def _intent(asked_in: int, ask: str, answered_in: int, reply: str) -> dict[str, Any]:
    is_met = reply not in REFUSALS
    return {
        "quote": {"turn": asked_in, "text": ask},
        "text": ask,
        "judgement": {
            "reason": "The agent's reply does it." if is_met else "The agent says that it cannot.",
            "state": "active",
            "agent_quote": {"turn": answered_in, "text": reply},
            "tool_quote": None,
            "verdict": "met" if is_met else "unmet",
            "reason_code": "none" if is_met else "blocked",
        },
    }


async def serve() -> None:
    server = Server()
    loop = asyncio.get_running_loop()
    listening = await loop.create_server(lambda: Connection(server), "127.0.0.1", 0, backlog=2048)
    print(listening.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    listening.close()


if __name__ == "__main__":
    uvloop.run(serve())
