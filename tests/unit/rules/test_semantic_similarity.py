from fractions import Fraction
from typing import Any

import pytest

from agenteval.domain.errors import InputError
from agenteval.domain.json_value import Json
from agenteval.domain.outcome import ResultStatus, RuleResult
from agenteval.domain.questions import Answers, Cause, Judged, Likeness, Similarity, Unscored
from agenteval.domain.scenario import RuleSpec
from agenteval.domain.transcript import TurnStatus
from agenteval.rules.build import build
from tests.fakes.dialogs import CASE, dialog, said


def judge(reply: Json, answer: Likeness | Unscored | None = None, to: str = "怎么退款", **params: Any) -> RuleResult:
    """The result; with no answer given, nothing may be asked."""
    rule = build(RuleSpec("semantic_similarity", {"reference": "三天内到账", **params}))
    talk = dialog((to, reply))
    asked = list(rule.ask(CASE, talk, Answers()))
    known = Answers()
    if answer is not None:
        (ask,) = asked
        assert ask == Similarity(talk[0].reply_text, "三天内到账")
        known.add({ask.key: answer if isinstance(answer, Unscored) else Judged(answer, "encoder:e5")})
    else:
        assert not asked
    result = rule.evaluate(CASE, talk, known)
    assert isinstance(result, RuleResult)
    return result


@pytest.mark.parametrize(
    ("cosine", "threshold", "score", "passed"),
    [
        (0.91, 0.8, Fraction(91, 100), True),
        (0.8, 0.8, Fraction(4, 5), True),
        (0.7999999999, 0.8, Fraction(4, 5), True),  # floats are rounded to 9 digits, the threshold is not
        (0.79, 0.8, Fraction(79, 100), False),
        (1.0000001, 0.8, Fraction(1), True),
        (-0.2, 0.8, Fraction(0), False),
        (-0.2, 0, Fraction(0), True),
    ],
)
def test_score_is_the_clipped_cosine(cosine: float, threshold: float, score: Fraction, passed: bool) -> None:
    result = judge("预计三个工作日", Likeness(cosine, "e5"), threshold=threshold)
    assert (result.score, result.passed) == (score, passed)


def test_the_scorer_is_named() -> None:
    result = judge("预计三个工作日", Likeness(0.91, "e5"))
    assert result.detail == {"similarity": 0.91, "threshold": 0.8, "scorer": "e5"}
    assert result.reason == "与参考答案的相似度：0.91 >= 0.8（e5）。"
    english = judge("within three days", Likeness(0.5, "e5"), to="when do i get my refund")
    assert english.reason == "Likeness to the reference: 0.5 < 0.8 (e5)."


def test_the_local_scorer_passes_by_its_own_bar() -> None:
    result = judge("预计三个工作日", Likeness(0.62, "char-ngrams", bar=0.6))
    assert (result.score, result.passed) == (Fraction(62, 100), True)
    assert result.detail == {"similarity": 0.62, "threshold": 0.6, "scorer": "char-ngrams"}


@pytest.mark.parametrize("reply", ["三天内到账", "三天内\u200b到账", {"text": "三天内到账"}])
def test_the_same_words_score_1_without_a_model(reply: Json) -> None:
    result = judge(reply)
    assert (result.score, result.passed, result.detail["scorer"]) == (Fraction(1), True, "equal")


@pytest.mark.parametrize("reply", ["", "  ", None])
def test_an_empty_reply_scores_0_without_a_model(reply: Json) -> None:
    result = judge(reply)
    assert (result.score, result.passed, result.reason) == (Fraction(0), False, "空回复。")
    assert judge(reply, threshold=0).passed is True


def test_a_failed_turn_scores_0_without_a_model() -> None:
    rule = build(RuleSpec("semantic_similarity", {"reference": "ok"}))
    talk = dialog(said("ok", status=TurnStatus.TIMEOUT))
    assert not list(rule.ask(CASE, talk, Answers()))
    assert isinstance(result := rule.evaluate(CASE, talk, Answers()), RuleResult)
    assert result.score == 0


def test_what_was_not_judged_has_no_score() -> None:
    result = judge("预计三个工作日", Unscored(Cause.NEEDS_JUDGE))
    assert (result.status, result.cause, result.score) == (ResultStatus.FAILED_TO_SCORE, Cause.NEEDS_JUDGE, None)
    assert result.reason.startswith("未评分：需要 EMBEDDING 模型")
    assert judge("预计三个工作日", Unscored(Cause.MODEL_ERROR, "HTTP 500")).reason.endswith("：HTTP 500")
    assert (result.bounds, result.passed) == ((Fraction(0), Fraction(1)), None)


def test_bad_parameters_are_refused() -> None:
    for params, message in (
        ({"reference": " "}, "reference is blank"),
        ({"threshold": 1.1}, "less than or equal to 1"),
    ):
        with pytest.raises(InputError, match=message):
            judge("x", **params)
