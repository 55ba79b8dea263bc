"""A run as Markdown (GitHub flavour): a summary, a table of all attempts, and what is to be explained in full."""

from collections.abc import AsyncIterator, Iterable, Iterator, Sequence

from agenteval.domain.json_value import as_text
from agenteval.domain.outcome import RuleResult
from agenteval.domain.text import Language
from agenteval.domain.transcript import Turn
from agenteval.reporting import figures
from agenteval.reporting.comparison import Section
from agenteval.reporting.escape import for_markdown, markdown_fence
from agenteval.reporting.explain import HowDecided, why
from agenteval.reporting.items import Item, items, more_detail
from agenteval.reporting.labels import Labels
from agenteval.reporting.level import GOOD_MARKS
from agenteval.reporting.reading import (
    Entry,
    entries,
    facts,
    header,
    holds,
    overview,
    provisional,
    reply_text,
    setup,
    told,
    unscored,
)
from agenteval.reporting.report import RunReport


async def markdown_report(report: RunReport, lang: Language) -> AsyncIterator[str]:
    labels = Labels(lang)
    yield "".join(_head(report, labels))
    yield f"\n## {for_markdown(labels('cases'))}\n\n"
    yield "".join(_table([labels(name) for name in ("L3", "scenario", "case", "L1", "L2", "rules")], ()))
    decided = HowDecided(labels)
    unmeasured: dict[tuple[str, str], RuleResult] = {}
    async for entry in entries(report):
        level = f"{entry.level.mark} {labels(f'level.{entry.level}')}"
        yield _row([level, entry.place.scenario, *overview(entry, labels), labels.listed(told(entry, labels))])
        decided.add(entry)
        unmeasured |= {(str(r.cause), r.label): r for r in entry.results if r.cause}
    async for entry in entries(report):
        if entry.needs_reasons:
            yield "".join(_entry(entry, labels))
    yield "".join(_foot(report, unmeasured.values(), decided.lines(), labels))


def markdown_sections(sections: Iterable[Section]) -> str:
    """Tables and lines under their titles."""
    return "\n".join("".join(_section(section)) for section in sections)


def _section(section: Section) -> Iterator[str]:
    if section.title:
        yield f"## {for_markdown(section.title)}\n\n"
    if section.columns:
        yield from _table(section.columns, section.rows)
    else:
        yield from (f"{for_markdown(line)}\n" for (line,) in section.rows)


def _head(report: RunReport, labels: Labels) -> Iterator[str]:
    run, summary = report.run, report.summary
    yield f"# {for_markdown(run.name or run.id)}\n\n"
    yield from _list(header(run, labels))
    if notice := provisional(run, labels):
        yield f"\n> {for_markdown(notice)}\n"
    yield f"\n## {for_markdown(labels('summary'))}\n\n"
    columns = ("measure", "value", "measured", "worst_case", "interval")
    rows = ((f.label, f.value, f.measured, f.worst_case, f.interval, f.note) for f in figures.figures(summary, labels))
    yield from _table([*map(labels, columns), ""], rows)
    yield "\n"
    levels = [f"{level.mark} {labels(f'level.{level}')} {n}" for level, n in figures.levels(summary)]
    yield from _list([(labels("levels"), " · ".join(levels)), *figures.notes(report, labels)])
    shares = [(labels("kind.slot"), summary.slots), (labels("kind.step"), summary.steps)]
    if summary.slots or summary.steps:
        yield "\n"
        rates = (
            (f"{kind} {name}", figures.share(of, labels)) for kind, all_of in shares for name, of in all_of.items()
        )
        yield from _table([labels("item"), labels("heat.rate")], rates)


def _entry(entry: Entry, labels: Labels) -> Iterator[str]:
    yield f"\n## {entry.level.mark} {for_markdown(entry.name(labels))}\n\n"
    if entry.attempt is None:
        return
    yield from (f"- {for_markdown(sentence)}\n" for sentence in why(entry.attempt, labels))
    for result in entry.results:
        yield from _result(result, labels)
    yield f"\n**{for_markdown(labels('dialog'))}**\n"
    for turn in entry.attempt.dialog:
        yield from _turn(turn, labels)


def _result(result: RuleResult, labels: Labels) -> Iterator[str]:
    score = labels("colon").join([labels("score"), figures.score(result.score)])
    yield f"\n### {GOOD_MARKS[holds(result)]} {for_markdown(result.label)}\n\n"
    yield for_markdown(" · ".join([score, *facts(result, labels)])) + "\n"
    if result.reason:
        yield f"\n> {for_markdown(result.reason)}\n"
    if found := items(result.detail):
        yield "\n"
        yield from _items(found, labels)
    if rest := more_detail(result.detail, labels):
        yield "\n"
        yield from _list(rest)


def _items(found: Sequence[Item], labels: Labels) -> Iterator[str]:
    columns = ("item", "status", "value", "turn", "quote", "reason")
    yield from _table(
        ["", *map(labels, columns)],
        (
            (GOOD_MARKS[i.good], i.name, i.status_text(labels), i.value, i.turn_text(), _quotes(i, labels), i.reason)
            for i in found
        ),
    )


def _quotes(item: Item, labels: Labels) -> str:
    return labels("semicolon").join([*([item.quote] if item.quote else []), *item.against_text(labels)])


def _turn(turn: Turn, labels: Labels) -> Iterator[str]:
    latency = [] if turn.latency_ms is None else [figures.milliseconds(turn.latency_ms)]
    yield f"\n{for_markdown(' · '.join([labels('turn_n', n=turn.index + 1), labels('user')]))}\n\n"
    yield markdown_fence(turn.sent_message)
    for call in turn.tool_calls:
        ok = {True: ["tool.ok"], False: ["tool.failed"], None: []}[call.ok]
        yield f"\n{for_markdown(' · '.join([labels('tool'), call.name, *map(labels, ok)]))}\n\n"
        yield markdown_fence(f"{as_text(call.arguments)}\n→ {as_text(call.result)}")
    yield f"\n{for_markdown(' · '.join([labels('agent'), *latency]))}\n\n"
    yield markdown_fence(reply_text(turn, labels))


def _foot(
    report: RunReport, unmeasured: Iterable[RuleResult], policies: Iterable[str], labels: Labels
) -> Iterator[str]:
    if lines := unscored(report, unmeasured, labels):
        yield f"\n## {for_markdown(labels('unscored'))}\n\n"
        yield from (f"- {for_markdown(line)}\n" for line in lines)
    yield f"\n## {for_markdown(labels('policy'))}\n\n"
    yield from (f"- {for_markdown(policy)}\n" for policy in policies)
    yield f"\n## {for_markdown(labels('setup'))}\n\n"
    yield from _table(["", labels("value")], setup(report.run, labels))


def _list(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    return (f"- **{for_markdown(name) or '—'}** {for_markdown(value)}\n" for name, value in rows)


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield _row(columns)
    yield _row(["---"] * len(columns), raw=True)
    yield from map(_row, rows)


def _row(cells: Sequence[str], *, raw: bool = False) -> str:
    return "| " + " | ".join(cells if raw else map(for_markdown, cells)) + " |\n"
