"""A run on a terminal, or in a file or pipe in its place: plain then, and in what its encoding can show."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TextIO

from rich.console import Console
from rich.text import Text

from agenteval.domain.outcome import RuleResult
from agenteval.domain.text import Language
from agenteval.reporting import figures, layout
from agenteval.reporting.comparison import Section
from agenteval.reporting.escape import for_terminal
from agenteval.reporting.explain import HowDecided, why
from agenteval.reporting.items import Item, items
from agenteval.reporting.labels import Labels
from agenteval.reporting.level import GOOD_MARKS, Level
from agenteval.reporting.reading import (
    Entry,
    Worst,
    entries,
    facts,
    header,
    holds,
    l1_text,
    l2_text,
    overview,
    provisional,
    told,
    unscored,
)
from agenteval.reporting.report import RunReport

LISTED = 50
"""Attempts that are listed, the worst ones."""

FILE_WIDTH = 120
"""Columns when the output is no terminal."""

NARROWEST = 20
"""Columns that are written for at least; a terminal with less folds lines itself."""

_LONGEST = 200
"""Characters of a quote or value that are shown."""

_STYLES = {
    Level.SUCCESS: "green",
    Level.PARTIAL: "yellow",
    Level.FAILURE: "red",
    Level.UNSETTLED: "magenta",
    Level.INTERRUPTED: "dim",
    Level.SUPERSEDED: "dim",
    Level.OPEN: "dim",
    Level.AWAITING_JUDGE: "dim",
    Level.NOT_RUN: "dim",
    Level.NO_RULES: "dim",
}
_GOOD_STYLES = {True: "green", False: "red", None: "magenta"}
_PLAIN = str.maketrans(
    {"✓": "+", "◐": "~", "✗": "x", "‖": "|", "–": "-", "—": "-", "·": "|", "…": "~", "≥": ">=", "×": "x"}
)


async def print_report(report: RunReport, lang: Language, out: TextIO) -> None:
    """Everything of a small run that a person looks for; of a large one the summary and the worst attempts."""
    page = _Page.on(out, lang)
    worst = Worst(LISTED)
    async for entry in entries(report):
        worst.add(entry)
    shown = sorted(worst.entries(), key=attrgetter("order"))
    page.head(report)
    page.summary(report)
    page.cases(shown)
    if worst.count > len(shown):
        page.line(page.labels("more", n=worst.count - len(shown)))
    for entry in shown:
        if entry.needs_reasons:
            page.reasons(entry)
    page.how_decided(shown)
    page.unscored(report, shown)


async def print_side_by_side(reports: Sequence[RunReport], lang: Language, out: TextIO) -> None:
    """Runs of the same cases in columns: the summary, then each case."""
    page = _Page.on(out, lang)
    outcomes: dict[str, dict[int, list[Entry]]] = {}
    for i, report in enumerate(reports):
        async for entry in entries(report):
            outcomes.setdefault(entry.place.case.id, {}).setdefault(i, []).append(entry)
    page.side_by_side(reports, outcomes)


def print_sections(sections: Iterable[Section], lang: Language, out: TextIO) -> None:
    """Tables and lines under their titles."""
    page = _Page.on(out, lang)
    for section in sections:
        page.section(section)


def print_result(result: RuleResult, lang: Language, out: TextIO) -> None:
    """One result by itself, without a run around it."""
    _Page.on(out, lang).result(result)


@dataclass(frozen=True, slots=True)
class _Page:
    console: Console
    labels: Labels

    @classmethod
    def on(cls, out: TextIO, lang: Language) -> "_Page":
        width = None if out.isatty() else FILE_WIDTH
        return cls(Console(file=out, width=width, highlight=False, markup=False, emoji=False), Labels(lang))

    # ---- what is written ---------------------------------------------------------------------------------------------

    @property
    def columns(self) -> int:
        return max(self.console.width, NARROWEST)

    def text(self, said: str, style: str = "") -> Text:
        encoding = self.console.encoding
        shown = said if encoding.startswith("utf") else _transliterated(said, encoding)
        return Text(for_terminal(shown, encoding), style)

    def line(self, said: str | Text, style: str = "", *, indent: int = 0) -> None:
        text = self.text(said, style) if isinstance(said, str) else said
        for line in layout.wrapped(text, self.columns - indent):
            self.put(line, indent)

    def put(self, line: Text, indent: int) -> None:
        shown = Text(" " * indent).append_text(line) if line else line
        self.console.print(shown, no_wrap=True, overflow="ignore", crop=False)

    def title(self, said: str) -> None:
        self.line("")
        self.line(said, "bold")

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[Text]], *, fixed: int = 1, indent: int = 0) -> None:
        """`fixed`: so many of the first columns are never folded. Where there is too little room, each row becomes a
        heading and a line for each value."""
        head, cells = [self.text(name, "dim") for name in columns], list(rows)
        found = layout.widths([head, *cells], self.columns - indent, fixed=fixed)
        for row in [head, *cells] if any(columns) else cells:
            if found:
                for line in layout.row_lines(row, found):
                    self.put(line, indent)
            elif row is not head:
                self.stacked(columns, row, indent)

    def stacked(self, columns: Sequence[str], row: Sequence[Text], indent: int) -> None:
        """Columns without a name are part of the heading, up to the first that has one."""
        named = next((i for i, name in enumerate(columns) if name), 0)
        self.line(Text("  ").join(cell for cell in row[: named + 1] if cell), indent=indent)
        for name, cell in zip(columns[named + 1 :], row[named + 1 :], strict=True):
            label, lines = self.text(name and name + self.labels("colon"), "dim"), cell.split("\n")
            together = label + Text(" · ").join(lines)
            if cell and (len(lines) == 1 or together.cell_len <= self.columns - indent - 2):
                self.line(together, indent=indent + 2)
            elif cell:
                self.line(label, indent=indent + 2)
                self.line(cell, indent=indent + 4)

    def named(self, rows: Iterable[tuple[str, Text]]) -> None:
        """Values beside their names."""
        self.table(("", ""), [(self.text(name, "dim"), value) for name, value in rows])

    def section(self, section: Section) -> None:
        if section.title:
            self.title(section.title)
        rows = [tuple(map(self.text, row)) for row in section.rows]
        if section.columns:
            self.table(section.columns, rows, fixed=section.fixed)
        else:
            for (line,) in rows:
                self.line(line)

    # ---- the parts ---------------------------------------------------------------------------------------------------

    def head(self, report: RunReport) -> None:
        self.line(report.run.name, "bold")
        self.named((name, self.text(value)) for name, value in header(report.run, self.labels))
        if notice := provisional(report.run, self.labels):
            self.line(notice, "yellow")

    def summary(self, report: RunReport) -> None:
        labels, summary = self.labels, report.summary
        measures = figures.figures(summary, labels)
        self.line("")
        self.table(
            [labels(name) for name in ("measure", "value", "measured", "worst_case", "interval")],
            [[*map(self.text, (f.label, f.value, f.measured, f.worst_case, f.interval))] for f in measures],
            fixed=5,
        )
        for note in dict.fromkeys(f.note for f in measures if f.note):
            of = labels.listed([f.label for f in measures if f.note == note])
            self.line(labels("aside", what=note, note=of), "dim")
        self.line("")
        levels = [Text.assemble(self.level(level), f" {n}") for level, n in figures.levels(summary)]
        notes = [(name, self.text(value)) for name, value in figures.notes(report, labels)]
        self.named([(labels("levels"), Text("   ").join(levels)), *notes])

    def cases(self, shown: Sequence[Entry]) -> None:
        labels = self.labels
        self.title(labels("cases"))
        if not shown:
            self.line(labels("empty"))
            return
        rows = [(*overview(entry, labels), "\n".join(told(entry, labels))) for entry in shown]
        self.table(
            ("", *map(labels, ("case", "L1", "L2", "rules"))),
            [(self.level(entry.level), *map(self.text, row)) for entry, row in zip(shown, rows, strict=True)],
        )

    def level(self, level: Level) -> Text:
        return self.text(f"{level.mark} {self.labels(f'level.{level}')}", _STYLES[level])

    def good(self, good: bool | None) -> Text:
        return self.text(GOOD_MARKS[good], _GOOD_STYLES[good])

    def reasons(self, entry: Entry) -> None:
        labels = self.labels
        self.line("")
        self.line(Text.assemble(self.level(entry.level), "  ", self.text(entry.name(labels), "bold")))
        for sentence in why(entry.attempt, labels) if entry.attempt else ():
            self.line(sentence, indent=2)
        for result in entry.results:
            self.result(result)

    def result(self, result: RuleResult) -> None:
        labels = self.labels
        parts = [figures.score(result.score), *facts(result, labels)]
        head = Text.assemble(self.good(holds(result)), " ", self.text(result.label, "bold"), "  ")
        self.line(head + self.text(" · ".join(parts)), indent=2)
        if result.reason:
            self.line(result.reason, "dim", indent=4)
        if found := items(result.detail):
            columns = ("", *map(labels, ("item", "status", "value", "turn", "quote")))
            self.table(columns, map(self.item, found), indent=4)

    def item(self, item: Item) -> list[Text]:
        quote = [self.text(_cut(item.quote))] if item.quote else []
        quote += [self.text(_cut(said), _GOOD_STYLES[False]) for said in item.against_text(self.labels)]
        reason = [self.text(item.reason, "dim")] if item.reason else []
        told = (item.name, item.status_text(self.labels), _cut(item.value), item.turn_text())
        return [self.good(item.good), *map(self.text, told), Text("\n").join(quote + reason)]

    def how_decided(self, shown: Sequence[Entry]) -> None:
        decided = HowDecided(self.labels)
        for entry in shown:
            decided.add(entry)
        if lines := decided.lines():
            self.title(self.labels("policy"))
        for line in lines:
            self.line(line)

    def unscored(self, report: RunReport, shown: Sequence[Entry]) -> None:
        if lines := unscored(report, (r for entry in shown for r in entry.results), self.labels):
            self.title(self.labels("unscored"))
        for line in lines:
            self.line(line)

    def side_by_side(self, reports: Sequence[RunReport], outcomes: dict[str, dict[int, list[Entry]]]) -> None:
        labels = self.labels
        columns = [str(report.run.config.get("target_name") or report.run.name) for report in reports]
        rows = []
        for row in zip(*(figures.figures(report.summary, labels) for report in reports), strict=True):
            of = [labels("aside", what=f.value, note=labels("measured_of", n=f.of.n, of=f.of.of)) for f in row]
            rows.append([*map(self.text, (row[0].label, *of))])
        self.table([labels("measure"), *columns], rows)
        self.line("")
        self.table(
            [labels("case"), *columns],
            [
                [self.text(case_id), *(Text("\n").join(map(self.outcome, of.get(i, ()))) for i in range(len(reports)))]
                for case_id, of in outcomes.items()
            ],
        )

    def outcome(self, entry: Entry) -> Text:
        """The level, the layers, and, unless it is a success, why."""
        lines = [self.level(entry.level)]
        if entry.attempt and entry.attempt.outcome:
            lines += [self.text(f"L1 {l1_text(entry, self.labels)}"), self.text(f"L2 {l2_text(entry, self.labels)}")]
            if entry.level is not Level.SUCCESS:
                lines += [self.text(sentence, "dim") for sentence in why(entry.attempt, self.labels)]
        return Text("\n").join(lines)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _transliterated(text: str, encoding: str) -> str:
    """Our own marks in ASCII where the encoding lacks them; all else is escaped later, so that nothing is lost."""
    return "".join(mark if _has(encoding, mark) else mark.translate(_PLAIN) for mark in text)


def _has(encoding: str, mark: str) -> bool:
    try:
        mark.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True
