"""The judge's requests in a file instead of on their way, for the commands that judge."""

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agenteval.cli.invocation import Invocation

if TYPE_CHECKING:
    from agenteval.bootstrap import App

STDOUT = "-"
GO_ON = "--batch-in ANSWERS --batch-out NEXT"
"""How a run that waits for answers is resumed."""

BatchOut = Annotated[
    str,
    typer.Option(
        "--batch-out",
        metavar="FILE",
        help="Write the judge's requests into this file (OpenAI Batch, JSONL) and send none; - for stdout.",
    ),
]
BatchIn = Annotated[
    list[Path] | None,
    typer.Option("--batch-in", metavar="FILE", help="Take the judge's answers from this file; may be repeated."),
]
Final = Annotated[bool, typer.Option("--final", help="Leave unscored what the judge has not answered in a file.")]


@dataclass(frozen=True, slots=True)
class Batch:
    """What a command was told of files for the judge: nothing, and the judge is a server."""

    out: str = ""
    answers: Sequence[Path] = ()
    final: bool = False

    def __bool__(self) -> bool:
        return bool(self.out or self.answers or self.final)

    @property
    def on_stdout(self) -> bool:
        return self.out == STDOUT

    @property
    def file(self) -> Path | None:
        """That is written."""
        return Path(self.out) if self.out and not self.on_stdout else None

    @asynccontextmanager
    async def app(self, invocation: Invocation, *, create: bool = True) -> "AsyncIterator[App]":
        """The app, with what is in the files of answers; the file of requests is there at the end."""
        from agenteval.bootstrap import app

        settings = invocation.settings(batch=bool(self))
        failed: BaseException | None = None
        with self._requests() as write:
            async with app(settings, write, create=create) as wired:
                for path in self.answers:
                    assert wired.batch
                    with path.open("rb") as lines:
                        async for problem in wired.batch.take_in(lines, str(path)):
                            invocation.note(f"warning: {problem}")
                try:
                    yield wired
                except (Exception, SystemExit) as error:
                    if not wired.batch or not wired.batch.asked:
                        raise
                    failed = error  # after the file is in its place: it is needed, though nobody reads the report
        if failed:
            raise failed

    def open_requests(self, app: "App") -> int:
        """How many are to be waited for."""
        return len(app.batch.asked) if app.batch and not self.final else 0

    def told(self, app: "App", command: str) -> str:
        """What becomes of the open requests, and how `command` goes on."""
        from agenteval.cli import output

        n = output.counted(self.open_requests(app), "request")
        if not self.out:
            return f"{n} without an answer yet; write down: {command} --batch-out FILE, or end with --final"
        where = "stdout" if self.on_stdout else self.out
        return f"{n} written to {where}; go on with the answers: {command} {GO_ON}"

    @contextmanager
    def _requests(self) -> Iterator[Callable[[bytes], object] | None]:
        from agenteval.cli import output

        if not self:
            yield None
        elif self.on_stdout:
            with _told_at_the_end(output.machines) as write:
                yield write
        elif self.out:
            with (
                output.replacing(Path(self.out)) as file,
                _told_at_the_end(lambda line: file.write(line.decode())) as write,
            ):
                yield write
        else:
            yield lambda _: None


@contextmanager
def _told_at_the_end(write: Callable[[bytes], object]) -> Iterator[Callable[[bytes], object]]:
    """What cannot be written is no fault of the judge: its error is raised once the dialogs are stored, which wait."""
    failed: list[OSError] = []

    def unless_failed(line: bytes) -> None:
        if not failed:
            try:
                write(line)
            except OSError as error:
                failed.append(error)

    yield unless_failed
    if failed:
        raise failed[0]
