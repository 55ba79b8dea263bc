"""JSON as people write it: doubled keys and NaN are refused, with their places."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Any

from agenteval.datasets.document import Document, Problems, number
from agenteval.domain.errors import InputError
from agenteval.domain.json_value import below

_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)


def parse(text: str, name: str, *, as_written: bool = False, first_line: int = 1) -> Document:
    """Raises InputError. `as_written`: see `document.number`. `first_line`: where in its file the text begins."""
    refused = False

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal refused
        found = dict(pairs)
        refused = refused or len(found) != len(pairs)
        return found

    def constant(_: str) -> None:
        nonlocal refused
        refused = True

    read_number = partial(number, as_written=as_written)
    try:
        value = json.loads(  # noqa: TID251 - orjson keeps neither doubled keys nor numbers as written
            text, object_pairs_hook=members, parse_constant=constant, parse_int=read_number, parse_float=read_number
        )
    except json.JSONDecodeError as error:
        raise InputError(
            f"is no JSON: {error.msg}", where=f"{name}: line {error.lineno + first_line - 1}, column {error.colno}"
        ) from error
    except RecursionError as error:
        raise InputError("is nested too deeply", where=name) from error
    document = Document(name, value, lambda: {pointer: line for pointer, line, _ in _values(text, first_line)})
    if refused:
        raise _refused(_values(text, first_line), name).error()
    return document.cleaned()


def _refused(values: Iterator[tuple[str, int, str]], name: str) -> Problems:
    seen: Counter[str] = Counter()
    problems = Problems()
    for pointer, line, piece in values:
        seen[pointer] += 1
        where = f"{name}: {pointer} (line {line})"
        if seen[pointer] > 1:
            problems.append(InputError("this key stands here twice", where=where))
        if piece in {"NaN", "Infinity", "-Infinity"}:
            problems.append(InputError(f"{piece} is no number", where=where, fix="use null for what is not known"))
    return problems


def _values(text: str, line: int) -> Iterator[tuple[str, int, str]]:
    """Pointer, line and first piece of every value of a valid JSON text that begins in `line`, in order."""
    at = 0
    around: list[tuple[str, int | None]] = []  # the pointer of each open container, and the index in a list
    key: str | None = None
    pointer = ""
    for match in _TOKEN.finditer(text):
        piece = match.group()
        line, at = line + text.count("\n", at, match.start()), match.start()
        if piece in "}]":
            around.pop()
            continue
        if piece == ",":
            parent, index = around[-1]
            around[-1] = (parent, None if index is None else index + 1)
            key = None
            continue
        if piece == ":":
            continue
        if around:
            parent, index = around[-1]
            if index is None and key is None:
                key = json.loads(piece)  # noqa: TID251 - a key as it was parsed before
                continue
            pointer = below(parent, key if index is None and key is not None else index or 0)
        yield pointer, line, piece
        if piece in "{[":
            around.append((pointer, None if piece == "{" else 0))
            key = None
