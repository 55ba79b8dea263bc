"""Recorded dialogs as tables: one turn a row.

Columns are found by their names, in English or Chinese (`COLUMNS`), whatever the case and the signs between words. Rows
of one `dialog_id` are a dialog, in the order of `turn_index` if there is one. Without `dialog_id` each row is a dialog,
or all rows are one if they have a `turn_index`. A first line `sep=;`, as Excel knows it, tells the delimiter.
"""

import csv
import io
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from agenteval.datasets.document import Problems
from agenteval.datasets.files import MAX_BYTES
from agenteval.domain.errors import InputError
from agenteval.domain.near import nearest
from agenteval.domain.text import clean, fold

# fmt: off
COLUMNS: Mapping[str, Sequence[str]] = {
    "input": ["input", "user_input", "user_message", "user", "question", "query", "prompt", "message", "customer",
              "问题", "提问", "输入", "用户输入", "用户问题", "用户消息", "用户", "客户"],
    "actual_output": ["actual_output", "output", "answer", "reply", "response", "assistant", "agent",
                      "答案", "回答", "回复", "输出", "实际输出", "智能体回复", "智能体", "客服"],
    "dialog_id": ["dialog_id", "conversation_id", "session_id", "case_id", "id",
                  "对话id", "会话id", "用例id", "对话编号", "会话编号", "对话", "会话", "用例"],
    "turn_index": ["turn_index", "turn", "轮次", "轮"],
    "latency_ms": ["latency_ms", "延迟ms", "延迟毫秒"],
    "tool_calls": ["tool_calls", "工具调用"],
    "status": ["status", "状态"],
    "error": ["error", "错误"],
}
# fmt: on
_REQUIRED = ("input", "actual_output")
_DELIMITERS = ",;\t"
_MOST_COLUMNS = 1_000
_TOLD_DELIMITER = re.compile(r'"?sep=(\t|[^\s\w"])"?\r?$', re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Row:
    """`number` counts from 1, the header's; `cells` by the names of `COLUMNS`."""

    number: int
    cells: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Table:
    """`columns`: by the names of `COLUMNS`, the header as it is written. `unused`: the other columns; `notes` tell of
    them."""

    rows: tuple[Row, ...]
    columns: Mapping[str, str]
    unused: tuple[str, ...]
    notes: tuple[str, ...]
    problems: Problems
    """Rows that do not fit the header."""


def read(text: str, name: str) -> Table:
    """Raises InputError when the header does not tell the columns."""
    reader = table_reader(text, _delimiter)
    header: _Header | None = None
    rows, problems = [], Problems()
    number = 0
    try:
        for number, cells in enumerate(reader, 1):
            if not any(map(str.strip, cells)):
                continue
            if header is None:
                header = _read_header(cells, f"{name}: row {number}")
            elif len(cells) == header.width:
                rows.append(Row(number, {column: clean(cells[i]) for column, i in header.places.items()}))
            else:
                message = f"has {len(cells)} cells, the header has {header.width}"
                problems.append(InputError(message, where=f"{name}: row {number}"))
    except csv.Error as error:
        problems.append(
            InputError(
                f"is no CSV: {error}",
                where=f"{name}: row {number + 1} (line {reader.line_num})",
                fix="a text with a quote, a line break or the delimiter stands in quotes, quotes in it are doubled",
            )
        )
    if header is None:
        raise InputError("holds no dialog", where=name)
    return Table(tuple(rows), header.titles, header.unused, header.notes, problems)


def table_reader(text: str, delimiter_of: Callable[[str], str]) -> Any:
    """Rows of cells, by the delimiter that a first line tells, or else that `delimiter_of` finds."""
    csv.field_size_limit(MAX_BYTES)  # of the whole process; the default is 131,072
    told = _TOLD_DELIMITER.match(text)
    text = text[told.end() :] if told else text  # what is left of the line is a blank one, and counts
    return _reader(text, told[1] if told else delimiter_of(text))


def _delimiter(text: str) -> str:
    """The one that makes most columns known, then most columns."""

    def columns(delimiter: str) -> tuple[int, int]:
        try:
            header: list[str] = next(filter(None, _reader(text, delimiter)), [])
        except csv.Error:
            return 0, 0
        return sum(_meaning(title) is not None for title in header), len(header)

    return max(_DELIMITERS, key=columns)


def _reader(text: str, delimiter: str) -> Any:
    return csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)


class _Header(NamedTuple):
    width: int
    places: Mapping[str, int]
    titles: Mapping[str, str]
    unused: tuple[str, ...]
    notes: tuple[str, ...]


def _read_header(cells: Sequence[str], where: str) -> _Header:
    if len(cells) > _MOST_COLUMNS:
        raise InputError(f"has {len(cells):,} columns, more than {_MOST_COLUMNS}", where=where)
    titles = [cell.strip() for cell in cells]
    found: dict[str, list[int]] = defaultdict(list)
    unused, notes = [], []
    for index, title in enumerate(titles):
        if meaning := _meaning(title):
            found[meaning].append(index)
        elif title:
            unused.append(title)
            near = nearest(title.lower(), COLUMNS)
            notes.append(f"{where}: column {title!r} is not used" + (f" (did you mean {near!r}?)" if near else ""))
    problems = [
        InputError(
            f"there is no column {column}",
            where=where,
            fix=f"it may be called {', '.join(COLUMNS[column])}; there is {', '.join(map(repr, titles))}",
        )
        for column in _REQUIRED
        if column not in found
    ]
    problems += [
        InputError(
            f"the columns {' and '.join(repr(titles[i]) for i in places)} both mean {column}",
            where=where,
            fix="rename one",
        )
        for column, places in found.items()
        if len(places) > 1
    ]
    if problems:
        raise InputError.all(problems)
    places = {column: indexes[0] for column, indexes in found.items()}
    named = {column: titles[i] for column, i in places.items()}
    return _Header(len(cells), places, named, tuple(unused), tuple(notes))


def _meaning(title: str) -> str | None:
    return _MEANINGS.get(_key(title))


def _key(title: str) -> str:
    return re.sub(r"[\W_]+", "", fold(title))


_MEANINGS = {_key(title): column for column, titles in COLUMNS.items() for title in titles}
