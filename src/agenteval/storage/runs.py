"""Runs: created with their cases, worked off, finished, listed."""

from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any

from sqlalchemy import RowMapping, Select, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from agenteval.domain.errors import NotFound
from agenteval.domain.outcome import OutcomeCause, SuccessLevel
from agenteval.domain.records import AttemptKey, AttemptStatus, Run, RunCase, RunStatus, Work
from agenteval.domain.scenario import Case
from agenteval.domain.transcript import TurnStatus
from agenteval.storage.codec import RUN, dumps, loads, time_text
from agenteval.storage.store import Store
from agenteval.storage.tables import ATTEMPTS, RUN_CASES, RUNS, TURNS

PAGE = 500
_DELIVERED = ATTEMPTS.c.cause.is_(None) | (ATTEMPTS.c.cause != OutcomeCause.NOT_DELIVERED)
_DONE = (ATTEMPTS.c.status == AttemptStatus.FINISHED) & _DELIVERED


@dataclass(frozen=True, slots=True)
class RunStats:
    """A run in a list. `finished` counts its attempts of `wanted`, but for those whose messages could not be delivered;
    `passed` of the `known` ones; `levels` how many came out as what, None being those whose level is null."""

    run: Run
    wanted: int
    finished: int
    passed: int
    known: int
    levels: dict[SuccessLevel | None, int]


async def create(store: Store, run: Run, cases: Iterable[RunCase]) -> None:
    """Store a run with all its cases, or nothing."""
    async with store.write() as connection:
        await connection.execute(insert(RUNS).values(dict(zip(RUN.names, RUN.row(run), strict=True))))
        rest = iter(cases)
        while page := list(islice(rest, PAGE)):
            await connection.execute(insert(RUN_CASES), [_case_row(run.id, place) for place in page])


async def get(store: Store, run_id: str) -> Run:
    """Raises NotFound."""
    async with store.read() as connection:
        row = (await connection.execute(select(RUNS).where(RUNS.c.id == run_id))).mappings().one_or_none()
    if row is None:
        raise NotFound(f"there is no run {run_id!r}", where=str(store.path), fix="`agenteval runs` lists them")
    return _run(row)


async def latest(store: Store) -> Run:
    """The run created last. Raises NotFound when there is none."""
    async with store.read() as connection:
        row = (await connection.execute(_newest_first().limit(1))).mappings().one_or_none()
    if row is None:
        raise NotFound("there is no run yet", where=str(store.path), fix="`agenteval run` makes one")
    return _run(row)


async def listed(store: Store, limit: int) -> list[RunStats]:
    """The newest runs, newest first."""
    async with store.read() as connection:
        rows = (await connection.execute(_newest_first().limit(limit))).mappings().all()
        return [await _stats(connection, _run(row)) for row in rows]


async def resume(store: Store, run_id: str) -> None:
    """Set the run going again. What was in the middle of a dialog is interrupted: its case begins anew."""
    async with store.write() as connection:
        going = {"status": RunStatus.RUNNING, "finished_at": None, "error": ""}
        await connection.execute(update(RUNS).where(RUNS.c.id == run_id).values(going))
        cut = (ATTEMPTS.c.run_id == run_id) & (ATTEMPTS.c.status == AttemptStatus.OPEN)
        await connection.execute(update(ATTEMPTS).where(cut).values(status=AttemptStatus.INTERRUPTED))


async def finish(store: Store, run_id: str, status: RunStatus, at: datetime, error: str = "") -> None:
    async with store.write() as connection:
        ended = {"status": status, "finished_at": time_text(at), "error": error}
        await connection.execute(update(RUNS).where(RUNS.c.id == run_id).values(ended))


async def left(store: Store, run: Run) -> int:
    """How many repeats have no finished attempt, or only such that could not be delivered."""
    async with store.read() as connection:
        stats = await _stats(connection, run)
    return stats.wanted - stats.finished


async def undelivered(store: Store, run_id: str) -> str:
    """Why the first message that could not be delivered could not; empty when all were."""
    query = (
        select(TURNS.c.error)
        .join(ATTEMPTS)
        .where(ATTEMPTS.c.run_id == run_id, TURNS.c.status == TurnStatus.NOT_DELIVERED)
        .order_by(ATTEMPTS.c.n, ATTEMPTS.c.repeat, ATTEMPTS.c.attempt)
        .limit(1)
    )
    async with store.read() as connection:
        return await connection.scalar(query) or ""


async def work(store: Store, run: Run) -> AsyncIterator[Work]:
    """An attempt for each repeat of each case that has no finished one, or only such that could not be delivered; in
    order, read page by page. What is begun after its page was read does not change it, so one iterator at a time may
    work on a run."""
    last = -1
    while page := await _page(store, run.id, last):
        for n, case, seen in page:
            for repeat in range(1, run.repeats + 1):
                attempts = seen.get(repeat, {})
                if not any(attempts.values()):
                    key = AttemptKey(run.id, n, case.id, repeat, max(attempts, default=0) + 1)
                    yield Work(key, case)
        last = page[-1][0]


async def _page(store: Store, run_id: str, after: int) -> list[tuple[int, Case, dict[int, dict[int, bool]]]]:
    """The next cases, each with its attempts by repeat and number: whether they settle it."""
    in_run = (RUN_CASES.c.run_id == run_id) & (RUN_CASES.c.n > after)
    cases = select(RUN_CASES.c.n, RUN_CASES.c.case).where(in_run).order_by(RUN_CASES.c.n).limit(PAGE)
    async with store.read() as connection:
        page = (await connection.execute(cases)).all()
        if not page:
            return []
        between = ATTEMPTS.c.n.between(page[0].n, page[-1].n)
        attempts = select(ATTEMPTS.c.n, ATTEMPTS.c.repeat, ATTEMPTS.c.attempt, _DONE.label("done"))
        rows = await connection.execute(attempts.where(ATTEMPTS.c.run_id == run_id, between))
    seen: defaultdict[int, dict[int, dict[int, bool]]] = defaultdict(dict)
    for n, repeat, attempt, done in rows:
        seen[n].setdefault(repeat, {})[attempt] = bool(done)
    return [(n, loads(Case, case), seen[n]) for n, case in page]


async def _stats(connection: AsyncConnection, run: Run) -> RunStats:
    cases = select(func.count()).select_from(RUN_CASES).where(RUN_CASES.c.run_id == run.id)
    wanted = run.repeats * (await connection.execute(cases)).scalar_one()
    groups = await connection.execute(
        select(ATTEMPTS.c.success_level, ATTEMPTS.c.passed, func.count())
        .where(ATTEMPTS.c.run_id == run.id, _DONE)
        .group_by(ATTEMPTS.c.success_level, ATTEMPTS.c.passed)
    )
    levels: defaultdict[SuccessLevel | None, int] = defaultdict(int)
    passes: Counter[bool | None] = Counter()
    for level, passed, count in groups:
        levels[level and SuccessLevel(level)] += count
        passes[passed] += count
    known = passes[True] + passes[False]
    return RunStats(run, wanted, passes.total(), passes[True], known, dict(levels))


def _newest_first() -> Select[Any]:
    return select(RUNS).order_by(RUNS.c.created_at.desc(), RUNS.c.id.desc())


def _run(row: RowMapping) -> Run:
    return Run(**RUN.values(row))


def _case_row(run_id: str, place: RunCase) -> dict[str, object]:
    case = place.case
    return {"run_id": run_id, "n": place.n, "scenario": place.scenario, "case_id": case.id, "case": dumps(case)}
