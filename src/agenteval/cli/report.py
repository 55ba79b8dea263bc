"""`agenteval report`"""

from pathlib import Path
from typing import Annotated

import typer

from agenteval.cli import reports
from agenteval.cli.invocation import Invocation
from agenteval.cli.loop import run_async
from agenteval.cli.reports import LAST, Format, Lang


def report(
    context: typer.Context,
    *,
    run: Annotated[str, typer.Argument(metavar="RUN", help='A run\'s id, or "last".')] = LAST,
    form: Annotated[Format, typer.Option("--format", "-f", help="How it is written.")] = Format.TERMINAL,
    file: Annotated[Path | None, typer.Option("--output", "-o", help="Into this file instead of stdout.")] = None,
    lang: Lang = None,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
) -> None:
    """Show what came of a run, whether it has ended or not."""
    from agenteval.bootstrap import app
    from agenteval.cli import output

    invocation: Invocation = context.obj
    chosen = Format.JSON if as_json else form
    output.writable(file)

    async def tell() -> None:
        async with app(invocation.settings()) as wired:
            found = await reports.report_of(wired, await reports.find(wired, run))
            if file:
                await reports.write(found, {chosen: file}, lang)
            else:
                await reports.show(found, chosen, lang)

    run_async(tell())
