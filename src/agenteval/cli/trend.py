"""`agenteval trend`"""

from typing import Annotated

import typer

from agenteval.cli import reports
from agenteval.cli.invocation import Invocation
from agenteval.cli.loop import run_async
from agenteval.cli.reports import Lang


def trend(
    context: typer.Context,
    *,
    target: Annotated[str, typer.Argument(metavar="TARGET", help="The target's name, as `agenteval runs` shows it.")],
    limit: Annotated[int, typer.Option(min=1, max=1000, help="So many of the newest runs.")] = 20,
    rescored: Annotated[
        bool, typer.Option("--rescored", help="With the runs that `agenteval rescore` made of others.")
    ] = False,
    lang: Lang = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show how the completed runs of a target came out, the oldest first."""
    from agenteval.bootstrap import app
    from agenteval.cli import output
    from agenteval.domain.errors import NotFound
    from agenteval.reporting import comparison
    from agenteval.storage import attempts
    from agenteval.storage.runs import of_target

    invocation: Invocation = context.obj

    async def tell() -> None:
        async with app(invocation.settings(), create=False) as wired:
            if not (runs := await of_target(wired.store, target, limit, rescored=rescored)):
                raise NotFound(
                    f"there is no completed run of {target!r}",
                    where=str(wired.store.path),
                    fix="`agenteval runs` shows which targets there are",
                )
            found = [(run, await wired.runs.summary(run)) for run in runs]
            spoken = lang or await reports.spoken(attempts.views(wired.store, runs[-1].id))
        if as_json:
            output.json(comparison.trend_members(found))
        else:
            reports.show_sections(comparison.trend(target, found, spoken), spoken)

    run_async(tell())
