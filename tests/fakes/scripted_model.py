"""A model server with the interface of OpenAI that answers as its script says.

In a test: `async with ScriptedModel(lambda request: {"met": True}) as model:` and talk to `model.base_url`.
In its own process: `python -m tests.fakes.scripted_model PORT --script FILE`, where FILE is Python that defines
`answer(request)`; what was asked is then at GET /requests.
"""

import argparse
import asyncio
import hashlib
import runpy
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import orjson
from aiohttp import web

from tests.fakes.server import LoopbackServer, drop, hang, serve

Request: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True)
class Status:
    """An error status with OpenAI's error object, or with `body` as it is."""

    status: int
    message: str = "injected"
    code: str | None = None
    param: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None


@dataclass(frozen=True)
class Drop:
    """The connection is reset instead of a reply."""


@dataclass(frozen=True)
class Hang:
    """No reply, ever."""


@dataclass(frozen=True)
class Slow:
    seconds: float
    answer: "Answer"


@dataclass(frozen=True)
class Body:
    """Status 200 with these bytes: malformed JSON, HTML, another envelope."""

    body: bytes


@dataclass(frozen=True)
class Truncated:
    """The text as far as it came when the token limit was reached."""

    text: str


@dataclass(frozen=True)
class Message:
    """The assistant's message field by field: a refusal, content in parts, reasoning beside it, no tool call."""

    fields: Mapping[str, Any]
    finish_reason: str = "stop"


Fault: TypeAlias = Status | Drop | Hang | Slow | Body | Truncated | Message
Answer: TypeAlias = str | Mapping[str, Any] | Fault
Script: TypeAlias = Callable[[Request], Answer]


class Asked(NamedTuple):
    path: str
    headers: Mapping[str, str]
    json: Request


class ScriptedModel(LoopbackServer):
    """`script` answers chats: text as it is, a mapping as JSON, in a tool call when the request has tools.

    `refuses` names request parameters that this model's server rejects with 400. Without `models` every model name is
    known. `embedding` maps a text to its vector; `flagged` maps a word to the category of texts that contain it.
    `faults` come first, one for each request of any kind, until they are used up; None among them is no fault.
    """

    def __init__(
        self,
        script: Script = lambda _request: "ok",
        *,
        refuses: Iterable[str] = (),
        api_key: str | None = None,
        models: Sequence[str] | None = None,
        embedding: Callable[[str], Sequence[float]] | None = None,
        flagged: Mapping[str, str] | None = None,
        faults: Iterable[Fault | None] = (),
    ) -> None:
        super().__init__()
        self.script = script
        self.refuses = frozenset(refuses)
        self.api_key = api_key
        self.models = models
        self.embedding = embedding or letters
        self.flagged = flagged or {}
        self.faults = iter(faults)
        self.requests: list[Asked] = []
        self.in_flight = 0
        self.max_in_flight = 0
        self.app.router.add_post("/v1/{kind:chat/completions|embeddings|moderations}", self._post)
        self.app.router.add_get("/v1/models", self._models)
        self.app.router.add_get("/requests", self._asked)

    @property
    def base_url(self) -> str:
        return f"{self.url}/v1"

    async def _post(self, request: web.Request) -> web.StreamResponse:
        headers = {str(name): value for name, value in request.headers.items()}
        asked = Asked(request.path, headers, orjson.loads(await request.read()))
        self.requests.append(asked)
        self.in_flight += 1
        self.max_in_flight = max(self.max_in_flight, self.in_flight)
        try:
            answer = self._refusal(asked) or next(self.faults, None) or self._answer(asked)
            while isinstance(answer, Slow):
                await asyncio.sleep(answer.seconds)
                answer = answer.answer
            if isinstance(answer, Hang):
                await hang()
            if isinstance(answer, Drop):
                await drop(request)
            if isinstance(answer, Status):
                return _failed(answer)
            body = answer.body if isinstance(answer, Body) else orjson.dumps(_completion(asked.json, answer))
            return web.Response(body=body, content_type="application/json")
        finally:
            self.in_flight -= 1

    def _refusal(self, asked: Asked) -> Status | None:
        if self.api_key is not None and asked.headers.get("Authorization") != f"Bearer {self.api_key}":
            return Status(401, "Incorrect API key provided", "invalid_api_key")
        if self.models is not None and asked.json.get("model") not in self.models:
            return Status(404, f"The model `{asked.json.get('model')}` does not exist", "model_not_found", "model")
        for name in sorted(self.refuses & asked.json.keys()):
            return Status(400, f"Unsupported parameter: '{name}' is not supported", "unsupported_parameter", name)
        return None

    def _answer(self, asked: Asked) -> Answer:
        if asked.path.endswith("/chat/completions"):
            return self.script(asked.json)
        texts: list[str] = asked.json["input"]
        if asked.path.endswith("/embeddings"):
            data = [
                {"object": "embedding", "index": i, "embedding": self.embedding(text)} for i, text in enumerate(texts)
            ]
            return Body(orjson.dumps({"object": "list", "data": data, "usage": {"prompt_tokens": len(texts)}}))
        found = [sorted({category for word, category in self.flagged.items() if word in text}) for text in texts]
        results = [
            {"flagged": bool(names), "categories": {**dict.fromkeys(names, True), "spam": False}} for names in found
        ]
        return Body(orjson.dumps({"id": "modr", "results": results}))

    async def _models(self, _request: web.Request) -> web.Response:
        return _json({"object": "list", "data": [{"id": name, "object": "model"} for name in self.models or ["any"]]})

    async def _asked(self, _request: web.Request) -> web.Response:
        return _json([asked._asdict() for asked in self.requests])


def letters(text: str) -> list[float]:
    """A vector in which texts that share pairs of letters are near each other."""
    vector = [0.0] * 32
    for pair in pairwise(text) if len(text) > 1 else [(text,)]:
        vector[hashlib.sha256("".join(pair).encode()).digest()[0] % len(vector)] += 1.0
    return vector


def _completion(request: Request, answer: str | Mapping[str, Any] | Truncated | Message) -> dict[str, Any]:
    finish_reason = "stop"
    if isinstance(answer, Message):
        message, finish_reason = {"role": "assistant", **answer.fields}, answer.finish_reason
    elif isinstance(answer, Truncated):
        message, finish_reason = {"role": "assistant", "content": answer.text}, "length"
    else:
        text = answer if isinstance(answer, str) else orjson.dumps(answer).decode()
        message = {"role": "assistant", "content": text, "refusal": None}
        if tools := request.get("tools"):
            call = {"name": tools[0]["function"]["name"], "arguments": text}
            message |= {"content": None, "tool_calls": [{"id": "call_1", "type": "function", "function": call}]}
            finish_reason = "tool_calls"
    asked_tokens = sum(len(str(m.get("content"))) for m in request["messages"]) // 4
    said_tokens = len(orjson.dumps(message)) // 4
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": request.get("model"),
        "choices": [{"index": 0, "message": message, "finish_reason": finish_reason}],
        "usage": {
            "prompt_tokens": asked_tokens,
            "completion_tokens": said_tokens,
            "total_tokens": asked_tokens + said_tokens,
        },
    }


def _failed(status: Status) -> web.Response:
    error = {"message": status.message, "type": "injected", "code": status.code, "param": status.param}
    body = orjson.dumps({"error": error}) if status.body is None else status.body
    return web.Response(status=status.status, headers=status.headers, body=body, content_type="application/json")


def _json(value: object) -> web.Response:
    return web.Response(body=orjson.dumps(value), content_type="application/json")


def main() -> None:
    parser = argparse.ArgumentParser(description="A scripted model server on loopback.")
    parser.add_argument("port", type=int, help="0 for a free one")
    parser.add_argument("--script", help="Python file that defines answer(request)")
    parser.add_argument("--latency-ms", type=float, default=0.0)
    arguments = parser.parse_args()
    script: Script = runpy.run_path(arguments.script)["answer"] if arguments.script else lambda _request: "ok"
    latency_s = arguments.latency_ms / 1000
    serve(
        ScriptedModel(lambda request: Slow(latency_s, script(request)) if latency_s else script(request)),
        arguments.port,
    )


if __name__ == "__main__":
    main()
