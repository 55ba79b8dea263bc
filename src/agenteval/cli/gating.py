"""What a build demands of a run."""

from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agenteval.cli.invocation import GATE_FAILED, NOT_COMPLETED, Invocation
from agenteval.domain.exact import exact
from agenteval.domain.gate import Check, Demand, Gate, check
from agenteval.domain.records import RunStatus

if TYPE_CHECKING:
    from agenteval.bootstrap import App
    from agenteval.domain.comparison import Comparison
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
    from agenteval.services.compare import comparison

    run, summary = report.run, report.summary
    if gate and run.status is not RunStatus.COMPLETED:
        of = summary.attempts + summary.unmade
        invocation.note(
            f"gate: NOT CHECKED: run {run.id} is not complete, {summary.attempts} of {of} attempts have an outcome; "
            f"go on with: agenteval run --resume {run.id}"
        )
        return NOT_COMPLETED
    since = (await comparison(app.store, before, run)).comparison if before else None
    checks = check(gate, summary, since)
    invocation.note(*(f"gate: {'ok' if one.met else 'FAILED'}: {_said(one, since)}" for one in checks))
    return 0 if all(one.met for one in checks) else GATE_FAILED


def _said(one: Check, since: "Comparison | None") -> str:
    match one.demand:
        case Demand.MAX_UNSCORED:
            return f"{one.found} attempts without a level, {one.wanted} allowed"
        case Demand.NO_REGRESSION:
            return _regression(one, since)
        case rated:
            name = rated.removeprefix("min_").replace("_", " ")
            found = "was not measured" if one.found is None else f"is {_percent(one.found)}"
            return f"the {name} {found}, wanted {_percent(one.wanted)}"


def _regression(one: Check, since: "Comparison | None") -> str:
    if not since or not one.found:
        return "no case was measured in both runs: whether it fell behind cannot be said"
    dropped = [f"{c.measure.replace('_', ' ')} {_percent(c.before)} -> {_percent(c.after)}" for c in one.dropped]
    fell = [flip.case_id for flip in since.fell]
    parts = [", ".join(dropped) or f"no drop in {one.found} pairs that chance does not explain"]
    parts += [f"pass no more, or less often: {', '.join(fell[:10])}{', ...' if len(fell) > 10 else ''}"] if fell else []
    return "; ".join(parts)


def _percent(value: Fraction | int | None) -> str:
    from agenteval.reporting.figures import percent
    from agenteval.reporting.labels import Labels

    return percent(None if value is None else Fraction(value), Labels("en"))
