"""A run as JUnit XML, for CI systems: one test case for each attempt.

Passing decides: a failure is `<failure>`; what is not known to pass or fail is `<error>`; without rules, not run,
interrupted or superseded by a later attempt is `<skipped>`. A partial success passes, and its properties say so.
"""

from collections.abc import AsyncIterator, Iterator, Mapping
from datetime import datetime

from agenteval.domain.outcome import RuleResult
from agenteval.domain.text import Language
from agenteval.reporting import figures
from agenteval.reporting.escape import for_xml, for_xml_attribute
from agenteval.reporting.explain import why
from agenteval.reporting.items import items
from agenteval.reporting.labels import Labels
from agenteval.reporting.level import Level
from agenteval.reporting.reading import (
    Entry,
    entries,
    judge_text,
    l1_text,
    l2_text,
    provisional,
    result_status,
    turn_lines,
)
from agenteval.reporting.report import RunReport


async def junit_report(report: RunReport, lang: Language) -> AsyncIterator[str]:
    labels = Labels(lang)
    counts = dict.fromkeys(("tests", "failure", "error", "skipped"), 0)
    async for entry in entries(report):
        counts["tests"] += 1
        if kind := _kind(entry):
            counts[kind] += 1
    run = report.run
    totals = {
        "name": run.name,
        "tests": counts["tests"],
        "failures": counts["failure"],
        "errors": counts["error"],
        "skipped": counts["skipped"],
        "time": _seconds(run.created_at, run.finished_at),
    }
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield _open("testsuites", totals) + _open("testsuite", {**totals, "timestamp": run.created_at.isoformat()})
    of_run = {"run": run.id, "status": run.status, "target": run.config.get("target_name")}
    yield _properties({**of_run, "judge": judge_text(run, labels)})
    async for entry in entries(report):
        yield "".join(_testcase(entry, labels))
    if notice := provisional(run, labels):
        yield f"<system-err>{for_xml(notice)}</system-err>\n"
    yield "</testsuite>\n</testsuites>\n"


def _kind(entry: Entry) -> str | None:
    """The element that tells how it went; none for what passed."""
    outcome = entry.attempt.outcome if entry.attempt else None
    if outcome is None or entry.level is Level.NO_RULES:
        return "skipped"
    if outcome.passed is None:
        return "error"
    return None if outcome.passed else "failure"


def _testcase(entry: Entry, labels: Labels) -> Iterator[str]:
    attempt = entry.attempt
    time = _seconds(attempt.started_at, attempt.finished_at) if attempt else None
    yield _open("testcase", {"classname": entry.place.scenario, "name": entry.name(labels), "time": time})
    yield _properties(
        {
            "level": entry.level,
            "L1": l1_text(entry, labels),
            "L2": l2_text(entry, labels),
            **{f"rule.{result.label}": _rule_text(result, labels) for result in entry.results},
        }
    )
    if kind := _kind(entry):
        yield _ending(kind, entry, labels)
    if attempt and len(attempt.dialog):
        dialog = "\n".join(line for turn in attempt.dialog for line in turn_lines(turn, labels))
        yield f"<system-out>{for_xml(dialog)}</system-out>\n"
    yield "</testcase>\n"


def _ending(kind: str, entry: Entry, labels: Labels) -> str:
    if entry.attempt is None or entry.attempt.outcome is None:
        return _open(kind, {"message": labels(f"{entry.level}.note")}, closed=True)
    sentences = why(entry.attempt, labels)
    told = [r for r in entry.results if r.reason and (r.passed is not True or r.vetoes)]
    reasons = [labels("colon").join([r.label, r.reason]) for r in told]
    reasons += [
        labels("colon").join([r.label, item.name, item.status_text(labels), said])
        for r in entry.results
        for item in items(r.detail)
        for said in item.against_text(labels)
    ]
    attributes = {"message": " ".join(sentences), **({} if kind == "skipped" else {"type": entry.level})}
    return f"{_open(kind, attributes).rstrip()}{for_xml(chr(10).join([*sentences, *reasons]))}</{kind}>\n"


def _rule_text(result: RuleResult, labels: Labels) -> str:
    return f"{figures.score(result.score)} · {result_status(result, labels)}"


def _properties(values: Mapping[str, object]) -> str:
    shown = ((name, str(value)) for name, value in values.items() if value is not None)
    properties = "".join(_open("property", {"name": name, "value": value}, closed=True) for name, value in shown)
    return f"<properties>\n{properties}</properties>\n"


def _open(tag: str, attributes: Mapping[str, object], *, closed: bool = False) -> str:
    given = ((name, str(value)) for name, value in attributes.items() if value is not None)
    written = "".join(f' {name}="{for_xml_attribute(value)}"' for name, value in given)
    return f"<{tag}{written}{'/' if closed else ''}>\n"


def _seconds(began: datetime, ended: datetime | None) -> str | None:
    return None if ended is None else f"{(ended - began).total_seconds():.3f}"
