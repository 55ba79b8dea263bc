"""`agenteval rescore`"""

from typing import TYPE_CHECKING, Annotated

import orjson
import typer

from agenteval.cli import reports
from agenteval.cli.invocation import Invocation
from agenteval.cli.loop import run_async
from agenteval.cli.reports import LAST, Format, Lang

if TYPE_CHECKING:
    from agenteval.services.rescore import Setting


def rescore(
    context: typer.Context,
    *,
    run: Annotated[str, typer.Argument(metavar="RUN", help='A run\'s id, or "last".')] = LAST,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="success_threshold=0.7, or of a rule's type or label: task_completion.min_completion_rate=0.6.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
    lang: Lang = None,
) -> None:
    """Judge a run again from its stored answers. It makes a new run with the same dialogs and leaves the old one as it
    is; no agent is talked to and no model is asked. What has no stored answer is left unscored."""
    from agenteval.bootstrap import app

    invocation: Invocation = context.obj
    settings = [_setting(given) for given in set_ or []]

    async def tell() -> None:
        async with app(invocation.settings(), create=False) as wired:
            before = await reports.find(wired, run)
            made = await wired.rescores.rescore(before, settings)
            invocation.note(
                f"run {made.id}: {before.id} judged again; what changed: agenteval compare {before.id} {made.id}"
            )
            report = await reports.report_of(wired, made)
            await reports.show(report, Format.JSON if as_json else Format.TERMINAL, lang)

    run_async(tell())


def _setting(given: str) -> "Setting":
    """The value is JSON, or else text. Raises InputError."""
    from agenteval.domain.errors import InputError
    from agenteval.services.rescore import Setting

    name, separator, value = given.partition("=")
    if not separator or not name.strip():
        raise InputError(f"is no NAME=VALUE: {given}", where="--set", fix="such as success_threshold=0.7")
    try:
        return Setting(name.strip(), orjson.loads(value))
    except orjson.JSONDecodeError:
        return Setting(name.strip(), value)
