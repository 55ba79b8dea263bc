"""Why an outcome is what it is: what counts, in words, for each way in which a level comes about."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import pytest

from agenteval.domain.outcome import OutcomeCause, ResultStatus, RuleResult
from agenteval.domain.questions import Cause
from agenteval.domain.scenario import EffectivePolicy, Layer, Policy, RuleLogic, VerdictPolicy
from agenteval.domain.transcript import Turn, TurnStatus
from agenteval.reporting.explain import policy_in_words, why
from agenteval.reporting.labels import Labels
from agenteval.reporting.reading import counts_as, result_status
from tests.fakes.reports import REPAIR, SEED_POLICY, attempt_at, repair_turns, scored, seed_case, unscored

ZH, EN = Labels("zh"), Labels("en")
ALL = EffectivePolicy.of()


def said(
    *results: RuleResult, policy: EffectivePolicy = ALL, turns: Sequence[Turn] = (), labels: Labels = EN
) -> list[str]:
    return why(attempt_at(REPAIR, turns or repair_turns(), results, policy=policy), labels)


L1 = scored("intent", "1", True, layer=Layer.L1)
L2 = scored("task", "4/5", True, layer=Layer.L2)
RUDE = scored("tone", "0.1", False)


def test_a_success_shows_each_layer_on_its_threshold() -> None:
    assert said(L1, L2) == ["L1 passed, L2 80 % ≥ 80 %.", "Rule logic (every rule must pass): passed."]


def test_a_failed_rule_logic_lowers_a_success() -> None:
    attempt = seed_case("0.1").attempts[0]  # (1 + 2 · 0.8 + 0.1)/4 = .675 < .7
    assert why(attempt, EN) == [
        "L1 passed, L2 80 % ≥ 80 %.",
        "Rule logic (the weighted mean of the rules must reach 0.7, it is 0.675): failed.",
        "This lowers success to partial.",
    ]
    assert "因此由成功降为部分成功。" in why(attempt, ZH)


def test_what_is_partial_by_its_layers_was_not_lowered() -> None:
    sentences = said(L1, replace(L2, score=Fraction("0.6")), RUDE)
    assert sentences[0] == "L1 passed, L2 60 % ≥ 50 %."
    assert "This lowers success to partial." not in sentences


def test_the_other_policies_are_named() -> None:
    strict = EffectivePolicy.of(Policy(verdict_policy=VerdictPolicy.STRICT))
    assert "The policy is strict: failed rule logic is failure." in said(L1, L2, RUDE, policy=strict)
    rules = EffectivePolicy.of(Policy(verdict_policy=VerdictPolicy.RULES, rule_logic=RuleLogic.ANY))
    assert said(L1, L2, RUDE, policy=rules) == ["Rule logic (at least one rule must pass): passed."]


def test_rules_that_pass_where_the_layers_fail_are_worth_a_look() -> None:
    any_ = EffectivePolicy.of(Policy(rule_logic=RuleLogic.ANY))
    wrong = replace(L1, score=Fraction(0), passed=False)
    note = "The rules pass, but by the layers alone it is a failure: worth a look."
    assert note in said(wrong, replace(L2, score=Fraction("0.4"), passed=False), scored("tone", "1", True), policy=any_)
    by_rules = EffectivePolicy.of(Policy(verdict_policy=VerdictPolicy.RULES))
    assert said(L1, L2, RUDE, policy=by_rules)[-1] == "By the layers alone it would pass."


def test_hard_rules_and_critical_items_are_named() -> None:
    hard = replace(RUDE, label="safety", hard=True)
    booking = replace(L2, vetoes=("step:confirm", "slot:phone"))
    assert said(hard, L1, booking) == [
        "A hard requirement is not met, which fails the case: safety, critical item confirm, phone of task.",
    ]
    implicit = scored("keyword_match", "1", True, implicit=True, hard=True)
    assert said(implicit) == ["There are only hard rules, and none of them failed."]


def test_a_failing_agent_and_an_unreached_one_are_told_apart() -> None:
    broken = [*repair_turns()[:1], Turn(1, "hello", None, (), None, TurnStatus.ERROR, "HTTP 500")]
    assert said(L1, turns=broken) == ["The agent failed in turn 2: HTTP 500."]
    silent = [Turn(0, "hello", None, (), 1000.0, TurnStatus.TIMEOUT)]
    assert said(L1, turns=silent) == ["The agent failed in turn 1: no answer in time."]
    lost = [Turn(0, "hello", None, (), None, TurnStatus.NOT_DELIVERED, "HTTP 429")]
    assert said(RuleResult("task", ResultStatus.SKIPPED), turns=lost) == [
        "The message could not be delivered, so nothing is said of the agent: HTTP 429"
    ]


def test_what_is_unknown_is_named_with_its_cause() -> None:
    sentences = said(L1, unscored("task", layer=Layer.L2), unscored("tone", Cause.TIE))
    assert sentences[0] == "What is unknown leaves it open: task (needs a judge model), tone (the votes are tied)."
    half = unscored("task", layer=Layer.L2, low=Fraction("0.6"), high=Fraction(1), passed=True)
    assert "It passes in any case." in said(L1, half)


def test_no_rules_and_an_interrupted_attempt() -> None:
    attempt = attempt_at(REPAIR, repair_turns(), ())
    assert attempt.outcome is not None
    assert attempt.outcome.cause is OutcomeCause.NO_RULES
    assert why(attempt, EN) == ["No rule applies."]
    assert why(replace(attempt, outcome=None), EN) == []


def test_a_wrong_intent_beside_a_completed_task_is_pointed_out() -> None:
    assert said(replace(L1, score=Fraction(0), passed=False), L2)[-1] == (
        "The intent counts as wrong although the task was completed: worth a look."
    )


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (EN, ["L2 ≥ 80 % is success", "L2 ≥ 50 % partial", "the weighted mean of the rules must reach 0.7", "hard"]),
        (ZH, ["L2 ≥ 80% 为成功", "L2 ≥ 50% 为部分成功", "规则加权平均分须达到 0.7", "硬性"]),
    ],
)
def test_the_policy_in_words(labels: Labels, words: list[str]) -> None:
    text = policy_in_words(SEED_POLICY, labels)
    assert all(word in text for word in words)


def test_hard_and_soft_rules_are_marked() -> None:
    assert counts_as(L1, EN) == "L1 · rule logic"
    assert counts_as(replace(RUDE, hard=True), EN) == "hard"
    assert counts_as(replace(RUDE, hard=True, implicit=True), ZH) == "隐式硬性"
    assert result_status(unscored("tone"), EN) == "not scored (needs a judge model)"
    assert result_status(L1, ZH) == "通过"
