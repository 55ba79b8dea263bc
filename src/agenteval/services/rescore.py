"""A run judged again from its stored answers, after a changed threshold or rule parameter. No agent is talked to and no
model is asked; the run itself stays as it is."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from agenteval.domain.errors import InputError
from agenteval.domain.exact import exact
from agenteval.domain.json_value import Json
from agenteval.domain.ports import Clock
from agenteval.domain.records import (
    AttemptKey,
    AttemptStarted,
    AttemptStatus,
    AttemptView,
    CaseRecord,
    Run,
    RunCase,
    RunStatus,
)
from agenteval.domain.review import Review
from agenteval.domain.scenario import Case, EffectivePolicy, Layer, RuleLogic, RuleSpec, VerdictPolicy
from agenteval.engine.drain import drain
from agenteval.engine.review import ReviewedCase
from agenteval.engine.time_limit import TimeLimit
from agenteval.rules.build import BoundRules, bind
from agenteval.services.judging import Judging
from agenteval.storage import attempts, reviews, runs
from agenteval.storage.memo import StoredMemo
from agenteval.storage.store import Store
from agenteval.storage.writer import Writer

_POLICY: Mapping[str, Callable[[Any], Any]] = {
    "rule_logic": RuleLogic,
    "verdict_policy": VerdictPolicy,
    **dict.fromkeys(("rule_pass_threshold", "success_threshold", "partial_threshold"), exact),
}
_PLACED: Mapping[str, Callable[[Any], Any]] = {"weight": exact, "layer": Layer, "hard": bool}


@dataclass(frozen=True, slots=True)
class Setting:
    """`name` is a threshold or policy of all cases (`success_threshold`), or a parameter of all rules of a type or
    label (`task_completion.min_completion_rate`; also `.weight`, `.layer`, `.hard`)."""

    name: str
    value: Json


class Rescores:
    def __init__(self, store: Store, clock: Clock, judging: Judging, new_id: Callable[[], str]) -> None:
        self._store = store
        self._clock = clock
        self._judging = judging
        self._new_id = new_id

    async def rescore(self, run: Run, settings: Sequence[Setting]) -> Run:
        """A new run with the same dialogs and reviews, which waits for nobody. What has no stored answer needs a judge.
        Raises InputError for a setting that does nothing or cannot be; nothing is stored then."""
        places = [view.place async for view in attempts.views(self._store, run.id)]
        changed = [replace(place, case=_changed(place.case, settings)) for place in places]
        _check(places, changed, settings)
        cases = {place.n: place.case for place in changed}
        made = replace(
            run,
            id=self._new_id(),
            config={**run.config, "rescored_from": run.id, "set": _all_set(run, settings)},
            created_at=self._clock.now(),
            status=RunStatus.RUNNING,
            finished_at=None,
            error="",
        )
        await runs.create(self._store, made, changed)
        rules = BoundRules()
        reviewed: list[Review] = []
        async with Writer(self._store) as sink:
            memo = StoredMemo(self._store, sink, self._clock)

            async def attempt(counted: tuple[Case, AttemptView]) -> None:
                case, old = counted
                panel = self._judging.recall(run.config["models"], memo, old.answers)
                time = TimeLimit(self._clock, None)
                known = await ReviewedCase.of(case, old.dialog, rules.of(case), panel, time)
                judged = await known.with_reviews(old.reviews)
                key = AttemptKey(made.id, old.key.n, case.id, old.key.repeat, 1)
                started = AttemptStarted(key, old.conversation_id, old.started_at)
                now = self._clock.now()
                await sink.put(
                    CaseRecord(
                        started,
                        old.dialog,
                        known.machine.asks,
                        known.machine.answers,
                        (),
                        judged.results,
                        judged.outcome,
                        now,
                    )
                )
                reviewed.extend(replace(review, id=self._new_id(), attempt_id=key.id) for review in old.reviews)

            await drain(self._counted(run, cases), attempt, workers=1, stop=asyncio.Event())
        await reviews.copy(self._store, reviewed)
        await runs.settle(self._store, made.id)
        waits = run.status is RunStatus.AWAITING_JUDGE
        status, error = (RunStatus.COMPLETED, "") if waits else (run.status, run.error)
        await runs.finish(self._store, made.id, status, self._clock.now(), error)
        return await runs.get(self._store, made.id)

    async def _counted(self, run: Run, cases: Mapping[int, Case]) -> AsyncIterator[tuple[Case, AttemptView]]:
        async for view in attempts.views(self._store, run.id):
            for attempt in view.attempts:
                judged = attempt.status in (AttemptStatus.FINISHED, AttemptStatus.AWAITING_JUDGE)
                if judged and not view.superseded(attempt):
                    yield cases[view.place.n], attempt


def _all_set(run: Run, settings: Sequence[Setting]) -> Json:
    """Since the agent was talked to."""
    before = run.config.get("set")
    return {**(before if isinstance(before, Mapping) else {}), **{one.name: one.value for one in settings}}


def _changed(case: Case, settings: Sequence[Setting]) -> Case:
    for setting in settings:
        rule, _, name = setting.name.rpartition(".")
        if not rule:
            case = replace(case, policy=replace(case.policy, **{name: _read(_POLICY, name, setting)}))
            continue
        labels = [bound.label for bound in bind(case) if not bound.implicit]
        case = replace(
            case,
            eval_rules=tuple(
                _with(spec, name, setting) if rule in (spec.type, label) else spec
                for spec, label in zip(case.eval_rules, labels, strict=True)
            ),
        )
    return case


def _with(spec: RuleSpec, name: str, setting: Setting) -> RuleSpec:
    if name in _PLACED:
        return replace(spec, **{name: _read(_PLACED, name, setting)})
    return replace(spec, params={**spec.params, name: setting.value})


def _read(readers: Mapping[str, Callable[[Any], Any]], name: str, setting: Setting) -> Any:
    if name not in readers:
        raise InputError(
            "there is no such setting", where=setting.name, fix=f"one of {', '.join(readers)}, or RULE.PARAM"
        )
    try:
        return readers[name](setting.value)
    except ValueError as error:
        raise InputError(str(error), where=setting.name) from error


def _check(before: Sequence[RunCase], after: Sequence[RunCase], settings: Sequence[Setting]) -> None:
    for place in after:
        bind(place.case, place.case.id)
        try:
            EffectivePolicy.of(place.case.policy)
        except ValueError as error:
            raise InputError(str(error), where=place.case.id) from error
    for setting in settings:
        if all(_changed(place.case, [setting]) == place.case for place in before):
            raise InputError("changes nothing: there is no such rule, or it has this value", where=setting.name)
