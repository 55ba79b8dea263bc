"""The one loop: workers pull work from a source until it is empty, a person stops the run, or something breaks."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeVar

W = TypeVar("W")


async def drain(
    source: AsyncIterator[W], attempt: Callable[[W], Awaitable[None]], *, workers: int, stop: asyncio.Event
) -> None:
    """Make an attempt at everything in `source`, `workers` at a time; no more than these are in memory.

    When `stop` is set, running attempts are cancelled and it returns. When an attempt raises, the others are cancelled
    and the error is raised.
    """
    pulling = asyncio.Lock()

    async def work() -> None:
        while True:
            async with pulling:  # an async generator cannot be advanced by two at once
                try:
                    item = await anext(source)
                except StopAsyncIteration:
                    return
            await attempt(item)

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
