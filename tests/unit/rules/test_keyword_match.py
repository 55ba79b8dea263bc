from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenteval.domain.errors import InputError
from agenteval.domain.evidence import Match
from agenteval.domain.outcome import ResultStatus, RuleResult
from agenteval.domain.questions import Answers, Cause
from agenteval.domain.scenario import RuleSpec
from agenteval.domain.text import fold
from agenteval.domain.transcript import Dialog, Turn, TurnStatus
from agenteval.rules.build import build
from agenteval.rules.replies import find_word
from tests.fakes.dialogs import CASE, dialog, said


def judge(talk: Dialog, **params: Any) -> RuleResult:
    result = build(RuleSpec("keyword_match", params)).evaluate(CASE, talk, Answers())
    assert isinstance(result, RuleResult)
    return result


def reply(text: str, **params: Any) -> RuleResult:
    return judge(dialog(("退款", text)), **params)


@pytest.mark.parametrize(
    ("text", "params", "score"),
    [
        ("可以退款，3天到账", {"all_of": ["退款", "到账"]}, Fraction(1)),
        ("可以退款", {"all_of": ["退款", "到账"]}, Fraction(1, 2)),
        ("ＲＥＦＵＮＤ accepted", {"all_of": ["refund", "Accepted"]}, Fraction(1)),
        ("re\u200bfund", {"all_of": ["refund"]}, Fraction(1)),
        ("换货吧", {"any_of": ["退款", "换货"]}, Fraction(1)),
        ("不行", {"any_of": ["退款", "换货"]}, Fraction(0)),
        ("退款", {"all_of": ["退款"], "any_of": ["到账", "成功"]}, Fraction(1, 2)),
        ("退款", {"none_of": ["抱歉"]}, Fraction(1)),
        ("抱歉，退款", {"all_of": ["退款"], "none_of": ["抱歉", "sorry"]}, Fraction(2, 3)),
        ("订单 AB1234", {"regex": [r"[A-Z]{2}\d{4}"]}, Fraction(1)),
        ("订单 ab1234", {"regex": [r"[A-Z]{2}\d{4}"]}, Fraction(0)),
        ("订单 ＡＢ1234", {"regex": [r"[A-Z]{2}\d{4}"]}, Fraction(0)),
        ("不能退款", {"all_of": ["退款"]}, Fraction(1)),
        ("不能退款", {"all_of": ["退款"], "none_of": ["不能退款"]}, Fraction(1, 2)),
        ("concatenate", {"all_of": ["cat"]}, Fraction(1)),
    ],
)
def test_score_is_conditions_met_over_conditions(text: str, params: dict[str, Any], score: Fraction) -> None:
    result = reply(text, **params)
    assert (result.score, result.passed) == (score, score == 1)


def test_the_reason_names_what_was_missed_in_the_users_language() -> None:
    params: dict[str, Any] = {
        "all_of": ["退款", "到账"],
        "any_of": ["A", "B"],
        "none_of": ["抱歉"],
        "regex": [r"\d+天"],
    }
    assert reply("抱歉，退款", **params).reason == (
        "满足 1/5 项条件；缺少：到账；以下一项都没有：A、B；不应出现却出现：抱歉；不匹配：\\d+天。"
    )
    talk = dialog(("please refund me", "Sorry, a refund"))
    assert judge(talk, all_of=["refund", "3 days"], none_of=["sorry"]).reason == (
        "1 of 3 conditions met; missing: 3 days; found though unwanted: sorry."
    )


def test_evidence_is_the_place_in_the_raw_reply() -> None:
    result = reply("您好，ＲＥＦＵＮＤ 单号 42。抱歉", all_of=["refund"], none_of=["抱歉"], regex=[r"\d+"])
    found = [(span.turn, span.text, span.match) for span in result.evidence]
    assert found == [(0, "ＲＥＦＵＮＤ", Match.NORMALISED), (0, "抱歉", Match.EXACT), (0, "42", Match.EXACT)]


def test_the_scope_is_the_last_reply_or_all_replies() -> None:
    talk = dialog(("查酒店", "已查到酒店"), ("谢谢", "不客气"))
    assert judge(talk, all_of=["酒店"]).score == 0
    found = judge(talk, all_of=["酒店"], evaluation_scope="full_dialog")
    assert found.score == 1
    assert found.evidence[0].turn == 0
    assert judge(talk, none_of=["酒店"], evaluation_scope="full_dialog").score == 0


def test_only_the_agent_is_heard() -> None:
    talk = dialog(said("好的", to="我要退款"))
    assert judge(talk, all_of=["退款"]).score == 0


@pytest.mark.parametrize("nothing", ["", " \n\u200b", None])
def test_an_empty_reply_meets_nothing_not_even_none_of(nothing: str | None) -> None:
    result = judge(dialog(("你好", nothing)), none_of=["抱歉"])
    assert (result.score, result.passed, result.reason) == (Fraction(0), False, "空回复。")


def test_a_failed_turn_is_an_empty_reply() -> None:
    talk = dialog(said("退款", to="hello there", status=TurnStatus.TIMEOUT))
    assert judge(talk, all_of=["退款"]).reason == "No reply: the agent did not answer in time."
    assert judge(talk, all_of=["退款"], evaluation_scope="full_dialog").score == 0
    crashed = dialog(Turn(0, "你好", status=TurnStatus.ERROR, error="the agent answered 500: injected 500"))
    for scope in ("last_turn", "full_dialog"):
        failed = judge(crashed, all_of=["退款"], evaluation_scope=scope)
        assert (failed.score, failed.reason) == (Fraction(0), "没有回复：the agent answered 500: injected 500。")
    assert judge(Dialog(()), all_of=["退款"]).score == 0


def test_a_structured_reply_is_read_as_its_text() -> None:
    assert judge(dialog(("退款", {"text": "可以退款"})), all_of=["退款"]).score == 1


def test_what_is_too_long_to_be_searched_is_not_scored() -> None:
    result = reply("ab" * 200_000 + "退款", all_of=["退款"], regex=["(?:a?b?){1000}c"])
    assert (result.status, result.cause) == (ResultStatus.FAILED_TO_SCORE, Cause.TOO_LONG)
    assert (result.bounds, result.passed) == ((Fraction(1, 2), Fraction(1)), None)
    assert reply("ab" * 200_000, all_of=["退款"], regex=["(?:a?b?){1000}c"]).passed is False


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({}, "there is no condition"),
        ({"all_of": []}, "there is no condition"),
        ({"any_of": ["a", " "]}, "any_of[1] is blank"),
        ({"regex": ["a", "(?=b)"]}, "regex[1]: the pattern '(?=b)' cannot be used"),
        ({"all_of": "退款"}, "list"),
        ({"all_of": ["a"], "keyword": "b"}, "unknown parameter"),
    ],
)
def test_bad_parameters_are_refused_naming_the_item(params: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as refused:
        build(RuleSpec("keyword_match", params))
    assert message in str(refused.value)


@given(
    before=st.text(alphabet="aé 中ß", max_size=8),
    word=st.sampled_from(["Ｒefund", "退款", "ﬁne", "Straße"]),
    after=st.text(),
)
def test_a_word_is_found_where_it_was_written(before: str, word: str, after: str) -> None:
    text = before + "|" + word + "|" + after
    place = find_word(fold(word), text)
    assert place is not None
    assert fold(word) in fold(text[slice(*place)])
    assert find_word("不在其中", text.replace("不在其中", "")) is None
