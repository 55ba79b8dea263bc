"""The time that one case has, its dialog and its judgement together."""

from dataclasses import dataclass, field

from agenteval.domain.ports import Clock
from agenteval.domain.quick_init import quick_init

CASE_LIMIT_S = 1800.0
"""For a case when nothing else is said."""


@quick_init
@dataclass(frozen=True, slots=True)
class TimeLimit:
    """Begins when it is made. `limit_s` None: no limit."""

    clock: Clock
    limit_s: float | None
    began_s: float = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "began_s", self.clock.monotonic_s())

    @property
    def left_s(self) -> float | None:
        """Never negative."""
        return None if self.limit_s is None else max(0.0, self.began_s + self.limit_s - self.clock.monotonic_s())

    def __str__(self) -> str:
        return f"the case's time limit of {self.limit_s:g} s was used up"
