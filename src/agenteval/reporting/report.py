"""What every renderer is given."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from agenteval.domain.records import CaseView, Run
from agenteval.domain.review import ReviewFigures
from agenteval.domain.run_summary import RunSummary
from agenteval.domain.text import Language, language

_LOOKED_AT = 20


@dataclass(frozen=True, slots=True)
class RunReport:
    """A run, its aggregates, what people said of it, and its cases.

    `cases()` begins a pass over all cases in order, as they come from storage: a renderer may make several and need
    hold none. Of `run.config` the members `target_name`, `channel` and `models.judge` (null for the built-in judge) are
    known; all members are shown.
    """

    run: Run
    summary: RunSummary
    cases: Callable[[], AsyncIterator[CaseView]]
    review: ReviewFigures | None = None


async def language_of(cases: AsyncIterator[CaseView]) -> Language:
    """The language that the users of the first cases speak."""
    said: list[str] = []
    async for case in cases:
        said.extend(case.place.case.messages)
        if len(said) >= _LOOKED_AT:
            break
    return language("\n".join(said))
