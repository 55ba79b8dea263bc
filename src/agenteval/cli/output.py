"""Results, on stdout or in a file."""

import os
import secrets
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import orjson

from agenteval.domain.errors import InputError
from agenteval.reporting.escape import for_terminal


def people(*lines: str) -> None:
    """Text for people, in what the terminal can show."""
    for line in lines:
        print(for_terminal(line, sys.stdout.encoding), flush=True)


def counted(n: int, noun: str) -> str:
    """ "1 request", "2 requests"."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def shows(text: str) -> bool:
    """Whether the terminal can show it."""
    return for_terminal(text, sys.stdout.encoding) == text


def machines(document: str | bytes) -> None:
    """A document for programs: UTF-8, whatever the terminal's encoding is."""
    sys.stdout.flush()
    sys.stdout.buffer.write(document.encode() if isinstance(document, str) else document)
    sys.stdout.buffer.flush()


def json(value: Any, *, indent: bool = True) -> None:
    machines(orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS | (orjson.OPT_INDENT_2 if indent else 0)) + b"\n")


def table(rows: Iterable[Sequence[str]], columns: Sequence[str]) -> None:
    """Columns as wide as what stands in them, without lines around: for eyes and for `awk`."""
    from rich.cells import cell_len

    shown = [columns, *rows]
    widths = [max(cell_len(row[i]) for row in shown) for i in range(len(columns))]
    for row in shown:
        cells = (cell + " " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True))
        people("  ".join(cells).rstrip())


def writable(*paths: Path | None, reads: Iterable[Path] = ()) -> None:
    """Make the folders of files that will be written. Raises InputError while nothing is lost yet, also when two of
    them are one, or one of them is read."""
    read, written = list(reads), list[Path]()
    for path in filter(None, paths):
        spared(path, read, "this command reads it")
        spared(path, written, "another output goes there")
        written.append(path)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot be written: {error.strerror}", where=str(path)) from error
        if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
            raise InputError("cannot be written: it is a folder, or protected", where=str(path))


def spared(path: Path, others: Iterable[Path], why: str) -> None:
    """Raises InputError when `path`, which will be written, is one of the others; a pipe or a terminal may be."""
    if path.is_file() or not path.exists():
        for other in others:
            if other.resolve() == path.resolve() or (other.exists() and path.exists() and other.samefile(path)):
                raise InputError(f"cannot be written: {why}", where=str(path), fix="name another file")


@contextmanager
def replacing(path: Path) -> Iterator[TextIO]:
    """A text file in UTF-8 that takes the place of `path` once all of it is written. What nothing can take the place
    of, such as a pipe or a terminal, is written itself. Raises OSError."""
    of_system = path.absolute().parts[:2] in {("/", "dev"), ("/", "proc")}  # /dev/stdout, wherever it leads
    if of_system or (path.exists() and not path.is_file()) or not os.access(path.resolve().parent, os.W_OK):
        with path.open("w", encoding="utf-8", newline="\n") as file:
            yield file
        return
    path = path.resolve()
    beside = path.with_name(f".agenteval-{secrets.token_hex(8)}.tmp")
    try:
        with beside.open("w", encoding="utf-8", newline="\n") as file:
            yield file
        if path.exists():
            shutil.copymode(path, beside)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
