"""The one loop."""

import asyncio
import gc
import time
from collections.abc import AsyncIterator

import pytest

from agenteval.engine.drain import drain


async def numbers(count: int) -> AsyncIterator[int]:
    for n in range(count):
        await asyncio.sleep(0)
        yield n


async def test_every_piece_of_work_is_done_once_and_side_by_side() -> None:
    done: list[int] = []
    running = most = 0

    async def attempt(n: int) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.001)
        running -= 1
        done.append(n)

    await drain(numbers(100), attempt, workers=7, stop=asyncio.Event())
    assert sorted(done) == list(range(100))
    assert most == 7


async def test_no_more_is_taken_from_the_source_than_is_worked_on() -> None:
    taken = 0
    gate = asyncio.Event()

    async def source() -> AsyncIterator[int]:
        nonlocal taken
        while True:
            taken += 1
            yield taken

    async def attempt(_: int) -> None:
        await gate.wait()

    stop = asyncio.Event()
    draining = asyncio.create_task(drain(source(), attempt, workers=3, stop=stop))
    for _ in range(20):
        await asyncio.sleep(0)
    assert taken == 3
    stop.set()
    await draining


async def test_an_empty_source_ends_at_once() -> None:
    async def attempt(_: int) -> None:
        raise AssertionError

    await drain(numbers(0), attempt, workers=3, stop=asyncio.Event())


async def test_a_stop_cancels_what_runs_and_returns_promptly() -> None:
    stop = asyncio.Event()
    cancelled: list[int] = []
    begun: list[int] = []

    async def attempt(n: int) -> None:
        begun.append(n)
        if len(begun) == 5:
            stop.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(n)
            raise

    started_s = time.monotonic()
    await drain(numbers(10**9), attempt, workers=5, stop=stop)
    assert sorted(cancelled) == begun == [0, 1, 2, 3, 4]
    assert time.monotonic() - started_s < 1


async def test_work_that_waits_for_nothing_leaves_the_loop_to_others_all_the_same() -> None:
    many, done = 2_000_000, 0

    async def source() -> AsyncIterator[int]:
        for n in range(many):
            yield n

    async def attempt(_: int) -> None:
        nonlocal done
        done += 1

    stop = asyncio.Event()
    asyncio.get_running_loop().call_later(0.01, stop.set)
    await drain(source(), attempt, workers=2, stop=stop)
    assert 0 < done < many


async def test_a_stop_that_was_asked_for_before_does_nothing() -> None:
    stop = asyncio.Event()
    stop.set()
    done: list[int] = []

    async def attempt(n: int) -> None:
        await asyncio.sleep(3600)
        done.append(n)

    await drain(numbers(5), attempt, workers=2, stop=stop)
    assert done == []


async def test_an_attempt_that_breaks_ends_the_run_with_its_error() -> None:
    cancelled = 0

    async def attempt(n: int) -> None:
        nonlocal cancelled
        if n == 3:
            raise ZeroDivisionError("case 3")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled += 1
            raise

    with pytest.raises(ZeroDivisionError, match="case 3"):
        await drain(numbers(100), attempt, workers=4, stop=asyncio.Event())
    assert cancelled == 3


async def test_a_source_that_breaks_ends_the_run_with_its_error() -> None:
    async def source() -> AsyncIterator[int]:
        yield 1
        raise ZeroDivisionError("page 2")

    async def attempt(_: int) -> None:
        await asyncio.Event().wait()

    with pytest.raises(ZeroDivisionError, match="page 2"):
        await drain(source(), attempt, workers=2, stop=asyncio.Event())


async def test_cancelling_the_loop_cancels_its_workers() -> None:
    cancelled = 0

    async def attempt(_: int) -> None:
        nonlocal cancelled
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled += 1
            raise

    draining = asyncio.create_task(drain(numbers(10), attempt, workers=3, stop=asyncio.Event()))
    for _ in range(20):
        await asyncio.sleep(0)
    draining.cancel()
    with pytest.raises(asyncio.CancelledError):
        await draining
    assert cancelled == 3


async def test_attempts_that_break_at_once_leave_no_error_behind() -> None:
    loose: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: loose.append(context))
    together = asyncio.Barrier(3)

    async def breaks(item: int) -> None:
        await together.wait()
        raise ValueError(item)

    with pytest.raises(ValueError, match=r"[012]"):
        await drain(numbers(3), breaks, workers=3, stop=asyncio.Event())
    gc.collect()
    assert loose == []
