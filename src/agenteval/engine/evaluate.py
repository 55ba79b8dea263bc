"""The only place where rules meet the panel: ask until nothing new comes, then conclude, then decide."""

import inspect
from collections.abc import Sequence
from dataclasses import dataclass, replace

from agenteval.domain.json_value import canonical
from agenteval.domain.judgement import decide
from agenteval.domain.outcome import CaseOutcome, ResultStatus, RuleResult
from agenteval.domain.ports import Call
from agenteval.domain.questions import Answers, Ask, Cause
from agenteval.domain.scenario import Case, EffectivePolicy
from agenteval.domain.transcript import Dialog, TurnStatus
from agenteval.judge.panel import Panel
from agenteval.rules.build import BoundRule

MAX_ROUNDS = 4


@dataclass(frozen=True, slots=True)
class Evaluation:
    """All that judging one dialog gave. `asks` are the questions by key, `answers` what was said to them."""

    asks: dict[str, Ask]
    answers: Answers
    calls: tuple[Call, ...]
    results: tuple[RuleResult, ...]
    outcome: CaseOutcome


async def evaluate(
    case: Case, dialog: Dialog, rules: Sequence[BoundRule], panel: Panel, policy: EffectivePolicy
) -> Evaluation:
    status = dialog[-1].status if len(dialog) else TurnStatus.OK
    if status is TurnStatus.NOT_DELIVERED:
        results = tuple(_placed(_skipped(bound, dialog[-1].error), bound) for bound in rules)
        return Evaluation({}, Answers(), (), results, decide(results, policy, status))
    asks, answers, calls, broken = await _ask(case, dialog, rules, panel)
    results = tuple(
        [_placed(await _concluded(bound, case, dialog, answers, broken.get(bound.label)), bound) for bound in rules]
    )
    return Evaluation(asks, answers, tuple(calls), results, decide(results, policy, status))


async def _ask(
    case: Case, dialog: Dialog, rules: Sequence[BoundRule], panel: Panel
) -> tuple[dict[str, Ask], Answers, list[Call], dict[str, Exception]]:
    asks: dict[str, Ask] = {}
    answers = Answers()
    calls: list[Call] = []
    broken: dict[str, Exception] = {}
    for _ in range(MAX_ROUNDS):
        new: dict[str, Ask] = {}
        for bound in rules:
            try:
                new.update({ask.key: ask for ask in bound.rule.ask(case, dialog, answers) if ask not in answers})
            except Exception as error:  # noqa: BLE001 - a plug-in's fault fails its own result, not the run
                broken[bound.label] = error
        if not new:
            break
        said = await panel.answer(dialog, list(new.values()))
        asks.update(new)
        answers.add(said.answers)
        calls.extend(said.calls)
    return asks, answers, calls, broken


async def _concluded(
    bound: BoundRule, case: Case, dialog: Dialog, answers: Answers, broken: Exception | None
) -> RuleResult:
    try:
        if broken is not None:
            raise broken
        result = bound.rule.evaluate(case, dialog, answers)
        result = await result if inspect.isawaitable(result) else result
        canonical(result.detail)  # what is not JSON could not be stored
        return result
    except Exception as error:  # noqa: BLE001 - as above
        return bound.rule.failed_to_score(Cause.RULE_ERROR, f"{type(error).__name__}: {error}")


def _skipped(bound: BoundRule, error: str) -> RuleResult:
    reason = f"the message could not be delivered: {error}"
    return RuleResult(bound.rule.name, ResultStatus.SKIPPED, reason=reason, version=bound.rule.version)


def _placed(result: RuleResult, bound: BoundRule) -> RuleResult:
    """The result in its case: what the scenario decided about the rule."""
    return replace(
        result,
        label=bound.label,
        layer=bound.layer,
        weight=bound.spec.weight,
        hard=bound.hard,
        implicit=bound.implicit,
    )
