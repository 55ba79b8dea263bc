"""`agenteval review`"""

import getpass
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agenteval.cli import output, reports
from agenteval.cli.invocation import Invocation
from agenteval.cli.loop import run_async
from agenteval.cli.reports import LAST, Lang

if TYPE_CHECKING:
    from agenteval.bootstrap import App
    from agenteval.domain.records import Run, Waiting
    from agenteval.domain.review import Statement
    from agenteval.reporting.labels import Labels


def review(
    context: typer.Context,
    *,
    run: Annotated[str, typer.Argument(metavar="RUN", help='A run\'s id, or "last".')] = LAST,
    sample: Annotated[
        int, typer.Option("--sample", min=0, help="Items drawn at random, by which the judge is measured.")
    ] = 50,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Items of each other queue at most.")] = 200,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Write the queue into this file (.csv or .jsonl) to fill in."),
    ] = None,
    given: Annotated[
        Path | None, typer.Option("--in", metavar="FILE", help="Take the verdicts from such a file.")
    ] = None,
    by: Annotated[str, typer.Option("--by", help="Who reviews. [default: the user's name]")] = "",
    lang: Lang = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print what the reviews tell of the judge as JSON.")] = False,
) -> None:
    """Confirm or overrule what was judged: what was not measured first, then where the judge's votes differ, where the
    layers disagree, what came out close, and a random sample.

    On a terminal a key gives the verdict; elsewhere --out and --in take a file. Outcomes and rates follow from it, no
    model is asked, and the machine's verdict is kept. Once part of the random sample is reviewed, the rates are also
    given freed of the judge's errors."""
    from agenteval.bootstrap import app
    from agenteval.domain.errors import InputError
    from agenteval.reporting.figures import reviewed
    from agenteval.reporting.json_report import review_members
    from agenteval.reporting.labels import Labels
    from agenteval.storage import attempts

    invocation: Invocation = context.obj
    invocation.writes(out, reads=[given] if given else [])
    if not (out or given) and not as_json and not sys.stdin.isatty():
        raise InputError("stdin is no terminal", fix="--out FILE writes the queue to fill in, --in FILE takes it back")

    async def work() -> None:
        async with app(invocation.settings(), create=False) as wired:
            found = await reports.find(wired, run)
            labels = Labels(lang or await reports.spoken(attempts.views(wired.store, found.id)))
            if given:
                await _take(wired, found, given, by or getpass.getuser(), invocation)
            if out:
                await _write(wired, found, out, labels, invocation, sample=sample, limit=limit)
            elif not given and not as_json:
                waiting = await wired.reviews.queue(found, sample=sample, limit=limit)
                await _ask(wired, found, waiting, by or getpass.getuser(), Desk(labels))
            figures = await wired.reviews.figures(found)
            if as_json:
                output.json(figures and review_members(figures))
            else:
                output.people(*reviewed(figures, labels))

    run_async(work())


async def _take(app: "App", run: "Run", path: Path, by: str, invocation: Invocation) -> None:
    from agenteval.datasets.verdicts import load

    made = await app.reviews.record(run, load(path), by)
    invocation.note(f"{len(made)} verdicts taken from {path}; `agenteval report {run.id}` shows what follows")


async def _write(
    app: "App", run: "Run", path: Path, labels: "Labels", invocation: Invocation, *, sample: int, limit: int
) -> None:
    from agenteval.reporting.review_queue import csv_rows, json_rows

    waiting = await app.reviews.queue(run, sample=sample, limit=limit)
    rows = csv_rows if path.suffix.lower() == ".csv" else json_rows
    with output.replacing(path) as file:
        file.writelines(rows(waiting, labels))
    invocation.note(
        f"{len(waiting)} items written to {path}; fill in the column verdict, then: "
        f"agenteval review {run.id} --in {path}"
    )


# ---- on a terminal ---------------------------------------------------------------------------------------------------

UNTOLD, QUIT = "0", "q"
_KEYS = "123456789"


class Desk:
    """Where one person sits: what is shown, and what is typed."""

    def __init__(
        self,
        labels: "Labels",
        key: Callable[[], str] = typer.getchar,
        line: Callable[[str], str] = input,
        show: Callable[..., None] = output.people,
    ) -> None:
        self.labels = labels
        self.key = key
        self.line = line
        self.show = show


async def _ask(app: "App", run: "Run", waiting: "list[Waiting]", by: str, desk: Desk) -> None:
    """One item after the other; each verdict is stored when it is given."""
    from agenteval.domain.errors import InputError

    labels = desk.labels
    if not waiting:
        desk.show(labels("review.nothing"))
    for n, one in enumerate(waiting, 1):
        _present(one, f"{n}/{len(waiting)}", desk)
        while True:
            word = _verdict(one, desk)
            if word == QUIT:
                return
            if not word:
                break
            try:
                await app.reviews.record(run, [_statement(one, word, desk)], by)
                break
            except InputError as error:
                desk.show(str(error))


def _present(one: "Waiting", place: str, desk: Desk) -> None:
    from agenteval.reporting.review_queue import dialog, question

    labels, item = desk.labels, one.item
    case = labels("aside", what=one.place.case.id, note=labels("repeat", n=one.attempt.key.repeat))
    desk.show("", f"── {place} · {labels(f'queue.{one.queue}')} · {case} · {one.label}", *dialog(one, labels), "")
    desk.show(f"{item.name}{labels('colon')}{question(one)}")
    machine = labels("item.unscored") if item.word is None else labels.get(f"item.{item.word}", item.word)
    reason = getattr(item.answer, "reason", "")
    desk.show(labels("review.machine", verdict=machine, reason=f" — {reason}" if reason else ""))


def _verdict(one: "Waiting", desk: Desk) -> str:
    """The person's word; nothing: the next item."""
    from agenteval.domain.review import UNCLEAR

    labels = desk.labels
    own = [] if one.item.word is None or one.item.word in one.item.verdicts else [one.item.word]
    words = [*own, *one.item.verdicts]
    by_key = len(words) <= len(_KEYS)
    told = [f"{n} {labels.get(f'item.{word}', word)}" for n, word in enumerate(words, 1)]
    desk.show("  ".join([*told, f"{UNTOLD} {labels('review.unclear')}"]), labels("review.keys"))
    while True:
        typed = (desk.key() if by_key else desk.line("> ")).strip()
        if typed in ("", QUIT):
            return typed
        if typed == "\x03":  # Ctrl-C, where a key is read raw
            raise KeyboardInterrupt
        if typed == UNTOLD:
            return UNCLEAR
        if typed.isdecimal() and 1 <= int(typed) <= len(words):
            return words[int(typed) - 1]


def _statement(one: "Waiting", word: str, desk: Desk) -> "Statement":
    """With the words that show it, as far as the machine did not find them, and a note when it overrules."""
    from agenteval.domain.review import UNCLEAR, Statement

    labels = desk.labels
    needed = () if word == UNCLEAR else [q.speaker for q in one.item.missing(word)]
    words = {speaker: desk.line(labels("review.words", who=labels(speaker.value))) for speaker in needed}
    note = "" if word == one.item.word else desk.line(labels("review.note")).strip()
    return Statement(one.place.case.id, one.attempt.key.repeat, one.label, one.item.name, word, words, note)
