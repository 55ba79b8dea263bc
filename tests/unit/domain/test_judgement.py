"""The case: L1, L2, L3, under every policy, with what is unknown kept as bounds."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenteval.domain.judgement import decide
from agenteval.domain.outcome import OutcomeCause, ResultStatus, RuleResult, Source, SuccessLevel
from agenteval.domain.questions import Cause
from agenteval.domain.scenario import EffectivePolicy, Layer, Policy, RuleLogic, VerdictPolicy
from agenteval.domain.transcript import TurnStatus

FAILURE, PARTIAL, SUCCESS = SuccessLevel.FAILURE, SuccessLevel.PARTIAL, SuccessLevel.SUCCESS
SEED = EffectivePolicy.of(Policy(rule_logic=RuleLogic.WEIGHTED, rule_pass_threshold=Fraction("0.7")))
ALL = EffectivePolicy.of()


def scored(
    score: str,
    threshold: str = "1",
    *,
    layer: Layer | None = None,
    weight: int = 1,
    hard: bool = False,
    implicit: bool = False,
    vetoes: Sequence[str] = (),
) -> RuleResult:
    value = Fraction(score)
    return RuleResult(
        "rule",
        ResultStatus.SCORED,
        score=value,
        passed=value >= Fraction(threshold),
        layer=layer,
        weight=Fraction(weight),
        hard=hard,
        implicit=implicit,
        vetoes=tuple(vetoes),
    )


def unknown(
    low: str = "0",
    high: str = "1",
    *,
    passed: bool | None = None,
    layer: Layer | None = None,
    may_leave: bool = False,
    hard: bool = False,
    open_vetoes: Sequence[str] = (),
    weight: int = 1,
) -> RuleResult:
    return RuleResult(
        "rule",
        ResultStatus.FAILED_TO_SCORE,
        low=Fraction(low),
        high=Fraction(high),
        passed=passed,
        cause=Cause.NEEDS_JUDGE,
        layer=layer,
        may_leave=may_leave,
        hard=hard,
        open_vetoes=tuple(open_vetoes),
        weight=Fraction(weight),
    )


LEFT = RuleResult("rule", ResultStatus.NOT_APPLICABLE)


def intent(score: str) -> RuleResult:
    return scored(score, layer=Layer.L1)


def completion(score: str, weight: int = 2) -> RuleResult:
    return scored(score, "0.6", layer=Layer.L2, weight=weight)


@pytest.mark.parametrize(
    ("scores", "weighted", "level", "conflict"),
    [
        ("1 0.8 0.7", "0.825", SUCCESS, False),  # (1 + 2*.8 + .7)/4
        ("1 0.8 0.2", "0.7", SUCCESS, False),  # (1 + 1.6 + .2)/4: on the edge
        ("1 0.8 0.1", "0.675", PARTIAL, True),
        ("1 0.6 0.6", "0.7", PARTIAL, False),
        ("1 0.6 0.5", "0.675", PARTIAL, True),
        ("1 0.4 1", "0.7", FAILURE, True),
        ("0 0.8 1", "0.65", FAILURE, False),
    ],
)
def test_the_seeds_scenario(scores: str, weighted: str, level: SuccessLevel, conflict: bool) -> None:
    l1, l2, politeness = scores.split()
    outcome = decide([intent(l1), completion(l2), scored(politeness, "0.7")], SEED)
    assert outcome.success_level is level
    assert outcome.weighted_score == Fraction(weighted)
    assert outcome.rules_passed is (Fraction(weighted) >= Fraction("0.7"))
    assert outcome.verdict_conflict is conflict
    assert outcome.passed is (level is not FAILURE)
    assert outcome.source is Source.LAYERED


def test_intent_wrong_though_completed_is_shown_for_review() -> None:
    assert decide([intent("0"), completion("0.8")], SEED).layers_disagree
    assert not decide([intent("0"), completion("0.79")], SEED).layers_disagree
    assert not decide([intent("1"), completion("1")], SEED).layers_disagree


def test_layers_without_l2_follow_the_rule_logic() -> None:
    assert decide([intent("0"), scored("1")], ALL).success_level is FAILURE
    assert decide([intent("1"), scored("1")], ALL).success_level is SUCCESS
    assert decide([intent("1"), scored("0")], ALL).success_level is FAILURE


def test_layers_without_l1() -> None:
    assert decide([completion("0.8")], ALL).success_level is SUCCESS
    outcome = decide([completion("0.5"), completion("0.5")], ALL)  # both below their own 0.6: rule logic fails too
    assert (outcome.success_level, outcome.verdict_conflict) == (PARTIAL, True)


def test_without_layers_success_rate_is_pass_rate() -> None:
    assert decide([scored("1"), scored("1")], ALL).success_level is SUCCESS
    outcome = decide([scored("1"), scored("0.9")], ALL)
    assert (outcome.success_level, outcome.source, outcome.verdict_conflict) == (FAILURE, Source.RULES, None)


def test_any_needs_one() -> None:
    policy = EffectivePolicy.of(Policy(rule_logic=RuleLogic.ANY))
    assert decide([scored("0"), scored("1")], policy).success_level is SUCCESS
    assert decide([scored("0"), scored("0")], policy).success_level is FAILURE


@pytest.mark.parametrize(
    ("policy", "level", "source"),
    [
        (VerdictPolicy.LAYERED, PARTIAL, Source.LAYERED),
        (VerdictPolicy.STRICT, FAILURE, Source.STRICT),
        (VerdictPolicy.RULES, FAILURE, Source.RULES),
    ],
)
def test_a_failed_rule_logic_under_each_policy(policy: VerdictPolicy, level: SuccessLevel, source: Source) -> None:
    outcome = decide([intent("1"), completion("1"), scored("0")], EffectivePolicy.of(Policy(verdict_policy=policy)))
    assert (outcome.success_level, outcome.source, outcome.verdict_conflict) == (level, source, True)


@pytest.mark.parametrize("policy", list(VerdictPolicy))
@pytest.mark.parametrize(
    "failing",
    [scored("0", hard=True), scored("0", implicit=True), scored("1", layer=Layer.L2, vetoes=["step:confirm"])],
    ids=["hard", "implicit", "critical"],
)
def test_what_fails_the_case_under_every_policy(policy: VerdictPolicy, failing: RuleResult) -> None:
    outcome = decide([intent("1"), completion("1"), failing], EffectivePolicy.of(Policy(verdict_policy=policy)))
    assert (outcome.success_level, outcome.source, outcome.passed) == (FAILURE, Source.HARD, False)


def test_only_implicit_rules_that_hold_are_a_success() -> None:
    outcome = decide([scored("1", implicit=True), LEFT], ALL)
    assert (outcome.success_level, outcome.source, outcome.rules_passed) == (SUCCESS, Source.HARD, None)


def test_no_rule_says_nothing() -> None:
    for results in ([], [LEFT, LEFT]):
        outcome = decide(results, ALL)
        assert (outcome.success_level, outcome.passed, outcome.cause) == (None, None, OutcomeCause.NO_RULES)


@pytest.mark.parametrize("status", [TurnStatus.TIMEOUT, TurnStatus.ERROR])
@pytest.mark.parametrize("results", [[], [scored("1")]], ids=["no rules", "rules that pass"])
def test_an_agent_that_fails_fails_the_case(status: TurnStatus, results: list[RuleResult]) -> None:
    outcome = decide(results, ALL, status)
    assert (outcome.success_level, outcome.passed, outcome.cause) == (FAILURE, False, OutcomeCause.TARGET_ERROR)


def test_what_was_not_delivered_says_nothing_of_the_agent() -> None:
    skipped = RuleResult("rule", ResultStatus.SKIPPED, layer=Layer.L1)
    outcome = decide([skipped], ALL, TurnStatus.NOT_DELIVERED)
    assert (outcome.success_level, outcome.passed, outcome.source) == (None, None, Source.ERROR)
    assert (outcome.cause, outcome.has_l1, outcome.l1_intent) == (OutcomeCause.NOT_DELIVERED, True, None)


class TestUnknown:
    def test_settled_when_nothing_unknown_matters(self) -> None:
        outcome = decide([intent("1"), unknown("0.8", "1", passed=True, layer=Layer.L2)], ALL)
        assert (outcome.success_level, outcome.level_bounds) == (SUCCESS, None)
        assert (outcome.l2_completion, outcome.l2_bounds) == (None, (Fraction("0.8"), Fraction(1)))

    def test_bounds_and_passed_when_both_ends_pass(self) -> None:
        outcome = decide([unknown("0.5", "0.9", layer=Layer.L2)], ALL)
        assert outcome.success_level is None
        assert outcome.level_bounds == (PARTIAL, SUCCESS)
        assert outcome.passed is True
        assert (outcome.source, outcome.cause) == (Source.ERROR, OutcomeCause.UNSCORED)

    def test_passed_is_null_when_the_ends_differ(self) -> None:
        outcome = decide([unknown("0.4", "0.9", layer=Layer.L2)], ALL)
        assert (outcome.level_bounds, outcome.passed) == ((FAILURE, SUCCESS), None)

    def test_a_failed_intent_settles_the_rest(self) -> None:
        outcome = decide([intent("0"), unknown(layer=Layer.L2)], ALL)
        assert (outcome.success_level, outcome.passed) == (FAILURE, False)

    def test_an_unjudged_hard_rule_counts_as_failed_in_the_worst_case(self) -> None:
        outcome = decide([intent("1"), completion("1"), unknown(hard=True)], ALL)
        assert (outcome.level_bounds, outcome.passed) == ((FAILURE, SUCCESS), None)

    def test_an_open_veto_counts_as_failed_in_the_worst_case(self) -> None:
        result = unknown("0.9", "1", passed=True, layer=Layer.L2, open_vetoes=["step:confirm"])
        assert decide([intent("1"), result], ALL).level_bounds == (FAILURE, SUCCESS)

    def test_a_rule_that_may_leave_can_take_the_level_with_it(self) -> None:
        kept = unknown("0.9", "1", passed=True, layer=Layer.L2)
        assert decide([kept], ALL).success_level is SUCCESS
        outcome = decide([replace(kept, may_leave=True)], ALL)  # leaving it out, nothing is left: no_rules
        assert (outcome.success_level, outcome.passed, outcome.level_bounds) == (None, None, (SUCCESS, SUCCESS))

    def test_leaving_a_low_rule_may_be_the_best_case(self) -> None:
        outcome = decide([completion("1", 1), unknown("0", "0", passed=False, layer=Layer.L2, may_leave=True)], ALL)
        assert outcome.l2_bounds == (Fraction(1, 2), Fraction(1))  # (1 + 0)/2, or 1 alone
        assert outcome.level_bounds == (PARTIAL, SUCCESS)

    def test_nothing_is_claimed_when_too_many_rules_may_leave(self) -> None:
        outcome = decide([unknown("1", "1", passed=True, may_leave=True)] * 30, ALL)
        assert (outcome.success_level, outcome.level_bounds) == (None, (FAILURE, SUCCESS))


def test_thresholds_are_exact_and_zero_is_one() -> None:
    policy = EffectivePolicy.of(Policy(rule_logic=RuleLogic.WEIGHTED, rule_pass_threshold=Fraction(0)))
    assert decide([scored("0")], policy).success_level is SUCCESS
    thirds = EffectivePolicy.of(Policy(rule_logic=RuleLogic.WEIGHTED, rule_pass_threshold=Fraction("0.7")))
    assert decide([scored("0.7")] * 3, thirds).success_level is SUCCESS  # the mean of floats is 0.6999999999999998


@pytest.mark.parametrize(("partial", "success"), [("0", "0.8"), ("0.9", "0.8"), ("0.5", "1.1")])
def test_thresholds_that_make_no_sense_are_refused(partial: str, success: str) -> None:
    with pytest.raises(ValueError, match="0 < partial_threshold <= success_threshold <= 1"):
        EffectivePolicy.of(Policy(partial_threshold=Fraction(partial), success_threshold=Fraction(success)))


def test_the_nearest_policy_wins() -> None:
    case, scenario = Policy(success_threshold=Fraction("0.9")), Policy(success_threshold=Fraction("0.6"))
    policy = EffectivePolicy.of(case, scenario)
    assert policy.success_threshold == Fraction("0.9")
    assert EffectivePolicy.of(Policy(), scenario).success_threshold == Fraction("0.6")


# Against all completions, one by one ----------------------------------------------------------------------------------

GRID = [Fraction(n, 4) for n in range(5)]
layers = st.sampled_from([None, Layer.L1, Layer.L2])


@st.composite
def results(draw: st.DrawFn) -> RuleResult:
    layer, hard, implicit = draw(layers), draw(st.booleans()), draw(st.booleans())
    low, high = sorted(draw(st.tuples(st.sampled_from(GRID), st.sampled_from(GRID))))
    weight = Fraction(draw(st.integers(1, 3)))
    if draw(st.booleans()):
        base = RuleResult("rule", ResultStatus.SCORED, score=low, passed=low >= Fraction(1, 2))
    else:
        passed = True if low >= Fraction(1, 2) else False if high < Fraction(1, 2) else None
        base = RuleResult(
            "rule", ResultStatus.FAILED_TO_SCORE, low=low, high=high, passed=passed, may_leave=draw(st.booleans())
        )
    return replace(base, layer=layer, hard=hard, implicit=implicit, weight=weight)


def completions(result: RuleResult) -> list[RuleResult]:
    """Everything that judging the rest of `result` could have given."""
    if result.status is ResultStatus.SCORED:
        return [result]
    low, high = result.bounds
    done = [
        replace(result, status=ResultStatus.SCORED, score=score, passed=score >= Fraction(1, 2), may_leave=False)
        for score in GRID
        if low <= score <= high
    ]
    return [*done, LEFT] if result.may_leave else done


@given(
    st.lists(results(), max_size=3),
    st.sampled_from(RuleLogic),
    st.sampled_from(VerdictPolicy),
)
def test_bounds_are_those_of_all_completions(
    rules: list[RuleResult], logic: RuleLogic, verdict_policy: VerdictPolicy
) -> None:
    policy = EffectivePolicy.of(Policy(rule_logic=logic, verdict_policy=verdict_policy))
    worlds = [decide(world, policy) for world in product(*map(completions, rules))]
    levels = {world.success_level for world in worlds}
    outcome = decide(rules, policy)
    known = [level for level in levels if level is not None]
    if len(levels) == 1:
        assert outcome.success_level == levels.pop()
    else:
        assert outcome.success_level is None
        assert outcome.level_bounds == (min(known), max(known))
    passed = {world.passed for world in worlds}
    assert outcome.passed == (passed.pop() if len(passed) == 1 else None)
    for name in ("l1_intent", "rules_passed"):
        values = {getattr(world, name) for world in worlds}
        assert getattr(outcome, name) == (values.pop() if len(values) == 1 else None)
    rates = [world.l2_completion for world in worlds if world.l2_completion is not None]
    assert outcome.l2_bounds == ((min(rates), max(rates)) if rates else None)
