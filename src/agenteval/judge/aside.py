"""Work of code on long dialogs, beside the event loop."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

from agenteval.domain.transcript import Dialog

P = ParamSpec("P")
T = TypeVar("T")

MUCH = 20_000
"""Characters of a dialog times items that are looked for in it: from 1 to 50 ms, by what is looked for. A thread takes
0.05 ms."""


def is_much(dialog: Dialog, items: int) -> bool:
    """Whether to look for so many items in the dialog should not hold up the loop: the replies of agents in other
    dialogs would seem to come late."""
    return dialog.size * items > MUCH


async def aside(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """What `work` makes of its arguments, in a thread."""
    return await asyncio.get_running_loop().run_in_executor(_BESIDE, partial(work, *args, **kwargs))


# More threads would share one interpreter's time, and take the loop's.
_BESIDE = ThreadPoolExecutor(max_workers=1)
