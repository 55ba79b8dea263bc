"""Runs: created with their cases, worked off, finished, listed."""

from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from itertools import islice
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, FromClause, Row, RowMapping, Select, exists, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from agenteval.domain.errors import NotFound
from agenteval.domain.json_value import canonical
from agenteval.domain.outcome import OutcomeCause, SuccessLevel
from agenteval.domain.questions import Cause
from agenteval.domain.records import AttemptKey, AttemptStatus, Held, Run, RunCase, RunStatus, Work
from agenteval.domain.scenario import Case, full_name
from agenteval.domain.transcript import Dialog, TurnStatus
from agenteval.storage.codec import RUN, TURN, dumps, load_case, parsed, sound, time_text
from agenteval.storage.store import Store
from agenteval.storage.tables import ANSWERS, ATTEMPTS, RESULTS, RUN_CASES, RUNS, TURNS

PAGE = 500


def _delivered(attempts: FromClause) -> ColumnElement[bool]:
    c = attempts.c
    return (c.status == AttemptStatus.FINISHED) & (c.cause.is_(None) | (c.cause != OutcomeCause.NOT_DELIVERED))


def _unjudged(attempts: FromClause) -> ColumnElement[bool]:
    """A model failed that was to judge it, or has yet to answer."""
    return (_delivered(attempts) & _model_failed(attempts)) | (attempts.c.status == AttemptStatus.AWAITING_JUDGE)


def _done(attempts: FromClause) -> ColumnElement[bool]:
    return _delivered(attempts) & ~_model_failed(attempts)


def _model_failed(attempts: FromClause) -> ColumnElement[bool]:
    return exists().where(RESULTS.c.attempt_id == attempts.c.id, RESULTS.c.cause == Cause.MODEL_ERROR)


_OTHERS = ATTEMPTS.alias("others")
_OPEN = ~exists().where(
    _OTHERS.c.run_id == ATTEMPTS.c.run_id,
    _OTHERS.c.n == ATTEMPTS.c.n,
    _OTHERS.c.repeat == ATTEMPTS.c.repeat,
    _done(_OTHERS),
)
"""No attempt at the same repeat is done."""
_AWAITING = (ATTEMPTS.c.status == AttemptStatus.AWAITING_JUDGE) & ~exists().where(
    _OTHERS.c.run_id == ATTEMPTS.c.run_id,
    _OTHERS.c.n == ATTEMPTS.c.n,
    _OTHERS.c.repeat == ATTEMPTS.c.repeat,
    _OTHERS.c.attempt > ATTEMPTS.c.attempt,
)
"""The last attempt at its repeat, and it waits for the judge."""
_IN_ORDER = (ATTEMPTS.c.n, ATTEMPTS.c.repeat, ATTEMPTS.c.attempt)
_MADE = select(
    ATTEMPTS.c.id,
    ATTEMPTS.c.n,
    ATTEMPTS.c.repeat,
    ATTEMPTS.c.attempt,
    _done(ATTEMPTS).label("done"),
    _unjudged(ATTEMPTS).label("unjudged"),
).order_by(*_IN_ORDER)
_LAST_FIRST = (ATTEMPTS.c.n, ATTEMPTS.c.repeat, ATTEMPTS.c.attempt.desc())


@dataclass(frozen=True, slots=True)
class RunStats:
    """A run in a list. `finished` counts its attempts of `wanted`, but for those that could not be delivered or judged;
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
        await connection.execute(insert(RUNS).values(RUN.named(run)))
        rest = iter(cases)
        while page := list(islice(rest, PAGE)):
            await connection.execute(insert(RUN_CASES), [_case_row(run.id, place) for place in page])


async def get(store: Store, run_id: str) -> Run:
    """Raises NotFound."""
    async with store.read() as connection:
        row = (await connection.execute(select(RUNS).where(RUNS.c.id == run_id))).mappings().one_or_none()
        if row is None:
            raise NotFound(f"there is no run {run_id!r}", where=str(store.path), fix="`agenteval runs` lists them")
        return RUN.load(row)


async def latest(store: Store) -> Run:
    """The run created last. Raises NotFound when there is none."""
    async with store.read() as connection:
        row = (await connection.execute(_newest_first().limit(1))).mappings().one_or_none()
        if row is None:
            raise NotFound("there is no run yet", where=str(store.path), fix="`agenteval run` makes one")
        return RUN.load(row)


async def listed(store: Store, limit: int) -> list[RunStats]:
    """The newest runs, newest first."""
    async with store.read() as connection:
        rows = (await connection.execute(_newest_first().limit(limit))).mappings().all()
        return [await _stats(connection, RUN.load(row)) for row in rows]


async def of_target(store: Store, target_name: str, limit: int, *, rescored: bool = False) -> list[Run]:
    """The newest runs of a target that were completed, oldest first; `rescored`: also those that are an earlier run
    judged again."""
    async with store.read() as connection:
        completed = _newest_first().where(RUNS.c.status == RunStatus.COMPLETED)
        runs = [RUN.load(row) for row in (await connection.execute(completed)).mappings()]
    of = [run for run in runs if run.config.get("target_name") == target_name and (rescored or not run.rescored_from)]
    return of[:limit][::-1]


class CaseIdentity(NamedTuple):
    """`full_name`, scenario and id, is the same in every run, whatever else ran. `content`: a hash of the case."""

    case_id: str
    full_name: str
    content: bytes


async def identities(store: Store, run_id: str) -> list[CaseIdentity]:
    """Of the run's cases, in their order."""
    query = select(RUN_CASES).where(RUN_CASES.c.run_id == run_id).order_by(RUN_CASES.c.n)
    async with store.read() as connection:
        rows = await connection.stream(query)
        return [_identity(row) async for row in rows.mappings()]


def _identity(row: RowMapping) -> CaseIdentity:
    with sound("run_cases", row):
        content = canonical({**parsed(row["case"]), "id": None})
    case_id = row["case_id"]
    return CaseIdentity(case_id, full_name(row["scenario"], case_id), sha256(content).digest())


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
    """How many repeats have no finished attempt, or only such that could not be delivered or judged."""
    async with store.read() as connection:
        stats = await _stats(connection, run)
    return stats.wanted - stats.finished


async def unmade(store: Store, run: Run) -> AsyncIterator[tuple[Case, int]]:
    """The cases that have fewer finished repeats than are wanted, each with how many it has; in order."""
    finished = func.count(ATTEMPTS.c.repeat.distinct())
    of_case = (
        (ATTEMPTS.c.run_id == RUN_CASES.c.run_id)
        & (ATTEMPTS.c.n == RUN_CASES.c.n)
        & (ATTEMPTS.c.status == AttemptStatus.FINISHED)
    )
    query = (
        select(RUN_CASES, finished.label("finished"))
        .outerjoin(ATTEMPTS, of_case)
        .where(RUN_CASES.c.run_id == run.id)
        .group_by(*RUN_CASES.primary_key)
        .having(finished < run.repeats)
        .order_by(RUN_CASES.c.n)
    )
    async with store.read() as connection:
        rows = await connection.stream(query)
        async for row in rows.mappings():
            yield load_case(row), row["finished"]


async def undelivered(store: Store, run_id: str) -> str:
    """Why the first message that could not be delivered could not; empty when all were."""
    query = (
        select(TURNS.c.error)
        .join(ATTEMPTS)
        .where(ATTEMPTS.c.run_id == run_id, _OPEN, TURNS.c.status == TurnStatus.NOT_DELIVERED)
        .order_by(*_LAST_FIRST)
        .limit(1)
    )
    async with store.read() as connection:
        return await connection.scalar(query) or ""


async def unjudged(store: Store, run_id: str) -> tuple[int, str]:
    """How many repeats have a dialog that no model could judge yet, and why the first could not be."""
    places = select(ATTEMPTS.c.n, ATTEMPTS.c.repeat).where(ATTEMPTS.c.run_id == run_id, _OPEN, _unjudged(ATTEMPTS))
    first = (
        select(ANSWERS.c.answer)
        .join(ATTEMPTS)
        .where(ATTEMPTS.c.run_id == run_id, _OPEN, ANSWERS.c.cause == Cause.MODEL_ERROR)
        .order_by(*_LAST_FIRST)
        .limit(1)
    )
    async with store.read() as connection:
        count = (await connection.execute(select(func.count()).select_from(places.distinct().subquery()))).scalar_one()
        answer = await connection.scalar(first)
        return count, parsed(answer)["detail"] if answer else ""


async def awaiting(store: Store, run_id: str) -> int:
    """How many repeats wait for the answers to a batch file."""
    query = select(func.count()).select_from(ATTEMPTS).where(ATTEMPTS.c.run_id == run_id, _AWAITING)
    async with store.read() as connection:
        return (await connection.execute(query)).scalar_one()


async def settle(store: Store, run_id: str) -> None:
    """Wait no longer: what has no answer stays unscored."""
    async with store.write() as connection:
        waiting = (ATTEMPTS.c.run_id == run_id) & _AWAITING
        await connection.execute(update(ATTEMPTS).where(waiting).values(status=AttemptStatus.FINISHED))


async def work(store: Store, run: Run) -> AsyncIterator[Work]:
    """An attempt for each repeat of each case that has no finished one, or only such that could not be delivered or
    judged; in order, read page by page. What is begun after its page was read does not change it, so one iterator at a
    time may work on a run."""
    last = -1
    while (page := await _page(store, run.id, last)).cases:
        for n, case in page.cases:
            for repeat in range(1, run.repeats + 1):
                attempts = page.attempts.get((n, repeat))
                if attempts is None:
                    yield Work(AttemptKey(run.id, n, case.id, repeat, 1), case)
                elif not any(attempt.done for attempt in attempts):
                    key = AttemptKey(run.id, n, case.id, repeat, max(attempt.attempt for attempt in attempts) + 1)
                    unjudged = [attempt for attempt in attempts if attempt.unjudged]
                    yield Work(key, case, await _held(store, unjudged[-1].id) if unjudged else None)
        last = page.cases[-1][0]


async def _held(store: Store, attempt_id: str) -> Held:
    conversation = select(ATTEMPTS.c.conversation_id).where(ATTEMPTS.c.id == attempt_id)
    turns = select(TURNS).where(TURNS.c.attempt_id == attempt_id).order_by(TURNS.c.index)
    async with store.read() as connection:
        conversation_id = (await connection.execute(conversation)).scalar_one()
        rows = (await connection.execute(turns)).mappings().all()
        return Held(conversation_id, Dialog(tuple(TURN.load(row) for row in rows)))


class _Page(NamedTuple):
    """`attempts`: by case and repeat; of each its id, number, whether it is `done` or `unjudged`."""

    cases: list[tuple[int, Case]]
    attempts: dict[tuple[int, int], list[Row[Any]]]


async def _page(store: Store, run_id: str, after: int) -> _Page:
    """The next cases."""
    in_run = (RUN_CASES.c.run_id == run_id) & (RUN_CASES.c.n > after)
    cases = select(RUN_CASES).where(in_run).order_by(RUN_CASES.c.n).limit(PAGE)
    async with store.read() as connection:
        page = _Page([(row["n"], load_case(row)) for row in (await connection.execute(cases)).mappings()], {})
        if not page.cases:
            return page
        between = ATTEMPTS.c.n.between(page.cases[0][0], page.cases[-1][0])
        rows = await connection.execute(_MADE.where(ATTEMPTS.c.run_id == run_id, between))
    for row in rows:
        page.attempts.setdefault((row.n, row.repeat), []).append(row)
    return page


async def _stats(connection: AsyncConnection, run: Run) -> RunStats:
    cases = select(func.count()).select_from(RUN_CASES).where(RUN_CASES.c.run_id == run.id)
    wanted = run.repeats * (await connection.execute(cases)).scalar_one()
    groups = await connection.execute(
        select(ATTEMPTS.c.success_level, ATTEMPTS.c.passed, func.count())
        .where(ATTEMPTS.c.run_id == run.id, _done(ATTEMPTS))
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


def _case_row(run_id: str, place: RunCase) -> dict[str, object]:
    case = place.case
    return {"run_id": run_id, "n": place.n, "scenario": place.scenario, "case_id": case.id, "case": dumps(case)}
