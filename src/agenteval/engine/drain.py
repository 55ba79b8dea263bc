"""The one loop: workers pull work from a source until it is empty, a person stops the run, or something breaks."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeVar

W = TypeVar("W")

_TURN_S = 0.005
"""For so long a worker may go on when nothing that it does needs to be waited for; then it is the others' turn."""


async def drain(
    source: AsyncIterator[W], attempt: Callable[[W], Awaitable[None]], *, workers: int, stop: asyncio.Event
) -> None:
    """Make an attempt at everything in `source`, `workers` at a time; no more than these are in memory.

    When `stop` is set, running attempts are cancelled and it returns. When an attempt raises, the others are cancelled
    and the error is raised.
    """
    loop = asyncio.get_running_loop()
    advancing = False  # an async generator cannot be advanced by two at once; a lock is handed on with every item
    advanced = asyncio.Event()

    async def work() -> None:
        nonlocal advancing
        turn_s = loop.time()
        while True:
            while advancing:
                advanced.clear()  # here alone: to set it again while many wake up looks at all of them
                await advanced.wait()
            advancing = True
            try:
                item = await anext(source)
            except StopAsyncIteration:
                return
            finally:
                advancing = False
                advanced.set()
            await attempt(item)
            if loop.time() - turn_s > _TURN_S:
                await asyncio.sleep(0)
                turn_s = loop.time()

    stopping = asyncio.create_task(stop.wait())
    pool = [asyncio.create_task(work()) for _ in range(workers)]
    working = asyncio.gather(*pool)
    ends: tuple[asyncio.Future[Any], ...] = (working, stopping)
    try:
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            await working
    finally:
        for task in (*pool, stopping):
            task.cancel()
        await asyncio.gather(*pool, working, stopping, return_exceptions=True)  # several may have failed at once
