"""`agenteval validate`"""

from pathlib import Path
from typing import Annotated

import typer

from agenteval.cli.invocation import Invocation


def validate(
    context: typer.Context,
    scenarios: Annotated[list[Path], typer.Argument(metavar="SCENARIO", help="Files, or folders of files.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Check scenarios without running anything: every problem, and what an author should look at."""
    from agenteval.cli import output
    from agenteval.datasets.scenarios import load_all
    from agenteval.rules.build import bind

    invocation: Invocation = context.obj
    loaded = load_all(scenarios, bind)
    found = [{"name": one.scenario.name, "cases": len(one.scenario.cases), "warnings": one.warnings} for one in loaded]
    if as_json:
        output.json(found)
        return
    invocation.note(*(f"warning: {warning}" for one in loaded for warning in one.warnings))
    output.people(*(f"ok: {one.scenario.name}, cases: {len(one.scenario.cases)}" for one in loaded))
