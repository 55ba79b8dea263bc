"""One dialog over a channel, the way a run holds it."""

from collections.abc import Mapping
from typing import Any

from agenteval.channels.build import factory
from agenteval.channels.exchange import exchange
from agenteval.domain.ports import Channel
from agenteval.domain.target import Target
from agenteval.domain.transcript import Turn
from agenteval.net.guard import Guard
from tests.fakes.clock import FakeClock


def channel(name: str, params: Mapping[str, Any], **target: Any) -> Channel:
    made = Target("agent", name, params, **target)
    return factory(made).create(made, Guard())


async def talk(
    name: str,
    params: Mapping[str, Any],
    *messages: str,
    conversation_id: str = "attempt-1",
    case_id: str = "",
    clock: FakeClock | None = None,
    retries: int = 0,
    timeout_s: float = 5,
    left_s: float | None = None,
    secrets: frozenset[str] = frozenset(),
) -> list[Turn]:
    """`left_s`: less than the target's `timeout_s`, as at the end of a case's time."""
    over = channel(name, params, timeout_s=timeout_s, secrets=secrets)
    conversation = over.open(conversation_id, case_id)
    try:
        return [
            await exchange(
                conversation,
                index,
                message,
                clock=clock or FakeClock(),
                timeout_s=left_s or timeout_s,
                retries=retries,
                secrets=secrets,
            )
            for index, message in enumerate(messages)
        ]
    finally:
        await conversation.close()
        await over.close()
