"""Runs: planned from scenarios and a target, worked off, resumed, summarised."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TypeVar

from agenteval import __version__
from agenteval.channels.build import factory
from agenteval.domain.errors import AgentEvalError, ConfigError, InputError
from agenteval.domain.json_value import Json, as_text, canonical
from agenteval.domain.outcome import CaseOutcome, OutcomeCause, Source
from agenteval.domain.ports import Clock, Role
from agenteval.domain.records import Run, RunCase, RunStatus
from agenteval.domain.run_summary import RunSummary, Tally
from agenteval.domain.scenario import Case, EffectivePolicy, Layer, Policy, Scenario
from agenteval.domain.target import Target
from agenteval.domain.transcript import Dialog
from agenteval.engine.attempt import Setup, attempt
from agenteval.engine.converse import Agent
from agenteval.engine.drain import drain
from agenteval.engine.evaluate import Evaluation, evaluate
from agenteval.engine.plan import sample
from agenteval.engine.progress import Progress
from agenteval.engine.time_limit import CASE_LIMIT_S, TimeLimit
from agenteval.judge.panel import Panel
from agenteval.net.guard import Guard
from agenteval.net.limits import Limits
from agenteval.rules.build import BoundRules, bind
from agenteval.services.judging import Judging
from agenteval.storage import attempts, runs
from agenteval.storage.lock import working_on
from agenteval.storage.memo import StoredMemo
from agenteval.storage.store import Store
from agenteval.storage.writer import Writer

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Plan:
    """What is wanted. `target_source` is the target as it was written, before secrets were filled in: it is kept, so
    that the run can be resumed. `sample`: so many cases, chosen by `seed`; None: all. `policy` is the campaign's, which
    scenario and case override. `case_limit_s` is for each case, its dialog and its judgement; None: no limit."""

    scenarios: Sequence[Scenario]
    target: Target
    target_source: Json
    name: str = ""
    policy: Policy = field(default_factory=Policy)
    repeats: int = 1
    sample: int | None = None
    seed: int = 0
    case_limit_s: float | None = CASE_LIMIT_S


class Runs:
    def __init__(self, store: Store, clock: Clock, guard: Guard, judging: Judging, new_id: Callable[[], str]) -> None:
        self._store = store
        self._clock = clock
        self._guard = guard
        self._judging = judging
        self._new_id = new_id

    async def create(self, plan: Plan, stop: asyncio.Event) -> Run | None:
        """Store a run with its cases, once the target and each model that its rules use can be reached; None: `stop`
        came first. Raises InputError for what cannot be run, TargetError, ModelError; nothing is stored then."""
        places = _chosen(plan)
        run = Run(
            id=self._new_id(),
            name=plan.name or ", ".join(scenario.name for scenario in plan.scenarios),
            config=self._snapshot(plan, places),
            created_at=self._clock.now(),
            repeats=plan.repeats,
        )
        await self._reach(run, plan.target, stop)
        if stop.is_set():
            return None
        await runs.create(self._store, run, places)
        return run

    async def reopen(self, run: Run, target: Target, stop: asyncio.Event) -> None:
        """Look whether `run` can be gone on with: whether target and models can be reached, as far as it still needs
        them. Raises TargetError, ModelError; ConfigError when it was begun with other models. Nothing is changed."""
        if others := _others(run.config["models"], self._judging.description):
            raise ConfigError(
                f"run {run.id} was begun with other models than the settings now name: {others}",
                fix="set the same models again, or start a new run",
            )
        left = await runs.left(self._store, run)
        unjudged, _ = await runs.unjudged(self._store, run.id)
        if left:
            await self._reach(run, target, stop, talks=left > unjudged)

    async def _reach(self, run: Run, target: Target, stop: asyncio.Event, *, talks: bool = True) -> None:
        channel = factory(target).create(target, self._guard)

        async def check(_: None) -> None:
            if talks:
                await channel.check()
            await self._judging.models.check([Role(role) for role in _list(run.config["roles"])])

        try:
            # As work, so that a server that never answers does not hold up `stop`.
            await drain(_only(None), check, workers=1, stop=stop)
        finally:
            await channel.close()

    async def work(
        self,
        run: Run,
        target: Target,
        stop: asyncio.Event,
        changed: Callable[[Progress], None] = lambda _: None,
        *,
        final: bool = False,
    ) -> Run:
        """Work off what is left of a run that was created or reopened, and return it as it ends: completed, interrupted
        by `stop`, waiting for the answers to a batch file unless this is `final`, or failed because some dialogs could
        not be delivered or judged. An error that stops it is kept on the run and raised; what was done until then
        stays."""
        with working_on(self._store, run.id):
            if (known := await runs.get(self._store, run.id)).status is RunStatus.COMPLETED:
                return known
            await runs.resume(self._store, run.id)
            status, message = RunStatus.INTERRUPTED, ""
            try:
                await self._work(run, target, stop, changed)
                if not stop.is_set():
                    if final:
                        await runs.settle(self._store, run.id)
                    status, message = await self._ended(run)
            except AgentEvalError as error:
                status, message = RunStatus.FAILED, str(error)
                raise
            finally:
                await runs.finish(self._store, run.id, status, self._clock.now(), message)
        return await runs.get(self._store, run.id)

    async def _work(self, run: Run, target: Target, stop: asyncio.Event, changed: Callable[[Progress], None]) -> None:
        channels = factory(target)
        channel = channels.create(target, self._guard)
        progress = Progress(await runs.left(self._store, run), changed=changed)
        try:
            async with Writer(self._store) as sink:
                agent = Agent(
                    channel,
                    target,
                    asyncio.Semaphore(target.max_concurrency),
                    limiter=Limits(self._clock, requests_per_minute=target.messages_per_minute),
                    sends=channels.sends,
                    recorded=channels.recorded,
                )
                panel = self._judging.panel(StoredMemo(self._store, sink, self._clock))
                evaluator = Evaluator(panel)
                setup = Setup(
                    agent,
                    evaluator.judge,
                    sink,
                    self._clock,
                    self._judging.secret,
                    progress,
                    case_limit_s=run.config.get("case_limit_s"),  # type: ignore[arg-type]
                )
                await drain(
                    runs.work(self._store, run),
                    lambda work: attempt(work, setup),
                    # Twice, so that while the judge's limit is used up the next requests are ready.
                    workers=target.max_concurrency + 2 * self._judging.concurrency,
                    stop=stop,
                )
        finally:
            await channel.close()

    async def _ended(self, run: Run) -> tuple[RunStatus, str]:
        """What was not delivered or not judged says nothing of the agent: with such attempts a run is not complete."""
        if not (left := await runs.left(self._store, run)):
            return RunStatus.COMPLETED, ""
        unjudged, why_unjudged = await runs.unjudged(self._store, run.id)
        awaiting = await runs.awaiting(self._store, run.id)
        waiting = f"{awaiting} of the dialogs wait{'s' if awaiting == 1 else ''} for the judge's answers"
        if awaiting == left:
            return RunStatus.AWAITING_JUDGE, waiting
        faults = [waiting] if awaiting else []
        if undelivered := left - unjudged:
            why = await runs.undelivered(self._store, run.id)
            faults.append(f"{undelivered} of the dialogs could not be delivered: {why}")
        if unjudged := unjudged - awaiting:
            faults.append(f"{unjudged} of the dialogs could not be judged: {why_unjudged}")
        return RunStatus.FAILED, "; ".join(faults)

    async def summary(self, run: Run) -> RunSummary:
        tally = Tally()
        async for case_id, facts in attempts.facts(self._store, run.id):
            tally.add_case(case_id, facts)
        if run.status is not RunStatus.COMPLETED:
            rules = BoundRules()
            async for case, finished in runs.unmade(self._store, run):
                tally.add_unmade(run.repeats - finished, _expected(case, rules), begun=finished > 0)
            tally.add_awaiting(await runs.awaiting(self._store, run.id))
        return tally.summary(await attempts.usage(self._store, run.id), await attempts.votes(self._store, run.id))

    def _snapshot(self, plan: Plan, places: Sequence[RunCase]) -> Mapping[str, Json]:
        rules = {bound.rule.name: bound.rule for place in places for bound in bind(place.case)}
        return {
            "agenteval": __version__,
            "target": plan.target_source,
            "target_name": plan.target.name,
            "channel": plan.target.channel,
            "scenarios": [scenario.name for scenario in plan.scenarios],
            "policy": _policy_json(EffectivePolicy.of(plan.policy)),
            "repeats": plan.repeats,
            "sample": plan.sample,
            "seed": plan.seed,
            "case_limit_s": plan.case_limit_s,
            "models": self._judging.description,
            "roles": sorted({role for rule in rules.values() for role in rule.roles}),
            "rules": {name: rule.version for name, rule in sorted(rules.items())},
        }


class Evaluator:
    """Judges dialogs by the rules of their cases."""

    def __init__(self, panel: Panel) -> None:
        self._panel = panel
        self._rules = BoundRules()
        self._last = Policy(), EffectivePolicy.of(Policy())

    async def judge(self, case: Case, dialog: Dialog, time: TimeLimit) -> Evaluation:
        if case.policy is not self._last[0]:  # cases mostly share theirs; to find it again takes 1 µs
            self._last = case.policy, EffectivePolicy.of(case.policy)
        return await evaluate(case, dialog, self._rules.of(case), self._panel, self._last[1], time=time)


def _expected(case: Case, rules: BoundRules) -> CaseOutcome:
    """What is known of an attempt before it is made: the layers that its rules measure."""
    bound = rules.of(case)
    layers = {one.layer for one in bound}
    return CaseOutcome(
        success_level=None,
        passed=None,
        policy=EffectivePolicy.of(case.policy),
        source=Source.ERROR,
        cause=None if bound else OutcomeCause.NO_RULES,
        has_l1=Layer.L1 in layers,
        has_l2=Layer.L2 in layers,
    )


async def _only(item: T) -> AsyncIterator[T]:
    yield item


def _chosen(plan: Plan) -> list[RunCase]:
    """The cases of a run, with all that they inherit."""
    pairs = [(scenario, case) for scenario in plan.scenarios for case in scenario.cases]
    if not pairs:
        raise InputError("there is no case to run")
    if shared := [id_ for id_, count in Counter(case.id for _, case in pairs).items() if count > 1]:
        raise InputError(f"several cases have the id {', '.join(map(repr, shared))}", fix="an id is unique in a run")
    if plan.sample is not None:
        pairs = [pairs[i] for i in sample([f"{s.name}/{c.id}" for s, c in pairs], plan.sample, plan.seed)]
    return [
        RunCase(n, scenario.name, replace(case, policy=_merged(scenario, case, plan)))
        for n, (scenario, case) in enumerate(pairs)
    ]


def _merged(scenario: Scenario, case: Case, plan: Plan) -> Policy:
    policy = case.policy.over(scenario.policy).over(plan.policy)
    try:
        EffectivePolicy.of(policy)
    except ValueError as error:
        raise InputError(str(error), where=f"{scenario.name}/{case.id}", fix="given to the run and here") from error
    return policy


def _policy_json(policy: EffectivePolicy) -> dict[str, Json]:
    values = {f.name: getattr(policy, f.name) for f in fields(policy)}
    return {name: value if isinstance(value, str) else float(value) for name, value in values.items()}


def _list(value: Json) -> list[str]:
    return [str(item) for item in value] if isinstance(value, Sequence) else []


_NONE = {Role.JUDGE.value: "none, nor files for it by --batch-in or --batch-out"}


def _others(before: Json, now: Mapping[str, Json]) -> str:
    """Which models differ, in words; empty when none does."""
    known = before if isinstance(before, Mapping) else {}
    return "; ".join(
        f"{role} {as_text(known.get(role)) or 'none'}, now {as_text(model) or _NONE.get(role, 'none')}"
        for role, model in now.items()
        if canonical(known.get(role)) != canonical(model)
    )
