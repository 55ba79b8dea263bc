"""Work of code on long dialogs, beside the event loop."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from agenteval.domain.json_value import as_text
from agenteval.domain.transcript import Dialog

T = TypeVar("T")

LONG = 100_000
"""Characters, of all that was said together."""


async def aside(dialog: Dialog, work: Callable[[], T]) -> T:
    """What `work` makes of the dialog. On a long one it works in a thread: while it held up the loop, the replies of
    agents in other dialogs would seem to come late."""
    return await asyncio.to_thread(work) if _size(dialog) > LONG else work()


def _size(dialog: Dialog) -> int:
    return sum(
        len(turn.sent_message) + len(turn.reply_text) + sum(len(as_text(call.result)) for call in turn.tool_calls)
        for turn in dialog
    )
