"""A run as records that another database can take.

A record holds rows by table: first the run, then each case with all that belongs to it, then what the memo holds of the
run's answers, so that the run can be judged again. A table with an `attempt_id` belongs to attempts and is carried as
soon as it exists.
"""

from collections import defaultdict
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, TypeAlias

from sqlalchemy import Connection, RowMapping, Table, insert, select
from sqlalchemy.exc import IntegrityError

from agenteval.domain.errors import InputError, StorageError
from agenteval.domain.json_value import below
from agenteval.storage.attempts import attempt_view
from agenteval.storage.codec import OUTCOME, RESULT, RUN, load_case, parsed
from agenteval.storage.store import Store
from agenteval.storage.tables import ANSWERS, ATTEMPTS, MEMO, METADATA, RESULTS, RUN_CASES, RUNS

Record: TypeAlias = Mapping[str, Sequence[Mapping[str, Any]]]
Rows: TypeAlias = dict[str, list[dict[str, Any]]]
"""A record with all columns."""

PAGE = 200
PARTS = tuple(table for table in METADATA.sorted_tables if "attempt_id" in table.c)
"""What attempts consist of."""
CARRIED = (RUNS, RUN_CASES, ATTEMPTS, *PARTS, MEMO)
"""In an order in which they can be filled."""


async def records(store: Store, run_id: str) -> AsyncGenerator[Record]:
    """All of a run that is there, as it is at one moment, always in the same order."""
    async with store.read() as connection:
        found = await connection.run_sync(lambda sync: chain(_of_run(sync, run_id), _remembered(sync, run_id)))
        while record := await connection.run_sync(lambda _: next(found, None)):
            yield record


async def take(store: Store, records: Iterable[Record]) -> tuple[str, bool]:
    """Store a run, all of it or nothing: its id, and whether it is new. One that is here already stays as it is. Raises
    InputError, by JSON pointers into the record read last, for what cannot be stored, or when another run of this id is
    here."""
    async with store.write() as connection:
        return await connection.run_sync(_take, records)


# ---- reading ---------------------------------------------------------------------------------------------------------


def _of_run(connection: Connection, run_id: str) -> Iterator[Rows]:
    run = select(RUNS).where(RUNS.c.id == run_id)
    yield {RUNS.name: [_members(RUNS, row) for row in connection.execute(run).mappings()]}
    last = -1
    in_run = (RUN_CASES.c.run_id == run_id, ATTEMPTS.c.run_id == run_id)
    while True:
        query = select(RUN_CASES).where(in_run[0], RUN_CASES.c.n > last).order_by(RUN_CASES.c.n).limit(PAGE)
        cases = [_members(RUN_CASES, row) for row in connection.execute(query).mappings()]
        if not cases:
            return
        page = (in_run[1], ATTEMPTS.c.n.between(cases[0]["n"], cases[-1]["n"]))
        parts = {table.name: _by_case(connection, table, page) for table in (ATTEMPTS, *PARTS)}
        for case in cases:
            rows = {name: of_case[case["n"]] for name, of_case in parts.items() if case["n"] in of_case}
            yield {RUN_CASES.name: [case], **rows}
        last = cases[-1]["n"]


def _by_case(connection: Connection, table: Table, page: Sequence[Any]) -> Mapping[int, list[dict[str, Any]]]:
    within = table if table is ATTEMPTS else table.join(ATTEMPTS)
    order = (ATTEMPTS.c.n, ATTEMPTS.c.repeat, ATTEMPTS.c.attempt, *table.primary_key)
    query = select(ATTEMPTS.c.n.label("case_n"), *table.c).select_from(within).where(*page).order_by(*order)
    by_case: defaultdict[int, list[dict[str, Any]]] = defaultdict(list)
    for row in connection.execute(query).mappings():
        by_case[row["case_n"]].append(_members(table, row))
    return by_case


def _remembered(connection: Connection, run_id: str) -> Iterator[Rows]:
    """What is remembered in the very words of one of the run's answers."""
    answers = select(ANSWERS.c.answer).join(ATTEMPTS).where(ATTEMPTS.c.run_id == run_id, ANSWERS.c.by.like("model:%"))
    query = select(MEMO).where(MEMO.c.answer.in_(answers)).order_by(MEMO.c.key)
    found = connection.execute(query, execution_options={"yield_per": PAGE}).mappings()
    for page in found.partitions():
        yield {MEMO.name: [_members(MEMO, row) for row in page]}


def _members(table: Table, row: RowMapping) -> dict[str, Any]:
    return {column.name: row[column.name] for column in table.c}


# ---- storing ---------------------------------------------------------------------------------------------------------


def _take(connection: Connection, records: Iterable[Record]) -> tuple[str, bool]:
    incoming = map(_complete, records)
    first = next(incoming, {})
    run_id = _run_id(first)
    if connection.scalar(select(RUNS.c.id).where(RUNS.c.id == run_id)):
        _compare(chain([first], incoming), _of_run(connection, run_id), run_id)
        return run_id, False
    page = [first]
    for record in incoming:
        if MEMO.name in record:
            page.append(_unknown(connection, record))
        else:
            _check_case(record, run_id)
            page.append(record)
        if len(page) == PAGE:
            _insert(connection, page)
            page = []
    _insert(connection, page)
    return run_id, True


def _run_id(record: Rows) -> str:
    try:
        ((name, (row,)),) = record.items()
        if name != RUNS.name:
            raise ValueError
        return RUN.load(row).id
    except ValueError as error:
        raise InputError("is not about one run") from error
    except StorageError as error:
        raise InputError(error.message, where="/runs/0") from error


def _compare(incoming: Iterable[Rows], stored: Iterator[Rows], run_id: str) -> None:
    same = True
    for record in incoming:  # to the end, which tells whether the file is whole
        if MEMO.name not in record:
            same = same and record == next(stored, None)
    if not same or next(stored, None):
        raise InputError(
            f"the run {run_id} is here already, but differs from this one",
            fix="take it into another database: AGENTEVAL_DATABASE_URL=other.db",
        )


def _insert(connection: Connection, records: Sequence[Rows]) -> None:
    try:
        for table in CARRIED:
            if rows := [row for record in records for row in record.get(table.name, ())]:
                connection.execute(insert(table), rows)
    except IntegrityError as error:
        raise InputError(f"rows up to here contradict each other, or other runs: {error.orig}") from error


def _unknown(connection: Connection, record: Rows) -> Rows:
    """What is remembered here already stays."""
    rows = record[MEMO.name]
    for i, row in enumerate(rows):
        try:
            parsed(row["answer"])
        except ValueError as error:
            raise InputError(f"cannot be read: {error}", where=below("", MEMO.name, i, "answer")) from error
    known = set(connection.scalars(select(MEMO.c.key).where(MEMO.c.key.in_([row["key"] for row in rows]))))
    return {MEMO.name: [row for row in rows if row["key"] not in known]}


# ---- what a record must be -------------------------------------------------------------------------------------------

_COLUMNS: Mapping[str, Mapping[str, tuple[type, bool]]] = {
    table.name: {column.name: (column.type.python_type, bool(column.nullable)) for column in table.c}
    for table in CARRIED
}
"""The type of each column, and whether it may be null."""
_OF_CASE = {table.name for table in (RUN_CASES, ATTEMPTS, *PARTS)}
_UPGRADE = "if a newer version wrote it, upgrade AgentEval"


def _complete(record: Record) -> Rows:
    """With all columns of each row, each of its type."""
    found: Rows = {}
    for name, rows in record.items():
        if name not in _COLUMNS:
            raise InputError("there is no such table in this version", where=below("", name), fix=_UPGRADE)
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise InputError("is no list of rows", where=below("", name))
        found[name] = [_row(_COLUMNS[name], row, below("", name, i)) for i, row in enumerate(rows)]
    return found


def _row(columns: Mapping[str, tuple[type, bool]], row: Mapping[str, Any], pointer: str) -> dict[str, Any]:
    if unknown := row.keys() - columns.keys():
        raise InputError("there is no such column in this version", where=below(pointer, min(unknown)), fix=_UPGRADE)
    for name, (kind, nullable) in columns.items():
        if not _fits(row.get(name), kind, nullable=nullable):
            raise InputError("is missing, or not of this column's type", where=below(pointer, name))
    return {name: row.get(name) for name in columns}


def _fits(value: Any, kind: type[Any], *, nullable: bool) -> bool:
    if value is None:
        return nullable
    if kind is int:
        return type(value) is int and -(2**63) <= value < 2**63
    return type(value) is kind or (kind is float and type(value) is int)


def _check_case(record: Rows, run_id: str) -> None:
    """That it is a case of this run with its attempts, and can be read."""
    try:
        (case,) = record[RUN_CASES.name]
        place = {"run_id": run_id, "n": case["n"], "case_id": load_case(case).id}
        if place.items() - case.items() or record.keys() - _OF_CASE:
            raise ValueError
        attempts = record.get(ATTEMPTS.name, [])
        for row in attempts:
            parts = {t: [part for part in record.get(t.name, ()) if part["attempt_id"] == row["id"]] for t in PARTS}
            if place.items() - row.items() or row["id"] != attempt_view(row, parts).key.id:
                raise ValueError
            if row["policy"] is not None:
                OUTCOME.load(row)
        ids = {row["id"] for row in attempts}
        if any(row["attempt_id"] not in ids for table in PARTS for row in record.get(table.name, ())):
            raise ValueError
        for row in record.get(RESULTS.name, ()):
            RESULT.load(row)
    except (KeyError, ValueError) as error:
        raise InputError("is not about one case of the run and its attempts") from error
    except StorageError as error:
        raise InputError(error.message) from error
