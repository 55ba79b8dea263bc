"""How far a run is and what it waits for."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from agenteval.domain.outcome import CaseOutcome


class Stage(StrEnum):
    """What an attempt in flight waits for: its turn to talk to the agent, the agent's replies, the judge's answers."""

    SLOT = "slot"
    AGENT = "agent"
    JUDGE = "judge"


@dataclass(slots=True)
class Progress:
    """`failed` and `unscored` are of the `done`. `changed` is called after every change and must be quick."""

    total: int
    done: int = 0
    failed: int = 0
    unscored: int = 0
    in_flight: Counter[Stage] = field(default_factory=Counter)
    changed: Callable[["Progress"], None] = lambda _: None

    def move(self, before: Stage | None, after: Stage | None) -> None:
        """An attempt goes from one stage to the next; None: it is not in flight."""
        if before:
            self.in_flight[before] -= 1
        if after:
            self.in_flight[after] += 1
        self.changed(self)

    def finished(self, outcome: CaseOutcome) -> None:
        self.done += 1
        self.failed += outcome.passed is False
        self.unscored += outcome.success_level is None
        self.move(Stage.JUDGE, None)
