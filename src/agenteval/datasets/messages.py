"""Chat messages, as in OpenAI's API, as turns of a dialog.

A turn is what the user says until the agent speaks, and all that the agent says and does until the user speaks again.
An agent that speaks first has a turn without a message. System messages are no part of the dialog.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict

from agenteval.datasets import json_text
from agenteval.datasets.document import Document, Problems
from agenteval.datasets.fields import FEW, Ok
from agenteval.domain.errors import InputError
from agenteval.domain.json_value import Json, below
from agenteval.domain.tool_success import succeeded
from agenteval.domain.transcript import ToolCall, Turn, extract_reply_text


class _Part(BaseModel):
    model_config = ConfigDict(extra="allow")


class _Function(_Part):
    name: str
    arguments: Any = None


class _Call(_Part):
    id: str | None = None
    type: Any = None
    function: _Function


class _Message(_Part):
    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: Any = None
    refusal: str | None = None
    tool_calls: Annotated[list[_Call] | None, FEW] = None
    tool_call_id: str | None = None
    name: str | None = None
    ok: Ok = None


@dataclass(slots=True)
class _Turn:
    sent: list[str] = field(default_factory=list)
    replies: list[Json] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)

    @property
    def begun(self) -> bool:
        """Whether the agent has said or done something in it."""
        return bool(self.replies or self.calls)


def turns_of(
    messages: Sequence[object],
    document: Document,
    pointer: str,
    problems: Problems,
    unused: Callable[[str], None],
) -> tuple[Turn, ...]:
    """The turns; what is wrong is added to `problems`, and `unused` is told the names of what is left out."""
    turns: list[_Turn] = []
    asked: dict[str, tuple[_Turn, int]] = {}  # where each tool call is, by its id
    for i, raw in enumerate(messages):
        here = below(pointer, i)
        message = document.check(_Message, raw, here, problems)
        if message is None:
            continue
        for name in message.model_extra or ():
            unused(name)
        if message.role in {"system", "developer"}:
            unused(f"{message.role} message")
        elif message.role == "user":
            if not turns or turns[-1].begun:
                turns.append(_Turn())
            turns[-1].sent.append(extract_reply_text(message.content))
        elif message.role == "assistant":
            if not turns:
                turns.append(_Turn())
            _add(message, turns[-1], asked)
        elif message.tool_call_id not in asked:
            problems.append(
                document.problem(f"{here}/tool_call_id", f"no tool call before has the id {message.tool_call_id!r}")
            )
        else:
            turn, place = asked[message.tool_call_id]
            result = _json_or_text(message.content)
            turn.calls[place] = replace(turn.calls[place], result=result, ok=succeeded(message.ok, result))
    return tuple(
        Turn(index, "\n".join(turn.sent), _reply(turn.replies), tuple(turn.calls)) for index, turn in enumerate(turns)
    )


def _add(message: _Message, turn: _Turn, asked: dict[str, tuple[_Turn, int]]) -> None:
    said = message.refusal if message.content is None else message.content
    if said is not None:
        turn.replies.append(said)
    for call in message.tool_calls or ():
        if call.id is not None:
            asked[call.id] = (turn, len(turn.calls))
        turn.calls.append(ToolCall(call.function.name, _json_or_text(call.function.arguments)))


def _reply(replies: Sequence[Json]) -> Json:
    if len(replies) > 1:
        return "\n".join(map(extract_reply_text, replies))
    return replies[0] if replies else None


def _json_or_text(value: Json) -> Json:
    """Arguments and results are JSON in a string; what is no object or list in there is text."""
    if not isinstance(value, str):
        return value
    try:
        found = json_text.parse(value, "").value
    except InputError:
        return value
    return found if isinstance(found, Mapping | list) else value
