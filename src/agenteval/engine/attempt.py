"""One attempt, read top to bottom: talk to the agent, judge the dialog, keep what came out."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from agenteval.domain.ports import Clock, Sink
from agenteval.domain.records import AttemptStarted, CaseRecord, Held, Work
from agenteval.domain.scenario import Case
from agenteval.domain.transcript import Dialog
from agenteval.engine.converse import Agent, converse
from agenteval.engine.evaluate import Evaluation
from agenteval.engine.plan import conversation_id
from agenteval.engine.progress import Progress, Stage
from agenteval.engine.time_limit import TimeLimit


@dataclass(frozen=True, slots=True)
class Setup:
    """What the attempts of a run share. `judge` evaluates a dialog by the rules of its case. `case_limit_s` is for each
    attempt, from when it may talk to the agent; None: no limit."""

    agent: Agent
    judge: Callable[[Case, Dialog, TimeLimit], Awaitable[Evaluation]]
    sink: Sink
    clock: Clock
    secret: bytes
    progress: Progress
    case_limit_s: float | None = None


async def attempt(work: Work, setup: Setup) -> None:
    """Raises only what stops the run: nothing that agent or judge do."""
    clock, progress = setup.clock, setup.progress

    known = work.held or _recorded(work, setup)
    if known is None:
        started, dialog, time = await _talk(work, setup)
    else:
        progress.move(None, Stage.JUDGE)
        started = AttemptStarted(work.key, known.conversation_id, clock.now())
        dialog, time = known.dialog, TimeLimit(clock, setup.case_limit_s)
    evaluation = await setup.judge(work.case, dialog, time)

    await setup.sink.put(
        CaseRecord(
            started=started,
            dialog=dialog,
            asks=evaluation.asks,
            answers=evaluation.answers,
            calls=evaluation.calls,
            results=evaluation.results,
            outcome=evaluation.outcome,
            finished_at=clock.now(),
        )
    )
    progress.finished(evaluation.outcome)


def _recorded(work: Work, setup: Setup) -> Held | None:
    """What need not be talked through, when nothing has to be hidden in it."""
    agent = setup.agent
    dialog = None if agent.target.secrets else agent.recorded(work.case)
    return None if dialog is None else Held(conversation_id(setup.secret, work.key), dialog)


async def _talk(work: Work, setup: Setup) -> tuple[AttemptStarted, Dialog, TimeLimit]:
    """The dialog, and what time is left of the case's."""
    agent, clock, progress = setup.agent, setup.clock, setup.progress
    progress.move(None, Stage.SLOT)
    async with agent.slots:
        progress.move(Stage.SLOT, Stage.AGENT)
        started = AttemptStarted(work.key, conversation_id(setup.secret, work.key), clock.now())
        time = TimeLimit(clock, setup.case_limit_s)
        dialog = await converse(agent, work.case, started, setup.sink, clock, time=time)
    progress.move(Stage.AGENT, Stage.JUDGE)
    return started, dialog, time
