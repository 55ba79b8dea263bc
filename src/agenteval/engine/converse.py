"""One dialog with the agent: the case's messages in order, whatever it answers, until it fails."""

import asyncio
from dataclasses import dataclass

from agenteval.channels.exchange import exchange
from agenteval.domain.ports import Channel, Clock, Conversation, Sink
from agenteval.domain.records import AttemptStarted, TurnDone, TurnSending
from agenteval.domain.scenario import Case
from agenteval.domain.target import Target
from agenteval.domain.transcript import Dialog, Turn, TurnStatus
from agenteval.net.limits import Limits

_CLOSE_S = 1.0


@dataclass(frozen=True, slots=True)
class Agent:
    """The agent under evaluation as a run talks to it. `slots` are the dialogs it may hold at once. `sends` is False
    when nothing outside is touched (recorded dialogs): nothing can happen twice then, and no message is marked before
    it is sent. `dialog_limit_s` is for the replies of one dialog together; None: no limit but that of each message.
    """

    channel: Channel
    target: Target
    slots: asyncio.Semaphore
    limiter: Limits | None = None
    sends: bool = True
    dialog_limit_s: float | None = None


async def converse(agent: Agent, case: Case, started: AttemptStarted, sink: Sink, clock: Clock) -> Dialog:
    """The dialog ends at the first turn whose status is not ok; an empty reply is an answer, and it goes on."""
    turns: list[Turn] = []
    spent_s = 0.0
    conversation = agent.channel.open(started.conversation_id, case.id)
    try:
        if agent.sends:
            await sink.put(started)
        for index, message in enumerate(case.messages):
            if agent.sends:
                await sink.commit(TurnSending(started.key, index, message, clock.now()))
            turn = await exchange(
                conversation,
                index,
                message,
                clock=clock,
                timeout_s=_timeout_s(agent, spent_s),
                retries=agent.target.retries,
                limiter=agent.limiter,
                secrets=agent.target.secrets,
            )
            turns.append(turn)
            if agent.sends:
                await sink.put(TurnDone(started.key, turn))
            if turn.status is not TurnStatus.OK:
                break
            spent_s += (turn.latency_ms or 0.0) / 1000
    finally:
        await _close(conversation, _CLOSE_S if agent.sends else None)
    return Dialog(tuple(turns))


def _timeout_s(agent: Agent, spent_s: float) -> float:
    limit_s = agent.dialog_limit_s
    return agent.target.timeout_s if limit_s is None else max(0.0, min(agent.target.timeout_s, limit_s - spent_s))


async def _close(conversation: Conversation, timeout_s: float | None) -> None:
    """Whatever goes wrong here comes after the last word and changes nothing."""
    try:
        async with asyncio.timeout(timeout_s):
            await conversation.close()
    except Exception:  # noqa: BLE001, S110
        pass
