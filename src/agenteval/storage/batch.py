"""What a batch of rows is in the tables.

The statements are run on the driver with tuples in the order of the tables' columns: SQLAlchemy's own road through
dictionaries takes twice the CPU (50 against 23 µs per case, measured).
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from itertools import chain
from typing import Any

from sqlalchemy import Connection, Dialect, Table, bindparam, func, literal_column, select
from sqlalchemy.dialects.sqlite import insert
from sqlalchemy.exc import IntegrityError

from agenteval.domain.errors import StorageError
from agenteval.domain.records import AttemptStarted, AttemptStatus, CaseRecord, TurnDone, TurnSending
from agenteval.storage.codec import OUTCOME, RESULT, TURN, answer_row, call_row, dumps, time_text
from agenteval.storage.tables import ANSWERS, ATTEMPTS, CALLS, MEMO, RESULTS, TURNS

SENDING = "sending"

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Remembered:
    """An answer for the memo."""

    key: str
    answer: object
    at: datetime


def write_batch(connection: Connection, rows: Iterable[object]) -> None:
    """Store the rows of many attempts. An attempt's rows come in their order: started, its turns, its record.

    A record whose attempt is finished already changes nothing. Raises StorageError when another process has begun or
    ended one of these attempts.
    """
    kinds: defaultdict[type, list[Any]] = defaultdict(list)
    for row in rows:
        kinds[type(row)].append(row)
    _begin(connection, kinds[AttemptStarted])
    _run(connection, _TURN_SENDING, [_sending_row(row) for row in kinds[TurnSending]])
    _run(connection, _TURN, [(row.key.id, *TURN.row(row.turn)) for row in kinds[TurnDone]])
    _finish(connection, kinds[CaseRecord])
    _run(connection, _MEMO, [(row.key, dumps(row.answer), time_text(row.at)) for row in kinds[Remembered]])


def _begin(connection: Connection, started: Sequence[AttemptStarted]) -> None:
    try:
        _run(connection, _ATTEMPT, [_attempt_row(row, AttemptStatus.OPEN) for row in started])
    except IntegrityError as error:
        if "unique" in str(error.orig).lower():
            raise _taken_over() from error
        raise


def _finish(connection: Connection, records: Sequence[CaseRecord]) -> None:
    new = _unfinished(connection, records)
    _run(connection, _FINISHED_ATTEMPT, [_finished_row(record) for record in new.values()])
    turns = [(key, *TURN.row(turn)) for key, record in new.items() for turn in record.dialog.turns]
    answers = [
        (key, *answer_row(ask, record.answers[ask])) for key, record in new.items() for ask in record.asks.values()
    ]
    calls = [(key, n, *call_row(call)) for key, record in new.items() for n, call in enumerate(record.calls)]
    results = [(key, n, *RESULT.row(result)) for key, record in new.items() for n, result in enumerate(record.results)]
    _run(connection, _TURN, turns)
    _run(connection, _ANSWER, answers)
    _run(connection, _CALL, calls)
    _run(connection, _RESULT, results)


def _unfinished(connection: Connection, records: Sequence[CaseRecord]) -> dict[str, CaseRecord]:
    by_id = {record.started.key.id: record for record in records}
    for attempt_id, status in connection.execute(_ENDED, {"keys": dumps(list(by_id))}) if by_id else ():
        if status == AttemptStatus.INTERRUPTED:
            raise _taken_over()
        del by_id[attempt_id]
    return by_id


GIVEN_KEYS = select(func.json_each(bindparam("keys")).table_valued("value").c.value)
"""One parameter, `keys`, with all of them: a list of 500 is put together anew each time, 2 µs for each of them."""
_ENDED = select(ATTEMPTS.c.id, ATTEMPTS.c.status).where(
    ATTEMPTS.c.id.in_(GIVEN_KEYS), ATTEMPTS.c.status != AttemptStatus.OPEN
)


def _taken_over() -> StorageError:
    return StorageError("another process works on this run", fix="end one of the two, then resume the run")


# ---- rows, in the order of the columns -------------------------------------------------------------------------------


def _attempt_row(started: AttemptStarted, status: AttemptStatus) -> Row:
    key = started.key
    place = (key.id, key.run_id, key.n, key.case_id, key.repeat, key.attempt)
    return (*place, str(status), started.conversation_id, time_text(started.started_at))


def _finished_row(record: CaseRecord) -> Row:
    begun = _attempt_row(record.started, record.status)
    return (*begun, time_text(record.finished_at), *OUTCOME.row(record.outcome))


def _sending_row(row: TurnSending) -> Row:
    return row.key.id, row.index, row.message, SENDING, time_text(row.sent_at)


# ---- statements ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Insert:
    """Into `columns` of `table`, in the table's order. A row that is there already gets the values of `update`, if it
    has the status `when`; without `update` it is an error."""

    table: Table
    columns: tuple[str, ...]
    update: tuple[str, ...] = ()
    when: str | None = None


def _all(table: Table) -> tuple[str, ...]:
    return tuple(column.name for column in table.columns)


_ATTEMPT = _Insert(ATTEMPTS, _all(ATTEMPTS)[:9])
_FINISHED_ATTEMPT = _Insert(ATTEMPTS, _all(ATTEMPTS), update=("status", "finished_at", *OUTCOME.names))
_TURN_SENDING = _Insert(TURNS, ("attempt_id", "index", "sent_message", "status", "sent_at"))
_TURN = _Insert(TURNS, ("attempt_id", *TURN.names), update=TURN.names, when=SENDING)
_MEMO = _Insert(MEMO, _all(MEMO), update=("answer", "created_at"))
_ANSWER = _Insert(ANSWERS, _all(ANSWERS))
_CALL = _Insert(CALLS, _all(CALLS))
_RESULT = _Insert(RESULTS, _all(RESULTS))


_MANY = 400
"""Of so many rows, as the turns of a full batch are, one statement takes `_TOGETHER`: a third less than one each
(measured, of turns), but not for less, as it has to be prepared. SQLite takes 32,766 values."""
_TOGETHER = 100


def _run(connection: Connection, statement: _Insert, rows: Sequence[Row]) -> None:
    whole = len(rows) - len(rows) % _TOGETHER if len(rows) >= _MANY else 0
    for first in range(0, whole, _TOGETHER):
        values = tuple(chain.from_iterable(rows[first : first + _TOGETHER]))
        connection.exec_driver_sql(_sql(statement, connection.dialect, _TOGETHER), values)
    if whole < len(rows):
        connection.exec_driver_sql(_sql(statement, connection.dialect, 1), rows[whole:])


@lru_cache(maxsize=64)
def _sql(statement: _Insert, dialect: Dialect, rows: int) -> str:
    into = insert(statement.table)
    if statement.update:
        status_is = (
            None if statement.when is None else statement.table.c.status == literal_column(f"'{statement.when}'")
        )
        into = into.on_conflict_do_update(
            index_elements=list(statement.table.primary_key),
            set_={name: into.excluded[name] for name in statement.update},
            where=status_is,
        )
    compiled = into.compile(dialect=dialect, column_keys=list(statement.columns))
    before, values, after = _VALUES.split(str(compiled), maxsplit=1)
    return f"{before}VALUES {', '.join([values] * rows)}{after}"


_VALUES = re.compile(r"VALUES (\([^)]*\))")
