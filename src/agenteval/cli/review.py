"""`agenteval review`"""

import getpass
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agenteval.cli import output, reports
from agenteval.cli.invocation import INTERRUPTED, Invocation
from agenteval.cli.loop import run_async
from agenteval.cli.reports import LAST, Lang

if TYPE_CHECKING:
    from agenteval.bootstrap import App
    from agenteval.domain.forms import Quote
    from agenteval.domain.records import Run, Waiting
    from agenteval.domain.review import Statement
    from agenteval.reporting.labels import Labels


CSV, JSONL = ".csv", ".jsonl"


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
    again: Annotated[bool, typer.Option("--again", help="Show what was reviewed already, too.")] = False,
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
    settings = invocation.settings()
    if out and (out.suffix.lower() not in (CSV, JSONL) or out.exists()):
        message = "exists, and may hold verdicts" if out.exists() else "is neither .csv nor .jsonl"
        raise InputError(message, where=str(out), fix="name another file")
    if not (out or given) and not as_json and not sys.stdin.isatty():
        raise InputError("stdin is no terminal", fix="--out FILE writes the queue to fill in, --in FILE takes it back")

    async def work() -> int:
        code = 0
        async with app(settings, create=False) as wired:
            found = await reports.find(wired, run)
            labels = Labels(lang or await reports.spoken(attempts.views(wired.store, found.id)))
            if given:
                await _take(wired, found, given, by or getpass.getuser(), invocation)
            if out or not (given or as_json):
                waiting = await wired.reviews.queue(found, sample=sample, limit=limit, again=again)
                if out:
                    _write(found, waiting, out, labels, invocation)
                else:
                    code = await _ask(wired, found, waiting, by or getpass.getuser(), Desk(labels))
            figures = await wired.reviews.figures(found)
            if as_json:
                output.json(figures and review_members(figures))
            else:
                output.people(*reviewed(figures, labels))
        return code

    raise typer.Exit(run_async(work()))


async def _take(app: "App", run: "Run", path: Path, by: str, invocation: Invocation) -> None:
    from agenteval.datasets.verdicts import load

    made = await app.reviews.record(run, load(path), by)
    invocation.note(f"verdicts taken from {path}: {len(made)}; `agenteval report {run.id}` shows what follows")


def _write(run: "Run", waiting: "list[Waiting]", path: Path, labels: "Labels", invocation: Invocation) -> None:
    from agenteval.reporting.review_queue import csv_rows, json_rows

    rows = csv_rows if path.suffix.lower() == CSV else json_rows
    with output.replacing(path) as file:
        file.writelines(rows(waiting, labels))
    told = f"fill in the column verdict, then: agenteval review {run.id} --in {path}" if waiting else "nothing waits"
    invocation.note(f"items written to {path}: {len(waiting)}; {told}")


# ---- on a terminal ---------------------------------------------------------------------------------------------------

UNTOLD, QUIT = "u", "q"
_KEYS = "123456789"


class Desk:
    """Where one person sits: what is shown, and what is typed. Ctrl-C while something is typed is KeyboardInterrupt."""

    def __init__(
        self,
        labels: "Labels",
        key: Callable[[], str] = typer.getchar,
        line: Callable[[str], str] = input,
        show: Callable[..., None] = output.people,
    ) -> None:
        self.labels = labels
        self.show = show
        self._key = key
        self._line = line

    def key(self) -> str:
        with _interruptible():
            return self._key()

    def line(self, prompt: str) -> str:
        with _interruptible():
            return self._line(prompt).strip()


@contextmanager
def _interruptible() -> Iterator[None]:
    """The loop's own handler waits until the loop goes on, which it does not while a person types."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


async def _ask(app: "App", run: "Run", waiting: "list[Waiting]", by: str, desk: Desk) -> int:
    """One item after the other; each verdict is stored when it is given. Returns the exit code."""
    from agenteval.domain.errors import InputError

    labels = desk.labels
    if not waiting:
        desk.show(labels("review.nothing"))
    try:
        for n, one in enumerate(waiting, 1):
            _present(one, f"{n}/{len(waiting)}", desk)
            while word := _verdict(one, desk):
                if word == QUIT:
                    return 0
                try:
                    await app.reviews.record(run, [_statement(one, word, desk)], by)
                    break
                except InputError as error:
                    desk.show(str(error))
    except EOFError:
        return 0
    except KeyboardInterrupt:
        desk.show("")
        return INTERRUPTED
    return 0


def _present(one: "Waiting", place: str, desk: Desk) -> None:
    from agenteval.reporting.review_queue import dialog, question, shown

    labels, item = desk.labels, one.item
    case = labels("aside", what=one.place.case.id, note=labels("repeat", n=one.attempt.key.repeat))
    desk.show("", f"── {place} · {labels(f'queue.{one.queue}')} · {case} · {one.label}", *dialog(one, labels), "")
    desk.show(f"{item.name}{labels('colon')}{question(one)}")
    machine = labels("item.unscored") if item.word is None else labels.get(f"item.{item.word}", item.word)
    reason = getattr(item.answer, "reason", "")
    desk.show(labels("review.machine", verdict=machine, reason=f" — {reason}" if reason else ""))
    desk.show(*(f"  {line}" for line in shown(one, labels)))


def _verdict(one: "Waiting", desk: Desk) -> str:
    """The person's word; nothing: the next item."""
    from agenteval.domain.review import UNCLEAR

    labels = desk.labels
    own = [] if one.item.word is None or one.item.word in one.item.verdicts else [one.item.word]
    words = [*own, *one.item.verdicts]
    points = all(word.isdecimal() for word in words)
    by_number = {str(n): word for n, word in enumerate(words, 1)}
    told = [f"{n} {labels.get(f'item.{word}', word)}" for n, word in by_number.items()]
    desk.show(labels("review.points") if points else "  ".join(told), labels("review.keys"))
    typed_as = {word: word for word in words} if points else by_number
    while True:
        typed = (desk.line("> ") if points or len(words) > len(_KEYS) else desk.key().strip()).lower()
        if typed in ("", QUIT):
            return typed
        if typed == UNTOLD:
            return UNCLEAR
        if typed in typed_as:
            return typed_as[typed]


def _statement(one: "Waiting", word: str, desk: Desk) -> "Statement":
    """With the words that show it, as far as the machine did not find them, and a note when it overrules."""
    from agenteval.domain.review import UNCLEAR, Statement

    needed = () if word == UNCLEAR else one.item.missing(word)
    words = {kind.speaker: _words(one, kind, desk) for kind in needed}
    note = "" if word == one.item.word else desk.line(desk.labels("review.note"))
    return Statement(one.place.case.id, one.attempt.key.repeat, one.label, one.item.name, word, words, note)


def _words(one: "Waiting", kind: "type[Quote]", desk: Desk) -> str:
    """Words that stand in the dialog."""
    from agenteval.judge.verify import located

    while True:
        said = desk.line(desk.labels("review.words", who=desk.labels(kind.speaker.value)))
        try:
            located(one.attempt.dialog, kind, said)
            return said
        except ValueError as error:
            desk.show(str(error))
