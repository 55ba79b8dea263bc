"""Work of code on long dialogs, beside the event loop."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from agenteval.domain.transcript import Dialog

T = TypeVar("T")

MUCH = 20_000
"""Characters of a dialog times items that are looked for in it: from 1 to 50 ms, by what is looked for. A thread takes
0.05 ms."""


async def aside(dialog: Dialog, items: int, work: Callable[[], T]) -> T:
    """What `work` makes of the dialog for so many items. When that is much, it works in a thread: while it held up the
    loop, the replies of agents in other dialogs would seem to come late."""
    if dialog.size * items <= MUCH:
        return work()
    return await asyncio.get_running_loop().run_in_executor(_BESIDE, work)


# More threads would share one interpreter's time, and take the loop's.
_BESIDE = ThreadPoolExecutor(max_workers=1)
