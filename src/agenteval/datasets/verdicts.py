"""What people filled into the file of a review queue: CSV, or JSONL. A row without a verdict says nothing."""

import csv
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from agenteval.datasets import files
from agenteval.datasets.csv import table_reader
from agenteval.datasets.dialogs import UTF_16
from agenteval.datasets.document import Problems
from agenteval.domain.errors import InputError
from agenteval.domain.evidence import Speaker
from agenteval.domain.json_value import as_text
from agenteval.domain.review import Statement
from agenteval.domain.text import clean

_NEEDED = ("case", "rule", "item", "verdict")
_NEUTRALISED = re.compile(r"'(?='*[=+\-@\t\r])")


def load(path: Path) -> list[Statement]:
    """Raises InputError naming every row that cannot be read."""
    data = files.read(path)
    text = files.decode(data, str(path), "utf-16" if data.startswith(UTF_16) else "utf-8")
    rows = _json_rows(text, path) if path.suffix.lower() in {".jsonl", ".ndjson", ".json"} else _csv_rows(text, path)
    found, problems = [], Problems()
    for where, row in rows:
        if isinstance(row, InputError):
            problems.append(row)
        elif row.get("verdict", "").strip():
            try:
                found.append(_statement(row, where))
            except InputError as error:
                problems.append(error)
    if problems:
        raise problems.error()
    if not found:
        raise InputError("holds no verdict", where=str(path), fix="fill in the column verdict")
    return found


def _statement(row: Mapping[str, str], where: str) -> Statement:
    if missing := [name for name in _NEEDED if not row.get(name, "").strip()]:
        raise InputError(f"has no {', '.join(missing)}", where=where)
    repeat = (row.get("repeat", "").strip() or "1").removesuffix(".0")  # as spreadsheets write it
    if not repeat.isdecimal():
        raise InputError(f"repeat is no whole number: {repeat}", where=where)
    return Statement(
        case_id=row["case"],
        repeat=int(repeat),
        label=row["rule"].strip(),
        item=row["item"],
        word=row["verdict"].strip(),
        words={speaker: words for speaker in Speaker if (words := row.get(speaker, "")).strip()},
        note=row.get("note", "").strip(),
        run_id=row.get("run", "").strip(),
        where=where,
    )


def _csv_rows(text: str, path: Path) -> Iterator[tuple[str, Mapping[str, str] | InputError]]:
    rows = enumerate(table_reader(text, _delimiter), 1)
    number = 1
    try:
        number, titles = next(((n, cells) for n, cells in rows if cells), (number, []))
        header = [title.strip().lower() for title in titles]
        if missing := [name for name in _NEEDED if name not in header]:
            raise InputError(f"there is no column {', '.join(missing)}", where=str(path))
        for number, cells in rows:
            where = f"{path}: row {number}"
            if len(cells) > len(header):
                yield where, InputError(f"has {len(cells)} cells, the header has {len(header)}", where=where)
            else:
                yield (
                    where,
                    {name: clean(_NEUTRALISED.sub("", cell, 1)) for name, cell in zip(header, cells, strict=False)},
                )
    except csv.Error as error:
        where = f"{path}: row {number + 1}"
        yield where, InputError(f"is no CSV: {error}", where=where)


def _delimiter(text: str) -> str:
    header = text.split("\n", 1)[0]
    return max(",;\t", key=header.count)


def _json_rows(text: str, path: Path) -> Iterator[tuple[str, Mapping[str, str] | InputError]]:
    for number, line in enumerate(text.splitlines(), 1):
        where = f"{path}: line {number}"
        if line.strip():
            try:
                row: Any = orjson.loads(line)
            except orjson.JSONDecodeError as error:
                yield where, InputError(f"is no JSON: {error}", where=where)
                continue
            if isinstance(row, Mapping):
                yield where, {name: clean(as_text(value)) for name, value in row.items()}
            else:
                yield where, InputError("is no object", where=where)
