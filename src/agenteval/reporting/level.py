"""What came of an attempt, as reports sort and mark it."""

from enum import StrEnum


class Level(StrEnum):
    """The three levels of L3 and what stands beside them, what to look at first before the rest."""

    FAILURE = "failure"
    UNSETTLED = "unsettled"
    PARTIAL = "partial"
    INTERRUPTED = "interrupted"
    OPEN = "open"
    AWAITING_JUDGE = "awaiting_judge"
    NOT_RUN = "not_run"
    NO_RULES = "no_rules"
    SUCCESS = "success"
    SUPERSEDED = "superseded"

    @property
    def severity(self) -> int:
        """0 for what to look at first."""
        return _SEVERITY[self]

    @property
    def mark(self) -> str:
        """A sign beside the colour, for those who do not see it."""
        return _MARKS[self]


_SEVERITY = {level: i for i, level in enumerate(Level)}
_MARKS = {
    Level.FAILURE: "✗",
    Level.UNSETTLED: "?",
    Level.PARTIAL: "◐",
    Level.INTERRUPTED: "‖",
    Level.OPEN: "…",
    Level.AWAITING_JUDGE: "…",
    Level.NOT_RUN: "–",
    Level.NO_RULES: "–",
    Level.SUCCESS: "✓",
    Level.SUPERSEDED: "–",
}
GOOD_MARKS = {True: "✓", False: "✗", None: "?"}
"""Of a rule or an item: passed or filled, not so, unknown."""
