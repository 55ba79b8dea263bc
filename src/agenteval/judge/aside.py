"""Work of code on long dialogs, beside the event loop."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from agenteval.domain.transcript import Dialog

T = TypeVar("T")

LONG = 100_000
"""As `Dialog.size`."""


async def aside(dialog: Dialog, work: Callable[[], T]) -> T:
    """What `work` makes of the dialog. On a long one it works in a thread: while it held up the loop, the replies of
    agents in other dialogs would seem to come late."""
    return await asyncio.to_thread(work) if dialog.size > LONG else work()
