"""conversation_completeness: the user's intents, what became of each, and the share that was met."""

import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenteval.domain.errors import InputError
from agenteval.domain.forms import dump, load
from agenteval.domain.outcome import ResultStatus, RuleResult
from agenteval.domain.questions import DIALOG, USER_TURNS, Answers, Ask, Cause, Judged, Question, Unscored, View
from agenteval.domain.scenario import RuleSpec
from agenteval.domain.transcript import Dialog, ToolCall
from agenteval.judge.compile import FRAME, Task, instructions
from agenteval.judge.verify import Seen, Verified, verify
from agenteval.rules.build import build
from agenteval.rules.completeness.forms import Found, Judgement, Listed, Wanted
from agenteval.rules.completeness.output import output
from tests.fakes.dialogs import CASE, dialog, said
from tests.fakes.scripted_judge import scripted_judge, tasks, transcript
from tests.fakes.scripted_model import Request
from tests.fakes.scripted_panel import Tries, concluded, result_by

SEED = dialog(
    (
        "我想订一张明天去上海的高铁票，还要帮我查一下那边的酒店。",
        "没问题！已经为您查到明天去上海的高铁有 G101 和 G105。请问您要订哪一班？",
    ),
    ("订 G101 吧。", "好的，G101 高铁票已为您预订成功！祝您旅途愉快。"),
)
ENGLISH = dialog(
    ("Book a table for two and tell me the opening hours.", "We are open from 9 to 5."),
    ("And the table?", "Sorry, I cannot book tables."),
)

Script = Callable[[Ask], Any]


def wants(text: str, quote: str, turn: int = 0) -> dict[str, Any]:
    return {"quote": {"turn": turn, "text": quote}, "text": text}


def fate(
    verdict: str,
    code: str = "none",
    *,
    agent: tuple[int, str] | None = None,
    tool: tuple[int, str] | None = None,
    state: str = "active",
) -> dict[str, Any]:
    quotes = {
        name: {"turn": place[0], "text": place[1]} if place else None
        for name, place in (("agent_quote", agent), ("tool_quote", tool))
    }
    return {"reason": "理由", "state": state, **quotes, "verdict": verdict, "reason_code": code}


def judged(wanted: dict[str, Any], judgement: dict[str, Any]) -> dict[str, Any]:
    return {**wanted, "judgement": judgement}


TICKET = wants("订高铁票", "订一张明天去上海的高铁票")
HOTEL = wants("查酒店", "查一下那边的酒店")
BOOKED = fate("met", agent=(1, "G101 高铁票已为您预订成功"))
IGNORED = fate("unmet", "ignored")


def answers(**by_item: Any) -> Script:
    """By item: `intents` lists, `again` is the second list, other names are texts of intents judged alone."""

    def script(ask: Ask) -> Any:
        assert isinstance(ask, Question)
        if ask.item == "intents":
            again = ask.text.startswith("Go through")
            found = by_item["again" if again else "intents"]
            return {"intents": found} if isinstance(found, list) else found
        return by_item[ask.item.removeprefix("intent:")]

    return script


async def result_of(dialog: Dialog, script: Script, **params: Any) -> RuleResult:
    return (await concluded("conversation_completeness", params, dialog, script))[0]


async def found(dialog: Dialog, *intents: dict[str, Any], **params: Any) -> RuleResult:
    return await result_of(dialog, answers(intents=list(intents), again=[]), **params)


def verdict(result: RuleResult) -> object:
    return result.score, result.passed


def bounds(result: RuleResult) -> object:
    return result.bounds


async def test_what_is_noteworthy_is_told_of_the_list_and_of_each_verdict() -> None:
    listed = Judged(load(Listed, {"intents": [TICKET]}), "model:m", turns_seen=((0, 0), (1, 1)), dropped=("x",))
    booked = Judged(load(Judgement, BOOKED), "model:m", votes=(("met", 2), ("unmet", 1)), repaired=True)
    result = await result_of(SEED, answers(intents=listed, 订高铁票=booked), samples=3)
    assert (result.detail["turns_seen"], result.detail["dropped"]) == ([[0, 0], [1, 1]], ["x"])
    (item,) = result.detail["intents"]
    assert (item["votes"], item["repaired"], "turns_seen" in item) == ({"met": 2, "unmet": 1}, True, False)
    assert output(result)["turns_seen"] == [[0, 0], [1, 1]]


# ---- the score -------------------------------------------------------------------------------------------------------


async def test_the_seeds_example_scores_one_half_and_names_the_hotel() -> None:
    result = await found(SEED, judged(TICKET, BOOKED), judged(HOTEL, IGNORED))
    assert verdict(result) == (Fraction(1, 2), False)
    assert result.reason == "评分为 0.5：2 项意图中满足 1 项。未满足：查酒店（第 1 轮提出，未得到回应）。"
    assert output(result)["score"] == 0.5
    assert output(result)["unmet_intents"] == ["查酒店"]
    ticket, hotel = output(result)["intents"]
    assert (ticket["quote"], ticket["turn_index"], ticket["verdict"]) == ("订一张明天去上海的高铁票", 0, "met")
    assert ticket["evidence"] == [{"turn_index": 1, "speaker": "agent", "quote": "G101 高铁票已为您预订成功"}]
    assert (hotel["state"], hotel["verdict"], hotel["reason_code"]) == ("active", "unmet", "ignored")
    assert [span.text for span in result.evidence][:2] == ["订一张明天去上海的高铁票", "G101 高铁票已为您预订成功"]


async def test_one_question_is_enough() -> None:
    script = answers(intents=[judged(TICKET, BOOKED), judged(HOTEL, IGNORED)])
    _, step = await concluded("conversation_completeness", {}, SEED, script)
    (question,) = step.asked
    assert isinstance(question, Question)
    assert question.view == DIALOG


async def test_reasons_are_english_in_an_english_dialog() -> None:
    result = await found(
        ENGLISH,
        judged(
            wants("book a table", "Book a table for two"), fate("unmet", "blocked", agent=(1, "I cannot book tables"))
        ),
        judged(wants("opening hours", "tell me the opening hours"), fate("met", agent=(0, "open from 9 to 5"))),
    )
    assert result.reason == (
        "Score 0.5: 1 of 2 intents met. Unmet: book a table (asked in turn 1, the agent said that it cannot)."
    )


async def test_the_score_is_fractional_and_the_unmet_question_named() -> None:
    """B01"""
    visits = dialog(("周一访问量？", "10 次。"), ("周二呢？", "抱歉，我帮不了。"))
    result = await found(
        visits,
        judged(wants("周一访问量", "周一访问量"), fate("met", agent=(0, "10 次"))),
        judged(wants("周二访问量", "周二呢", 1), fate("unmet", "blocked")),
    )
    assert result.score == Fraction(1, 2)
    assert "周二访问量（第 2 轮提出，智能体表示无法办理）" in result.reason


@pytest.mark.parametrize(("credit", "score"), [(0, Fraction(0)), (0.3, Fraction(3, 20)), (1, Fraction(1, 2))])
async def test_partly_met_is_worth_the_partial_credit(credit: float, score: Fraction) -> None:
    partly = fate("partly_met", "pending", agent=(1, "G101"))
    result = await found(SEED, judged(TICKET, partly), judged(HOTEL, IGNORED), partial_credit=credit)
    assert result.score == score
    assert "部分满足：订高铁票（第 1 轮提出，等待处理）" in result.reason
    assert result.detail["unmet_intents"] == ["订高铁票", "查酒店"]


async def test_the_reason_and_the_output_have_four_digits_the_score_is_exact() -> None:
    partly = fate("partly_met", "pending", agent=(1, "G101"))
    result = await found(SEED, judged(TICKET, BOOKED), judged(HOTEL, partly), partial_credit="1/3")
    assert result.score == Fraction(2, 3)
    assert result.reason.startswith("评分为 0.6667：")
    assert output(result)["score"] == 0.6667


@pytest.mark.parametrize(("threshold", "passed"), [(1, False), (0.5, True), (0, True)])
async def test_it_passes_at_its_threshold(threshold: float, passed: bool) -> None:
    result = await found(SEED, judged(TICKET, BOOKED), judged(HOTEL, IGNORED), threshold=threshold)
    assert result.passed is passed


@pytest.mark.parametrize("code", ["pending", "blocked", "refused", "failed", "ignored"])
async def test_every_reason_code_has_its_words(code: str) -> None:
    words = {"pending": "等待", "blocked": "无法办理", "refused": "按规定", "failed": "失败", "ignored": "未得到回应"}
    result = await found(SEED, judged(HOTEL, fate("unmet", code)))
    assert result.score == 0
    assert words[code] in result.reason


# ---- what counts -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("state", "word"), [("withdrawn", "撤回"), ("replaced", "替换"), ("conditional", "条件")])
async def test_intents_that_are_not_active_are_listed_not_counted(state: str, word: str) -> None:
    """B08"""
    result = await found(SEED, judged(TICKET, BOOKED), judged(HOTEL, fate("unmet", "none", state=state)))
    assert verdict(result) == (1, True)
    assert [item["state"] for item in result.detail["intents"]] == ["active", state]
    assert result.detail["unmet_intents"] == []
    assert "不计入：查酒店" in result.reason
    assert word in result.reason


async def test_duplicates_count_once_and_the_met_one_stands() -> None:
    twice = dialog(("查一下酒店", "稍等。"), ("酒店呢？", "为您找到了和平饭店。"))
    result = await found(
        twice,
        judged(wants("查酒店", "查一下酒店"), IGNORED),
        judged(wants("查 酒店", "酒店呢", 1), fate("met", agent=(1, "找到了和平饭店"))),
        judged(wants("查酒店", "查一下酒店"), fate("unmet", "pending")),
    )
    assert [item["intent"] for item in result.detail["intents"]] == ["查 酒店"]
    assert result.score == 1


async def test_two_intents_may_share_their_words() -> None:
    visits = dialog(("周一和周二的访问量？", "周一 10 次。"))
    result = await found(
        visits,
        judged(wants("周一访问量", "周一和周二的访问量"), fate("met", agent=(0, "周一 10 次"))),
        judged(wants("周二访问量", "周一和周二的访问量"), IGNORED),
    )
    assert result.score == Fraction(1, 2)


async def test_an_intent_that_no_user_turn_holds_is_dropped_and_reported() -> None:
    invented = judged(wants("租车", "再帮我租辆车"), IGNORED)
    from_agent = judged(wants("选车次", "请问您要订哪一班"), IGNORED)
    result = await found(SEED, judged(TICKET, BOOKED), invented, from_agent)
    assert result.score == 1
    assert len(result.detail["dropped"]) == 2
    assert "另有 2 项所列意图无法核实" in result.reason
    assert output(result)["dropped"] == result.detail["dropped"]


async def test_when_all_are_dropped_there_is_no_score() -> None:
    result = await found(SEED, judged(wants("租车", "再帮我租辆车"), IGNORED))
    assert (result.status, result.cause, result.may_leave) == (ResultStatus.FAILED_TO_SCORE, Cause.EVIDENCE, True)


# ---- no verdict without evidence -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "flawed",
    [
        fate("met"),  # nothing quoted
        fate("met", agent=(1, "酒店已为您订好")),  # nobody said so
        fate("met", agent=(0, "查一下那边的酒店")),  # the user said it
        fate("met", "ignored", agent=(1, "G101")),  # contradicts itself
        fate("unmet", "none"),
        fate("partly_met", "failed"),
        fate("idk", "failed"),  # B03
        fate("unmet", "whatever"),
        {"reason": "nothing else"},
        {},
    ],
)
async def test_a_verdict_that_fails_twice_is_unknown_not_a_number(flawed: dict[str, Any]) -> None:
    """B02, B03, B09: one of two fails, the intent stays, the score gets bounds."""
    result = await found(SEED, judged(TICKET, BOOKED), judged(HOTEL, flawed))
    assert (result.status, result.cause) == (ResultStatus.FAILED_TO_SCORE, Cause.EVIDENCE)
    assert bounds(result) == (Fraction(1, 2), 1)
    assert (result.passed, result.may_leave) == (None, False)
    assert result.reason == (
        "无法评分：2 项意图中 1 项未能判定，评分在 0.5 与 1 之间。"
        "未判定：查酒店（第 1 轮提出，评审给出的证据无法核实）。"
    )
    assert output(result)["score"] is None
    assert output(result)["bounds"] == [0.5, 1.0]
    assert output(result)["cause"] == "evidence"


async def test_when_every_verdict_fails_it_is_never_1() -> None:
    """B02"""
    result = await found(SEED, judged(TICKET, fate("met")), judged(HOTEL, fate("met")))
    assert (result.score, bounds(result), result.may_leave) == (None, (0, 1), True)


async def test_what_is_certain_all_the_same_decides() -> None:
    unknown = judged(HOTEL, fate("met"))
    assert (await found(SEED, judged(TICKET, BOOKED), unknown, threshold=0.5)).passed is True
    assert (await found(SEED, judged(TICKET, IGNORED), unknown)).passed is False


@pytest.mark.parametrize(("said", "score"), [("是", 1), ("满足", 1), ("MET", 1), (True, 1)])
async def test_other_words_for_met_are_understood(said: object, score: int) -> None:
    """B03"""
    result = await found(SEED, judged(TICKET, BOOKED | {"verdict": said}))
    assert result.score == score


@pytest.mark.parametrize(("said", "score"), [("否", 0), ("NO.", 0), ("未满足", 0), ("partially", None)])
async def test_no_other_word_counts_as_met(said: str, score: int | None) -> None:
    """B03: "partially" needs a quote like every verdict in favour."""
    result = await found(SEED, judged(HOTEL, IGNORED | {"verdict": said}))
    assert result.score == score


async def test_a_flawed_item_is_asked_again() -> None:
    first = {"intents": [judged(TICKET, fate("met")), judged(HOTEL, IGNORED)]}
    second = {"intents": [judged(TICKET, BOOKED), judged(HOTEL, IGNORED)]}
    assert (await result_of(SEED, answers(intents=Tries(first, second)))).score == Fraction(1, 2)


@pytest.mark.parametrize(("later_ok", "score"), [(None, 0), (False, 0), (True, 1)])
async def test_a_failed_tool_result_outranks_the_agents_claim(later_ok: bool | None, score: int) -> None:
    """B08: unless a later call of the same tool made it good."""
    calls = [ToolCall("book", {}, {"error": "sold out"}, ok=False)]
    calls += [] if later_ok is None else [ToolCall("book", {}, {"order": 7}, ok=later_ok)]
    claimed = dialog(said("G101 高铁票已为您预订成功！", "订一张明天去上海的高铁票", tool_calls=tuple(calls)))
    claim = fate("met", agent=(0, "已为您预订成功"), tool=(0, "sold out"))
    result = await found(claimed, judged(TICKET, claim))
    assert result.score == score
    if not score:
        assert result.detail["intents"][0]["reason_code"] == "failed"


async def test_a_tool_result_is_evidence_by_itself() -> None:
    booked = dialog(
        said("👍", "订一张明天去上海的高铁票", tool_calls=(ToolCall("book", {}, {"order": "G101-7"}, ok=True),))
    )
    result = await found(booked, judged(TICKET, fate("met", tool=(0, "G101-7"))))
    assert result.score == 1
    assert result.detail["intents"][0]["evidence"][0]["speaker"] == "tool"


# ---- nothing to judge ------------------------------------------------------------------------------------------------


async def test_small_talk_has_no_intent_which_a_second_list_confirms() -> None:
    """B04"""
    greeting = dialog(("你好", "您好！请问办什么？"), ("谢谢，再见", "再见！"))
    script = answers(intents=[], again=[])
    result, step = await concluded("conversation_completeness", {}, greeting, script)
    assert result.status is ResultStatus.NOT_APPLICABLE
    assert result.reason == "不适用：用户没有提出仍有效的意图。"
    first, second = (ask for ask in step.asked if isinstance(ask, Question))
    assert (first.view, second.view) == (DIALOG, USER_TURNS)
    assert output(result) | {"score": 1.0, "applicable": False, "bounds": None} == output(result)


async def test_small_talk_beside_an_intent_costs_nothing() -> None:
    """B04"""
    account = dialog(("你好", "您好，请问办什么？"), ("开户", "请带身份证来网点办理。"))
    result = await found(account, judged(wants("开户", "开户", 1), fate("met", agent=(1, "请带身份证来网点办理"))))
    assert verdict(result) == (1, True)


async def test_what_only_the_second_list_finds_is_judged() -> None:
    script = answers(intents=[], again=[HOTEL, TICKET], 查酒店=IGNORED, 订高铁票=BOOKED)
    assert (await result_of(SEED, script)).score == Fraction(1, 2)


async def test_when_all_are_withdrawn_the_second_list_must_find_no_other() -> None:
    withdrawn = judged(HOTEL, fate("unmet", "none", state="withdrawn"))
    script = answers(intents=[withdrawn], again=[HOTEL])
    result = await result_of(SEED, script)
    assert result.status is ResultStatus.NOT_APPLICABLE
    assert [item["state"] for item in output(result)["intents"]] == ["withdrawn"]
    assert "查酒店（第 1 轮提出，已撤回）" in result.reason
    assert (await result_of(SEED, answers(intents=[withdrawn], again=[TICKET], 订高铁票=BOOKED))).score == 1


@pytest.mark.parametrize(
    "script",
    [
        answers(intents=Unscored(Cause.MODEL_ERROR, "503")),
        answers(intents=[], again=Unscored(Cause.MODEL_ERROR, "503")),
        answers(intents="nonsense"),
        answers(intents={}),
        answers(intents=[], again=[wants("租车", "再帮我租辆车")]),
    ],
)
async def test_a_list_that_failed_is_no_empty_list(script: Script) -> None:
    result = await result_of(SEED, script)
    assert result.status is ResultStatus.FAILED_TO_SCORE
    assert result.may_leave
    assert result.reason.startswith("无法评分：用户意图未能提取")
    assert output(result) | {"score": None, "applicable": True, "bounds": [0.0, 1.0]} == output(result)


async def test_without_a_model_it_needs_one() -> None:
    result = await result_of(SEED, lambda ask: None)
    assert (result.cause, result.passed) == (Cause.NEEDS_JUDGE, None)
    assert "需要评审模型" in result.reason
    english = await result_of(ENGLISH, lambda ask: None)
    assert "needs a judge model" in english.reason


@pytest.mark.parametrize("reply", ["", "  \u200b\n", None])
async def test_an_agent_that_says_nothing_scores_0_without_a_model(reply: str | None) -> None:
    """B11, B14"""
    shoes = dialog(("鞋不合脚怎么办？", reply))
    result, step = await concluded("conversation_completeness", {}, shoes, answers())
    assert verdict(result) == (0, False)
    assert "空回复" in result.reason
    assert step.asked == []
    known = await result_of(shoes, answers(), intents=["换鞋"])
    assert known.detail["unmet_intents"] == ["换鞋"]
    assert output(known)["intents"][0]["reason_code"] == "ignored"


async def test_one_empty_reply_is_an_ignored_intent_not_silence() -> None:
    half = dialog(("订一张明天去上海的高铁票", "G101 已订。"), ("查一下那边的酒店", ""))
    hotel = wants("查酒店", "查一下那边的酒店", 1)
    result = await found(half, judged(TICKET, fate("met", agent=(0, "G101 已订"))), judged(hotel, IGNORED))
    assert result.score == Fraction(1, 2)


@pytest.mark.parametrize("message", ["", " \n"])
async def test_a_user_who_says_nothing_wants_nothing(message: str) -> None:
    """B14"""
    result, step = await concluded("conversation_completeness", {}, dialog((message, "您好！")), answers())
    assert result.status is ResultStatus.NOT_APPLICABLE
    assert step.asked == []


# ---- lists that do not come from the one call ------------------------------------------------------------------------


async def test_given_intents_leave_only_the_verdicts_with_their_weights() -> None:
    script = answers(查酒店=IGNORED, 订高铁票=BOOKED)
    given = [{"text": "订高铁票", "weight": 3}, "查酒店"]
    result, step = await concluded("conversation_completeness", {"intents": given}, SEED, script)
    assert result.score == Fraction(3, 4)
    assert "未满足：查酒店（未得到回应）" in result.reason
    assert [ask.item for ask in step.asked if isinstance(ask, Question)] == ["intent:订高铁票", "intent:查酒店"]


async def test_given_intents_that_were_not_judged_give_bounds() -> None:
    script = answers(查酒店=Unscored(Cause.TIE), 订高铁票=BOOKED)
    result = await result_of(SEED, script, intents=[{"text": "订高铁票", "weight": 3}, "查酒店"])
    assert (result.cause, bounds(result)) == (Cause.TIE, (Fraction(3, 4), 1))


async def test_given_intents_may_all_be_withdrawn() -> None:
    result = await result_of(SEED, answers(查酒店=fate("unmet", state="withdrawn")), intents=["查酒店"])
    assert result.status is ResultStatus.NOT_APPLICABLE


async def test_stable_intents_are_listed_from_the_users_turns_alone() -> None:
    script = answers(intents=[TICKET, HOTEL], 查酒店=IGNORED, 订高铁票=BOOKED)
    result, step = await concluded("conversation_completeness", {"stable_intents": True}, SEED, script)
    assert result.score == Fraction(1, 2)
    asked = [ask for ask in step.asked if isinstance(ask, Question)]
    assert [ask.view for ask in asked] == [USER_TURNS, DIALOG, DIALOG]
    other_agent = dialog(*((turn.sent_message, "好的。") for turn in SEED))
    _, again = await concluded("conversation_completeness", {"stable_intents": True}, other_agent, script)
    assert [ask.key for ask in again.asked] == [ask.key for ask in asked]


async def test_votes_are_cast_on_each_verdict() -> None:
    script = answers(intents=[HOTEL], 查酒店=IGNORED)
    _, step = await concluded("conversation_completeness", {"samples": 3}, SEED, script)
    assert [ask.samples for ask in step.asked if isinstance(ask, Question)] == [1, 3]


async def test_a_long_dialog_is_listed_in_windows_then_judged_intent_by_intent() -> None:
    in_windows = Found(_found(judged(TICKET, BOOKED), judged(HOTEL, fate("unmet", "pending"))).intents)
    listed = Judged(in_windows, "model:scripted", turns_seen=((0, 0), (0, 1)))
    script = answers(intents=listed, 查酒店=IGNORED, 订高铁票=BOOKED)
    result = await result_of(SEED, script)
    assert result.score == Fraction(1, 2)
    assert result.detail["intents"][1]["reason_code"] == "ignored"


async def test_a_dialog_too_long_for_the_model_is_scored_on_the_wire() -> None:
    weather = dialog(*((f"查一下城市{i}的天气", f"城市{i}晴。" + "详细说明" * 200) for i in range(12)))

    def script(request: Request) -> dict[str, Any]:
        shown = [int(turn) for turn in re.findall(r"^\[(\d+)\] user", transcript(request), re.MULTILINE)]
        met = {i: fate("met", agent=(i, f"城市{i}晴")) for i in shown}
        listed = [judged(wants(f"天气{i}", f"查一下城市{i}的天气", i), met[i]) for i in shown]
        named = {id_: re.search(r"天气(\d+)", text) for id_, text in tasks(request).items()}
        return {id_: met.get(int(name[1]), IGNORED) if name else {"intents": listed} for id_, name in named.items()}

    async with scripted_judge(script, context_tokens=12_000) as wire:
        result = await result_by("conversation_completeness", {}, weather, wire.judge)
    assert result.reason == "评分为 1：12 项意图中满足 12 项。"
    assert len(wire.requests) == 4  # two windows, first for the list, then for the verdicts


def test_windows_are_merged_turn_by_turn() -> None:
    table, hours = wants("table", "Book a table"), wants("hours", "opening hours")
    again = wants("a table", "And the table?", 1)
    first, second = _read(Listed, {"intents": [table, hours]}), _read(Listed, {"intents": [hours, again]})
    assert isinstance(first, Listed)
    assert isinstance(second, Listed)
    assert [intent.text for intent in Listed.merge([first, second]).intents] == ["table", "hours", "a table"]


@pytest.mark.parametrize(
    ("windows", "expected"),
    [
        ([("met", "none", "active"), ("unmet", "ignored", "active")], ("met", "active")),
        ([("unmet", "ignored", "active"), ("met", "none", "active")], ("met", "active")),
        ([("met", "none", "active"), ("unmet", "failed", "active")], ("unmet", "active")),
        ([("unmet", "ignored", "active"), ("unmet", "pending", "active")], ("unmet", "active")),
        ([("unmet", "none", "withdrawn"), ("unmet", "ignored", "active")], ("unmet", "withdrawn")),
        ([("unmet", "none", "conditional"), ("met", "none", "active")], ("met", "active")),
        ([("unmet", "none", "conditional"), ("unmet", "none", "conditional")], ("unmet", "conditional")),
    ],
)
def test_of_the_windows_the_latest_that_tells_something_stands(
    windows: Sequence[tuple[str, str, str]], expected: tuple[str, str]
) -> None:
    parts = [
        _read(Judgement, fate(verdict, code, agent=(0, "open from 9 to 5"), state=state))
        for verdict, code, state in windows
    ]
    merged = Judgement.merge([part for part in parts if isinstance(part, Judgement)])
    assert (merged.verdict, merged.state) == expected


# ---- stored answers, bounds, prompt ----------------------------------------------------------------------------------


def _verified(form: type[Any], raw: object, dialog: Dialog, view: View = DIALOG) -> Verified:
    return verify(Question("q", form, "", view=view), raw, Seen(dialog, view), rejected={})


def _read(form: type[Any], raw: object) -> object:
    return _verified(form, raw, ENGLISH).value


def _found(*intents: dict[str, Any]) -> Found:
    value = _verified(Found, {"intents": list(intents)}, SEED).value
    assert isinstance(value, Found)
    return value


def test_a_salvaged_intent_survives_storage() -> None:
    kept = _found(judged(TICKET, BOOKED), judged(HOTEL, fate("met")))
    assert type(kept.intents[1]) is Wanted
    assert load(Found, orjson.loads(orjson.dumps(dump(kept)))) == kept


FATES = {
    "met": BOOKED,
    "unmet": IGNORED,
    "partly": fate("partly_met", "pending", agent=(1, "G101")),
    "withdrawn": fate("unmet", "none", state="withdrawn"),
    "unknown": Unscored(Cause.TIE),
}


@given(st.lists(st.tuples(st.sampled_from(sorted(FATES)), st.integers(1, 5)), min_size=1, max_size=5))
async def test_the_bounds_hold_whatever_the_unknown_turns_out_to_be(drawn: list[tuple[str, int]]) -> None:
    async def scored(kinds: Sequence[str]) -> RuleResult:
        names = [f"意图{i}" for i in range(len(kinds))]
        given = [{"text": name, "weight": weight} for name, (_, weight) in zip(names, drawn, strict=True)]
        script = answers(**{name: FATES[kind] for name, kind in zip(names, kinds, strict=True)})
        return await result_of(SEED, script, intents=given, partial_credit=0.5)

    kinds = [kind for kind, _ in drawn]
    outcome = await scored(kinds)
    low, high = outcome.bounds
    for settled in ("met", "unmet", "partly", "withdrawn"):
        completed = await scored([settled if kind == "unknown" else kind for kind in kinds])
        if completed.applicable:
            assert completed.score is not None
            assert low <= completed.score <= high
        else:
            assert outcome.may_leave or not outcome.applicable


@pytest.mark.parametrize("params", [{}, {"stable_intents": True}, {"intents": ["查酒店"]}])
def test_the_prompt_is_short(params: dict[str, Any]) -> None:
    rule = build(RuleSpec("conversation_completeness", params))
    (question,) = (ask for ask in rule.ask(CASE, SEED, Answers()) if isinstance(ask, Question))
    asked = instructions([Task("q1", question.form, question.text, question.guide)])
    assert len(FRAME) + len(asked) <= 1_600


def test_examples_reach_the_question() -> None:
    rule = build(RuleSpec("conversation_completeness", {"examples": ["“订 G101 吧” 不是新的意图"]}))
    (question,) = (ask for ask in rule.ask(CASE, SEED, Answers()) if isinstance(ask, Question))
    assert "“订 G101 吧” 不是新的意图" in question.guide


@pytest.mark.parametrize(
    ("params", "named"),
    [
        ({"intents": [" "]}, "blank"),
        ({"intents": ["Hotel", {"text": "hotel"}]}, "'hotel'"),
        ({"intents": [{"text": "hotel", "weight": 0}]}, "weight"),
        ({"intents": [{"text": "hotel", "heavy": 1}]}, "heavy"),
        ({"partial_credit": 1.5}, "partial_credit"),
        ({"threshold": -1}, "threshold"),
        ({"samples": 2}, "samples"),
    ],
)
def test_what_cannot_be_used_is_refused_by_name(params: dict[str, Any], named: str) -> None:
    with pytest.raises(InputError, match=named):
        build(RuleSpec("conversation_completeness", params))
