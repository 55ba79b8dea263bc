"""`agenteval runs`"""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from agenteval.cli.invocation import Invocation
from agenteval.cli.loop import run_async

if TYPE_CHECKING:
    from agenteval.storage.runs import RunStats


def runs(
    context: typer.Context,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="So many at most.")] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the newest runs."""
    from agenteval.bootstrap import app
    from agenteval.cli import output
    from agenteval.storage.runs import listed

    invocation: Invocation = context.obj

    async def read() -> "list[RunStats]":
        async with app(invocation.settings(), create=False) as wired:
            return await listed(wired.store, limit)

    found = run_async(read())
    if as_json:
        output.json([_members(stats) for stats in found])
    elif found:
        output.table(map(_row, found), ("RUN", "BEGAN (UTC)", "STATUS", "DONE", "PASSED", "TARGET", "NAME"))
    else:
        invocation.note("there is no run yet; `agenteval run` makes one")


def _row(stats: "RunStats") -> tuple[str, ...]:
    run = stats.run
    return (
        run.id,
        f"{run.created_at:%Y-%m-%d %H:%M}",
        run.status,
        f"{stats.finished}/{stats.wanted}",
        f"{stats.passed}/{stats.known}" if stats.known else "-",
        str(run.config.get("target_name", "")),
        f"{run.name} (rescored from {run.rescored_from})" if run.rescored_from else run.name,
    )


def _members(stats: "RunStats") -> dict[str, Any]:
    run = stats.run
    return {
        "id": run.id,
        "name": run.name,
        "target": run.config.get("target_name"),
        "created_at": run.created_at,
        "finished_at": run.finished_at,
        "status": run.status,
        "error": run.error or None,
        "rescored_from": run.rescored_from,
        "wanted": stats.wanted,
        "finished": stats.finished,
        "passed": stats.passed,
        "known": stats.known,
        "levels": {"unsettled" if level is None else level: count for level, count in stats.levels.items()},
    }
