"""The batching writer: what is acknowledged is stored, what fails is told, nothing is stored twice."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable
from dataclasses import replace

import pytest
from sqlalchemy import URL, Connection

from agenteval.domain.errors import StorageError
from agenteval.domain.records import AttemptStatus, TurnDone, TurnSending
from agenteval.storage import attempts, runs
from agenteval.storage.store import Store
from agenteval.storage.writer import Writer
from tests.fakes.clock import START
from tests.fakes.records import BOOKING, POLITE, SUCCESS, UNSCORED, key, places, record, run, started

SOON_S = 0.01
NEVER_S = 3600.0


@pytest.fixture(autouse=True)
async def created(store: Store) -> None:
    await runs.create(store, run(), places(2000))


def stored(store: Store, table: str) -> int:
    """Seen from outside, so what is committed."""
    with sqlite3.connect(store.path) as other:
        (count,) = other.execute(f"SELECT count(*) FROM {table}").fetchone()
    other.close()
    return int(count)


class WatchedStore(Store):
    def __init__(self, url: URL) -> None:
        super().__init__(url)
        self.transactions = 0
        self.begun = asyncio.Event()
        self.written = asyncio.Event()

    async def write_aside(self, work: Callable[[Connection], None]) -> None:
        self.begun.set()
        await super().write_aside(work)
        self.transactions += 1
        self.written.set()


@pytest.fixture
async def watched(store: Store) -> AsyncIterator[WatchedStore]:
    opened = await WatchedStore.open(store.path)
    yield opened
    await opened.aclose()


async def test_put_is_stored_soon_without_anything_else_happening(watched: WatchedStore) -> None:
    async with Writer(watched, delay_s=SOON_S) as writer, asyncio.timeout(5):
        await writer.put(record(key()))
        await watched.written.wait()
        assert stored(watched, "results") == 2


async def test_put_does_not_wait_for_the_disk_and_commit_does(store: Store) -> None:
    async with Writer(store, delay_s=NEVER_S) as writer:
        await writer.put(started(key()))
        assert stored(store, "attempts") == 0
        await writer.commit(TurnSending(key(), 0, "订一张桌子", START))
        assert stored(store, "attempts") == 1, "what was put before is stored with it"
        assert stored(store, "turns") == 1


async def test_dialogs_out_of_step_come_to_share_their_commits(watched: WatchedStore) -> None:
    async def dialog(n: int) -> None:
        await writer.put(started(key(n)))
        for index in range(20):
            await writer.commit(TurnSending(key(n), index, "订一张桌子", START))

    async with Writer(watched, delay_s=NEVER_S) as writer, asyncio.TaskGroup() as dialogs:
        dialogs.create_task(dialog(0))
        await watched.begun.wait()
        for n in (1, 2, 3):
            dialogs.create_task(dialog(n))
    assert watched.transactions <= 22


async def test_leaving_stores_the_rest(store: Store) -> None:
    async with Writer(store, delay_s=NEVER_S) as writer:
        for n in range(3):
            await writer.put(record(key(n)))
    assert stored(store, "attempts") == 3


async def test_those_who_wait_at_the_same_time_share_a_commit(watched: WatchedStore) -> None:
    async with Writer(watched, delay_s=NEVER_S) as writer:
        await asyncio.gather(*(writer.commit(record(key(n))) for n in range(200)))
    assert stored(watched, "attempts") == 200
    assert watched.transactions <= 3


async def test_a_full_batch_does_not_wait_and_a_slow_disk_holds_back_who_puts(store: Store) -> None:
    async with Writer(store, batch_rows=10, delay_s=NEVER_S) as writer:
        async with asyncio.timeout(5):
            for n in range(1000):
                await writer.put(record(key(n)))
        assert stored(store, "attempts") >= 1000 - 3 * 10, "two batches wait, one is being written"


async def test_a_row_that_cannot_be_stored_is_told_to_all_who_wait_and_to_all_who_come(store: Store) -> None:
    broken = replace(POLITE, detail={"missing": {"a set"}}, label="x")

    async def use() -> None:
        async with Writer(store, delay_s=NEVER_S) as writer:
            with pytest.raises(StorageError, match="set"):
                await writer.commit(record(key(0), results=(broken,)))
            with pytest.raises(StorageError, match="set"):
                await writer.put(record(key(1)))

    with pytest.raises(StorageError, match="set"):
        await use()
    assert stored(store, "attempts") == 0, "a batch is all or nothing"


async def test_a_failure_that_nobody_waited_for_is_raised_on_leaving(store: Store) -> None:
    writer = Writer(store, delay_s=NEVER_S)

    async def use() -> None:
        async with writer:
            await writer.put(started(key(0, run_id="no such run")))

    with pytest.raises(StorageError, match=r"agenteval\.db: FOREIGN KEY"):
        await use()


async def test_who_waits_for_room_hears_of_the_failure(store: Store) -> None:
    async def use() -> None:
        async with Writer(store, batch_rows=1, delay_s=NEVER_S) as writer:
            for _ in range(5):
                await writer.put(started(key(0, run_id="no such run")))

    with pytest.raises(StorageError):
        async with asyncio.timeout(5):
            await use()


async def test_a_cancelled_waiter_harms_nobody(store: Store) -> None:
    async with Writer(store, delay_s=NEVER_S) as writer:
        task = asyncio.create_task(writer.commit(record(key(0))))
        await asyncio.sleep(0)
        task.cancel()
        await writer.commit(record(key(1)))
    assert stored(store, "attempts") == 2


async def test_a_record_stored_twice_is_there_once(store: Store) -> None:
    async with Writer(store) as writer:
        await writer.put(record(key()))
        await writer.commit(record(key()))
        await writer.commit(record(key(), UNSCORED))
    assert [stored(store, table) for table in ("attempts", "turns", "results", "answers", "calls")] == [1, 2, 2, 2, 1]
    (attempt,) = (await attempts.view(store, "run", "case-0")).attempts
    assert attempt.outcome == SUCCESS, "the first stands"


async def test_a_sent_dialog_is_stored_turn_by_turn(store: Store) -> None:
    async with Writer(store) as writer:
        await writer.put(started(key()))
        await writer.commit(TurnSending(key(), 0, "订一张桌子", START))
        await writer.put(TurnDone(key(), BOOKING[0]))
        await writer.commit(TurnSending(key(), 1, "四位", START))
        (interrupted,) = (await attempts.view(store, "run", "case-0")).attempts
        await writer.put(TurnDone(key(), BOOKING[1]))
        await writer.put(record(key()))
    (finished,) = (await attempts.view(store, "run", "case-0")).attempts
    assert interrupted.status is AttemptStatus.OPEN
    assert interrupted.dialog.turns == BOOKING.turns[:1]
    assert interrupted.sending == "四位"
    assert (interrupted.outcome, interrupted.results) == (None, ())
    assert finished.status is AttemptStatus.FINISHED
    assert finished.dialog.turns == BOOKING.turns
    assert finished.sending is None


async def test_a_run_that_another_process_resumed_is_not_written_to(store: Store) -> None:
    async def use() -> None:
        async with Writer(store) as writer:
            await writer.commit(started(key()))
            await runs.resume(store, "run")
            await writer.put(record(key()))

    with pytest.raises(StorageError, match="another process works on this run"):
        await use()
    (attempt,) = (await attempts.view(store, "run", "case-0")).attempts
    assert (attempt.status, attempt.results) == (AttemptStatus.INTERRUPTED, ())


async def test_an_attempt_that_another_process_began_is_not_begun(store: Store) -> None:
    async with Writer(store) as writer:
        await writer.commit(started(key()))

    async def again() -> None:
        async with Writer(store) as writer:
            await writer.commit(started(key()))

    with pytest.raises(StorageError, match="another process works on this run"):
        await again()
