"""A run on a terminal, or in a file or pipe in its place: plain then, and in what its encoding can show."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TextIO

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from agenteval.domain.outcome import RuleResult
from agenteval.reporting import figures
from agenteval.reporting.escape import for_terminal
from agenteval.reporting.explain import policy_in_words, why
from agenteval.reporting.items import Item, items
from agenteval.reporting.labels import Labels
from agenteval.reporting.level import GOOD_MARKS, Level
from agenteval.reporting.reading import (
    Entry,
    Worst,
    entries,
    facts,
    header,
    l1_text,
    l2_text,
    overview,
    provisional,
    unscored,
)
from agenteval.reporting.report import Lang, RunReport

LISTED = 50
"""Attempts that are listed, the worst ones."""

FILE_WIDTH = 100
"""Columns when the output is no terminal."""

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
    Level.NOT_RUN: "dim",
    Level.NO_RULES: "dim",
}
_GOOD_STYLES = {True: "green", False: "red", None: "magenta"}
_PLAIN = str.maketrans(
    {"✓": "+", "◐": "~", "✗": "x", "‖": "|", "–": "-", "—": "-", "·": "|", "…": "~", "≥": ">=", "×": "x"}
)


async def print_report(report: RunReport, lang: Lang, out: TextIO) -> None:
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


async def print_side_by_side(reports: Sequence[RunReport], lang: Lang, out: TextIO) -> None:
    """Runs of the same cases in columns: the summary, then each case."""
    page = _Page.on(out, lang)
    outcomes: dict[str, dict[int, list[Entry]]] = {}
    for i, report in enumerate(reports):
        async for entry in entries(report):
            outcomes.setdefault(entry.place.case.id, {}).setdefault(i, []).append(entry)
    page.side_by_side(reports, outcomes)


def print_result(result: RuleResult, lang: Lang, out: TextIO) -> None:
    """One result by itself, without a run around it."""
    _Page.on(out, lang).result(result)


@dataclass(frozen=True, slots=True)
class _Page:
    console: Console
    labels: Labels

    @classmethod
    def on(cls, out: TextIO, lang: Lang) -> "_Page":
        width = None if out.isatty() else FILE_WIDTH
        return cls(Console(file=out, width=width, highlight=False, markup=False, emoji=False), Labels(lang))

    # ---- what is written ---------------------------------------------------------------------------------------------

    def text(self, said: str, style: str = "") -> Text:
        encoding = self.console.encoding
        shown = said if encoding.startswith("utf") else _transliterated(said, encoding)
        return Text(for_terminal(shown, encoding), style, overflow="fold")

    def line(self, said: str, style: str = "") -> None:
        self.console.print(self.text(said, style))

    def inside(self, what: Text | Table, by: int) -> None:
        self.console.print(Padding(what, (0, 0, 0, by), expand=False))

    def title(self, said: str) -> None:
        self.console.print()
        self.line(said, "bold")

    def table(self, *columns: str, fixed: int = 1) -> Table:
        """`fixed`: so many of the first columns are never folded."""
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
        for i, name in enumerate(columns):
            table.add_column(self.text(name), no_wrap=i < fixed, overflow="fold")
        return table

    # ---- the parts ---------------------------------------------------------------------------------------------------

    def head(self, report: RunReport) -> None:
        self.line(report.run.name, "bold")
        grid = self.table("", "")
        grid.show_header = False
        for name, value in header(report.run, self.labels):
            grid.add_row(self.text(name, "dim"), self.text(value))
        self.console.print(grid)
        if notice := provisional(report.run, self.labels):
            self.line(notice, "yellow")

    def summary(self, report: RunReport) -> None:
        labels, summary = self.labels, report.summary
        self.console.print()
        table = self.table(*map(labels, ("measure", "value", "measured", "worst_case", "interval")), "", fixed=5)
        for figure in figures.figures(summary, labels):
            cells = (figure.label, figure.value, figure.measured, figure.worst_case, figure.interval)
            table.add_row(*map(self.text, cells), self.text(figure.note, "dim"))
        self.console.print(table)
        self.console.print()
        levels = Text("   ").join(Text.assemble(self.level(level), f" {n}") for level, n in figures.levels(summary))
        self.console.print(Text.assemble(self.text(labels("levels") + "  ", "dim"), levels))
        for name, value in figures.notes(summary, labels):
            self.console.print(Text.assemble(self.text(f"{name}  ", "dim"), self.text(value)))

    def cases(self, shown: Sequence[Entry]) -> None:
        labels = self.labels
        self.title(labels("cases"))
        if not shown:
            self.line(labels("empty"))
            return
        table = self.table("", *map(labels, ("case", "L1", "L2", "failing_rules")))
        for entry in shown:
            table.add_row(self.level(entry.level), *map(self.text, overview(entry, labels)))
        self.console.print(table)

    def level(self, level: Level) -> Text:
        return self.text(f"{level.mark} {self.labels(f'level.{level}')}", _STYLES[level])

    def good(self, good: bool | None) -> Text:
        return self.text(GOOD_MARKS[good], _GOOD_STYLES[good])

    def reasons(self, entry: Entry) -> None:
        labels = self.labels
        self.console.print()
        self.console.print(Text.assemble(self.level(entry.level), "  ", self.text(entry.name(labels), "bold")))
        for sentence in why(entry.attempt, labels) if entry.attempt else ():
            self.inside(self.text(sentence), 2)
        for result in entry.results:
            self.result(result)

    def result(self, result: RuleResult) -> None:
        labels = self.labels
        parts = [figures.score(result.score), *facts(result, labels)]
        head = Text.assemble(self.good(result.passed), " ", self.text(result.label, "bold"), "  ")
        self.inside(head + self.text(" · ".join(parts)), 2)
        if result.reason:
            self.inside(self.text(result.reason, "dim"), 4)
        if found := items(result.detail):
            self.inside(self.items(found), 4)

    def items(self, found: Iterable[Item]) -> Table:
        labels = self.labels
        table = self.table("", *map(labels, ("item", "status", "value", "turn", "quote")))
        for item in found:
            quote = [self.text(_cut(item.quote))] if item.quote else []
            reason = [self.text(item.reason, "dim")] if item.reason else []
            table.add_row(
                self.good(item.good),
                self.text(item.name),
                self.text(item.status_text(labels)),
                self.text(_cut(item.value)),
                self.text(item.turn_text()),
                Text("\n").join(quote + reason),
            )
        return table

    def how_decided(self, shown: Sequence[Entry]) -> None:
        policies = dict.fromkeys(e.attempt.outcome.policy for e in shown if e.attempt and e.attempt.outcome)
        if policies:
            self.title(self.labels("policy"))
        for policy in policies:
            self.line(policy_in_words(policy, self.labels))

    def unscored(self, report: RunReport, shown: Sequence[Entry]) -> None:
        if lines := unscored(report.summary, shown, self.labels):
            self.title(self.labels("unscored"))
        for line in lines:
            self.line(line)

    def side_by_side(self, reports: Sequence[RunReport], outcomes: dict[str, dict[int, list[Entry]]]) -> None:
        labels = self.labels
        columns = [str(report.run.config.get("target_name") or report.run.name) for report in reports]
        table = self.table(labels("measure"), *columns)
        for rows in zip(*(figures.figures(report.summary, labels) for report in reports), strict=True):
            cells = [
                labels("aside", what=row.value, note=labels("measured_of", n=row.of.n, of=row.of.of)) for row in rows
            ]
            table.add_row(self.text(rows[0].label), *map(self.text, cells))
        self.console.print(table)
        self.console.print()
        table = self.table(labels("case"), *columns)
        for case_id, by_run in outcomes.items():
            table.add_row(
                self.text(case_id),
                *(Text("\n").join(map(self.outcome, by_run.get(i, ()))) for i in range(len(reports))),
            )
        self.console.print(table)

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
