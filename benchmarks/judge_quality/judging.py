"""Labelled dialogs, judged as those of a run are."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence

from agenteval.bootstrap import App
from agenteval.domain.questions import Answers, Cause, Unscored
from agenteval.domain.scenario import Case
from agenteval.engine.drain import drain
from agenteval.engine.time_limit import CASE_LIMIT_S, TimeLimit
from agenteval.services.runs import Evaluator
from agenteval.storage.memo import StoredMemo
from agenteval.storage.writer import Writer
from benchmarks.judge_quality.cases import PARTS, Part, Verdict
from benchmarks.judge_quality.figures import Item
from benchmarks.judge_quality.gold import Measure, Row

UNDECIDED = Verdict(None, {})
Found = dict[tuple[Measure, str], Verdict]


async def judged(wired: App, rows: Sequence[Row], *, final: bool = False) -> list[Item]:
    """Every labelled item with the judge's verdict. What builds on answers is asked when they are there; `final`: at
    once, for no others will come. Raises ModelError when the judge cannot be reached."""
    await wired.judging.models.check()
    found: dict[str, Found] = {row.id: {} for row in rows}
    open_rows = rows
    for part in PARTS:
        waiting = await _judge(wired, open_rows, part, found)
        open_rows = [row for row in open_rows if final or row.id not in waiting]
    return [item for row in rows for item in _items(row, found[row.id])]


async def _judge(wired: App, rows: Sequence[Row], part: Part, found: Mapping[str, Found]) -> set[str]:
    """The ids of the rows whose answers are to be waited for. All others are stored when it returns."""
    waiting: set[str] = set()
    async with Writer(wired.store) as sink:
        evaluator = Evaluator(wired.judging.panel(StoredMemo(wired.store, sink, wired.clock)))

        async def judge(row: Row) -> None:
            if rules := part.rules(row):
                case = Case(row.id, tuple(turn.sent_message for turn in row.dialog), tuple(rules))
                evaluation = await evaluator.judge(case, row.dialog, TimeLimit(wired.clock, CASE_LIMIT_S))
                found[row.id].update(part.verdicts(row, evaluation))
                if _is_pending(evaluation.answers):
                    waiting.add(row.id)

        await drain(_each(rows), judge, workers=wired.judging.concurrency, stop=asyncio.Event())
    return waiting


def _items(row: Row, found: Found) -> Iterator[Item]:
    for measure, name, label in row.labels:
        verdict = found.get((measure, name), UNDECIDED)
        yield Item(measure, row.language, row.variant, row.parent, row.id, name, label, verdict.given, verdict.why)


def _is_pending(answers: Answers) -> bool:
    return any(isinstance(answer, Unscored) and answer.cause is Cause.PENDING for _, answer in answers)


async def _each(rows: Sequence[Row]) -> AsyncIterator[Row]:
    for row in rows:
        yield row
