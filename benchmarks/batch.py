"""Benchmarks whose requests to a judge go into a file, and whose answers come from files.

Nothing is kept between two calls: the secret is always the same, so the same data give the same requests, and files of
answers are all that it takes to get the same figures again.
"""

import argparse
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Generic, TypeVar

from agenteval.bootstrap import App, app
from agenteval.settings import Settings

T = TypeVar("T")
SECRET = bytes(32)
"""Instead of an installation's own. Only fences that agents could meet have to be unguessable."""


@dataclass(frozen=True, slots=True)
class Worked(Generic[T]):
    """`open`: the lines of the requests that have no answer; `problems`: what is wrong with the files of answers."""

    result: T
    open: Sequence[bytes]
    problems: Sequence[str] = ()


async def work_by_files(settings: Settings, work: Callable[[App], Awaitable[T]], answers: Sequence[Path]) -> Worked[T]:
    """`work` with what the files answer. An answer may lead to another request, and its answer be there, too: the work
    is done again until nothing new is asked. `settings.database_url` is a file of its own."""
    before: set[str] = set()
    while True:
        lines: list[bytes] = []
        problems: list[str] = []
        async with app(settings, lines.append) as wired:
            assert wired.batch
            for path in answers if before else ():
                with path.open("rb") as file:
                    problems += [problem async for problem in wired.batch.take_in(file, str(path))]
            result = await work(with_fixed_secret(wired))
            asked = set(wired.batch.asked)
        if asked == before or not answers:
            return Worked(result, lines, problems)
        before = asked


def with_fixed_secret(wired: App) -> App:
    return replace(wired, judging=replace(wired.judging, secret=SECRET))


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--batch-out", type=Path, metavar="F", help="write the judge's open requests (OpenAI Batch)")
    parser.add_argument("--batch-in", type=Path, action="append", default=[], metavar="F", help="take these answers")
    parser.add_argument(
        "--answers", type=Path, action="append", default=[], metavar="F", help="the same, and open requests stay so"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def by_files(given: argparse.Namespace) -> bool:
    return bool(given.batch_out or given.batch_in or given.answers)


def waits(given: argparse.Namespace, worked: Worked[T]) -> bool:
    """Whether answers are to be waited for; then the requests are written, if there is a place for them."""
    for problem in worked.problems:
        print(f"warning: {problem}", file=sys.stderr)
    if given.batch_out:
        given.batch_out.write_bytes(b"".join(sorted(worked.open)))
    if not worked.open:
        return False
    where = f"written to {given.batch_out}" if given.batch_out else "have no answer: write them with --batch-out F"
    print(f"{len(worked.open)} requests {where}; go on with their answers: --batch-in ANSWERS", file=sys.stderr)
    return not given.answers
