"""Attempts × slots and steps: what each attempt collected and did, the worst attempts first."""

from collections.abc import Mapping, Sequence
from itertools import islice
from math import cos, radians, sin
from typing import TypeAlias

from agenteval.domain.run_summary import RunSummary, Share
from agenteval.reporting import figures
from agenteval.reporting.html.elements import Html, joined, tag
from agenteval.reporting.html.svg import Point, coordinate, rect, svg, text
from agenteval.reporting.items import Item, Kind, items
from agenteval.reporting.labels import Labels
from agenteval.reporting.reading import Entry

ROWS, COLUMNS = 60, 40
_CELL = 36
_TILT_DEGREES = 38
_LONGEST = 24
"""Letters of a column's name that are shown."""
_LETTER = 7.6
"""The width of a letter, more or less."""
_ITEMS = 1_000
"""Items of one attempt that are looked at."""

_SIGNS = {"ok": "✓", "bad": "✗", "unknown": "?", "left": "–"}

Column: TypeAlias = tuple[Kind, str]
Row: TypeAlias = tuple[Entry, str, dict[Column, Item]]


def heat_map(entries: Sequence[tuple[Entry, str]], summary: RunSummary, labels: Labels) -> Html | None:
    """`entries` come worst first, each with the anchor of its case. None when there is no slot and no step."""
    all_rows: list[Row] = [(entry, anchor, found) for entry, anchor in entries if (found := _by_column(entry))]
    rows = all_rows[:ROWS]
    all_columns = sorted(
        dict.fromkeys(column for *_, found in rows for column in found), key=lambda c: list(Kind).index(c[0])
    )
    columns = all_columns[:COLUMNS]
    if not columns:
        return None
    left = _LETTER * max(_width(_row_name(entry)) for entry, *_ in rows) + 12
    longest = _LETTER * max(_width(_short(name, _LONGEST)) for _, name in columns)
    head, tail = 20 + longest * sin(radians(_TILT_DEGREES)), longest * cos(radians(_TILT_DEGREES))
    xs = [left + i * _CELL for i in range(len(columns))]
    parts = [_column_head((x, head), column, summary, labels) for x, column in zip(xs, columns, strict=True)]
    parts.append(text((left - 8, head + 12), labels("heat.rate"), "small", "end"))
    for i, row in enumerate(rows):
        parts.append(_row(head + 20 + i * _CELL, row, dict(zip(columns, xs, strict=True)), labels))
    size = (left + len(columns) * _CELL + tail, head + 26 + len(rows) * _CELL)
    picture = svg(*parts, size=size, label=labels("heat"), fixed=True)
    legend = [
        tag("li", tag("span", sign, class_=f"cell {state}"), " ", labels(f"heat.{state}"))
        for state, sign in _SIGNS.items()
    ]
    counts = {"rows": len(rows), "of": len(all_rows), "columns": len(columns), "all": len(all_columns)}
    is_cut = len(rows) < len(all_rows) or len(columns) < len(all_columns)
    return joined(
        tag("div", picture, class_="scroll heat", tabindex=0, role="group", aria_label=labels("heat")),
        tag("ul", *legend, class_="legend"),
        tag("p", labels("heat.cut", **counts), class_="note") if is_cut else None,
    )


def _by_column(entry: Entry) -> dict[Column, Item]:
    found = (item for result in entry.results for item in items(result.detail) if item.kind is not Kind.INTENT)
    return {(item.kind, item.name): item for item in islice(found, _ITEMS)}


def _column_head(corner: Point, column: Column, summary: RunSummary, labels: Labels) -> Html:
    kind, name = column
    x, y = corner[0] + _CELL / 2, corner[1] - 6
    share = (summary.slots if kind is Kind.SLOT else summary.steps).get(name, Share(0, 0, 0))
    rate = figures.percent(share.value, labels, digits=2).replace(" ", "")  # columns are narrow
    words = tag(
        "text",
        tag("title", f"{labels(f'kind.{kind}')} {name} · {figures.share(share, labels)}"),
        _short(name, _LONGEST),
        x=coordinate(x),
        y=coordinate(y),
        transform=f"rotate(-{_TILT_DEGREES} {coordinate(x)} {coordinate(y)})",
        class_="strong",
    )
    return joined(words, text((x, y + 18), rate, "small", "middle"))


def _row(y: float, row: Row, xs: Mapping[Column, float], labels: Labels) -> Html:
    entry, anchor, found = row
    name = _row_name(entry)
    label = tag("g", tag("title", entry.name(labels)), text((min(xs.values()) - 8, y + 23), name, "", "end"))
    cells = [_cell((xs[column], y), name, item, labels) for column, item in found.items() if column in xs]
    return tag("a", label, *cells, href=f"#{anchor}")


def _row_name(entry: Entry) -> str:
    return f"{entry.level.mark} {_short(entry.place.case.id, 26)}"


def _cell(corner: Point, name: str, item: Item, labels: Labels) -> Html:
    x, y = corner
    hint = " · ".join(filter(None, [name, item.name, item.status_text(labels), item.value]))
    return joined(
        rect((x + 1, y + 1), (_CELL - 2, _CELL - 2), f"heat-{item.state}", hint),
        text((x + _CELL / 2, y + 23), _SIGNS[item.state], f"heat-sign-{item.state}", "middle"),
    )


def _width(name: str) -> int:
    """In letters; an ideograph is as wide as two."""
    return sum(2 if character > "\u2e7f" else 1 for character in name)


def _short(name: str, width: int) -> str:
    if _width(name[:width]) <= width >= len(name):
        return name
    while _width(name) >= width:
        name = name[: min(len(name) - 1, width)]
    return f"{name}…"
