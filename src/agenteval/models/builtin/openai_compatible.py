"""Any server with OpenAI's interface: chat completions, embeddings, moderations."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import Any, TypeVar

import orjson

from agenteval.domain.json_value import Json
from agenteval.domain.ports import ChatReply, ChatRequest, Embedded, Message, Moderated, Role, Usage
from agenteval.models import ModelContext, ModelProvider, register_model
from agenteval.models.chat_completions import chat_params, payload_of, reply_of
from agenteval.models.endpoint import Endpoint
from agenteval.models.ladder import Ladder, Mode
from agenteval.models.retry import Retry
from agenteval.models.usage import usage_of_texts
from agenteval.settings import ModelSettings

T = TypeVar("T")

TEXTS_PER_CALL = 256
CHECK_ATTEMPTS = 2
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
        self.params = chat_params(settings)
        self._settings = settings
        self._endpoint = Endpoint(role, settings, context)
        self._ladder = Ladder(settings, context.capabilities)

    async def complete(self, request: ChatRequest) -> ChatReply:
        return await self._ladder.run(partial(self._ask, request, self._endpoint.retry))

    async def check(self) -> None:
        """A real call, which also finds out how this model is made to fit a schema."""
        retry = Retry(self._endpoint.retry.deadline_s, attempts=CHECK_ATTEMPTS)
        await self._ladder.run(partial(self._ask, CHECK, retry))

    async def close(self) -> None:
        """The session is the context's."""

    def _ask(self, request: ChatRequest, retry: Retry, mode: Mode) -> Awaitable[ChatReply]:
        payload = payload_of(request, self._settings, mode)
        return self._endpoint.post("chat/completions", payload, self._read, retry)

    def _read(self, data: Mapping[str, Any], latency_ms: float) -> ChatReply:
        return reply_of(data, self._settings, self._endpoint.failures, latency_ms)


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
