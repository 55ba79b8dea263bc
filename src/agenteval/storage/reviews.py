"""What people said of attempts: never changed, only added to. What follows from it takes the place of the results."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import delete, func, insert, select, update

from agenteval.domain.errors import StorageError
from agenteval.domain.outcome import CaseOutcome, RuleResult
from agenteval.domain.review import Review
from agenteval.storage.codec import OUTCOME, RESULT, REVIEW
from agenteval.storage.store import Store
from agenteval.storage.tables import ATTEMPTS, RESULTS, REVIEWS


@dataclass(frozen=True, slots=True)
class Reviewed:
    """Reviews to add to an attempt that has `seen` of them, and what comes of all."""

    case_id: str
    attempt_id: str
    seen: int
    reviews: Sequence[Review]
    results: Sequence[RuleResult]
    outcome: CaseOutcome


async def add(store: Store, reviewed: Sequence[Reviewed]) -> None:
    """All or none. Raises StorageError when somebody else reviewed one of the attempts in between."""
    async with store.write() as connection:
        for one in reviewed:
            of_attempt = select(func.count()).select_from(REVIEWS).where(REVIEWS.c.attempt_id == one.attempt_id)
            if await connection.scalar(of_attempt) != one.seen:
                raise StorageError(f"somebody else reviewed case {one.case_id!r} just now", fix="look at it again")
            await connection.execute(insert(REVIEWS), list(map(REVIEW.named, one.reviews)))
            await connection.execute(
                update(ATTEMPTS).where(ATTEMPTS.c.id == one.attempt_id).values(OUTCOME.named(one.outcome))
            )
            await connection.execute(delete(RESULTS).where(RESULTS.c.attempt_id == one.attempt_id))
            results = [
                {"attempt_id": one.attempt_id, "n": n, **RESULT.named(result)} for n, result in enumerate(one.results)
            ]
            await connection.execute(insert(RESULTS), results)


async def copy(store: Store, reviews: Sequence[Review]) -> None:
    """Reviews of attempts whose results are derived with them already."""
    if reviews:
        async with store.write() as connection:
            await connection.execute(insert(REVIEWS), list(map(REVIEW.named, reviews)))


async def of_run(store: Store, run_id: str) -> list[Review]:
    """The oldest first."""
    query = select(REVIEWS).join(ATTEMPTS).where(ATTEMPTS.c.run_id == run_id).order_by(REVIEWS.c.at, REVIEWS.c.id)
    async with store.read() as connection:
        return [REVIEW.load(row) for row in (await connection.execute(query)).mappings()]
