"""How commands run what is asynchronous, and what stops it: Ctrl-C, SIGTERM, or a terminal that is closed."""

import asyncio
import gc
import os
import signal
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, TypeVar

from agenteval.cli.invocation import INTERRUPTED

T = TypeVar("T")

SHOW_CURSOR = b"\x1b[?25h"

_YOUNG = 10_000
"""So many new objects before the collector looks for cycles, of which there are hardly any. At Python's 700 it walks
the dialogs in flight again and again, 5 % of the CPU time of a judged case; more would hold more memory."""


def run_async(coroutine: Coroutine[Any, Any, T]) -> T:
    """On uvloop where there is one."""
    try:
        from uvloop import new_event_loop
    except ImportError:
        factory = None
    else:
        factory = new_event_loop
    gc.freeze()  # modules live as long as the process: the collector need not walk them again and again
    gc.set_threshold(_YOUNG, 10, 10)
    with asyncio.Runner(loop_factory=factory) as runner:
        return runner.run(coroutine)


class Stop(asyncio.Event):
    """`code`: the exit code of what it has stopped, 128 and the signal's number."""

    code = INTERRUPTED


@contextmanager
def stopped_by_signals(say: Callable[[str], None]) -> Iterator[Stop]:
    """An event that the first signal to stop sets; the second ends the process at once, whatever it is doing."""
    loop = asyncio.get_running_loop()
    stop = Stop()

    def again(number: int, _frame: FrameType | None) -> None:
        with suppress(OSError):
            if sys.stderr.isatty():
                os.write(sys.stderr.fileno(), SHOW_CURSOR)  # the progress bar hides it
        os._exit(128 + number)

    def first(number: int, _frame: FrameType | None) -> None:
        for heard in before:
            signal.signal(heard, again)
        stop.code = 128 + number
        loop.call_soon_threadsafe(stop.set)
        name = "Ctrl-C" if number == signal.SIGINT else signal.Signals(number).name
        loop.call_soon_threadsafe(say, f"stopping; {name} again ends at once")

    before = {number: signal.signal(number, first) for number in _stopping()}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _stopping() -> Iterator[signal.Signals]:
    yield signal.SIGINT
    yield signal.SIGTERM
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # nohup
        yield signal.SIGHUP
