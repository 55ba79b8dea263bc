"""Dialogs in a line, for tests of rules."""

from agenteval.domain.json_value import Json
from agenteval.domain.scenario import Case
from agenteval.domain.transcript import Dialog, ToolCall, Turn, TurnStatus

CASE = Case("case", ("hello",))


def said(
    reply: Json,
    to: str = "",
    *,
    status: TurnStatus = TurnStatus.OK,
    latency_ms: float | None = None,
    tool_calls: tuple[ToolCall, ...] = (),
) -> Turn:
    """A turn whose index `dialog` sets."""
    return Turn(0, to, reply, tool_calls, latency_ms, status)


def dialog(*turns: Turn | tuple[str, Json]) -> Dialog:
    """Turns as given, or as (message, reply)."""
    given = [turn if isinstance(turn, Turn) else said(turn[1], turn[0]) for turn in turns]
    return Dialog(
        tuple(
            Turn(i, t.sent_message, t.reply, t.tool_calls, t.latency_ms, t.status, t.error) for i, t in enumerate(given)
        )
    )
