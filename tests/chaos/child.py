"""A run in a process of its own, to be killed: `child.py DATABASE HEARD CASES HANGS_AFTER`.

It begins the run, or resumes it, and prints how many attempts are done. HEARD gets a line for every message that the
agent hears, written by the agent itself. From message HANGS_AFTER on the agent never answers.
"""

import asyncio
import os
import signal
import sys

from agenteval.domain.errors import NotFound, TargetError
from agenteval.domain.ports import AgentReply
from agenteval.domain.questions import Answers
from agenteval.domain.records import RunStatus
from agenteval.domain.scenario import Case
from agenteval.domain.target import Target
from agenteval.domain.transcript import Dialog
from agenteval.engine.attempt import Setup, attempt
from agenteval.engine.converse import Agent
from agenteval.engine.drain import drain
from agenteval.engine.evaluate import Evaluation
from agenteval.engine.progress import Progress
from agenteval.engine.time_limit import TimeLimit
from agenteval.net.clock import SystemClock
from agenteval.storage import install, runs
from agenteval.storage.store import Store
from agenteval.storage.writer import Writer
from tests.fakes.records import POLITE, SUCCESS, UNJUDGED, UNSCORED, places, run

WORKERS = 40


class LoggingChannel:
    """Its replies depend on the case alone; every ninth case fails at its second message."""

    def __init__(self, heard: int, hangs_after: int) -> None:
        self.heard = heard
        self.left = hangs_after

    async def check(self) -> None: ...

    def open(self, conversation_id: str, case_id: str = "") -> "LoggingConversation":
        return LoggingConversation(self, conversation_id, case_id)

    async def close(self) -> None: ...


class LoggingConversation:
    def __init__(self, channel: LoggingChannel, conversation_id: str, case_id: str) -> None:
        self.channel = channel
        self.id = conversation_id
        self.case_id = case_id
        self.said = 0

    async def send(self, message: str) -> AgentReply:
        os.write(self.channel.heard, f"{self.id}\t{message}\n".encode())
        self.said += 1
        self.channel.left -= 1
        if self.channel.left <= 0:
            await asyncio.Event().wait()
        await asyncio.sleep(0.001)
        if self.said == 2 and _number(self.case_id) % 9 == 0:
            raise TargetError("500", delivered=True)
        return AgentReply(f"{self.case_id} 的回复 {self.said}", recorded=True, latency_ms=12.5)

    async def close(self) -> None: ...


def _number(case_id: str) -> int:
    return int(case_id.removeprefix("case-"))


async def judge(case: Case, dialog: Dialog, time: TimeLimit) -> Evaluation:
    outcome, results = (UNSCORED, (UNJUDGED,)) if _number(case.id) % 5 == 0 else (SUCCESS, (POLITE, UNJUDGED))
    return Evaluation({}, Answers(), (), results, outcome)


async def main(database: str, heard: str, cases: int, hangs_after: int) -> int:
    clock, stop = SystemClock(), asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, stop.set)
    store = await Store.open(database)
    try:
        this = await runs.get(store, "run")
        await runs.resume(store, this.id)
    except NotFound:
        this = run()
        await runs.create(store, this, places(cases))
    channel = LoggingChannel(os.open(heard, os.O_WRONLY | os.O_CREAT | os.O_APPEND), hangs_after)
    talked_to = Agent(channel, Target("示例", "fake"), asyncio.Semaphore(WORKERS))
    progress = Progress(await runs.left(store, this), changed=lambda p: print(p.done, flush=True))
    async with Writer(store) as writer:
        setup = Setup(talked_to, judge, writer, clock, await install.secret(store, clock.now()), progress)
        await drain(runs.work(store, this), lambda work: attempt(work, setup), workers=WORKERS, stop=stop)
    status = RunStatus.INTERRUPTED if stop.is_set() else RunStatus.COMPLETED
    await runs.finish(store, this.id, status, clock.now())
    await store.aclose()
    return 130 if stop.is_set() else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))))
