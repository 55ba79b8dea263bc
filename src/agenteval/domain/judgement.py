"""The case: from the results of its rules to L1, L2 and L3. The numbers in comments are the sections' of the
specification in docs/explanation/judgement.md, part 3."""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import product
from typing import NamedTuple, TypeVar

from agenteval.domain.exact import at_least
from agenteval.domain.outcome import CaseOutcome, OutcomeCause, ResultStatus, RuleResult, Source, SuccessLevel
from agenteval.domain.scenario import EffectivePolicy, Layer, RuleLogic, VerdictPolicy
from agenteval.domain.transcript import TurnStatus

MAX_LEAVING = 10
"""With more rules than this that may turn out not to apply, the level's bounds are not searched but left wide open."""

T = TypeVar("T")


class _Fixed(NamedTuple):
    """A rule in one world: everything unknown about it has come out one way."""

    result: RuleResult
    passed: bool
    score: Fraction
    fails_case: bool


class _World(NamedTuple):
    """One way in which everything unknown may have come out. `completed`: whether the layers alone say so. None:
    absent."""

    level: SuccessLevel | None
    source: Source
    completed: bool | None
    rules_passed: bool | None
    weighted: Fraction | None
    l1: bool | None
    l2: Fraction | None


def decide(
    results: Sequence[RuleResult], policy: EffectivePolicy, last_turn: TurnStatus = TurnStatus.OK
) -> CaseOutcome:
    """The outcome of an attempt from the results of its rules and the status of its last turn."""
    applicable = [result for result in results if result.applicable]
    layers = [result.layer for result in applicable]
    has_l1, has_l2 = Layer.L1 in layers, Layer.L2 in layers
    if last_turn is TurnStatus.NOT_DELIVERED:  # 2: our side or the settings, so nothing is said of the agent
        return CaseOutcome(None, None, policy, Source.ERROR, OutcomeCause.NOT_DELIVERED, has_l1=has_l1, has_l2=has_l2)
    leaving = _leaving(applicable)
    worlds = [_world(rules, policy) for rules in _possible(applicable, leaving)]
    verdict = _failed_target() if last_turn is not TurnStatus.OK else _verdict(worlds, leaving)
    certain = worlds[0] if len(worlds) == 1 else _World._make(map(_agreed, zip(*worlds, strict=True)))
    completed, rules_passed = certain.completed, certain.rules_passed
    l2_bounds = _extremes([world.l2 for world in worlds])
    return CaseOutcome(
        success_level=verdict.level,
        passed=verdict.passed,
        policy=policy,
        source=verdict.source,
        cause=verdict.cause,
        level_bounds=verdict.bounds,
        has_l1=has_l1,
        l1_intent=certain.l1,
        has_l2=has_l2,
        l2_completion=l2_bounds[0] if l2_bounds and l2_bounds[0] == l2_bounds[1] else None,
        l2_bounds=l2_bounds,
        rules_passed=rules_passed,
        weighted_score=certain.weighted,
        verdict_conflict=None if completed is None or rules_passed is None else completed != rules_passed,
        layers_disagree=certain.l1 is False
        and l2_bounds is not None
        and at_least(l2_bounds[0], policy.success_threshold),  # 8
    )


# 7: unknowns ----------------------------------------------------------------------------------------------------------


class _Verdict(NamedTuple):
    level: SuccessLevel | None
    passed: bool | None
    source: Source
    cause: OutcomeCause | None = None
    bounds: tuple[SuccessLevel, SuccessLevel] | None = None


def _failed_target() -> _Verdict:
    """2: the agent got the message and failed."""
    return _Verdict(SuccessLevel.FAILURE, False, Source.HARD, OutcomeCause.TARGET_ERROR)


def _verdict(worlds: Sequence[_World], leaving: Sequence[int]) -> _Verdict:
    levels = _extremes([world.level for world in worlds])
    if levels is None:
        return _Verdict(None, None, Source.ERROR, OutcomeCause.NO_RULES)
    worst, best = levels
    if len(worlds) == 1:
        return _Verdict(best, best is not SuccessLevel.FAILURE, worlds[0].source)
    if len(leaving) > MAX_LEAVING:
        worst, best = SuccessLevel.FAILURE, SuccessLevel.SUCCESS
    empty_world = any(world.level is None for world in worlds)
    if worst == best and not empty_world:
        source = next(world.source for world in worlds if world.level == best)
        return _Verdict(best, best is not SuccessLevel.FAILURE, source)
    passed = {worst is not SuccessLevel.FAILURE, best is not SuccessLevel.FAILURE} if not empty_world else set()
    return _Verdict(
        None, passed.pop() if len(passed) == 1 else None, Source.ERROR, OutcomeCause.UNSCORED, (worst, best)
    )


def _leaving(applicable: Sequence[RuleResult]) -> list[int]:
    return [i for i, r in enumerate(applicable) if r.may_leave and r.status is ResultStatus.FAILED_TO_SCORE]


def _possible(applicable: Sequence[RuleResult], leaving: Sequence[int]) -> Iterable[list[_Fixed]]:
    """Every choice of keeping or leaving out the rules that may leave, each all-best and all-worst; the outcome is
    monotone in between. The first is the all-best world that keeps them all."""
    if all(r.score is not None for r in applicable):  # in most cases there is nothing to go through
        yield [_fix(r, best=True) for r in applicable]
        return
    for kept in product((True, False), repeat=len(leaving)) if len(leaving) <= MAX_LEAVING else [()]:
        out = {i for i, keep in zip(leaving, kept, strict=False) if not keep}
        present = [r for i, r in enumerate(applicable) if i not in out]
        yield [_fix(r, best=True) for r in present]
        if any(r.status is not ResultStatus.SCORED for r in present):
            yield [_fix(r, best=False) for r in present]


def _fix(result: RuleResult, *, best: bool) -> _Fixed:
    low, high = result.bounds
    passed = best if result.passed is None else result.passed
    vetoed = bool(result.vetoes) or (not best and bool(result.open_vetoes))
    fails_case = vetoed or (not passed and (result.hard or result.implicit))
    return _Fixed(result, passed, high if best else low, fails_case)


# 1, 3-5: one world ----------------------------------------------------------------------------------------------------


def _world(rules: Sequence[_Fixed], policy: EffectivePolicy) -> _World:
    explicit = [rule for rule in rules if not rule.result.implicit]
    weighted = _weighted_mean(explicit)
    rules_passed = _combined(explicit, weighted, policy)
    l1_rules = [rule.passed for rule in rules if rule.result.layer is Layer.L1]
    l1 = all(l1_rules) if l1_rules else None
    l2 = _mean([rule.score for rule in rules if rule.result.layer is Layer.L2])
    layered = _layered(l1, l2, rules_passed, policy)
    level, source = _level(rules, layered, rules_passed, policy)
    completed = None if layered is None else layered is not SuccessLevel.FAILURE
    return _World(level, source, completed, rules_passed, weighted, l1, l2)


def _level(
    rules: Sequence[_Fixed], layered: SuccessLevel | None, rules_passed: bool | None, policy: EffectivePolicy
) -> tuple[SuccessLevel | None, Source]:
    if not rules:
        return None, Source.ERROR
    if any(rule.fails_case for rule in rules):  # 1
        return SuccessLevel.FAILURE, Source.HARD
    if rules_passed is None and layered is None:  # 4: only implicit rules, and none of them failed
        return SuccessLevel.SUCCESS, Source.HARD
    failed = rules_passed is False
    if layered is None or policy.verdict_policy is VerdictPolicy.RULES:  # 5
        return (SuccessLevel.FAILURE if failed else SuccessLevel.SUCCESS), Source.RULES
    if policy.verdict_policy is VerdictPolicy.STRICT:
        return (SuccessLevel.FAILURE if failed else layered), Source.STRICT
    return (min(layered, SuccessLevel.PARTIAL) if failed else layered), Source.LAYERED  # 4


def _layered(
    l1: bool | None, l2: Fraction | None, rules_passed: bool | None, policy: EffectivePolicy
) -> SuccessLevel | None:
    """3: the level that the layers alone give; None without layers."""
    if l1 is None and l2 is None:
        return None
    if l1 is False:
        return SuccessLevel.FAILURE
    if l2 is None:
        return SuccessLevel.FAILURE if rules_passed is False else SuccessLevel.SUCCESS
    if at_least(l2, policy.success_threshold):
        return SuccessLevel.SUCCESS
    return SuccessLevel.PARTIAL if at_least(l2, policy.partial_threshold) else SuccessLevel.FAILURE


def _combined(explicit: Sequence[_Fixed], weighted: Fraction | None, policy: EffectivePolicy) -> bool | None:
    """4: rule_logic over the explicit rules; None without any."""
    if weighted is None:
        return None
    match policy.rule_logic:
        case RuleLogic.ALL:
            return all(rule.passed for rule in explicit)
        case RuleLogic.ANY:
            return any(rule.passed for rule in explicit)
        case RuleLogic.WEIGHTED:
            return at_least(weighted, policy.rule_pass_threshold)


def _weighted_mean(explicit: Sequence[_Fixed]) -> Fraction | None:
    if len(explicit) < 2:
        return explicit[0].score if explicit else None
    weights = sum((rule.result.weight for rule in explicit), Fraction(0))
    return sum((rule.result.weight * rule.score for rule in explicit), Fraction(0)) / weights


def _mean(scores: Sequence[Fraction]) -> Fraction | None:
    if len(scores) < 2:
        return scores[0] if scores else None
    return sum(scores, Fraction(0)) / len(scores)


def _agreed(values: Iterable[T | None]) -> T | None:
    """What all worlds say, None when they differ."""
    first, *others = values
    return first if all(other == first for other in others) else None


def _extremes(values: Iterable[T | None]) -> tuple[T, T] | None:
    present = [value for value in values if value is not None]
    if len(present) == 1:
        return present[0], present[0]
    return (min(present), max(present)) if present else None  # type: ignore[type-var]
