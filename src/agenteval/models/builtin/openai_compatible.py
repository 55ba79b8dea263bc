"""Any server with OpenAI's interface: chat completions, embeddings, moderations."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import Any, TypeVar

import orjson

from agenteval.domain.json_value import Json, as_text
from agenteval.domain.ports import ChatReply, ChatRequest, Embedded, Message, Moderated, Role, Usage
from agenteval.models import ModelContext, ModelProvider, register_model
from agenteval.models.endpoint import Endpoint
from agenteval.models.ladder import Ladder, Mode, Structured
from agenteval.models.retry import Retry
from agenteval.models.usage import usage_of, usage_of_texts
from agenteval.settings import ModelSettings

T = TypeVar("T")

TEXTS_PER_CALL = 256
CHECK_ATTEMPTS = 2
TOOL_NAME = "answer"
PROMPT = "Answer with exactly one JSON object and nothing else. It must fit this JSON Schema:\n"
CHECK = ChatRequest(
    messages=(Message("user", 'Answer with {"ok": true}.'),),
    custom_id="check",
    schema={
        "type": "object",
        "properties": {"ok": {"type": "boolean"}},
        "required": ["ok"],
        "additionalProperties": False,
    },
    max_tokens=64,
)


class Chat:
    def __init__(self, role: Role, settings: ModelSettings, context: ModelContext) -> None:
        self.id = settings.model
        self.context_tokens = settings.context_tokens
        self.params: Mapping[str, Json] = {
            "base_url": settings.base_url,
            "temperature": settings.temperature,
            "seed": settings.seed,
            "max_tokens": settings.max_tokens,
        }
        self._settings = settings
        self._endpoint = Endpoint(role, settings, context)
        self._ladder = Ladder(settings, context.capabilities)

    async def complete(self, request: ChatRequest) -> ChatReply:
        return await self._complete(request, self._endpoint.retry)

    async def check(self) -> None:
        """A real call, which also finds out how this model is made to fit a schema."""
        retry = Retry(self._endpoint.retry.deadline_s, attempts=CHECK_ATTEMPTS)
        await self._complete(CHECK, retry)

    async def close(self) -> None:
        """The session is the context's."""

    async def _complete(self, request: ChatRequest, retry: Retry) -> ChatReply:
        async def attempt(mode: Mode) -> ChatReply:
            payload = payload_of(request, self._settings, mode)
            return await self._endpoint.post("chat/completions", payload, self._read, retry)

        return await self._ladder.run(attempt)

    def _read(self, data: Mapping[str, Any], latency_ms: float) -> ChatReply:
        failures = self._endpoint.failures
        choices = data.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        message = choice.get("message") if isinstance(choice, dict) else None
        if not isinstance(choice, dict) or not isinstance(message, dict):
            raise failures.malformed("the reply holds no message", orjson.dumps(data))
        finish_reason = choice.get("finish_reason")
        if refusal := message.get("refusal"):
            raise failures.refused(f"the model refused to answer: {as_text(refusal)}")
        if finish_reason == "content_filter":
            raise failures.refused("the provider's filter stopped the answer")
        return ChatReply(
            text=_text(message),
            finish_reason=finish_reason if isinstance(finish_reason, str) else None,
            usage=usage_of(data.get("usage"), self._settings),
            latency_ms=latency_ms,
        )


def payload_of(request: ChatRequest, settings: ModelSettings, mode: Mode) -> dict[str, Any]:
    """The request's JSON but for the model's name."""
    messages = [{"role": message.role, "content": message.content} for message in request.messages]
    payload: dict[str, Any] = {"messages": messages}
    if "temperature" not in mode.without:
        payload["temperature"] = settings.temperature
    if "seed" not in mode.without:
        payload["seed"] = settings.seed + (request.seed or 0)
    if max_tokens := request.max_tokens or settings.max_tokens:
        payload["max_completion_tokens" if "max_tokens" in mode.without else "max_tokens"] = max_tokens
    if request.schema is None:
        return payload
    match mode.structured:
        case Structured.JSON_SCHEMA:
            form = {"name": TOOL_NAME, "strict": True, "schema": request.schema}
            payload["response_format"] = {"type": "json_schema", "json_schema": form}
        case Structured.TOOL:
            function = {"name": TOOL_NAME, "parameters": request.schema}
            payload["tools"] = [{"type": "function", "function": function}]
            payload["tool_choice"] = {"type": "function", "function": {"name": TOOL_NAME}}
        case Structured.PROMPTED:
            told = PROMPT + orjson.dumps(request.schema).decode()
            if messages and messages[0]["role"] == "system":
                messages[0]["content"] += f"\n\n{told}"
            else:
                messages.insert(0, {"role": "system", "content": told})
    return payload


def _text(message: Mapping[str, Any]) -> str | None:
    """A tool call's arguments, else the content; reasoning beside it is not the answer."""
    calls = message.get("tool_calls")
    if isinstance(calls, list) and calls and isinstance(calls[0], dict):
        function = calls[0].get("function")
        if isinstance(function, dict):
            return as_text(function.get("arguments"))
    content = message.get("content")
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else None


class _Listing:
    """A model that answers a list of texts with a list of the same length."""

    def __init__(self, role: Role, settings: ModelSettings, context: ModelContext) -> None:
        self.id = settings.model
        self.params: Mapping[str, Json] = {"base_url": settings.base_url}
        self._settings = settings
        self._endpoint = Endpoint(role, settings, context)

    async def close(self) -> None:
        """The session is the context's."""

    async def _ask(
        self, path: str, key: str, texts: Sequence[str], value: Callable[[Mapping[str, Any]], T | None]
    ) -> tuple[list[T], Usage, float]:
        """The `value` of each item under `key`, in the order of `texts`; usage and latency in milliseconds of all calls
        together. None: the item is not as it should be."""
        values: list[T] = []
        reports: list[object] = []
        latency_ms = 0.0
        for start in range(0, len(texts), TEXTS_PER_CALL):
            batch = texts[start : start + TEXTS_PER_CALL]
            read = partial(self._values, key, value, len(batch))
            found, report, took_ms = await self._endpoint.post(path, {"input": batch}, read)
            values += found
            reports.append(report)
            latency_ms += took_ms
        return values, usage_of_texts(reports, self._settings), latency_ms

    def _values(
        self,
        key: str,
        value: Callable[[Mapping[str, Any]], T | None],
        count: int,
        data: Mapping[str, Any],
        latency_ms: float,
    ) -> tuple[list[T], object, float]:
        listed = data.get(key)
        items = [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []
        if all(isinstance(item.get("index"), int) for item in items):
            items.sort(key=itemgetter("index"))
        values = [found for item in items if (found := value(item)) is not None]
        if len(values) != count:
            message = f"the reply holds {len(values)} usable items for {count} texts"
            raise self._endpoint.failures.malformed(message, orjson.dumps(data))
        return values, data.get("usage"), latency_ms


class Embeddings(_Listing):
    async def embed(self, texts: Sequence[str]) -> Embedded:
        vectors, usage, latency_ms = await self._ask("embeddings", "data", texts, _vector)
        if len({len(vector) for vector in vectors}) > 1:
            raise self._endpoint.failures.malformed("the vectors differ in length", b"")
        return Embedded(vectors, usage, latency_ms)

    async def check(self) -> None:
        await self.embed(["ok"])


class Moderations(_Listing):
    async def moderate(self, texts: Sequence[str]) -> Moderated:
        return Moderated(*await self._ask("moderations", "results", texts, _categories))

    async def check(self) -> None:
        await self.moderate(["ok"])


def _vector(item: Mapping[str, Any]) -> list[float] | None:
    vector = item.get("embedding")
    if isinstance(vector, list) and vector and all(isinstance(number, int | float) for number in vector):
        return vector
    return None


def _categories(item: Mapping[str, Any]) -> tuple[str, ...] | None:
    categories = item.get("categories")
    if not isinstance(categories, dict):
        return None
    return tuple(sorted(name for name, found in categories.items() if found is True))


@register_model
class OpenAICompatible(ModelProvider):
    name = "openai_compatible"

    def chat(self, role: Role, settings: ModelSettings, context: ModelContext) -> Chat:
        return Chat(role, settings, context)

    def embedder(self, role: Role, settings: ModelSettings, context: ModelContext) -> Embeddings:
        return Embeddings(role, settings, context)

    def moderator(self, role: Role, settings: ModelSettings, context: ModelContext) -> Moderations:
        return Moderations(role, settings, context)
