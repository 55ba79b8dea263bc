"""What a build demands of a run."""

from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agenteval.cli.batch import GO_ON
from agenteval.cli.invocation import GATE_FAILED, NOT_COMPLETED, Invocation
from agenteval.cli.output import counted
from agenteval.domain.exact import exact
from agenteval.domain.gate import Check, Demand, Gate, check
from agenteval.domain.records import RunStatus

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agenteval.bootstrap import App
    from agenteval.domain.comparison import Change, Comparison
    from agenteval.domain.records import Run
    from agenteval.reporting.report import RunReport


def rate(text: str) -> Fraction:
    """Of a threshold on the command line, 0..1."""
    try:
        value = exact(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    if not 0 <= value <= 1:
        raise typer.BadParameter(f"must be within 0..1, not {text}")
    return value


def _at_least(name: str, what: str) -> Any:
    return typer.Option(f"--{name}", parser=rate, metavar="0..1", help=f"End with 1 when {what} is lower.")


MinSuccessRate = Annotated[Fraction | None, _at_least("min-success-rate", "the success rate")]
MinPassRate = Annotated[Fraction | None, _at_least("min-pass-rate", "the pass rate")]
MaxUnscored = Annotated[
    int | None,
    typer.Option(
        min=0, metavar="N", help="End with 1 when more attempts have no level. [default: 0 with such options]"
    ),
]
NoRegressionFrom = Annotated[
    str, typer.Option(metavar="RUN", help="End with 1 when a measure dropped since RUN and chance does not explain it.")
]


async def gated(app: "App", gate: Gate, before: "Run | None", report: "RunReport", invocation: Invocation) -> int:
    """Says of each demand whether it is met; the exit code. Of a run that is not complete nothing is said: what is
    still to come may change it."""
    from agenteval.services.compare import OVERRULED, comparison

    run, summary = report.run, report.summary
    if gate and run.status is not RunStatus.COMPLETED:
        of = summary.attempts + summary.unmade
        waits = f" {GO_ON}" if run.status is RunStatus.AWAITING_JUDGE else ""
        invocation.note(
            f"gate: NOT CHECKED: run {run.id} is not complete, {summary.attempts} of {of} attempts have an outcome; "
            f"go on with: agenteval run --resume {run.id}{waits}"
        )
        return NOT_COMPLETED
    compared = await comparison(app.store, before, run) if before else None
    for setting in compared.settings if compared else ():
        if setting.pointer == f"/{OVERRULED}":
            people = f"{setting.before or 0} items of the other run and {setting.after or 0} of this one"
            invocation.note(f"gate: note: people overruled {people}, which is no doing of the agent")
    since = compared.comparison if compared else None
    checks = check(gate, summary, since)
    invocation.note(*(f"gate: {'ok' if one.met else 'FAILED'}: {_said(one, since)}" for one in checks))
    return 0 if all(one.met for one in checks) else GATE_FAILED


def _said(one: Check, since: "Comparison | None") -> str:
    match one.demand:
        case Demand.MAX_UNSCORED:
            return f"{counted(int(one.found or 0), 'attempt')} without a level, {one.wanted} allowed"
        case Demand.NO_REGRESSION:
            return _regression(one, since)
        case rated:
            name = rated.removeprefix("min_").replace("_", " ")
            return f"the {name} {_against(one)}"


def _against(one: Check) -> str:
    """A rate and what was wanted, with as many digits as tell them apart."""
    from agenteval.reporting.figures import apart, percent
    from agenteval.reporting.labels import Labels

    wanted = Fraction(one.wanted or 0)
    if one.found is None:
        return f"was not measured, wanted {_percent(wanted)}"
    found, labels = Fraction(one.found), Labels("en")
    digits = apart(found, wanted)
    return f"is {percent(found, labels, digits)}, wanted {percent(wanted, labels, digits)}"


def _regression(one: Check, since: "Comparison | None") -> str:
    if not since or not one.found:
        return "; ".join(["no case was measured in both runs: whether it fell behind cannot be said", *_alone(since)])
    drops: dict[str, list[str]] = {}
    for change in since.changes:
        if change.difference is not None and change.difference < 0:
            drops.setdefault(_drop(change, counts=change in one.dropped), []).append(change.measure.replace("_", " "))
    told = [f"{' and '.join(names)} {drop}" for drop, names in drops.items()]
    fell = [case.case_id for case in since.fell if case.passing]
    told += [f"pass no more, or less often: {_named(fell)}"] if fell else []
    told = told or [f"no measure dropped on the {counted(int(one.found), 'case')} that both runs measured"]
    return "; ".join([*told, *_alone(since)])


def _alone(since: "Comparison | None") -> "Iterator[str]":
    sides = [("the other", since.only_before), ("this", since.only_after)] if since else []
    for run, case_ids in sides:
        if case_ids:
            yield f"in {run} run only, by scenario and id: {_named(case_ids)} ({counted(len(case_ids), 'case')})"


def _named(case_ids: "Sequence[str]") -> str:
    return f"{', '.join(case_ids[:10])}{', ...' if len(case_ids) > 10 else ''}"


def _drop(change: "Change", *, counts: bool) -> str:
    from agenteval.domain.gate import LEVEL, one_sided
    from agenteval.reporting.figures import number

    p = one_sided(change)
    chance = (
        "not chance"
        if p < LEVEL
        else "too few cases to tell it from chance, so it counts"
        if counts
        else "may be chance"
    )
    cases = f"{change.fell} of {change.pairs} cases fell, {change.rose} rose"
    return f"{_percent(change.before)} -> {_percent(change.after)} ({cases}; one-sided p {number(p)}: {chance})"


def _percent(value: Fraction | int | None) -> str:
    from agenteval.reporting.figures import percent
    from agenteval.reporting.labels import Labels

    return percent(None if value is None else Fraction(value), Labels("en"))
