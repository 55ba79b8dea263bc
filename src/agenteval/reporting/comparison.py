"""Two runs beside each other, or the runs of a target in their order: in words for people, as JSON for programs."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from agenteval.domain.comparison import Change, Moved, RunComparison, Side
from agenteval.domain.json_value import as_text
from agenteval.domain.records import Run
from agenteval.domain.run_summary import RunSummary
from agenteval.domain.text import Language
from agenteval.reporting import figures
from agenteval.reporting.json_report import measure_members
from agenteval.reporting.labels import Labels
from agenteval.reporting.level import Level

LISTED = 50
"""Cases of a kind that are named for people; JSON has all."""


@dataclass(frozen=True, slots=True)
class Section:
    """A table under a title; without columns, lines. The first `fixed` columns hold numbers and short names."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    fixed: int = 1


def sections(of: RunComparison, lang: Language) -> list[Section]:
    labels = Labels(lang)
    names = [_named(run) for run in (of.before, of.after)]
    columns = ("measure", "before", "after", "change", "interval", "p_holm", "pairs")
    found = [
        Section(
            labels("compare.title", before=names[0], after=names[1]),
            tuple(map(labels, columns)),
            tuple(_change(change, labels) for change in of.comparison.changes if change.of),
            fixed=len(columns),
        )
    ]
    moved = [("fell", of.comparison.fell), ("rose", of.comparison.rose)]
    found += [_moved(name, cases, labels) for name, cases in moved if cases]
    if not any(cases for _, cases in moved):
        found.append(Section("", (), ((labels("none_moved"),),)))
    lists = {
        "only_before": of.comparison.only_before,
        "only_after": of.comparison.only_after,
        "changed_cases": of.changed_cases,
    }
    found += [Section(labels(name), (), ((_listed(ids, labels),),)) for name, ids in lists.items() if ids]
    if of.settings:
        rows = tuple((s.pointer, _value(s.before), _value(s.after)) for s in of.settings)
        found.append(Section(labels("settings"), tuple(map(labels, ("setting", "before", "after"))), rows))
    return found


def _named(run: Run) -> str:
    return f"{run.config.get('target_name') or run.name} {run.id}"


def _change(change: Change, labels: Labels) -> tuple[str, ...]:
    return (
        labels(change.measure),
        figures.percent(change.before, labels),
        figures.percent(change.after, labels),
        figures.points(change.difference, labels),
        figures.points_interval(change.interval, labels),
        figures.p_value(change.test, change.p_adjusted),
        labels("of", n=change.pairs, of=change.of),
    )


def _moved(name: str, cases: Sequence[Moved], labels: Labels) -> Section:
    rows = tuple(
        (case.case_id, _levels(case.before, labels), _levels(case.after, labels), _passing(case, labels))
        for case in cases[:LISTED]
    )
    title = labels(name, n=len(cases), passing=sum(case.passing != 0 for case in cases))
    return Section(title, tuple(map(labels, ("case", "before", "after", "passes"))), rows)


def _levels(side: Side, labels: Labels) -> str:
    """ "failure"; of several attempts "success 2, failure 1"."""
    counts = Counter(Level.UNSETTLED if level is None else Level(level.value) for level in side.levels)
    named = [(f"{level.mark} {labels(f'level.{level}')}", counts[level]) for level in Level if counts[level]]
    return labels.listed([name if len(side.levels) == 1 else f"{name} {n}" for name, n in named])


def _passing(case: Moved, labels: Labels) -> str:
    """Only where it changed."""
    if not case.passing:
        return ""
    if len(case.before.levels) == len(case.after.levels) == 1:
        return labels("passes_now" if case.passing > 0 else "passes_no_more")
    return " → ".join(labels("of", n=side.passed, of=side.known) for side in (case.before, case.after))


def _listed(ids: Sequence[str], labels: Labels) -> str:
    more = [labels("and_more", n=len(ids) - LISTED)] if len(ids) > LISTED else []
    return labels.listed([*ids[:LISTED], *more])


def _value(value: Any) -> str:
    return figures.NONE if value is None else as_text(value)


def members(of: RunComparison) -> dict[str, Any]:
    """As JSON. Rates stand as decimals and exactly; `p` is two-sided."""
    compared = of.comparison
    return {
        "format": "agenteval.comparison/1",
        "before": _run(of.before),
        "after": _run(of.after),
        "measures": {change.measure.value: _change_members(change) for change in compared.changes},
        "fell": [_moved_members(case) for case in compared.fell],
        "rose": [_moved_members(case) for case in compared.rose],
        "only_before": compared.only_before,
        "only_after": compared.only_after,
        "changed_cases": of.changed_cases,
        "settings": [{"pointer": s.pointer, "before": s.before, "after": s.after} for s in of.settings],
    }


def _run(run: Run) -> dict[str, Any]:
    return {
        "id": run.id,
        "name": run.name,
        "target": run.config.get("target_name"),
        "created_at": run.created_at,
        "rescored_from": run.rescored_from,
    }


def _change_members(change: Change) -> dict[str, Any]:
    test, bounds = change.test, change.interval
    return {
        "before": _decimal(change.before),
        "after": _decimal(change.after),
        "difference": _decimal(change.difference),
        "difference_exact": None if change.difference is None else str(change.difference),
        "low": bounds and bounds.low,
        "high": bounds and bounds.high,
        "test": test and test.method.value,
        "p": test and float(test.p),
        "p_error": test and test.error,
        "p_holm": _decimal(change.p_adjusted),
        "pairs": change.pairs,
        "fell": change.fell,
        "rose": change.rose,
        "of": change.of,
    }


def _moved_members(case: Moved) -> dict[str, Any]:
    return {"case": case.case_id, "before": _side(case.before), "after": _side(case.after)}


def _side(side: Side) -> dict[str, Any]:
    return {"levels": side.levels, "passed": side.passed, "n": side.known}


def _decimal(value: Fraction | None) -> float | None:
    return None if value is None else float(value)


def trend(target: str, runs: Sequence[tuple[Run, RunSummary]], lang: Language) -> list[Section]:
    """A row for each run, the oldest first, and each measure as a line of bars."""
    labels = Labels(lang)
    title = labels("trend.title", target=target)
    by_run = [(run, figures.figures(summary, labels)) for run, summary in runs]
    rows = tuple(
        (
            _which(run, labels),
            f"{run.created_at:%Y-%m-%d %H:%M}",
            *(_measured(f, labels) for f in found),
            found[-1].interval,
        )
        for run, found in by_run
    )
    columns = (*map(labels, ("run", "time", *figures.MEASURES)), labels("aside", what=labels("pass_rate"), note="95 %"))
    bars = tuple(
        (row[0].label, "".join(_bar(figure.of.value) for figure in row))
        for row in zip(*(found for _, found in by_run), strict=True)
        if any(figure.of.value is not None for figure in row)
    )
    return [Section(title, columns, rows, fixed=2), Section("", ("", ""), bars)]


def _which(run: Run, labels: Labels) -> str:
    if run.rescored_from is None:
        return run.id
    return labels("aside", what=run.id, note=labels("rescored_from", run=run.rescored_from))


def _measured(figure: figures.Figure, labels: Labels) -> str:
    return labels("aside", what=figure.value, note=figure.measured) if figure.of.of else figures.NONE


def _bar(value: Fraction | None) -> str:
    """An eighth of full height for each eighth begun; what was not measured is no bar."""
    return "·" if value is None else "▁▂▃▄▅▆▇█"[min(7, int(value * 8))]


def trend_members(runs: Sequence[tuple[Run, RunSummary]]) -> list[dict[str, Any]]:
    """As JSON, the oldest first."""
    return [
        {**_run(run), "measures": {name: measure_members(getattr(summary, name)) for name in figures.MEASURES}}
        for run, summary in runs
    ]
