"""A run as one HTML file: no script, no request to anywhere, readable in print and in the dark."""

from array import array
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from importlib.resources import files

from agenteval.domain.run_summary import RunSummary
from agenteval.domain.text import Language
from agenteval.reporting import figures
from agenteval.reporting.explain import HowDecided
from agenteval.reporting.html.case import attempt, row
from agenteval.reporting.html.charts import funnel, histogram, outcome_bar
from agenteval.reporting.html.elements import Html, joined, tag
from agenteval.reporting.html.heat_map import heat_map
from agenteval.reporting.labels import Labels
from agenteval.reporting.level import Level
from agenteval.reporting.reading import Entry, Worst, entries, header, provisional, setup, unscored
from agenteval.reporting.report import RunReport

SHOWN = 500
"""Attempts that are shown in full, the worst ones."""

LISTED = 5_000
"""Further attempts that are listed by a line."""

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"


async def html_report(report: RunReport, lang: Language) -> AsyncIterator[str]:
    labels = Labels(lang)
    worst, latencies = Worst(SHOWN), array("d")
    async for entry in entries(report):
        worst.add(entry)
        if entry.attempt and entry.attempt.outcome:
            latencies.extend(t.latency_ms for t in entry.attempt.dialog if t.latency_ms is not None)
    shown = worst.entries()
    named = [(entry, f"a{i}") for i, entry in enumerate(shown)]
    yield f"<!doctype html>\n{_opening(report, lang, labels)}"
    yield _header(report, labels)
    yield _cards(report.summary, labels)
    yield _pictures(report, latencies, labels)
    items = _section(labels("heat"), heat_map(named, report.summary, labels))
    yield tag("div", items, _section(labels("confusion"), _confusion(report.summary, labels)), class_="pair")
    yield f'<section class="cases">{tag("h2", labels("cases"))}'
    for chunk in _cases(named, labels):
        yield chunk
    if worst.count > len(shown):
        async for chunk in _others(report, shown, worst.count, labels):
            yield chunk
    yield "</section>"
    yield _foot(report, shown, labels)
    yield "</main></body></html>\n"


def _opening(report: RunReport, lang: Language, labels: Labels) -> str:
    css = files("agenteval.reporting.html").joinpath("style.css").read_text(encoding="utf-8")
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("link", rel="icon", href="data:,"),
        tag("title", f"{report.run.name} · {labels('title')}"),
        tag("style", Html(css)),
    )
    return f'<html lang="{"zh-CN" if lang == "zh" else "en"}">{head}<body><main>'


def _header(report: RunReport, labels: Labels) -> Html:
    facts = [tag("div", tag("dt", name), tag("dd", value)) for name, value in header(report.run, labels)]
    notice = provisional(report.run, labels)
    return tag(
        "header",
        tag("p", labels("title"), class_="brand"),
        tag("h1", report.run.name or report.run.id),
        tag("dl", *facts, class_="meta"),
        tag("p", notice, class_="warning") if notice else None,
    )


def _cards(summary: RunSummary, labels: Labels) -> Html:
    return tag("section", *(_card(figure, labels) for figure in figures.figures(summary, labels)), class_="cards")


def _card(figure: figures.Figure, labels: Labels) -> Html:
    rows = [
        ("measured", figure.measured),
        ("worst_case", figure.worst_case),
        ("interval", figure.interval),
    ]
    return tag(
        "article",
        tag("h3", figure.label),
        tag("p", figure.value, class_="value"),
        tag("dl", *(joined(tag("dt", labels(name)), tag("dd", value)) for name, value in rows)),
        tag("p", labels(f"{figure.name}.how"), class_="how"),
        tag("p", figure.note, class_="note") if figure.note else None,
        class_="card",
    )


def _pictures(report: RunReport, latencies: "array[float]", labels: Labels) -> Html:
    summary = report.summary
    notes = [joined(tag("dt", name), tag("dd", value)) for name, value in figures.notes(report, labels)]
    left = [
        tag("h2", labels("funnel")),
        funnel(summary, labels),
        tag("p", labels("funnel.how"), class_="note"),
        tag("h2", labels("levels")),
        outcome_bar(summary, labels),
    ]
    right = [tag("h2", labels("latency")), histogram(latencies, labels), tag("dl", *notes, class_="notes")]
    return tag("div", tag("section", *left), tag("section", *right), class_="pictures")


def _section(title: str, content: Html | None) -> Html:
    return tag("section", tag("h2", title), content) if content else Html("")


def _confusion(summary: RunSummary, labels: Labels) -> Html | None:
    if not summary.confusion:
        return None
    found = list(dict.fromkeys(name for row_ in summary.confusion.values() for name in row_))
    head = tag(
        "tr",
        tag("th", f"{labels('confusion.expected')} ↓ {labels('confusion.found')} →"),
        *(tag("th", n) for n in found),
    )
    rows = [
        tag(
            "tr",
            tag("th", expected),
            *(tag("td", str(counts.get(name, "")), class_="right" if name == expected else None) for name in found),
        )
        for expected, counts in summary.confusion.items()
    ]
    return tag("div", tag("table", tag("thead", head), tag("tbody", *rows), class_="confusion"), class_="scroll")


def _cases(named: Sequence[tuple[Entry, str]], labels: Labels) -> Iterator[str]:
    """The attempts, with a filter by level that needs no script: hidden radio buttons before them."""
    if not named:
        yield tag("p", labels("empty"), class_="note")
        return
    present = [level for level in Level if any(entry.level is level for entry, _ in named)]
    choices: list[tuple[str, str]] = [("all", f"{labels('filter.all')} {len(named)}")]
    for level in present:
        n = sum(entry.level is level for entry, _ in named)
        choices.append((level, f"{level.mark} {labels(f'level.{level}')} {n}"))
    for value, _ in choices:
        yield tag("input", type="radio", name="level", id=f"f-{value}", checked=value == "all")
    yield tag("div", *(tag("label", text, for_=f"f-{value}") for value, text in choices), class_="filter")
    for i, (entry, anchor) in enumerate(named):
        yield attempt(entry, anchor, labels, opened=i == 0) + "\n"


async def _others(report: RunReport, shown: Iterable[Entry], count: int, labels: Labels) -> AsyncIterator[str]:
    in_full = {entry.order for entry in shown}
    yield tag("p", labels("others", shown=len(in_full), rest=count - len(in_full)), class_="note")
    yield '<div class="scroll"><table class="others"><tbody>'
    listed = 0
    async for entry in entries(report):
        if entry.order not in in_full and listed < LISTED:
            listed += 1
            yield row(entry, labels) + "\n"
    yield "</tbody></table></div>"
    if rest := count - len(in_full) - listed:
        yield tag("p", labels("more", n=rest), class_="note")


def _foot(report: RunReport, shown: Sequence[Entry], labels: Labels) -> Html:
    lines = unscored(report, (r for entry in shown for r in entry.results), labels)
    decided = HowDecided(labels)
    for entry in shown:
        decided.add(entry)
    policies = decided.lines()
    rows = [tag("tr", tag("th", name), tag("td", value)) for name, value in setup(report.run, labels)]
    return joined(
        _section(labels("unscored"), tag("ul", *(tag("li", line) for line in lines)) if lines else None),
        _section(labels("policy"), tag("ul", *(tag("li", text) for text in policies)) if policies else None),
        _section(labels("setup"), tag("table", tag("tbody", *rows), class_="setup")),
    )
