"""Text and tables in a given number of terminal columns. Nothing is cut off, and a number is broken only when it alone
is wider than all there is."""

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from rich.cells import cell_len
from rich.text import Text

GAP = 2
"""Columns between those of a table."""

_READABLE = 12
"""Columns that folded text needs at least, to be pleasant."""
_LONG_WORD = 26
"""Words up to this width stay whole in a table."""

_NUMBER = r"\d(?:[\d.,:/–-]*\d)?"
_WIDE = "\u2e80-\U0010ffff"  # CJK and later: a line may break beside each, but not before what closes
_OPENS, _CLOSES = "（《「『【", "，。、；：？！）》」』】"
_WORD = re.compile(rf" *[{_OPENS}]*(?:[^ {_WIDE}]+|[{_WIDE}])[{_CLOSES}]*")
_PIECES = (_WORD, re.compile(rf" *(?:{_NUMBER}|.)", re.DOTALL), re.compile(".", re.DOTALL))
"""What is kept whole: words, then in one that is too wide its numbers, at last only characters."""


def wrapped(text: Text, columns: int) -> list[Text]:
    """The lines of a text, each within `columns` and without blanks at its end."""
    text = text.copy()
    text.expand_tabs()
    lines = [
        part for line in text.split("\n", allow_blank=True) for part in line.divide(list(_breaks(line.plain, columns)))
    ]
    for line in lines:
        line.rstrip()
    return lines


def widths(rows: Sequence[Sequence[Text]], columns: int, *, fixed: int) -> list[int] | None:
    """How wide each column of a table is, of which the first `fixed` are not folded. None: so many columns are not
    enough for it to be read."""
    by_column = list(zip(*rows, strict=True))
    natural = [max(map(_width, cells)) for cells in by_column]
    found = [
        wanted if i < fixed else min(wanted, max(_READABLE, *map(_least, cells)))
        for i, (wanted, cells) in enumerate(zip(natural, by_column, strict=True))
    ]
    spare = columns - sum(found) - GAP * (len(found) - 1)
    if spare < 0:
        return None
    for _ in range(spare):
        if folded := [i for i, wanted in enumerate(natural) if found[i] < wanted]:
            found[min(folded, key=found.__getitem__)] += 1
    return found


def row_lines(cells: Sequence[Text], of: Sequence[int]) -> Iterator[Text]:
    """A row of a table whose columns are so wide."""
    folded = (wrapped(cell, width) for cell, width in zip(cells, of, strict=True))
    for parts in zip_longest(*folded):
        line = Text()
        for part, width in zip(parts, of, strict=True):
            line.append_text(part or Text())
            line.append(" " * (width + GAP - (part.cell_len if part else 0)))
        line.rstrip()
        yield line


def _breaks(line: str, columns: int) -> Iterator[int]:
    used = 0
    for start, end in _pieces(line, 0, len(line), columns):
        piece = line[start:end]
        used += cell_len(piece)
        if used > columns and start:
            word = piece.lstrip()
            used = cell_len(word)
            yield end - len(word)


def _pieces(
    line: str, start: int, end: int, columns: int, kinds: Sequence[re.Pattern[str]] = _PIECES
) -> Iterator[tuple[int, int]]:
    kind, *finer = kinds
    for match in kind.finditer(line, start, end):
        if finer and cell_len(match[0].lstrip()) > columns:
            yield from _pieces(line, *match.span(), columns, finer)
        else:
            yield match.span()


def _width(cell: Text) -> int:
    return max(cell_len(line) for line in cell.plain.split("\n"))


def _least(cell: Text) -> int:
    """The columns that it needs at least."""
    words = (cell_len(word.strip()) for word in _WORD.findall(cell.plain))
    numbers = map(cell_len, re.findall(_NUMBER, cell.plain))
    return max([*(width for width in words if width <= _LONG_WORD), *numbers, 1])
