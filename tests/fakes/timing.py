"""How time grows with size: what a machine under load cannot make fail."""

from collections.abc import Callable
from time import process_time


def growth(work: Callable[[int], object], size: int) -> float:
    """How many times the processor time is of `work` on four times as much: about 4 when it is linear, 16 when it is
    quadratic. Each size is tried several times, each time with a little more, so that nothing remembered helps."""
    return _least(work, 4 * size) / _least(work, size)


def _least(work: Callable[[int], object], size: int) -> float:
    times = []
    for more in range(3):
        began = process_time()
        work(size + more)
        times.append(process_time() - began)
    return min(times)
