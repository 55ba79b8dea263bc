"""What waits for a person: as rows of a file to fill in, or one by one."""

from collections.abc import Iterable, Iterator
from typing import Any

import orjson

from agenteval.domain.evidence import Speaker
from agenteval.domain.json_value import as_text
from agenteval.domain.questions import Question
from agenteval.domain.records import Waiting
from agenteval.domain.review import UNCLEAR
from agenteval.reporting.csv_report import csv_lines
from agenteval.reporting.escape import for_csv
from agenteval.reporting.labels import Labels
from agenteval.reporting.reading import reply_text

COLUMNS = (
    *("run", "queue", "case", "repeat", "rule", "item", "question", "dialog", "machine", "shown", "verdicts"),
    *("verdict", "user", "agent", "tool", "note"),
)
"""The last five are for the person: a verdict, whose words show it (or "#2" for all of turn 2), a note."""


def csv_rows(waiting: Iterable[Waiting], labels: Labels) -> Iterator[str]:
    """For spreadsheets: UTF-8 with a byte order mark."""
    yield "\ufeff" + csv_lines([COLUMNS])
    for one in waiting:
        row = _row(one, labels)
        yield csv_lines([[for_csv(str(row[name])) for name in COLUMNS]])


def json_rows(waiting: Iterable[Waiting], labels: Labels) -> Iterator[str]:
    for one in waiting:
        yield orjson.dumps(_row(one, labels), option=orjson.OPT_APPEND_NEWLINE).decode()


def _row(one: Waiting, labels: Labels) -> dict[str, Any]:
    return {
        "run": one.attempt.key.run_id,
        "queue": one.queue,
        "case": one.place.case.id,
        "repeat": one.attempt.key.repeat,
        "rule": one.label,
        "item": one.item.name,
        "question": question(one),
        "dialog": "\n".join(dialog(one, labels)),
        "machine": one.item.word or "",
        "shown": "\n".join(shown(one, labels)),
        "verdicts": ", ".join([*one.item.verdicts, UNCLEAR]),
        **dict.fromkeys(("verdict", *(speaker.value for speaker in Speaker), "note"), ""),
    }


def question(one: Waiting) -> str:
    ask = one.item.ask
    return ask.text if isinstance(ask, Question) else " · ".join(str(part) for part in ask)


def shown(one: Waiting, labels: Labels) -> Iterator[str]:
    """The words that the machine's verdict rests on."""
    for quote in one.item.quotes.values():
        yield f"#{quote.turn + 1} {labels(quote.speaker.value)}{labels('colon')}{quote.text}"


def dialog(one: Waiting, labels: Labels) -> Iterator[str]:
    """Every turn, counted from 1; who said it before each text."""
    for turn in one.attempt.dialog:
        yield f"#{turn.index + 1} {labels('user')}{labels('colon')}{turn.sent_message}"
        for call in turn.tool_calls:
            yield f"   {labels('tool')}{labels('colon')}{call.name} {as_text(call.result)}".rstrip()
        yield f"   {labels('agent')}{labels('colon')}{reply_text(turn, labels)}"
