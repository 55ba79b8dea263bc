"""From a scenario's specifications to rules in their place."""

from fractions import Fraction

import pytest

from agenteval.domain.errors import InputError
from agenteval.domain.scenario import Case, Expectation, Layer, RuleSpec
from agenteval.rules.build import bind, build

WORDS = {"all_of": ["退款"]}


def case(*specs: RuleSpec, expectation: Expectation | None = None) -> Case:
    return Case("c", ("你好",), specs, expectation)


def test_labels_are_unique_and_explicit_ones_win() -> None:
    specs = [RuleSpec("keyword_match", WORDS, label=label) for label in ("", "", "keyword_match", "")]
    labels = [bound.label for bound in bind(case(*specs))]
    assert labels == ["keyword_match-2", "keyword_match-3", "keyword_match", "keyword_match-4"]


def test_a_label_given_twice_is_refused() -> None:
    specs = [RuleSpec("keyword_match", WORDS, label="a")] * 2
    with pytest.raises(InputError, match="/eval_rules/1/label: label 'a' is used twice"):
        bind(case(*specs))


def test_each_expectation_is_an_implicit_hard_rule() -> None:
    expectation = Expectation(
        keywords_all=("退款",), keywords_none=("抱歉",), max_latency_ms=Fraction(800), reference="已退款"
    )
    rules = bind(case(expectation=expectation))
    assert [bound.rule.name for bound in rules] == [
        "keyword_match",
        "keyword_match",
        "response_time",
        "semantic_similarity",
    ]
    assert all(bound.hard and bound.implicit for bound in rules)
    assert rules[0].label == "expectation.keywords_all"


def test_layer_and_hard_can_be_overridden() -> None:
    plain, layered, hard = bind(
        case(
            RuleSpec("keyword_match", WORDS),
            RuleSpec("keyword_match", WORDS, layer=Layer.L2),
            RuleSpec("keyword_match", WORDS, hard=True),
        )
    )
    assert (plain.layer, layered.layer) == (None, Layer.L2)
    assert (plain.hard, hard.hard) == (False, True)
    (taken_out,) = bind(case(RuleSpec("safety", {"words": ["x"]}, layer=Layer.NONE, hard=False)))
    assert (taken_out.layer, taken_out.hard) == (None, False)


def test_every_problem_of_a_case_is_told_with_its_place() -> None:
    with pytest.raises(InputError) as raised:
        bind(
            case(
                RuleSpec("keyword_mach", WORDS),
                RuleSpec("keyword_match", {"all_off": ["x"], "any_of": 3}),
                RuleSpec("response_time", {}),
            ),
            "/cases/4",
        )
    told = [str(problem) for problem in raised.value.problems]
    assert told[0].startswith("/cases/4/eval_rules/0/type: unknown rule 'keyword_mach'")
    assert "/cases/4/eval_rules/1/params/all_off: unknown parameter (did you mean 'all_of'?)" in told
    assert any(text.startswith("/cases/4/eval_rules/1/params/any_of") for text in told)
    assert "/cases/4/eval_rules/2/params/threshold_ms: this parameter is required" in told


def test_numbers_stay_as_they_were_written() -> None:
    rule = build(RuleSpec("response_time", {"threshold_ms": 0.1}))
    assert vars(rule)["threshold_ms"] == Fraction(1, 10)
