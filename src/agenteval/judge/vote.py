"""Several answers to one question: the majority's, or none."""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

from agenteval.domain.questions import Cause, Judged, Unscored


def vote(samples: Sequence[Judged[Any] | Unscored]) -> Judged[Any] | Unscored:
    """The first answer whose ballot more than half of the samples cast. Ballots are counted and kept; without a
    majority it is a tie, or the cause of the failures when too few answered at all. Nothing is counted before all
    samples are there."""
    judged = [sample for sample in samples if isinstance(sample, Judged)]
    calls = tuple(call for sample in samples for call in sample.calls)
    if pending := next((s for s in samples if isinstance(s, Unscored) and s.cause is Cause.PENDING), None):
        return pending._replace(calls=calls)
    ballots = Counter(sample.value.ballot() for sample in judged).most_common()
    votes = tuple((_text(ballot), count) for ballot, count in ballots)
    if ballots and 2 * ballots[0][1] > len(samples):
        winner = next(sample for sample in judged if sample.value.ballot() == ballots[0][0])
        return replace(winner, calls=calls, votes=votes)
    failed = next((sample for sample in samples if isinstance(sample, Unscored)), None)
    if failed is not None and 2 * len(judged) <= len(samples):
        return failed._replace(calls=calls, votes=votes)
    counts = ", ".join(f"{count} x {ballot}" for ballot, count in votes)
    return Unscored(Cause.TIE, f"no majority among {len(samples)} votes: {counts}", calls, votes)


def _text(ballot: Hashable) -> str:
    """As people read it: `met`, `no book/yes cancel/no`."""
    if not isinstance(ballot, tuple):
        return str(ballot)
    return " ".join("/".join(map(str, part)) if isinstance(part, tuple) else str(part) for part in ballot)
