"""`agenteval evaluate`"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agenteval.cli.batch import Batch, BatchIn, BatchOut, Final
from agenteval.cli.invocation import NOT_COMPLETED, Invocation
from agenteval.cli.loop import run_async

if TYPE_CHECKING:
    from agenteval.datasets.dialogs import RecordedDialog
    from agenteval.domain.scenario import RuleSpec
    from agenteval.services.evaluations import JudgedDialog

STDIN = "-"
COMPLETENESS = "conversation_completeness"


def evaluate(
    context: typer.Context,
    *,
    rule: Annotated[str, typer.Argument(metavar="RULE", help="Its name; `agenteval rules` lists them.")],
    file: Annotated[str, typer.Argument(metavar="FILE", help="Recorded dialogs: JSON, JSONL or CSV; - for stdin.")],
    params: Annotated[str, typer.Option(metavar="JSON", help="The rule's parameters, or @FILE that holds them.")] = "",
    case: Annotated[list[str] | None, typer.Option(metavar="ID", help="Only this dialog; may be repeated.")] = None,
    batch_out: BatchOut = "",
    batch_in: BatchIn = None,
    final: Final = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON; of several dialogs, a line for each.")] = False,
) -> None:
    """Judge recorded dialogs by one rule; no agent is needed.

    conversation_completeness always prints JSON. JSON is one indented object for one dialog, and a line for each of
    several; "id" comes first, unless it is a single dialog without one of its own. Ends with 3 when a dialog could not
    be scored. With --batch-out it ends with 0 and without results while requests of the judge are open; the same
    command with --batch-in goes on."""
    from agenteval.domain.outcome import ResultStatus
    from agenteval.domain.scenario import RuleSpec

    invocation: Invocation = context.obj
    spec = RuleSpec(rule, _params(params))
    dialogs = _dialogs(invocation, file, case or [])
    batch = Batch(batch_out, batch_in or (), final)
    invocation.writes(batch.file, reads=[Path(file), *_file(params), *batch.answers])
    judged = run_async(_judged(invocation, spec, dialogs, batch))
    if judged is None:
        return
    _show(judged, as_json=as_json or rule == COMPLETENESS)
    unscored = [one for one in judged if one.result.status in {ResultStatus.FAILED_TO_SCORE, ResultStatus.SKIPPED}]
    invocation.note(*(f"not scored: {one.recorded.id}: {one.result.reason}" for one in unscored))
    raise typer.Exit(NOT_COMPLETED if unscored else 0)


def _file(params: str) -> list[Path]:
    return [Path(params.removeprefix("@"))] if params.startswith("@") else []


def _params(given: str) -> dict[str, Any]:
    """Raises InputError."""
    from agenteval.datasets import files, json_text
    from agenteval.domain.errors import InputError

    if not given:
        return {}
    where = given.removeprefix("@") if given.startswith("@") else "--params"
    text = files.decode(files.read(Path(where)), where) if given.startswith("@") else given
    found = json_text.parse(text, where, as_written=True).value
    if not isinstance(found, dict):
        raise InputError("must be a JSON object", where=where, fix='such as {"min_score": 8}')
    return found


def _dialogs(invocation: Invocation, file: str, ids: Sequence[str]) -> "list[RecordedDialog]":
    """Raises InputError."""
    from agenteval.datasets import dialogs
    from agenteval.domain.errors import InputError

    loaded = dialogs.loads(sys.stdin.buffer.read(), "stdin") if file == STDIN else dialogs.load(Path(file))
    invocation.note(*(f"warning: {warning}" for warning in loaded.warnings))
    if unknown := set(ids) - loaded.by_id.keys():
        raise InputError(f"there is no dialog {', '.join(sorted(unknown))}", where=file)
    return [recorded for recorded in loaded.dialogs if not ids or recorded.id in ids]


async def _judged(
    invocation: Invocation, spec: "RuleSpec", dialogs: "Sequence[RecordedDialog]", batch: Batch
) -> "list[JudgedDialog] | None":
    """None while answers to a batch are waited for."""
    async with batch.app(invocation) as wired:
        judged = await wired.evaluations.judge(spec, dialogs)
        if not batch.open_requests(wired):
            return judged
        invocation.note(batch.told(wired, f"agenteval evaluate {spec.type} ..."))
        return None


def _show(judged: "Sequence[JudgedDialog]", *, as_json: bool) -> None:
    from agenteval.cli import output
    from agenteval.reporting.json_report import result_members
    from agenteval.reporting.terminal import print_result
    from agenteval.rules.completeness.output import output as completeness

    several = len(judged) > 1
    for one in judged:
        if not as_json:
            output.people(one.recorded.id)
            print_result(one.result, one.recorded.dialog.language, sys.stdout)
            continue
        members = completeness(one.result) if one.result.rule == COMPLETENESS else result_members(one.result)
        named = {"id": one.recorded.id} if several or one.recorded.named else {}
        output.json(named | members, indent=not several)
