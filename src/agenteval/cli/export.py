"""`agenteval export`"""

from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agenteval.cli import reports
from agenteval.cli.invocation import Invocation
from agenteval.cli.loop import run_async
from agenteval.cli.reports import LAST

if TYPE_CHECKING:
    from agenteval.domain.records import Run


def export(
    context: typer.Context,
    *,
    run: Annotated[str, typer.Argument(metavar="RUN", help='A run\'s id, or "last".')] = LAST,
    file: Annotated[Path | None, typer.Option("--output", "-o", help="Into this file instead of stdout.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Tell on stdout what was written where, as JSON.")] = False,
) -> None:
    """Write a whole run as JSON lines, for `agenteval import` into another database. It holds the dialogs and all that
    models said, but no secrets. For other programs there is `agenteval report --format jsonl` or csv."""
    from agenteval.bootstrap import app
    from agenteval.cli import output
    from agenteval.services import transfer

    invocation: Invocation = context.obj
    if as_json and not file:
        context.fail("--json needs --output: stdout is where the run goes")
    invocation.writes(file)

    async def write() -> "Run":
        async with app(invocation.settings(), create=False) as wired:
            found = await reports.find(wired, run)
            async with aclosing(transfer.export(wired.store, found)) as pieces:
                await _write(pieces, file)
        return found

    written = run_async(write())
    if file:
        invocation.note(f"run {written.id}: written to {file}")
    if as_json:
        output.json({"run": written.id, "file": str(file)})


async def _write(pieces: AsyncIterator[str], file: Path | None) -> None:
    """Raises StorageError."""
    from agenteval.cli import output
    from agenteval.domain.errors import StorageError

    if not file:
        async for piece in pieces:
            output.machines(piece)
        return
    try:
        with output.replacing(file) as opened:
            async for piece in pieces:
                opened.write(piece)
    except BrokenPipeError:
        raise  # `-o /dev/stdout | head`
    except OSError as error:
        raise StorageError(f"cannot be written: {error.strerror}", where=str(file)) from error
