"""A recorded dialog in the place of an agent: the same replies, tool calls, latencies and failures again."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from pydantic import InstanceOf

from agenteval.channels import ChannelFactory, register_channel
from agenteval.channels.exchange import exchanges
from agenteval.domain.errors import TargetError, TargetTimeout
from agenteval.domain.ports import AgentReply
from agenteval.domain.scenario import Case
from agenteval.domain.target import Target
from agenteval.domain.text import clean
from agenteval.domain.transcript import Dialog, TurnStatus
from agenteval.net.guard import Guard


@register_channel
@dataclass(frozen=True, slots=True)
class Replay(ChannelFactory):
    """`dialogs`: the recorded dialog of each case, by the case's id."""

    name: ClassVar[str] = "replay"
    sends: ClassVar[bool] = False

    dialogs: InstanceOf[Mapping[str, Any]]  # taken as it is: to copy it would double the memory of a large run

    def __post_init__(self) -> None:
        if not all(isinstance(dialog, Dialog) for dialog in self.dialogs.values()):
            raise ValueError("dialogs must be recorded dialogs, already loaded, by case id")

    def create(self, target: Target, guard: Guard) -> "ReplayChannel":
        return ReplayChannel(self.dialogs)

    def recorded(self, case: Case) -> Dialog | None:
        dialog = self.dialogs.get(case.id)
        # Another dialog of the same turns: what is worked out of it does not stay in memory.
        return Dialog(dialog.turns) if dialog is not None and exchanges(dialog, case.messages) else None


class ReplayChannel:
    def __init__(self, dialogs: Mapping[str, Dialog]) -> None:
        self._dialogs = dialogs

    async def check(self) -> None:
        pass

    def open(self, conversation_id: str, case_id: str = "") -> "ReplayConversation":
        return ReplayConversation(case_id, self._dialogs.get(case_id))

    async def close(self) -> None:
        pass


class ReplayConversation:
    def __init__(self, case_id: str, dialog: Dialog | None) -> None:
        self._case_id = case_id
        self._dialog = dialog
        self._index = 0

    async def send(self, message: str) -> AgentReply:
        """What was recorded, failures included. A dialog, turn or message that was not recorded is not delivered: the
        recorded reply answers something else."""
        if self._dialog is None:
            raise TargetError(f"no dialog of case {self._case_id!r} was recorded")
        if self._index == len(self._dialog):
            raise TargetError(f"the recorded dialog of case {self._case_id!r} ends after {self._index} turns")
        turn = self._dialog[self._index]
        if turn.sent_message != message and clean(turn.sent_message) != message:
            raise TargetError(
                f"turn {self._index} of case {self._case_id!r} has another message recorded: {turn.sent_message:.80}",
                fix="replay a dialog with the scenario that it was recorded with",
            )
        self._index += 1
        match turn.status:
            case TurnStatus.OK:
                return AgentReply(turn.reply, turn.tool_calls, recorded=True, latency_ms=turn.latency_ms)
            case TurnStatus.TIMEOUT:
                raise TargetTimeout(turn.error or "the recorded turn timed out")
            case TurnStatus.ERROR | TurnStatus.NOT_DELIVERED:
                raise TargetError(
                    turn.error or f"the recorded turn was {turn.status}", delivered=turn.status is TurnStatus.ERROR
                )

    async def close(self) -> None:
        pass
