"""Runs and the work that is left of them."""

from datetime import timedelta
from fractions import Fraction
from itertools import chain

import pytest

from agenteval.domain.errors import NotFound, StorageError
from agenteval.domain.outcome import SuccessLevel
from agenteval.domain.records import AttemptKey, CaseRecord, Held, RunStatus, Work
from agenteval.domain.run_summary import Tally, UsageTotal
from agenteval.domain.transcript import Dialog, Turn, TurnStatus
from agenteval.storage import attempts, runs
from agenteval.storage.runs import PAGE, RunStats
from agenteval.storage.store import Store
from agenteval.storage.writer import Writer
from tests.fakes.clock import START
from tests.fakes.records import (
    BOOKING,
    MODEL_FAILED,
    NOT_DELIVERED,
    POLITE,
    SUCCESS,
    UNJUDGED,
    UNSCORED,
    key,
    places,
    record,
    run,
    started,
)


async def left(store: Store, run_id: str = "run") -> list[tuple[int, int, int]]:
    work = [work async for work in runs.work(store, await runs.get(store, run_id))]
    return [(one.key.n, one.key.repeat, one.key.attempt) for one in work]


async def test_a_run_is_read_as_created(store: Store) -> None:
    await runs.create(store, run(repeats=3), places(2))
    assert await runs.get(store, "run") == run(repeats=3)
    case = (await attempts.view(store, "run", "case-1")).place
    assert [case] == list(places(2))[1:]


async def test_a_run_whose_cases_cannot_be_stored_is_not_there_at_all(store: Store) -> None:
    twice = chain(places(PAGE + 1), places(1))
    with pytest.raises(StorageError, match="UNIQUE"):
        await runs.create(store, run(), twice)
    with pytest.raises(NotFound, match="no run 'run'"):
        await runs.get(store, "run")


async def test_all_work_comes_in_order_with_its_case(store: Store) -> None:
    await runs.create(store, run(repeats=2), places(PAGE + 2))
    work = [work async for work in runs.work(store, run(repeats=2))]
    assert [(one.key.n, one.key.repeat) for one in work] == [(n, r) for n in range(PAGE + 2) for r in (1, 2)]
    assert work[-1] == Work(key(PAGE + 1, repeat=2), list(places(PAGE + 2))[-1].case)
    assert len({one.key.id for one in work}) == len(work)


async def test_a_run_without_cases_has_no_work(store: Store) -> None:
    await runs.create(store, run(), ())
    assert await left(store) == []
    assert await runs.left(store, run()) == 0


async def test_what_is_finished_is_not_done_again_and_what_was_cut_begins_anew(store: Store) -> None:
    await runs.create(store, run(repeats=2), places(2))
    async with Writer(store) as writer:
        await writer.put(record(key(0)))
        await writer.put(started(key(0, repeat=2)))
        await writer.put(started(key(1)))
    await runs.resume(store, "run")
    assert await left(store) == [(0, 2, 2), (1, 1, 2), (1, 2, 1)]
    assert await runs.left(store, run(repeats=2)) == 3
    async with Writer(store) as writer:
        await writer.put(started(key(1, attempt=2)))
    await runs.resume(store, "run")
    assert await left(store) == [(0, 2, 2), (1, 1, 3), (1, 2, 1)]


async def test_resuming_sets_a_failed_run_going_and_touches_no_other(store: Store) -> None:
    for run_id in ("run", "other"):
        await runs.create(store, run(run_id), places(1))
        async with Writer(store) as writer:
            await writer.put(started(key(run_id=run_id)))
        await runs.finish(store, run_id, RunStatus.FAILED, START, "disk full")
    failed = await runs.get(store, "run")
    assert (failed.status, failed.finished_at, failed.error) == (RunStatus.FAILED, START, "disk full")
    await runs.resume(store, "run")
    assert await runs.get(store, "run") == run()
    assert (await runs.get(store, "other")).status is RunStatus.FAILED
    assert await left(store, "other") == [(0, 1, 2)], "an open attempt is never continued"
    (kept,) = (await attempts.view(store, "other", "case-0")).attempts
    assert kept.status == "open"


async def test_runs_are_listed_newest_first_with_what_came_out(store: Store) -> None:
    await runs.create(store, run("old", age=timedelta(days=1)), places(1))
    await runs.create(store, run("new", repeats=2), places(2))
    async with Writer(store) as writer:
        await writer.put(record(key(0, run_id="new")))
        await writer.put(record(key(0, repeat=2, run_id="new"), UNSCORED))
        await writer.put(started(key(1, run_id="new")))
    assert await runs.listed(store, limit=9) == [
        RunStats(run("new", repeats=2), 4, 2, 1, 1, {SuccessLevel.SUCCESS: 1, None: 1}),
        RunStats(run("old", age=timedelta(days=1)), 1, 0, 0, 0, {}),
    ]
    assert [stats.run.id for stats in await runs.listed(store, limit=1)] == ["new"]
    assert (await runs.latest(store)).id == "new"


async def test_what_was_not_delivered_is_left_and_counts_once_it_was(store: Store) -> None:
    await runs.create(store, run(), places(2))
    lost = Dialog((Turn(0, "订一张桌子", status=TurnStatus.NOT_DELIVERED, error="no such host"),))
    async with Writer(store) as writer:
        await writer.put(record(key(0)))
        await writer.put(record(key(1), NOT_DELIVERED, said=lost, results=()))
    assert await left(store) == [(1, 1, 2)]
    assert await runs.left(store, run()) == 1
    assert await runs.undelivered(store, "run") == "no such host"
    assert [stats.finished for stats in await runs.listed(store, limit=1)] == [1]
    assert [len(facts) async for _, facts in attempts.facts(store, "run")] == [1, 1]

    async with Writer(store) as writer:
        await writer.put(record(key(1, attempt=2)))
    assert await left(store) == []
    found = [[fact.outcome for fact in facts] async for _, facts in attempts.facts(store, "run")]
    assert found == [[SUCCESS], [SUCCESS]], "the attempt that was not delivered is shown, but no longer counted"


async def test_what_no_model_judged_is_left_with_its_dialog_until_it_is(store: Store) -> None:
    await runs.create(store, run(repeats=2), places(2))

    def failed(of: AttemptKey, why: str) -> CaseRecord:
        return record(of, UNSCORED, results=(MODEL_FAILED,), failure=why)

    async with Writer(store) as writer:
        await writer.put(record(key(0)))
        await writer.put(failed(key(0, repeat=2), "the judge timed out"))
        await writer.put(failed(key(1), "the judge answered 500"))
        await writer.put(record(key(1, repeat=2)))
    work = [work async for work in runs.work(store, run(repeats=2))]
    assert [(one.key.n, one.key.repeat, one.key.attempt) for one in work] == [(0, 2, 2), (1, 1, 2)]
    assert work[0].held == Held(f"conversation-{key(0, repeat=2).id}", BOOKING)
    assert await runs.unjudged(store, "run") == (2, "the judge timed out")
    assert await runs.left(store, run(repeats=2)) == 2
    assert [stats.finished for stats in await runs.listed(store, limit=1)] == [2]

    async with Writer(store) as writer:
        await writer.put(record(key(0, repeat=2, attempt=2)))
        await writer.put(failed(key(1, attempt=2), "the judge answered 502"))
    assert await left(store) == [(1, 1, 3)]
    assert await runs.unjudged(store, "run") == (1, "the judge answered 502"), "only of what is left, and the last"


async def test_the_latest_of_no_runs_is_a_clear_error(store: Store) -> None:
    with pytest.raises(NotFound, match=r"there is no run yet \(`agenteval run` makes one\)"):
        await runs.latest(store)


async def test_facts_are_of_finished_attempts_case_by_case_in_order(store: Store) -> None:
    await runs.create(store, run(repeats=2), places(attempts.PAGE + 3))
    async with Writer(store) as writer:
        for n in (attempts.PAGE + 1, 2, 0):
            await writer.put(record(key(n)))
        await writer.put(record(key(0, repeat=2, attempt=2), UNSCORED))
        await writer.put(started(key(1)))
    found = [facts async for facts in attempts.facts(store, "run")]
    assert [case_id for case_id, _ in found] == ["case-0", "case-2", f"case-{attempts.PAGE + 1}"]
    first, second = found[0][1]
    assert (first.outcome, second.outcome) == (SUCCESS, UNSCORED)
    assert first.latencies_ms == [120.0, 80.5]
    assert first.details == [POLITE.detail, UNJUDGED.detail]
    assert first.causes == ["needs_judge"]
    tally = Tally()
    for case_id, repeats in found:
        tally.add_case(case_id, repeats)
    assert tally.summary().success_rate.n == 3, "what was not measured is not counted as 0"


async def test_a_case_is_shown_with_all_its_attempts(store: Store) -> None:
    await runs.create(store, run(), places(2))
    async with Writer(store) as writer:
        await writer.put(started(key(0)))
    await runs.resume(store, "run")
    async with Writer(store) as writer:
        await writer.put(record(key(0, attempt=2)))
    first, second = [case async for case in attempts.views(store, "run")]
    assert [attempt.status for attempt in first.attempts] == ["interrupted", "finished"]
    made = record(key(0, attempt=2))
    finished = first.attempts[1]
    assert (finished.key, finished.dialog, finished.outcome) == (made.started.key, made.dialog, made.outcome)
    assert (finished.results, finished.calls) == (made.results, made.calls)
    assert (finished.started_at, finished.finished_at) == (made.started.started_at, made.finished_at)
    assert {answer.key for answer in finished.answers} == set(made.asks)
    assert second.attempts == ()
    with pytest.raises(NotFound, match="no case 'case-9'"):
        await attempts.view(store, "run", "case-9")


async def test_usage_is_summed_exactly_and_over_calls_only(store: Store) -> None:
    await runs.create(store, run(), places(4))
    assert await attempts.usage(store, "run") == UsageTotal()
    made = [record(key(n)) for n in range(3)] + [record(key(3), cost=None)]
    async with Writer(store) as writer:
        for one in made:
            await writer.put(one)
    total = await attempts.usage(store, "run")
    assert total == UsageTotal.of(call.usage for one in made for call in one.calls)
    assert total.cost == Fraction(1, 1000)
