"""One dialog with the agent: the case's messages in order, whatever it answers, until it fails."""

import asyncio
import math
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass

from agenteval.channels.exchange import exchange
from agenteval.domain.ports import Channel, Clock, Conversation, Sink
from agenteval.domain.records import AttemptStarted, TurnDone, TurnSending
from agenteval.domain.scenario import Case
from agenteval.domain.target import Target
from agenteval.domain.transcript import Dialog, Turn, TurnStatus
from agenteval.engine.time_limit import TimeLimit
from agenteval.net.limits import Limits

_CLOSE_S = 1.0


@dataclass(frozen=True, slots=True)
class Agent:
    """The agent under evaluation as a run talks to it. `slots` are the dialogs it may hold at once. `sends` is False
    when nothing outside is touched (recorded dialogs): nothing can happen twice then, and no message is marked before
    it is sent. `recorded` knows the dialogs that need not be held at all."""

    channel: Channel
    target: Target
    slots: asyncio.Semaphore
    limiter: Limits | None = None
    sends: bool = True
    recorded: Callable[[Case], Dialog | None] = lambda _: None


async def converse(
    agent: Agent, case: Case, started: AttemptStarted, sink: Sink, clock: Clock, *, time: TimeLimit
) -> Dialog:
    """The dialog ends at the first turn whose status is not ok; an empty reply is an answer, and it goes on. When no
    time is left a message is not sent. Replies are cut off when they took longer than the limit together: what else
    took time is not the agent's fault."""
    turns: list[Turn] = []
    spent_s, limit_s = 0.0, time.limit_s or math.inf
    conversation = agent.channel.open(started.conversation_id, case.id)
    try:
        if agent.sends:
            await sink.put(started)
        for index, message in enumerate(case.messages):
            if time.left_s == 0:
                turn = Turn(index, message, status=TurnStatus.NOT_DELIVERED, error=str(time))
            else:
                if agent.sends:
                    await sink.commit(TurnSending(started.key, index, message, clock.now()))
                turn = await exchange(
                    conversation,
                    index,
                    message,
                    clock=clock,
                    timeout_s=min(agent.target.timeout_s, limit_s - spent_s) if agent.sends else None,
                    retries=agent.target.retries,
                    limiter=agent.limiter if agent.sends else None,
                    secrets=agent.target.secrets,
                )
            turns.append(turn)
            if agent.sends:
                await sink.put(TurnDone(started.key, turn))
                spent_s += (turn.latency_ms or 0.0) / 1000
            if turn.status is not TurnStatus.OK:
                break
    finally:
        await _close(conversation, waits=agent.sends)
    return Dialog(tuple(turns))


async def _close(conversation: Conversation, *, waits: bool) -> None:
    """Whatever goes wrong here comes after the last word and changes nothing."""
    try:
        async with asyncio.timeout(_CLOSE_S) if waits else nullcontext():
            await conversation.close()
    except Exception:  # noqa: BLE001, S110
        pass
