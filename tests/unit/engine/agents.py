"""Agents in this process, for tests of the engine."""

import asyncio
from collections.abc import Callable

from agenteval.domain.errors import TargetError
from agenteval.domain.ports import AgentReply, Channel
from agenteval.domain.target import Target
from agenteval.engine.converse import Agent

Behaviour = Callable[[list[str]], str | TargetError | None]
"""What the agent says to the messages of one conversation so far; an error is raised."""


class FakeChannel:
    """`heard` is what it was sent, by conversation id. It waits in every reply while `gate` is closed."""

    def __init__(self, behave: Behaviour = lambda heard: f"回复 {len(heard)}") -> None:
        self.behave = behave
        self.heard: dict[str, list[str]] = {}
        self.closed: list[str] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.talking = self.most_talking = 0

    async def check(self) -> None: ...

    def open(self, conversation_id: str, case_id: str = "") -> "FakeConversation":
        assert conversation_id not in self.heard, "a conversation id is used once"
        self.heard[conversation_id] = []
        return FakeConversation(self, conversation_id)

    async def close(self) -> None: ...


class FakeConversation:
    def __init__(self, channel: FakeChannel, conversation_id: str) -> None:
        self.channel = channel
        self.id = conversation_id

    async def send(self, message: str) -> AgentReply:
        channel = self.channel
        channel.heard[self.id].append(message)
        channel.talking += 1
        channel.most_talking = max(channel.most_talking, channel.talking)
        try:
            await channel.gate.wait()
            await asyncio.sleep(0)
        finally:
            channel.talking -= 1
        said = channel.behave(channel.heard[self.id])
        if isinstance(said, TargetError):
            raise said
        return AgentReply(said)

    async def close(self) -> None:
        self.channel.closed.append(self.id)
        raise RuntimeError("an agent that cannot even hang up")


def agent(channel: Channel, *, slots: int = 8, sends: bool = True) -> Agent:
    target = Target("示例", "fake", timeout_s=30, retries=0)
    return Agent(channel, target, asyncio.Semaphore(slots), sends=sends)
