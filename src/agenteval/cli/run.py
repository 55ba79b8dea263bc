"""`agenteval run`"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from agenteval.cli import reports
from agenteval.cli.batch import Batch, BatchIn, BatchOut, Final
from agenteval.cli.gating import MaxUnscored, MinPassRate, MinSuccessRate, NoRegressionFrom, gated, rate
from agenteval.cli.invocation import NOT_COMPLETED, Invocation
from agenteval.cli.loop import run_async, stopped_by_signals
from agenteval.cli.reports import FILES, Format, Lang
from agenteval.domain.errors import AgentEvalError, StorageError
from agenteval.domain.gate import Gate
from agenteval.domain.json_value import Json
from agenteval.domain.records import RunStatus
from agenteval.domain.scenario import EffectivePolicy, Policy, RuleLogic, VerdictPolicy
from agenteval.domain.text import Language
from agenteval.engine.time_limit import CASE_LIMIT_S

if TYPE_CHECKING:
    from agenteval.bootstrap import App
    from agenteval.domain.records import Run
    from agenteval.domain.scenario import Scenario
    from agenteval.domain.target import Target
    from agenteval.reporting.report import RunReport
    from agenteval.services.runs import Plan

Overrides: TypeAlias = "dict[str, Any]"
Start: TypeAlias = "Callable[[App, asyncio.Event], Awaitable[tuple[Run | None, Target]]]"

MAX_S = 1_000_000
"""Seconds that a time limit may be, eleven days; 0 or none is for more."""
POLICY = Policy.__match_args__
SETTLED = ("scenarios", "target", "name", "repeats", "sample", "seed", "case_timeout", *POLICY)
"""What a run keeps from its beginning to its end, however often it is resumed."""


def _threshold(name: str, about: str) -> Any:
    return typer.Option(f"--{name}", parser=rate, metavar="0..1", help=about)


def run(
    context: typer.Context,
    *,
    scenarios: Annotated[
        list[Path] | None, typer.Argument(metavar="SCENARIO", help="Scenario files, or folders of them.")
    ] = None,
    target: Annotated[
        str,
        typer.Option(
            "--target",
            "-t",
            metavar="TARGET",
            help="The agent: a file, or http://..., python:..., command:..., replay:...",
        ),
    ] = "",
    resume: Annotated[str, typer.Option("--resume", metavar="RUN", help='Go on with a run: its id, or "last".')] = "",
    name: Annotated[str, typer.Option(metavar="TEXT", help="The run's name. [default: the scenarios']")] = "",
    repeats: Annotated[int, typer.Option(min=1, max=1000, metavar="N", help="How often each case is run.")] = 1,
    sample: Annotated[int | None, typer.Option(min=1, metavar="N", help="Only so many cases, drawn by --seed.")] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**32, metavar="N", help="Of the sample.")] = 0,
    concurrency: Annotated[
        int | None, typer.Option(min=1, max=1000, metavar="N", help="Dialogs with the agent at one time.")
    ] = None,
    timeout: Annotated[
        float | None, typer.Option(min=0.001, max=MAX_S, metavar="SECONDS", help="For one reply of the agent.")
    ] = None,
    case_timeout: Annotated[
        float, typer.Option(min=0, max=MAX_S, metavar="SECONDS", help="For one dialog and its judgement; 0: no limit.")
    ] = CASE_LIMIT_S,
    rule_logic: Annotated[RuleLogic | None, typer.Option(help="How the rules of a case count together.")] = None,
    rule_pass_threshold: Annotated[
        Fraction | None, _threshold("rule-pass-threshold", "What the weighted mean of the rules must reach.")
    ] = None,
    verdict_policy: Annotated[VerdictPolicy | None, typer.Option(help="What decides a case.")] = None,
    success_threshold: Annotated[
        Fraction | None, _threshold("success-threshold", "Completion from which a case is a success.")
    ] = None,
    partial_threshold: Annotated[
        Fraction | None, _threshold("partial-threshold", "Completion from which a case is a partial success.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
    report_dir: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Write an HTML, JUnit, Markdown and JSON report into this folder."),
    ] = None,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write an HTML report.")] = None,
    junit: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a JUnit report.")] = None,
    markdown: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a Markdown report.")] = None,
    json_out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a JSON report.")] = None,
    min_success_rate: MinSuccessRate = None,
    min_pass_rate: MinPassRate = None,
    max_unscored: MaxUnscored = None,
    no_regression_from: NoRegressionFrom = "",
    batch_out: BatchOut = "",
    batch_in: BatchIn = None,
    final: Final = False,
    lang: Lang = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")] = False,
) -> None:
    """Evaluate an agent: hold the dialogs of scenarios with it, judge them, report.

    A policy given here is that of cases and scenarios that have none of their own. With --batch-out it ends with 0 and
    goes on with --resume and --batch-in once the judge's requests are answered; when something is demanded of the
    scores, which are not known by then, it ends with 3. Ctrl-C, too, leaves a report in each file that is named."""
    from agenteval.channels.build import factory
    from agenteval.datasets import targets
    from agenteval.datasets.scenarios import files_below
    from agenteval.services.runs import Plan
    from agenteval.settings import variable

    invocation: Invocation = context.obj
    policy = Policy(rule_logic, rule_pass_threshold, verdict_policy, success_threshold, partial_threshold)
    _consistent(context, resume, policy, begins=bool(scenarios and target))
    named = {Format.HTML: html, Format.JUNIT: junit, Format.MARKDOWN: markdown, Format.JSON: json_out}
    paths = {form: report_dir / name for form, name in FILES.items()} if report_dir else {}
    paths |= {form: path for form, path in named.items() if path}
    overrides: Overrides = {"timeout_s": timeout, "max_concurrency": concurrency}
    overrides = {name: value for name, value in overrides.items() if value is not None}
    start: Start
    read: list[Path] = []
    if resume:
        start = partial(_resume, resume, overrides, invocation)
    else:
        plan = Plan(
            scenarios=_load_scenarios(invocation, scenarios or []),
            target=replace(targets.load(target, factory, variable), **overrides),
            target_source=targets.source(target) | overrides,
            name=name,
            policy=policy,
            repeats=repeats,
            sample=sample,
            seed=seed,
            case_limit_s=case_timeout or None,
        )
        invocation.secrets |= plan.target.secrets
        read = [*files_below(scenarios or []), *_named(target), *_named(plan.target.params)]
        start = partial(_create, plan)
    gate = Gate(min_success_rate, min_pass_rate, max_unscored, no_regression=bool(no_regression_from))
    batch = Batch(batch_out, batch_in or (), final)
    invocation.writes(*paths.values(), batch.file, reads=[*read, *batch.answers])

    async def evaluated() -> int:
        async with batch.app(invocation, create=not (resume or no_regression_from)) as wired:
            before = await reports.find(wired, no_regression_from) if no_regression_from else None
            with stopped_by_signals(invocation.note) as stop:
                ended = await _work(wired, start, invocation, stop, batch, quiet=quiet)
            if ended is None or ended.status is RunStatus.INTERRUPTED:
                if ended and paths:
                    await _report(wired, ended, paths, None, lang)
                return stop.code
            form = None if batch.on_stdout else Format.JSON if as_json else Format.TERMINAL
            report = await _report(wired, ended, paths, form, lang)
            code = await gated(wired, gate, before, report, invocation)
        return NOT_COMPLETED if ended.status is RunStatus.FAILED else code

    raise typer.Exit(run_async(evaluated()))


def _consistent(context: typer.Context, resume: str, policy: Policy, *, begins: bool) -> None:
    """Fails with a usage error."""
    settled = [name for name in SETTLED if str(context.get_parameter_source(name)).endswith("COMMANDLINE")]
    if resume and settled:
        names = ", ".join(name.replace("_", "-") for name in settled)
        context.fail(f"--resume does not go with {names}: a run keeps what it began with")
    if not resume and not begins:
        context.fail("give SCENARIO... and --target, or --resume RUN")
    try:
        EffectivePolicy.of(policy)
    except ValueError as error:
        context.fail(str(error))


def _load_scenarios(invocation: Invocation, paths: list[Path]) -> "list[Scenario]":
    from agenteval.datasets.scenarios import load_all
    from agenteval.rules.build import bind

    loaded = load_all(paths, bind)
    invocation.note(*(f"warning: {warning}" for one in loaded for warning in one.warnings))
    return [one.scenario for one in loaded]


def _named(params: Json) -> Iterator[Path]:
    """The files that a target or its parameters name: recorded dialogs, the agent itself."""
    match params:
        case str():
            for word in (params, params.rpartition(":")[0], *params.split()):
                with suppress(OSError):  # no name of a file
                    if Path(word).is_file():
                        yield Path(word)
        case Mapping():
            yield from _named(list(params.values()))
        case list() | tuple():
            for part in params:
                yield from _named(part)


async def _create(plan: "Plan", app: "App", stop: asyncio.Event) -> "tuple[Run | None, Target]":
    return await app.runs.create(plan, stop), plan.target


async def _resume(
    reference: str, overrides: Overrides, invocation: Invocation, app: "App", stop: asyncio.Event
) -> "tuple[Run | None, Target]":
    from agenteval.channels.build import factory
    from agenteval.datasets import targets
    from agenteval.settings import variable

    run = await reports.find(app, reference)
    target = replace(targets.reload(run.config["target"], factory, variable), **overrides)
    invocation.secrets |= target.secrets
    await app.runs.reopen(run, target, stop)
    return run, target


async def _work(
    app: "App", start: "Start", invocation: Invocation, stop: asyncio.Event, batch: Batch, *, quiet: bool
) -> "Run | None":
    """The run as it ended; None when it was stopped before it was begun. What stops it by itself is raised."""
    from agenteval.cli import progress

    run, target = await start(app, stop)
    if run is None:
        invocation.note("stopped before anything was begun")
        return None
    if not quiet:
        judge = app.judging.models.judge
        invocation.note(f"run {run.id}: {target.name}, judge: {judge.id if judge else 'built-in'}")
    if run.status is RunStatus.COMPLETED and batch.answers:
        late = ", ".join(map(str, batch.answers))
        invocation.note(
            f"warning: run {run.id} is complete and takes no more answers: nothing of {late} counts in it; "
            "a new run asks again"
        )
    command = f"agenteval run --resume {run.id}"
    again = f"{command} --batch-out FILE" if batch else command
    try:
        with progress.shown(quiet=quiet) as changed:
            ended = await app.runs.work(run, target, stop, changed, final=batch.final)
    except AgentEvalError as error:
        error.fix = "; ".join(filter(None, (error.fix, f"then {again}")))
        raise
    if ended.status is RunStatus.INTERRUPTED:
        invocation.note(f"stopped; go on with: {again}")
    if ended.status is RunStatus.FAILED:
        invocation.note(f"error: {ended.error}; try them again with: {again}")
    if ended.status is RunStatus.AWAITING_JUDGE:
        invocation.note(f"{ended.error}: {batch.told(app, command)}")
    return ended


async def _report(
    app: "App", run: "Run", paths: Mapping[Format, Path], form: Format | None, lang: Language | None
) -> "RunReport":
    """Into files, and on stdout, if `form` is one, whatever becomes of those."""
    report = await reports.report_of(app, run)
    try:
        await reports.write(report, paths, lang)
    except StorageError as error:
        error.fix = f"run {run.id} is stored; to write it again: agenteval report {run.id} -f FORMAT -o FILE"
        raise
    finally:
        if form:
            await reports.show(report, form, lang)
    return report
