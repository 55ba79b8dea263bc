"""Domain objects as columns and back; the one place that knows how.

Text, numbers and booleans stand in columns as they are, fractions as "numerator/denominator", times as ISO 8601 in UTC,
everything else as JSON. Reading takes what is there: a member that a later version added keeps its default, one that it
dropped is passed over.
"""

import types
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from fractions import Fraction
from functools import cache, lru_cache
from operator import attrgetter, index
from typing import Any, Generic, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import orjson

from agenteval.domain.errors import StorageError
from agenteval.domain.outcome import CaseOutcome, RuleResult
from agenteval.domain.ports import Call, Usage
from agenteval.domain.questions import Ask, Judged, Question, Unscored
from agenteval.domain.records import Run
from agenteval.domain.review import Review
from agenteval.domain.scenario import Case, Policy, RuleSpec
from agenteval.domain.transcript import Turn

T = TypeVar("T")

DAMAGE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""Whatever goes wrong when something stored is read is damage: only what could be read was ever written."""
DAMAGED = "it is damaged; restore a backup, or name another file"


def dumps(value: object) -> str:
    return orjson.dumps(value, default=_plain).decode()


def _plain(value: object) -> object:
    match value:
        case Fraction():
            return fraction_text(value)
        case tuple() if hasattr(value, "_asdict"):
            return value._asdict()
        case Mapping():
            return dict(value)
        case _:
            raise TypeError(f"cannot be stored as JSON: {type(value).__name__}")


def loads(kind: type[T], text: str) -> T:
    """What `dumps` wrote of an object of this type."""
    read: Callable[[Any], T] = _reader(cast("Any", kind))
    return read(orjson.loads(text))


def parsed(text: str) -> Any:
    """JSON that was stored."""
    return orjson.loads(text)


class sound:  # noqa: N801 - read as `with sound(...)`; a generator's context takes three times as long
    """Names the row in which damage was found."""

    __slots__ = ("_row", "_table")

    def __init__(self, table: str, row: Mapping[Any, Any]) -> None:
        self._table = table
        self._row = row

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, DAMAGE):
            column = next(name for name in ("attempt_id", "id", "case_id") if name in self._row)
            place = f"the row of {self._table} with the {column} {self._row[column]}"
            raise StorageError(f"{place} cannot be read: {error}", fix=DAMAGED) from error


def fraction_text(value: Fraction) -> str:
    return _ratio_text(*value.as_integer_ratio())


@lru_cache(maxsize=4096)
def _ratio_text(numerator: int, denominator: int) -> str:
    return f"{numerator}/{denominator}"


@lru_cache(maxsize=4096)
def _fraction(text: str) -> Fraction:
    return Fraction(text)


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def time_text(at: datetime) -> str:
    since = at - _EPOCH
    second = _second_text(since.days, since.seconds)
    return f"{second}.{since.microseconds:06d}+00:00" if since.microseconds else f"{second}+00:00"


@lru_cache(maxsize=16)  # moments stored together are mostly of the same second; `isoformat` takes twice as long
def _second_text(days: int, seconds: int) -> str:
    return (_EPOCH + timedelta(days, seconds)).isoformat().removesuffix("+00:00")


class Columns(Generic[T]):
    """How the fields of a dataclass stand in columns of a table, of the same names. `names` leaves some fields out."""

    def __init__(self, kind: type[T], table: str, *, without: Collection[str] = ()) -> None:
        hints = {name: hint for name, hint in _hints(kind).items() if name not in without}
        self._kind = kind
        self._table = table
        self.names = tuple(hints)
        self.row: Callable[[T], tuple[Any, ...]] = _row_writer(
            {name: _column_writer(hint) for name, hint in hints.items()}
        )
        self._decoders = {name: _column_reader(hint) for name, hint in hints.items()}

    def named(self, value: T) -> dict[str, Any]:
        """The columns by their names, as SQLAlchemy takes a row."""
        return dict(zip(self.names, self.row(value), strict=True))

    def load(self, row: Mapping[Any, Any], **more: Any) -> T:
        """From the fields that the row holds, and `more`."""
        with sound(self._table, row):
            values = {
                name: read(value)
                for name, read in self._decoders.items()
                if (value := row.get(name, _ABSENT)) is not _ABSENT
            }
            return self._kind(**values, **more)


_ABSENT = object()


def call_row(call: Call) -> tuple[Any, ...]:
    return (*CALL.row(call), *USAGE.row(call.usage))


def load_call(row: Mapping[Any, Any]) -> Call:
    return CALL.load(row, usage=USAGE.load(row))


def load_case(row: Mapping[Any, Any]) -> Case:
    with sound("run_cases", row):
        return _read_case(row["case"])


def _read_case(text: str) -> Case:
    """What stands after the messages is mostly the same as in the cases before, and is then not read again: that takes
    half the time. Within what is said, quotation marks are escaped, so this is the name of a member; it is one of the
    case if what stands before it is whole."""
    own, _, rest = text.partition(_AFTER_MESSAGES)
    try:
        first = orjson.loads(own + "}")
    except ValueError:
        first = {}
    if len(first) == 2 and "id" in first and "messages" in first:
        return Case(first["id"], tuple(first["messages"]), *_rest_of_case(rest))
    return loads(Case, text)


_REST = [field.name for field in fields(Case)[2:]]
_AFTER_MESSAGES = f',"{_REST[0]}":'
_get_rest = attrgetter(*_REST)


@lru_cache(maxsize=128)
def _rest_of_case(text: str) -> tuple[Any, ...]:
    rest: tuple[Any, ...] = _get_rest(loads(Case, f'{{"id":"","messages":[]{_AFTER_MESSAGES}{text}'))
    return rest


def answer_row(ask: Ask, answer: Judged[Any] | Unscored) -> tuple[Any, ...]:
    """key, item, text, by, cause, answer."""
    item, text = (ask.item, ask.text) if isinstance(ask, Question) else (type(ask).__name__.lower(), "")
    if isinstance(answer, Judged):
        return ask.key, item, text, answer.by, None, dumps(answer.stored)
    return ask.key, item, text, None, answer.cause.value, dumps(answer)


# ---- from a type to its reader, compiled once ------------------------------------------------------------------------

_Read = Callable[[Any], Any]
_Write = Callable[[Any], Any]
_PLAIN = (str, int, float, bool)
_SHARED = (tuple[RuleSpec, ...], Policy)


@cache
def _reader(kind: Any) -> _Read:
    return _once(_new_reader(kind)) if kind in _SHARED else _new_reader(kind)


def _once(read: _Read) -> _Read:
    """Reads equal JSON once: what cases share is then one object, which is found again without being compared."""
    cached = lru_cache(maxsize=1024)(lambda text: read(orjson.loads(text)))
    return lambda raw: cached(orjson.dumps(raw))


def _new_reader(kind: Any) -> _Read:
    inner = _optional(kind)
    if inner is not None:
        read = _reader(inner)
        return read if read is _as_is else lambda raw: None if raw is None else read(raw)
    if get_origin(kind) is Mapping:
        return dict
    if get_origin(kind) is tuple:
        return _tuple_reader(get_args(kind))
    if not isinstance(kind, type) or kind in _PLAIN:
        return _as_is
    if kind is Fraction:
        return _fraction
    if issubclass(kind, StrEnum):
        return kind
    if kind is datetime:
        return datetime.fromisoformat
    if is_dataclass(kind) or hasattr(kind, "_fields"):
        return _object_reader(kind)
    return _as_is


def _as_is(raw: Any) -> Any:
    return raw


def _tuple_reader(args: Sequence[Any]) -> _Read:
    if args[-1] is Ellipsis:
        read = _reader(args[0])
        return tuple if read is _as_is else lambda raw: tuple(map(read, raw))
    reads = [_reader(arg) for arg in args]
    return lambda raw: tuple(read(part) for read, part in zip(reads, raw, strict=True))


def _object_reader(kind: type) -> _Read:
    readers = {name: _reader(hint) for name, hint in _hints(kind).items()}
    parts = [(name, read) for name, read in readers.items() if read is not _as_is]
    names = readers.keys()

    def read_object(raw: Mapping[str, Any]) -> Any:
        values = dict(raw) if raw.keys() <= names else {name: raw[name] for name in names & raw.keys()}
        for name, read in parts:
            if (part := values.get(name)) is not None:
                values[name] = read(part)
        return kind(**values)

    return read_object


def _hints(kind: type) -> dict[str, Any]:
    """`Json` is recursive and needs no reading, so it counts as Any here."""
    hints = get_type_hints(kind, localns={"Sequence": Sequence, "Mapping": Mapping, "Json": Any})
    names = [f.name for f in fields(kind)] if is_dataclass(kind) else list(hints)
    return {name: hints[name] for name in names}


def _optional(kind: Any) -> Any:
    """T of `T | None`, else None."""
    if get_origin(kind) in (Union, types.UnionType):
        rest = [arg for arg in get_args(kind) if arg is not type(None)]
        if len(rest) == 1:
            return rest[0]
    return None


def _row_writer(writers: Mapping[str, _Write | None]) -> Callable[[Any], tuple[Any, ...]]:
    """Compiled, as `dataclass` compiles what it adds: a loop over getters and writers takes three times as long."""
    columns = []
    for name, write in writers.items():
        member = f"value.{name}"
        written = _INLINE[write].format(member) if write in _INLINE else f"write_{name}({member})"
        columns.append(member if write is None else f"None if {member} is None else {written}")
    names = {"dumps": dumps, **{f"write_{name}": write for name, write in writers.items()}}
    row: Callable[[Any], tuple[Any, ...]] = eval(f"lambda value: ({', '.join(columns)},)", names)  # noqa: S307 - our names
    return row


def _column_writer(kind: Any) -> _Write | None:
    """How a value that is not None is written; None: as it is."""
    kind = _optional(kind) or kind
    if kind is Fraction:
        return fraction_text
    if kind is datetime:
        return time_text
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return str
    if kind in _PLAIN or _is_text_literal(kind):
        return None
    if get_origin(kind) is tuple:
        return _list_text
    return _written_once() if is_dataclass(kind) else dumps


def _written_once() -> Callable[[object], str]:
    """Cases mostly share their policy: the last one is known by being the same object."""
    last: tuple[object, str] = (None, "")

    def write(value: object) -> str:
        nonlocal last
        known, text = last
        if known is not value:
            text = dumps(value)
            last = (value, text)
        return text

    return write


def _list_text(items: tuple[Any, ...]) -> str:
    return dumps(items) if items else "[]"


_INLINE: Mapping[Any, str] = {
    str: "{0}._value_",
    _list_text: "(dumps({0}) if {0} else '[]')",  # mostly: few turns have tool calls, few results vetoes
}
"""Writers that a row does without calling them."""


def _column_reader(kind: Any) -> _Read:
    write = _column_writer(kind)
    inner = _optional(kind) or kind
    read = _NUMBERS.get(inner) or _reader(kind)
    if write in (dumps, _list_text) or is_dataclass(inner):
        return lambda text: None if text is None else read(orjson.loads(text))
    return lambda value: None if value is None else read(value)


_NUMBERS: Mapping[Any, _Read] = {int: index, float: float}
"""SQLite keeps text in a column of numbers."""


def _is_text_literal(kind: Any) -> bool:
    return bool(args := get_args(kind)) and all(isinstance(arg, str) for arg in args)


RUN = Columns(Run, "runs")
TURN = Columns(Turn, "turns")
RESULT = Columns(RuleResult, "results")
OUTCOME = Columns(CaseOutcome, "attempts")
CALL = Columns(Call, "calls", without={"usage"})
USAGE = Columns(Usage, "calls")
REVIEW = Columns(Review, "reviews")
