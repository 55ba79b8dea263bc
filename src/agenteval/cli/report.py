"""`agenteval report`"""

from pathlib import Path
from typing import Annotated

import typer

from agenteval.cli import reports
from agenteval.cli.gating import MaxUnscored, MinPassRate, MinSuccessRate, NoRegressionFrom, gated
from agenteval.cli.invocation import Invocation
from agenteval.cli.loop import run_async
from agenteval.cli.reports import LAST, Format, Lang
from agenteval.domain.gate import Gate


def report(
    context: typer.Context,
    *,
    run: Annotated[str, typer.Argument(metavar="RUN", help='A run\'s id, or "last".')] = LAST,
    form: Annotated[Format, typer.Option("--format", "-f", help="How it is written.")] = Format.TERMINAL,
    file: Annotated[Path | None, typer.Option("--output", "-o", help="Into this file instead of stdout.")] = None,
    min_success_rate: MinSuccessRate = None,
    min_pass_rate: MinPassRate = None,
    max_unscored: MaxUnscored = None,
    no_regression_from: NoRegressionFrom = "",
    lang: Lang = None,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
) -> None:
    """Show what came of a run, whether it has ended or not."""
    from agenteval.bootstrap import app

    invocation: Invocation = context.obj
    chosen = Format.JSON if as_json else form
    gate = Gate(min_success_rate, min_pass_rate, max_unscored, no_regression=bool(no_regression_from))
    invocation.writes(file)

    async def tell() -> int:
        async with app(invocation.settings(), create=False) as wired:
            before = await reports.find(wired, no_regression_from) if no_regression_from else None
            found = await reports.report_of(wired, await reports.find(wired, run))
            if file:
                await reports.write(found, {chosen: file}, lang)
            else:
                await reports.show(found, chosen, lang)
            return await gated(wired, gate, before, found, invocation)

    raise typer.Exit(run_async(tell()))
