"""What was said: a dialog is a sequence of turns, a turn is one message to the agent and what came back."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from agenteval.domain.caching import lazy
from agenteval.domain.evidence import Speaker
from agenteval.domain.json_value import Json, as_text, canonical
from agenteval.domain.quick_init import quick_init
from agenteval.domain.text import Language, is_blank, language


class TurnStatus(StrEnum):
    """`ok`: the agent answered, if only with nothing. `timeout` and `error`: it got the message and failed (no answer
    in time; 5xx, dropped, malformed). `not_delivered`: it never got it (DNS, connect, TLS, 429, 503, other 4xx)."""

    OK = "ok"
    TIMEOUT = "timeout"
    ERROR = "error"
    NOT_DELIVERED = "not_delivered"


@quick_init
@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call of the agent as its channel reported it; `ok` is None when the result does not say."""

    name: str
    arguments: Json = None
    result: Json = None
    ok: bool | None = None


@quick_init
@dataclass(frozen=True, slots=True)
class Turn:
    """`index` counts from 0. `reply` is text, or the structured reply as it came; None when none came.
    `sent_message` is empty when the agent spoke first. `latency_ms` is None when nothing was measured."""

    index: int
    sent_message: str
    reply: Json = None
    tool_calls: tuple[ToolCall, ...] = ()
    latency_ms: float | None = None
    status: TurnStatus = TurnStatus.OK
    error: str = ""

    @property
    def reply_text(self) -> str:
        return self.reply if isinstance(self.reply, str) else extract_reply_text(self.reply)

    @property
    def answered(self) -> bool:
        """Whether the agent said anything to the user in this turn."""
        return self.status is TurnStatus.OK and not is_blank(self.reply_text)


@quick_init
@dataclass(frozen=True)
class Dialog:
    """The turns of one attempt, `turns[i].index == i`."""

    turns: tuple[Turn, ...]

    def __len__(self) -> int:
        return len(self.turns)

    def __iter__(self) -> Iterator[Turn]:
        return iter(self.turns)

    def __getitem__(self, index: int) -> Turn:
        return self.turns[index]

    @lazy
    def size(self) -> int:
        """Characters, of all that was said together."""
        size = 0
        for turn in self.turns:
            size += len(turn.sent_message) + len(turn.reply_text)
            for call in turn.tool_calls:
                size += len(as_text(call.result))
        return size

    @lazy
    def silent(self) -> bool:
        """No reply at all: every full-dialog rule decides this without a model."""
        return not any(turn.answered for turn in self.turns)

    @lazy
    def language(self) -> Language:
        """The language that reasons are written in: the user's, else the agent's."""
        said = "\n".join([turn.sent_message for turn in self.turns])
        return language(said if not is_blank(said) else "\n".join([turn.reply_text for turn in self.turns]))

    def texts(self, turn: int, speaker: Speaker) -> Sequence[str]:
        """What `speaker` said in `turn`; tool results one by one. Empty when there is no such turn."""
        if not 0 <= turn < len(self.turns):
            return ()
        this = self.turns[turn]
        match speaker:
            case Speaker.USER:
                return (this.sent_message,)
            case Speaker.AGENT:
                return (this.reply_text,)
            case Speaker.TOOL:
                return tuple(as_text(call.result) for call in this.tool_calls)

    @lazy
    def digest(self) -> str:
        """Identity of all that was said, hex SHA-256; latency and ids are no part of it."""
        parts = [
            [t.sent_message, t.reply, t.status, [[c.name, c.arguments, c.result, c.ok] for c in t.tool_calls]]
            for t in self
        ]
        return hashlib.sha256(canonical(parts)).hexdigest()


def extract_reply_text(reply: Json) -> str:
    """The text of a reply: a string as it is; of a structured reply its usual text member, or the parts of a list
    joined by line breaks; anything else is shown as JSON, so that no part is lost."""
    match reply:
        case None:
            return ""
        case str():
            return reply
        case Mapping():
            named = [reply[key] for key in _TEXT_MEMBERS if key in reply]
            if not named:
                return as_text(reply)
            return extract_reply_text(next((part for part in named if part is not None), None))
        case list() | tuple():
            return "\n".join(extract_reply_text(part) for part in reply)
        case _:
            return as_text(reply)


_TEXT_MEMBERS = ("text", "content", "reply", "message", "answer", "output")
