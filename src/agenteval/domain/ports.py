"""The ports: what the inside needs of the outside."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from fractions import Fraction
from typing import Any, Literal, NamedTuple, Protocol

from agenteval.domain.json_value import Json
from agenteval.domain.quick_init import quick_init
from agenteval.domain.transcript import ToolCall

# Talking to the agent -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AgentReply:
    """What came back for one message. `reply` None or blank: the agent said nothing, which is an answer. A `recorded`
    reply brings its own `latency_ms`, None if it was never measured; otherwise it is measured while waiting."""

    reply: Json
    tool_calls: tuple[ToolCall, ...] = ()
    recorded: bool = False
    latency_ms: float | None = None


class Conversation(Protocol):
    async def send(self, message: str) -> AgentReply:
        """Send one message and wait for its reply. Raises TargetError, whose `delivered` tells whose failure it is."""
        ...

    async def close(self) -> None: ...


class Channel(Protocol):
    """The way to one agent. It holds no state of a dialog; conversations do."""

    async def check(self) -> None:
        """Whether the agent can be reached at all; raises TargetError."""
        ...

    def open(self, conversation_id: str, case_id: str = "") -> Conversation:
        """A new dialog; `conversation_id` is unique to the attempt; `case_id`, for recorded dialogs, is never sent."""
        ...

    async def close(self) -> None: ...


# Talking to models ----------------------------------------------------------------------------------------------------


class Role(StrEnum):
    """What a model is used for."""

    JUDGE = "judge"
    EMBEDDING = "embedding"
    MODERATION = "moderation"


class Message(NamedTuple):
    role: Literal["system", "user", "assistant"]
    content: str


@quick_init
@dataclass(frozen=True, slots=True)
class ChatRequest:
    """`schema` is the JSON Schema that the answer must fit. `custom_id` is the same for the same request, always."""

    messages: tuple[Message, ...]
    custom_id: str
    schema: Mapping[str, Any] | None = None
    max_tokens: int | None = None
    seed: int | None = None


@quick_init
@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call, None where the provider did not say; `cost` in the currency of the model's price list, None
    when the price is unknown."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: Fraction | None = None


@quick_init
@dataclass(frozen=True, slots=True)
class ChatReply:
    """`was_kept`: it was read from where replies are kept, and the same request gets the same one again."""

    text: str | None
    finish_reason: str | None
    usage: Usage = Usage()
    latency_ms: float | None = None
    was_kept: bool = False


class ChatModel(Protocol):
    """`id` and `params` (no secrets) identify it in memory and reports; `context_tokens`: what a request may hold."""

    id: str
    params: Mapping[str, Json]
    context_tokens: int

    async def complete(self, request: ChatRequest) -> ChatReply:
        """Raises ModelError; `Pending` when the answer comes later."""
        ...

    async def check(self) -> None:
        """Whether the provider accepts key and model; raises ModelError."""
        ...

    async def close(self) -> None: ...


class Embedded(NamedTuple):
    """A vector for each text, all of one length, and what they used and how long they took together."""

    vectors: Sequence[Sequence[float]]
    usage: Usage
    latency_ms: float | None = None


class Embedder(Protocol):
    id: str
    params: Mapping[str, Json]

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """Raises ModelError."""
        ...

    async def check(self) -> None: ...

    async def close(self) -> None: ...


class Moderated(NamedTuple):
    """For each text the categories it falls in, and what they used and how long they took together."""

    categories: Sequence[tuple[str, ...]]
    usage: Usage
    latency_ms: float | None = None


class Moderator(Protocol):
    id: str
    params: Mapping[str, Json]

    async def moderate(self, texts: Sequence[str]) -> Moderated:
        """Raises ModelError."""
        ...

    async def check(self) -> None: ...

    async def close(self) -> None: ...


@quick_init
@dataclass(frozen=True, slots=True)
class Call:
    """One call to a model, as it is stored: usage and cost are summed over calls only. `raw` is the reply's text."""

    id: str
    role: Role
    model: str
    prompt_hash: str
    usage: Usage
    latency_ms: float | None = None
    raw: str | None = None
    error: str = ""


# Remembering ----------------------------------------------------------------------------------------------------------


class Memo(Protocol):
    """Answers remembered across runs: JSON by key. Only what was verified is kept."""

    async def get(self, keys: Sequence[str]) -> Mapping[str, Json]: ...

    async def put(self, answers: Mapping[str, object]) -> None:
        """What `orjson` writes as JSON."""
        ...


class Capabilities(Protocol):
    """Remembers what was found out about a model, so that it is found out once."""

    async def get(self, base_url: str, model: str) -> str | None: ...

    async def put(self, base_url: str, model: str, mode: str) -> None: ...


class Sink(Protocol):
    """Where an attempt's rows go."""

    async def put(self, row: Any) -> None:
        """Written soon, in order; waits only when the writer is behind."""
        ...

    async def commit(self, row: Any) -> None:
        """Durable when this returns."""
        ...


class Clock(Protocol):
    def now(self) -> datetime:
        """Aware, UTC."""
        ...

    def monotonic_s(self) -> float: ...

    async def sleep(self, seconds: float) -> None: ...
