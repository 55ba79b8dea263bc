"""How far a run is, on stderr: a bar on a terminal, a line now and then elsewhere."""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

from rich.console import Console, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table

from agenteval.engine.progress import Progress, Stage

LINE_EVERY_S = 10.0
BAR_COLUMNS = 16

WAITING = {Stage.SLOT: "queued", Stage.AGENT: "with the agent", Stage.JUDGE: "with the judge"}


class Shown:
    """The state of a run, followed by one thread and shown by another."""

    def __init__(self) -> None:
        self._progress = Progress(0)

    def follow(self, progress: Progress) -> None:
        self._progress = progress

    def __str__(self) -> str:
        """Also when nothing moves it tells where the dialogs are."""
        now = self._progress
        parts = [f"{now.done}/{now.total} done", f"{now.failed} failed", f"{now.unscored} unscored"]
        waiting = [f"{count} {where}" for stage, where in WAITING.items() if (count := now.in_flight[stage])]
        return ", ".join(parts) + (f"; now {', '.join(waiting)}" if waiting else "")

    def __rich__(self) -> RenderableType:
        grid = Table.grid(padding=(0, 1))
        bar = ProgressBar(total=max(self._progress.total, 1), completed=self._progress.done, width=BAR_COLUMNS)
        grid.add_row(bar, str(self))
        return grid


@contextmanager
def shown(
    *, quiet: bool, out: TextIO | None = None, every_s: float = LINE_EVERY_S
) -> Iterator[Callable[[Progress], None]]:
    """What a run is to call after every change."""
    state = Shown()
    out = out or sys.stderr
    if quiet:
        yield state.follow
        return
    if out.isatty():
        live = Live(state, console=Console(file=out), refresh_per_second=4, transient=True, redirect_stdout=False)
        live.start()
        try:
            yield state.follow
        finally:
            with suppress(OSError):  # the terminal may be closed by now
                live.stop()
        return
    ended = threading.Event()

    def print_lines() -> None:
        while not ended.wait(every_s):
            print(state, file=out, flush=True)

    printing = threading.Thread(target=print_lines, daemon=True)
    printing.start()
    try:
        yield state.follow
    finally:
        ended.set()
        printing.join()
