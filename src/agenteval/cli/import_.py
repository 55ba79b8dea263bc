"""`agenteval import`"""

from pathlib import Path
from typing import Annotated

import typer

from agenteval.cli.invocation import Invocation
from agenteval.cli.loop import run_async


def import_(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `agenteval export` wrote; /dev/stdin: a pipe.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Take a run from a file into this database, all of it or nothing. Of a run that is here already nothing is
    changed."""
    from agenteval.bootstrap import app
    from agenteval.cli import output
    from agenteval.services import transfer

    invocation: Invocation = context.obj

    async def take() -> transfer.Taken:
        with file.open("rb") as lines:
            async with app(invocation.settings()) as wired:
                return await transfer.take(wired.store, lines, str(file))

    taken = run_async(take())
    if as_json:
        output.json({"run": taken.run.id, "new": taken.new})
    else:
        output.people(f"run {taken.run.id}: {'taken in' if taken.new else 'it is here already'}")
