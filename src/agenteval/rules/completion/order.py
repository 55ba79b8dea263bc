"""Which of the steps that were shown count: prerequisites first, then the order."""

from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence


def counting(turns: Mapping[str, frozenset[int]], depends_on: Mapping[str, Sequence[str]]) -> dict[str, frozenset[int]]:
    """Of each step's evidence turns those that count: every prerequisite has a counting turn at or before them.

    A prerequisite that is not among `turns` has left and is waived. `depends_on` has no cycle.
    """
    counted: dict[str, frozenset[int]] = {}

    def count(step: str) -> frozenset[int]:
        if step not in counted:
            found = turns[step]
            for prerequisite in depends_on.get(step, ()):
                if prerequisite in turns:
                    first = min(count(prerequisite), default=None)
                    found = frozenset() if first is None else frozenset(turn for turn in found if turn >= first)
            counted[step] = found
        return counted[step]

    return {step: count(step) for step in turns}


def longest_chain(options: Sequence[Collection[int]]) -> dict[int, int]:
    """The longest non-decreasing chain over steps in their order, each at one of its turns: step number -> turn.

    Of several longest chains the one with the smallest step numbers; each step at its earliest possible turn.
    """
    # Patience sorting from the end: -after[i][k] is the latest turn at which k + 1 of the steps behind i can begin.
    # A step's turns go in ascending order, so that no two of them join one chain.
    after: list[list[int]] = []
    starts: list[int] = []
    for turns in reversed(options):
        after.append(starts.copy())
        for turn in sorted(turns):
            length = bisect_right(starts, -turn)
            starts[length : length + 1] = [-turn]
    after.reverse()
    chain: dict[int, int] = {}
    now, left = 0, len(starts)
    for i, turns in enumerate(options):
        start = min((turn for turn in turns if turn >= now), default=None)
        if start is not None and left and (left == 1 or bisect_right(after[i], -start) >= left - 1):
            now = start
            chain[i] = start
            left -= 1
    return chain
