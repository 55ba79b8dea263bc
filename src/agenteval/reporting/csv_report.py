"""A run as a table: a row for each rule of each attempt, for spreadsheets and data frames.

UTF-8 with a byte order mark, by which Excel knows it. An attempt without results, and a case without attempts, has one
row. What was not measured is an empty cell, never 0; numbers are decimals, because spreadsheets take 4/5 for a day in
April. Turns are counted from 0, as everywhere in data. Cells are cut at what Excel can hold.
"""

import csv
from collections.abc import AsyncIterator, Iterable, Iterator
from io import StringIO
from typing import Any

from agenteval.domain.outcome import RuleResult
from agenteval.reporting.escape import for_csv
from agenteval.reporting.items import items
from agenteval.reporting.json_report import outcome_members, result_members
from agenteval.reporting.reading import Entry, entries
from agenteval.reporting.report import RunReport

_OUTCOME = (
    *("success_level", "passed", "cause", "source", "l1_intent", "l2_completion", "weighted_score"),
    *("verdict_conflict", "layers_disagree"),
)
_RESULT = (
    *("label", "layer", "hard", "implicit", "weight", "status", "score", "low", "high", "passed", "cause"),
    "reason",
)
COLUMNS = (
    *("run_id", "scenario", "case_id", "case_name", "tags", "repeat", "attempt", "status", *_OUTCOME),
    *("started_at", "finished_at", "turns", "latency_max_ms", "error"),
    *("rule", *(f"rule_{name}" for name in _RESULT), "failed_items", "unscored_items"),
    *("evidence_turn_index", "evidence_speaker", "evidence_quote"),
    *("review_by", "review_verdicts", "machine_verdicts"),
)
MAX_CELL = 32_767
"""Characters."""


async def csv_report(report: RunReport) -> AsyncIterator[str]:
    yield "\ufeff" + csv_lines([COLUMNS])
    async for entry in entries(report):
        attempt = {"run_id": report.run.id, **_attempt(entry)}
        rows = [attempt | _result(result) | _reviewed(entry, result.label) for result in entry.results] or [attempt]
        yield csv_lines([_cell(row.get(name)) for name in COLUMNS] for row in rows)


def csv_lines(rows: Iterable[Iterable[str]]) -> str:
    text = StringIO()
    csv.writer(text, lineterminator="\r\n").writerows(rows)
    return text.getvalue()


def _cell(value: str | float | bool | None) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case str():
            return for_csv(value)[:MAX_CELL]
        case _:
            return repr(value)


def _attempt(entry: Entry) -> dict[str, Any]:
    case, attempt = entry.place.case, entry.attempt
    about = {"scenario": entry.place.scenario, "case_id": case.id, "case_name": case.name, "tags": _listed(case.tags)}
    if attempt is None:
        return {**about, "status": entry.level}
    outcome = outcome_members(attempt.outcome) if attempt.outcome else {}
    return {
        **about,
        "repeat": attempt.key.repeat,
        "attempt": attempt.key.attempt,
        "status": attempt.status if attempt.outcome else entry.level,
        **{name: outcome.get(name) for name in _OUTCOME},
        "started_at": attempt.started_at.isoformat(),
        "finished_at": attempt.finished_at and attempt.finished_at.isoformat(),
        "turns": len(attempt.dialog),
        "latency_max_ms": max((t.latency_ms for t in attempt.dialog if t.latency_ms is not None), default=None),
        "error": _listed(turn.error for turn in attempt.dialog if turn.error),
    }


def _result(result: RuleResult) -> dict[str, Any]:
    members = result_members(result)
    row = {"rule": result.rule, **{f"rule_{name}": members[name] for name in _RESULT}}
    row |= {"failed_items": _listed(_items(result, False)), "unscored_items": _listed(_items(result, None))}
    for span in result.evidence[:1]:
        row |= {"evidence_turn_index": span.turn, "evidence_speaker": span.speaker, "evidence_quote": span.text}
    return row


def _reviewed(entry: Entry, label: str) -> dict[str, str]:
    """What people said of the rule's items, the last of each, beside what the machine had said."""
    reviews = entry.attempt.reviews if entry.attempt else ()
    last = {review.item: review for review in reviews if review.label == label}
    return {
        "review_by": _listed(dict.fromkeys(review.by for review in last.values())),
        "review_verdicts": _listed(f"{item}={review.word}" for item, review in last.items()),
        "machine_verdicts": _listed(f"{item}={review.machine or 'unscored'}" for item, review in last.items()),
    }


def _items(result: RuleResult, good: bool | None) -> Iterator[str]:
    """Slots, steps and intents that count and came out so, as vetoes name them."""
    return (f"{item.kind}:{item.name}" for item in items(result.detail) if item.counts and item.good is good)


def _listed(texts: Iterable[str]) -> str:
    return "; ".join(texts)
