"""Attempts as they are stored: facts for the summary of a run, whole dialogs for its report. They are read in pages of
cases, so that memory does not grow with the run."""

from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from datetime import datetime
from fractions import Fraction
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, RowMapping, Table, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from agenteval.domain.errors import NotFound
from agenteval.domain.records import AttemptKey, AttemptStatus, AttemptView, CaseView, RunCase, StoredAnswer
from agenteval.domain.run_summary import AttemptFacts, UsageTotal
from agenteval.domain.transcript import Dialog
from agenteval.storage.batch import SENDING
from agenteval.storage.codec import OUTCOME, RESULT, REVIEW, TURN, load_call, load_case, parsed, sound
from agenteval.storage.store import Store
from agenteval.storage.tables import ANSWERS, ATTEMPTS, CALLS, RESULTS, REVIEWS, RUN_CASES, TURNS

PAGE = 200
_VOTED = ANSWERS.c.answer.contains('"votes":[[')  # within what was said, quotation marks are escaped
_FINISHED = ATTEMPTS.c.status == AttemptStatus.FINISHED


class _Cases(NamedTuple):
    """The cases of a run from number `first` to `last`."""

    run_id: str
    first: int
    last: int

    def within(self, table: Table) -> ColumnElement[bool]:
        return (table.c.run_id == self.run_id) & table.c.n.between(self.first, self.last)


async def facts(store: Store, run_id: str) -> AsyncIterator[tuple[str, list[AttemptFacts]]]:
    """What a summary needs, case by case in order: case id and the last finished attempt of each repeat. Cases without
    any are left out."""
    async for page in _pages(store, run_id):
        async with store.read() as connection:
            attempts = await _attempts(connection, page, _FINISHED)
            turns = await _parts(connection, page, TURNS, "index", "latency_ms")
            results = await _parts(connection, page, RESULTS, "n", "detail", "cause")
            cases = []
            for case_id, finished in groupby(attempts, itemgetter("case_id")):
                last = {row["repeat"]: row for row in finished}  # in the order of attempts: a later one replaces
                cases.append((case_id, [_facts(row, turns[row["id"]], results[row["id"]]) for row in last.values()]))
        for case in cases:
            yield case


async def usage(store: Store, run_id: str) -> UsageTotal:
    """Sums over the calls of all finished attempts."""
    told = CALLS.c.input_tokens.is_not(None) & CALLS.c.output_tokens.is_not(None)
    query = (
        select(
            CALLS.c.cost,
            func.count().label("calls"),
            func.count().filter(told).label("with_tokens"),
            func.sum(CALLS.c.input_tokens).filter(told).label("input_tokens"),
            func.sum(CALLS.c.output_tokens).filter(told).label("output_tokens"),
        )
        .join(ATTEMPTS)
        .where(ATTEMPTS.c.run_id == run_id, _FINISHED)
        .group_by(CALLS.c.cost)  # costs are exact fractions, which SQL cannot add
    )
    async with store.read() as connection:
        groups = (await connection.execute(query)).mappings().all()
        costs = [group["calls"] * Fraction(group["cost"]) for group in groups if group["cost"] is not None]
    calls, with_tokens = (sum(group[name] for group in groups) for name in ("calls", "with_tokens"))
    return UsageTotal(
        calls=calls,
        input_tokens=sum(group["input_tokens"] or 0 for group in groups) if with_tokens else None,
        output_tokens=sum(group["output_tokens"] or 0 for group in groups) if with_tokens else None,
        cost=sum(costs, Fraction(0)) if costs else None,
        without_tokens=calls - with_tokens,
        without_cost=sum(group["calls"] for group in groups if group["cost"] is None),
    )


async def votes(store: Store, run_id: str) -> list[list[int]]:
    """How many of the judge's samples were for what, for each item of which there were several."""
    query = select(ANSWERS.c.answer).join(ATTEMPTS).where(ATTEMPTS.c.run_id == run_id, _VOTED)
    async with store.read() as connection:
        answers = await connection.stream_scalars(query)
        return [[count for _, count in parsed(answer)["votes"]] async for answer in answers]


async def views(store: Store, run_id: str) -> AsyncIterator[CaseView]:
    """Every case in order with all its attempts, the interrupted ones too."""
    async for page in _pages(store, run_id):
        for case in await _views(store, page):
            yield case


async def view(store: Store, run_id: str, case_id: str) -> CaseView:
    """Raises NotFound."""
    query = select(RUN_CASES.c.n).where(RUN_CASES.c.run_id == run_id, RUN_CASES.c.case_id == case_id)
    async with store.read() as connection:
        n = await connection.scalar(query)
    if n is None:
        raise NotFound(f"run {run_id!r} has no case {case_id!r}", where=str(store.path))
    (case,) = await _views(store, _Cases(run_id, n, n))
    return case


async def _pages(store: Store, run_id: str) -> AsyncIterator[_Cases]:
    async with store.read() as connection:
        last = await connection.scalar(select(func.max(RUN_CASES.c.n)).where(RUN_CASES.c.run_id == run_id))
    for first in range(0, 0 if last is None else last + 1, PAGE):
        yield _Cases(run_id, first, first + PAGE - 1)


async def _views(store: Store, page: _Cases) -> list[CaseView]:
    cases = select(RUN_CASES).where(page.within(RUN_CASES)).order_by(RUN_CASES.c.n)
    async with store.read() as connection:
        rows = (await connection.execute(cases)).mappings().all()
        attempts = await _attempts(connection, page)
        parts = {table: await _parts(connection, page, table, order) for table, order in _PARTS.items()}
        by_case: defaultdict[int, list[AttemptView]] = defaultdict(list)
        for row in attempts:
            of_attempt = {table: rows[row["id"]] for table, rows in parts.items()}
            by_case[row["n"]].append(attempt_view(row, of_attempt))
        return [CaseView(RunCase(row["n"], row["scenario"], load_case(row)), tuple(by_case[row["n"]])) for row in rows]


async def _attempts(
    connection: AsyncConnection, page: _Cases, *conditions: ColumnElement[bool]
) -> Sequence[RowMapping]:
    order = (ATTEMPTS.c.n, ATTEMPTS.c.repeat, ATTEMPTS.c.attempt)
    query = select(ATTEMPTS).where(page.within(ATTEMPTS), *conditions).order_by(*order)
    return (await connection.execute(query)).mappings().all()


async def _parts(
    connection: AsyncConnection, page: _Cases, table: Table, order: str, *columns: str
) -> Mapping[str, list[RowMapping]]:
    """Rows of `table` by attempt; all columns when none are named."""
    wanted = [table.c.attempt_id, *(table.c[name] for name in columns)] if columns else [table]
    in_order = (table.c.attempt_id, table.c[order], *table.primary_key)
    query = select(*wanted).join(ATTEMPTS).where(page.within(ATTEMPTS)).order_by(*in_order)
    by_attempt: defaultdict[str, list[RowMapping]] = defaultdict(list)
    for row in (await connection.execute(query)).mappings():
        by_attempt[row["attempt_id"]].append(row)
    return by_attempt


def _facts(row: RowMapping, turns: Iterable[RowMapping], results: Sequence[RowMapping]) -> AttemptFacts:
    with sound("attempts", row):
        return AttemptFacts(
            outcome=OUTCOME.load(row),
            latencies_ms=[turn["latency_ms"] for turn in turns],
            details=[dict(parsed(result["detail"])) for result in results],
            causes=[result["cause"] for result in results if result["cause"] is not None],
        )


_PARTS = {TURNS: "index", ANSWERS: "item", CALLS: "n", RESULTS: "n", REVIEWS: "at"}
"""The tables with rows of an attempt, each by the column that orders them."""


def attempt_view(row: Mapping[Any, Any], parts: Mapping[Table, Sequence[Mapping[Any, Any]]]) -> AttemptView:
    """The attempt of a row and of its rows in other tables. Raises StorageError for what cannot be read."""
    with sound("attempts", row):
        finished = row["status"] == AttemptStatus.FINISHED
        return AttemptView(
            key=AttemptKey(row["run_id"], row["n"], row["case_id"], row["repeat"], row["attempt"]),
            status=AttemptStatus(row["status"]),
            conversation_id=row["conversation_id"],
            started_at=datetime.fromisoformat(row["started_at"]),
            finished_at=None if row["finished_at"] is None else datetime.fromisoformat(row["finished_at"]),
            dialog=Dialog(tuple(TURN.load(turn) for turn in parts[TURNS] if turn["status"] != SENDING)),
            sending=next((turn["sent_message"] for turn in parts[TURNS] if turn["status"] == SENDING), None),
            answers=tuple(map(_answer, parts[ANSWERS])),
            calls=tuple(map(load_call, parts[CALLS])),
            results=tuple(RESULT.load(result) for result in parts[RESULTS] if finished),
            outcome=OUTCOME.load(row) if finished else None,
            reviews=tuple(map(REVIEW.load, parts[REVIEWS])),
        )


def _answer(row: Mapping[Any, Any]) -> StoredAnswer:
    with sound("answers", row):
        return StoredAnswer(row["key"], row["item"], row["text"], row["by"], row["cause"], parsed(row["answer"]))
