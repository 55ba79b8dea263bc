"""How commands run what is asynchronous, and what Ctrl-C does to it."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

from agenteval.cli.invocation import INTERRUPTED

T = TypeVar("T")

SHOW_CURSOR = b"\x1b[?25h"


def run_async(coroutine: Coroutine[Any, Any, T]) -> T:
    """On uvloop where there is one."""
    try:
        from uvloop import new_event_loop
    except ImportError:
        factory = None
    else:
        factory = new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        return runner.run(coroutine)


@contextmanager
def stopped_by_ctrl_c(say: Callable[[str], None]) -> Iterator[asyncio.Event]:
    """An event that the first Ctrl-C sets; the second ends the process at once, whatever it is doing."""
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()

    def again(_signal: int, _frame: FrameType | None) -> None:
        if sys.stderr.isatty():
            os.write(sys.stderr.fileno(), SHOW_CURSOR)  # the progress bar hides it
        os._exit(INTERRUPTED)

    def first(_signal: int, _frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, again)
        loop.call_soon_threadsafe(stop.set)
        loop.call_soon_threadsafe(say, "stopping; Ctrl-C again ends at once")

    before = signal.signal(signal.SIGINT, first)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)
