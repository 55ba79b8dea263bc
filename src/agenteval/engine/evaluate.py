"""The only place where rules meet the panel: ask until nothing new comes, then conclude, then decide."""

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Any

from agenteval.domain.json_value import canonical
from agenteval.domain.judgement import decide
from agenteval.domain.outcome import CaseOutcome, ResultStatus, RuleResult
from agenteval.domain.ports import Call
from agenteval.domain.questions import Answers, Ask, Cause, Judged, Unscored
from agenteval.domain.quick_init import quick_init
from agenteval.domain.scenario import Case, EffectivePolicy
from agenteval.domain.transcript import Dialog, TurnStatus
from agenteval.engine.time_limit import TimeLimit
from agenteval.judge.aside import aside, is_much
from agenteval.judge.panel import Panel
from agenteval.rules import MAX_ROUNDS
from agenteval.rules.build import BoundRule


@quick_init
@dataclass(frozen=True, slots=True)
class Evaluation:
    """All that judging one dialog gave. `asks` are the questions by key, `answers` what was said to them, and what
    people answered."""

    asks: dict[str, Ask]
    answers: Answers
    calls: tuple[Call, ...]
    results: tuple[RuleResult, ...]
    outcome: CaseOutcome


async def evaluate(
    case: Case,
    dialog: Dialog,
    rules: Sequence[BoundRule],
    panel: Panel,
    policy: EffectivePolicy,
    *,
    time: TimeLimit,
    reviews: Mapping[str, Judged[Any]] | None = None,
) -> Evaluation:
    """What has no answer when the time is up is not scored; it can be judged again. What people answered in `reviews`
    is not asked."""
    status = dialog[-1].status if len(dialog) else TurnStatus.OK
    if status is TurnStatus.NOT_DELIVERED:
        results = tuple(_placed(_skipped(bound, dialog[-1].error), bound) for bound in rules)
        return Evaluation({}, Answers(), (), results, decide(results, policy, status))
    left_s = time.left_s
    until_s = None if left_s is None else asyncio.get_running_loop().time() + left_s

    asks: dict[str, Ask] = {}
    answers = Answers(reviews=reviews)
    calls: list[Call] = []
    broken: dict[str, Exception] = {}
    for _ in range(MAX_ROUNDS):
        if is_much(dialog, len(rules)):
            new = await aside(_new, case, dialog, rules, answers, broken)
        else:
            new = _new(case, dialog, rules, answers, broken)
        if not new:
            break
        said = await panel.answer(dialog, list(new.values()), until_s=until_s)
        asks.update(new)
        answers.add({key: said.answers.get(key) or Unscored(Cause.MODEL_ERROR, str(time)) for key in new})
        calls.extend(said.calls)

    if is_much(dialog, max(len(rules), len(asks))):
        judged = await aside(_judged, case, dialog, rules, answers, broken)
    else:
        judged = _judged(case, dialog, rules, answers, broken)
    results = tuple(
        [
            _placed(result if isinstance(result, RuleResult) else await _awaited(bound, result, time, until_s), bound)
            for bound, result in zip(rules, judged, strict=True)
        ]
    )
    return Evaluation(asks, answers, tuple(calls), results, decide(results, policy, status))


def _new(
    case: Case, dialog: Dialog, rules: Sequence[BoundRule], known: Answers, broken: dict[str, Exception]
) -> dict[str, Ask]:
    """What the rules ask that is not known yet."""
    new: dict[str, Ask] = {}
    for bound in rules:
        try:
            new.update({ask.key: ask for ask in bound.rule.ask(case, dialog, known) if ask not in known})
        except Exception as error:  # noqa: BLE001 - a plug-in's fault fails its own result, not the run
            broken[bound.label] = error
    return new


def _judged(
    case: Case, dialog: Dialog, rules: Sequence[BoundRule], answers: Answers, broken: Mapping[str, Exception]
) -> list[RuleResult | Awaitable[RuleResult]]:
    """What each rule says, or what it has to wait for before."""
    judged: list[RuleResult | Awaitable[RuleResult]] = []
    for bound in rules:
        try:
            if bound.label in broken:
                raise broken[bound.label]
            result = bound.rule.evaluate(case, dialog, answers)
            judged.append(_storable(result) if isinstance(result, RuleResult) else result)
        except Exception as error:  # noqa: BLE001 - as above
            judged.append(_failed(bound, error))
    return judged


async def _awaited(
    bound: BoundRule, result: Awaitable[RuleResult], time: TimeLimit, until_s: float | None
) -> RuleResult:
    limit = None
    try:
        async with asyncio.timeout_at(until_s) as limit:
            return _storable(await result)
    except Exception as error:  # noqa: BLE001 - as above
        if limit and limit.expired():
            return _unsettled(bound, Cause.MODEL_ERROR, str(time))
        return _failed(bound, error)


def _storable(result: RuleResult) -> RuleResult:
    """The result. Raises TypeError when its detail is not JSON."""
    canonical(result.detail)
    return result


def _failed(bound: BoundRule, error: Exception) -> RuleResult:
    return _unsettled(bound, Cause.RULE_ERROR, f"{type(error).__name__}: {error}")


def _unsettled(bound: BoundRule, cause: Cause, reason: str) -> RuleResult:
    """A rule that fails as a whole leaves open what becomes of each of its critical items."""
    rule = bound.rule
    return rule.failed_to_score(cause, reason, open_vetoes=rule.critical_items, detail=rule.unknown)


def _skipped(bound: BoundRule, error: str) -> RuleResult:
    reason = f"the message could not be delivered: {error}"
    rule = bound.rule
    return RuleResult(rule.name, ResultStatus.SKIPPED, reason=reason, version=rule.version, detail=rule.unknown)


def _placed(result: RuleResult, bound: BoundRule) -> RuleResult:
    """The result in its case: what the scenario decided about the rule."""
    return RuleResult(*_OWN(result), bound.label, bound.layer, bound.spec.weight, bound.hard, bound.implicit)  # type: ignore[call-arg]


_OWN = attrgetter(*(f.name for f in fields(RuleResult)[:-5]))
"""All but what the case decides, in 3 µs together with the result; `replace` takes 5."""
