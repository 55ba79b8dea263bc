"""An agent over HTTP with one path for each thing that agents do, right and wrong.

Requests are `{"message": ..., "conversation_id": ...}`, replies `{"reply": ...}` unless the path says otherwise.
`python -m tests.fakes.faulty_agent PORT` runs it in its own process.
"""

import argparse
import asyncio
import gzip
from collections import Counter, defaultdict
from typing import Any, NamedTuple

import orjson
from aiohttp import web

from tests.fakes.server import LoopbackServer, drop, hang, serve

MEBIBYTE = 1024 * 1024
POLLS_UNTIL_DONE = 2


class Received(NamedTuple):
    path: str
    json: dict[str, Any]


class FaultyAgent(LoopbackServer):
    """`received` is what was posted, in order; `polls` counts the polls of each message id."""

    def __init__(self) -> None:
        super().__init__()
        self.received: list[Received] = []
        self.polls: Counter[str] = Counter()
        self._said: defaultdict[str, list[str]] = defaultdict(list)
        self.app.router.add_get("/messages/{id}", self._poll)
        self.app.router.add_post("/{path:.*}", self._post)

    async def _post(self, request: web.Request) -> web.StreamResponse:
        body = orjson.loads(await request.read())
        name = request.match_info["path"]
        earlier = sum(received.path == name for received in self.received)
        self.received.append(Received(name, body))
        message = str(body.get("message", ""))
        match name:
            case "echo":
                return _reply(message)
            case "memory":
                return _reply(self._remember(str(body.get("conversation_id")), message))
            case "hang":
                await hang()
            case "500" | "503" | "404" | "401":
                return web.Response(status=int(name), text=f"injected {name}")
            case "429":
                return web.Response(status=429, headers={"Retry-After": "7"})
            case "503-then-ok" | "429-then-ok":
                return _reply(message) if earlier else web.Response(status=int(name[:3]), headers={"Retry-After": "0"})
            case "empty":
                return web.Response()
            case "null":
                return _reply(None)
            case "text":
                return web.Response(text=message)
            case "large":
                return _reply("大" * (MEBIBYTE // 3))
            case "too-large":
                return _reply("x" * 3 * MEBIBYTE)
            case "gzip-bomb":
                return web.Response(body=gzip.compress(bytes(64 * MEBIBYTE), 1), headers={"Content-Encoding": "gzip"})
            case "broken-json":
                return web.Response(text='{"reply": "you', content_type="application/json")
            case "binary":
                return web.Response(body=bytes(range(256)), content_type="application/octet-stream")
            case "drip":
                return await _drip(request)
            case "drop":
                await drop(request)
            case "drop-mid-body":
                await _drop_mid_body(request)
            case "redirect":
                return web.Response(status=307, headers={"Location": "/echo"})
            case "messages":
                return web.json_response({"id": f"m{earlier + 1}"}, status=202)
        raise web.HTTPNotFound

    def _remember(self, conversation_id: str, message: str) -> str:
        said = self._said[conversation_id]
        said.append(message)
        if "what did i say first" in message.lower() or "我最先说的是什么" in message:
            return said[0]
        return f"{len(said)}"

    async def _poll(self, request: web.Request) -> web.Response:
        """Pending, then the reply to the message with this id."""
        message_id = request.match_info["id"]
        sent = [received for received in self.received if received.path == "messages"]
        if not message_id.removeprefix("m").isdigit() or not 0 < int(message_id[1:]) <= len(sent):
            raise web.HTTPNotFound
        self.polls[message_id] += 1
        if self.polls[message_id] <= POLLS_UNTIL_DONE:
            return web.json_response({"status": "pending"})
        message = sent[int(message_id[1:]) - 1].json.get("message")
        return web.Response(body=orjson.dumps({"status": "done", "reply": message}), content_type="application/json")


def _reply(text: str | None) -> web.Response:
    return web.Response(body=orjson.dumps({"reply": text}), content_type="application/json")


async def _drip(request: web.Request) -> web.StreamResponse:
    """A byte every 10 ms, for longer than anybody waits."""
    response = web.StreamResponse()
    await response.prepare(request)
    while True:
        await response.write(b" ")
        await asyncio.sleep(0.01)


async def _drop_mid_body(request: web.Request) -> None:
    response = web.StreamResponse(headers={"Content-Length": "1000", "Content-Type": "application/json"})
    await response.prepare(request)
    await response.write(b'{"reply": "half of')
    await drop(request)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("port", type=int, help="0 for a free one")
    serve(FaultyAgent(), parser.parse_args().port)


if __name__ == "__main__":
    main()
