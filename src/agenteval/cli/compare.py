"""`agenteval compare`"""

from enum import StrEnum
from typing import Annotated

import typer

from agenteval.cli import reports
from agenteval.cli.invocation import Invocation
from agenteval.cli.loop import run_async
from agenteval.cli.reports import LAST, Lang


class Shape(StrEnum):
    TERMINAL = "terminal"
    JSON = "json"
    MARKDOWN = "markdown"


def compare(
    context: typer.Context,
    *,
    before: Annotated[str, typer.Argument(metavar="BEFORE", help="The id of the run to compare with.")],
    after: Annotated[str, typer.Argument(metavar="AFTER", help='The run that is compared: its id, or "last".')] = LAST,
    form: Annotated[Shape, typer.Option("--format", "-f", help="How it is written.")] = Shape.TERMINAL,
    lang: Lang = None,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
) -> None:
    """Compare two runs case by case: what changed, whether chance explains it, which cases and settings differ.

    Cases are paired by their ids. p-values are two-sided and adjusted for the number of measures (Holm)."""
    from agenteval.bootstrap import app
    from agenteval.cli import output
    from agenteval.reporting.comparison import members, sections
    from agenteval.reporting.markdown import markdown_sections
    from agenteval.services.compare import comparison
    from agenteval.storage import attempts

    invocation: Invocation = context.obj

    async def tell() -> None:
        async with app(invocation.settings(), create=False) as wired:
            runs = [await reports.find(wired, reference) for reference in (before, after)]
            found = await comparison(wired.store, *runs)
            spoken = lang or await reports.spoken(attempts.views(wired.store, runs[1].id))
        match Shape.JSON if as_json else form:
            case Shape.JSON:
                output.json(members(found))
            case Shape.MARKDOWN:
                output.machines(markdown_sections(sections(found, spoken)))
            case Shape.TERMINAL:
                reports.show_sections(sections(found, spoken), spoken)

    run_async(tell())
