"""One attempt: the dialog, its rows, its judgement."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace

import pytest

from agenteval.domain.errors import TargetError, TargetTimeout
from agenteval.domain.outcome import CaseOutcome
from agenteval.domain.ports import AgentReply
from agenteval.domain.questions import Answers
from agenteval.domain.records import AttemptStarted, CaseRecord, Held, TurnDone, TurnSending, Work
from agenteval.domain.scenario import Case
from agenteval.domain.transcript import Dialog, TurnStatus
from agenteval.engine.attempt import Setup, attempt
from agenteval.engine.converse import converse
from agenteval.engine.drain import drain
from agenteval.engine.evaluate import Evaluation
from agenteval.engine.plan import conversation_id
from agenteval.engine.progress import Progress, Stage
from agenteval.engine.time_limit import TimeLimit
from tests.fakes.clock import FakeClock
from tests.fakes.records import BOOKING, POLITE, SUCCESS, UNSCORED, key, places, started
from tests.fakes.sink import ListSink
from tests.unit.engine.agents import Behaviour, FakeChannel, agent

CASE = Case("case-0", ("订一张桌子", "四位", "谢谢"))


def judging(outcome: CaseOutcome = SUCCESS) -> Callable[[Case, Dialog, TimeLimit], Awaitable[Evaluation]]:
    async def judge(case: Case, dialog: Dialog, time: TimeLimit) -> Evaluation:
        return Evaluation({}, Answers(), (), (POLITE,), outcome)

    return judge


def setup(channel: FakeChannel, sink: ListSink, *, slots: int = 8, sends: bool = True) -> Setup:
    return Setup(agent(channel, slots=slots, sends=sends), judging(), sink, FakeClock(), b"s" * 32, Progress(total=9))


async def talk(behave: Behaviour) -> Dialog:
    clock = FakeClock()
    channel = FakeChannel(behave)
    return await converse(agent(channel), CASE, started(key()), ListSink(), clock, time=TimeLimit(clock, None))


async def test_every_message_is_marked_before_it_is_sent_and_its_reply_kept_after() -> None:
    sink = ListSink()
    marked: list[int] = []

    def listening(heard: list[str]) -> str:
        marked.append(len(sink.committed))
        return f"回复 {len(heard)}"

    await attempt(Work(key(), CASE), setup(FakeChannel(listening), sink))
    assert marked == [1, 2, 3], "each mark is durable before the agent hears the message"
    pair = [TurnSending, TurnDone]
    assert [type(row) for row in sink.rows] == [AttemptStarted, *pair, *pair, *pair, CaseRecord]
    *_, record = sink.rows
    assert isinstance(record, CaseRecord)
    assert [row.turn for row in sink.rows if isinstance(row, TurnDone)] == list(record.dialog)
    assert [turn.sent_message for turn in record.dialog] == list(CASE.messages)
    assert [turn.reply for turn in record.dialog] == ["回复 1", "回复 2", "回复 3"]
    assert (record.results, record.outcome, record.started.key) == ((POLITE,), SUCCESS, key())


async def test_a_dialog_that_was_held_before_is_judged_again_without_talking_to_the_agent() -> None:
    sink, channel = ListSink(), FakeChannel()
    held = Held("conversation-of-attempt-1", BOOKING)
    await attempt(Work(key(attempt=2), CASE, held), setup(channel, sink))
    assert channel.heard == {}
    (record,) = sink.rows
    assert isinstance(record, CaseRecord)
    assert (record.started.key, record.started.conversation_id) == (key(attempt=2), held.conversation_id)
    assert (record.dialog, record.results, record.outcome) == (BOOKING, (POLITE,), SUCCESS)


async def test_what_touches_nothing_outside_needs_no_marks() -> None:
    sink = ListSink()
    await attempt(Work(key(), CASE), setup(FakeChannel(), sink, sends=False))
    assert [type(row) for row in sink.rows] == [CaseRecord]


@pytest.mark.parametrize("reply", ["", "  ", None])
async def test_an_empty_reply_is_an_answer_and_the_dialog_goes_on(reply: str | None) -> None:
    dialog = await talk(lambda heard: reply)
    assert [turn.status for turn in dialog] == [TurnStatus.OK] * 3


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (TargetTimeout("no reply within 30 s"), TurnStatus.TIMEOUT),
        (TargetError("500", delivered=True), TurnStatus.ERROR),
        (TargetError("no such host"), TurnStatus.NOT_DELIVERED),
    ],
)
async def test_the_dialog_ends_at_the_first_failure(error: TargetError, status: TurnStatus) -> None:
    dialog = await talk(lambda heard: error if len(heard) == 2 else "好的")
    assert [turn.status for turn in dialog] == [TurnStatus.OK, status]
    assert dialog[1].error


async def test_when_a_case_has_no_time_left_its_message_is_not_sent() -> None:
    clock = FakeClock()

    def slow(heard: list[str]) -> str:
        clock.passed_s += 4
        return "好的"

    channel = FakeChannel(slow)
    dialog = await converse(agent(channel), CASE, started(key()), ListSink(), clock, time=TimeLimit(clock, 8))
    assert [turn.status for turn in dialog] == [TurnStatus.OK, TurnStatus.OK, TurnStatus.NOT_DELIVERED]
    assert dialog[2].error == "the case's time limit of 8 s was used up"
    assert list(channel.heard.values()) == [list(CASE.messages[:2])]


async def test_a_reply_is_cut_off_when_the_agent_took_longer_than_its_case_may() -> None:
    clock = FakeClock()
    channel = FakeChannel()

    def slow(heard: list[str]) -> str:
        clock.passed_s += 7.99
        channel.gate.clear()
        return "好的"

    channel.behave = slow
    dialog = await converse(agent(channel), CASE, started(key()), ListSink(), clock, time=TimeLimit(clock, 8))
    assert [turn.status for turn in dialog] == [TurnStatus.OK, TurnStatus.TIMEOUT]


async def test_latencies_that_were_recorded_use_up_no_time() -> None:
    class Recorded(FakeChannel):
        async def send(self, message: str) -> AgentReply:
            return AgentReply("好的", recorded=True, latency_ms=9_000)

        def open(self, conversation_id: str, case_id: str = "") -> "Recorded":  # type: ignore[override]
            return self

    clock = FakeClock()
    talking_to = agent(Recorded(), sends=False)
    dialog = await converse(talking_to, CASE, started(key()), ListSink(), clock, time=TimeLimit(clock, 8))
    assert [turn.status for turn in dialog] == [TurnStatus.OK] * 3


@pytest.mark.parametrize(("secrets", "heard"), [(frozenset[str](), []), (frozenset({"sk-1234"}), [*CASE.messages])])
async def test_a_recorded_dialog_is_talked_through_when_there_are_secrets_to_hide(
    secrets: frozenset[str], heard: list[str]
) -> None:
    channel, sink = FakeChannel(), ListSink()
    made = setup(channel, sink, sends=False)
    talks_to = replace(made.agent, target=replace(made.agent.target, secrets=secrets), recorded=lambda _: BOOKING)
    await attempt(Work(key(), CASE), replace(made, agent=talks_to))
    assert [message for said in channel.heard.values() for message in said] == heard
    (record,) = sink.rows
    assert isinstance(record, CaseRecord)
    assert (record.dialog == BOOKING) is not bool(heard)
    assert record.started.conversation_id == conversation_id(b"s" * 32, key())


async def test_the_judge_has_what_time_the_dialog_left() -> None:
    clock, left = FakeClock(), list[float | None]()

    def slow(heard: list[str]) -> str:
        clock.passed_s += 2
        return "好的"

    async def judge(case: Case, dialog: Dialog, time: TimeLimit) -> Evaluation:
        left.append(time.left_s)
        return Evaluation({}, Answers(), (), (), SUCCESS)

    for limit_s in (8, 4, None):
        setup = Setup(
            agent(FakeChannel(slow)), judge, ListSink(), clock, b"s" * 32, Progress(total=1), case_limit_s=limit_s
        )
        await attempt(Work(key(), CASE), setup)
    assert left == [2, 0, None]


async def test_conversations_are_closed_and_closing_cannot_spoil_the_case() -> None:
    channel, sink = FakeChannel(), ListSink()
    await attempt(Work(key(), CASE), setup(channel, sink))
    assert channel.closed == list(channel.heard)
    assert isinstance(sink.rows[-1], CaseRecord)


async def test_no_conversation_knows_of_another() -> None:
    """What a user said in one case is never heard in another, however many run at once."""

    def remembers(heard: list[str]) -> str:
        return f"您叫{heard[0]}" if len(heard) > 1 else "好的"

    channel, sink = FakeChannel(remembers), ListSink()
    shared = setup(channel, sink, slots=8)

    async def cases() -> AsyncIterator[Work]:
        for n in range(100):
            yield Work(key(n), Case(f"case-{n}", (f"用户{n}", "我刚才叫什么？")))

    await drain(cases(), lambda work: attempt(work, shared), workers=12, stop=asyncio.Event())
    records = [row for row in sink.rows if isinstance(row, CaseRecord)]
    assert {r.started.key.n: r.dialog[1].reply for r in records} == {n: f"您叫用户{n}" for n in range(100)}
    assert len({r.started.conversation_id for r in records}) == 100
    assert channel.most_talking == 8


async def test_the_agent_is_free_for_others_while_a_dialog_is_judged() -> None:
    channel, sink = FakeChannel(), ListSink()
    judged = asyncio.Event()

    async def judge(case: Case, dialog: Dialog, time: TimeLimit) -> Evaluation:
        if case.id == "case-0":
            await judged.wait()
        else:
            judged.set()
        return Evaluation({}, Answers(), (), (), SUCCESS)

    one_slot = Setup(agent(channel, slots=1), judge, sink, FakeClock(), b"s" * 32, Progress(total=2))
    async with asyncio.timeout(5), asyncio.TaskGroup() as tasks:
        for place in places(2):
            tasks.create_task(attempt(Work(key(place.n), place.case), one_slot))
    assert [row.started.key.n for row in sink.rows if isinstance(row, CaseRecord)] == [1, 0]


async def test_an_interrupted_attempt_leaves_no_record() -> None:
    channel, sink = FakeChannel(), ListSink()
    channel.gate.clear()
    task = asyncio.create_task(attempt(Work(key(), CASE), setup(channel, sink)))
    while not channel.talking:  # noqa: ASYNC110 - the fake agent has no event for it
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [type(row) for row in sink.rows] == [AttemptStarted, TurnSending]
    assert channel.closed == list(channel.heard)


async def test_progress_tells_what_is_done_and_what_is_waited_for() -> None:
    channel, sink = FakeChannel(), ListSink()
    channel.gate.clear()
    waiting: list[dict[Stage, int]] = []
    progress = Progress(total=3, changed=lambda p: waiting.append({s: n for s, n in p.in_flight.items() if n}))
    shared = Setup(agent(channel, slots=1), judging(UNSCORED), sink, FakeClock(), b"s" * 32, progress)
    tasks = [asyncio.create_task(attempt(Work(key(n), CASE), shared)) for n in range(3)]
    while not channel.talking:  # noqa: ASYNC110 - as above
        await asyncio.sleep(0)
    assert waiting[-1] == {Stage.SLOT: 2, Stage.AGENT: 1}
    channel.gate.set()
    await asyncio.gather(*tasks)
    assert (progress.done, progress.failed, progress.unscored) == (3, 0, 3)
    assert waiting[-1] == {}
    assert any(Stage.JUDGE in stages for stages in waiting)
