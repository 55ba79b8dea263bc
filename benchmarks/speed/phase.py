"""What a part of a program cost: the runners' own phase of work, without start-up."""

import os
import resource
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(slots=True)
class Phase:
    """`cpu_s` of all threads of this process. `rss_mb`: the most that the process ever held, start-up and all."""

    cpu_s: float = 0.0
    wall_s: float = 0.0
    rss_mb: float = 0.0


def on_one_core() -> None:
    """Keeps this process to one core, where the system can: the figures are of a core. Threads that go from one to the
    other take up to a third more CPU time, and how often they do so differs from run to run."""
    if sys.platform == "linux":
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


@contextmanager
def phase() -> Iterator[Phase]:
    """Filled in when the block ends."""
    measured = Phase()
    cpu_s, wall_s = time.process_time(), time.perf_counter()
    yield measured
    measured.cpu_s, measured.wall_s = time.process_time() - cpu_s, time.perf_counter() - wall_s
    unit = 1024**2 if sys.platform == "darwin" else 1024
    measured.rss_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
