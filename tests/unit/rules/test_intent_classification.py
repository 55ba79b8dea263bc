"""intent_classification: a blind judge lists what the agent acted on, code compares."""

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenteval.domain.errors import InputError
from agenteval.domain.outcome import ResultStatus, RuleResult
from agenteval.domain.questions import (
    DIALOG,
    Answers,
    Ask,
    Cause,
    Judged,
    Lead,
    Question,
    Ranked,
    Ranking,
    Unscored,
    until_turn,
)
from agenteval.domain.scenario import Layer, RuleSpec
from agenteval.domain.transcript import Dialog, ToolCall, TurnStatus
from agenteval.judge.compile import FRAME, Task, instructions
from agenteval.judge.verify import Seen, verify
from agenteval.rules.build import build
from agenteval.rules.intents.forms import AgentIntents, form_of
from tests.fakes.dialogs import CASE, dialog, said
from tests.fakes.scripted_judge import scripted_judge, transcript
from tests.fakes.scripted_panel import Tries, concluded, result_by

TAXONOMY = {
    "repair.book": "预约维修",
    "repair.cancel": "取消维修预约",
    "inquiry": {"description": "咨询信息", "keywords": ["价格"], "examples": ["维修多少钱？"]},
    "complaint": "投诉反馈",
}
BOOKING = dialog(("空调坏了，想预约维修", "好的，请问您的姓名？"), ("张三，另外多少钱？", "上门费 50 元。已为您预约。"))
ENGLISH = dialog(("My AC is broken, book a repair please", "Sure, what is your name?"))

Script = Callable[[Ask], Any]


def act(intent: str, turn: int, quote: str, asked: str = "", asked_turn: int = 0) -> dict[str, Any]:
    return {
        "agent_quote": {"turn": turn, "text": quote},
        "tool_quote": None,
        "intent": intent,
        "user_quote": {"turn": asked_turn, "text": asked} if asked else None,
        "asked_by_user": "yes" if asked else "no",
    }


def answer(*intents: Mapping[str, Any], second: str | None = None, question: str = "", turn: int = 0) -> dict[str, Any]:
    return {
        "reason": "理由",
        "intents": list(intents),
        "second": second,
        "question": {"turn": turn, "text": question} if question else None,
        "only_asked": "yes" if question else "no",
    }


BOOK = act("repair.book", 0, "请问您的姓名", "想预约维修")
PRICE = act("inquiry", 1, "上门费 50 元", "另外多少钱", 1)
UNASKED = act("complaint", 1, "已为您预约")


def always(raw: object) -> Script:
    return lambda ask: raw if isinstance(ask, Question) else None


async def judged(raw: object, dialog: Dialog = BOOKING, **params: Any) -> RuleResult:
    given = {"expected_intent": "repair.book", "intent_taxonomy": TAXONOMY} if "expected_intents" not in params else {}
    result, _ = await concluded(
        "intent_classification", {"intent_taxonomy": TAXONOMY} | given | params, dialog, always(raw)
    )
    return result


def verdict(result: RuleResult) -> object:
    return result.score, result.passed


def bounds(result: RuleResult) -> object:
    return result.bounds


# ---- one expected intent ---------------------------------------------------------------------------------------------


async def test_the_expected_intent_acted_on_is_correct_with_its_quotes() -> None:
    result = await judged(answer(BOOK))
    assert verdict(result) == (1, True)
    assert result.layer is Layer.L1
    assert result.reason == "意图正确：智能体处理了 repair.book（第 1 轮：“请问您的姓名”）。"
    assert [span.text for span in result.evidence] == ["请问您的姓名", "想预约维修"]
    assert result.detail["verdict"] == "correct"
    assert result.detail["acted_on"][0]["user_quote"] == "想预约维修"


async def test_a_later_intent_that_the_user_asked_for_does_no_harm() -> None:
    assert verdict(await judged(answer(PRICE, BOOK))) == (1, True)


async def test_a_later_intent_acted_on_unasked_does() -> None:
    result = await judged(answer(UNASKED, BOOK))
    assert verdict(result) == (0, False)
    assert "预期 repair.book" in result.reason
    assert "complaint（第 2 轮：“已为您预约”）" in result.reason


async def test_an_earlier_one_acted_on_unasked_does_not() -> None:
    assert verdict(await judged(answer(BOOK, UNASKED))) == (1, True)


@pytest.mark.parametrize(("accept_partial", "passed"), [(False, False), (True, True)])
async def test_the_second_reading_of_the_final_intent_is_partial(accept_partial: bool, passed: bool) -> None:
    result = await judged(answer(PRICE, second="repair.book"), accept_partial=accept_partial)
    assert verdict(result) == (Fraction(1, 2), passed)
    assert result.reason.startswith("意图部分正确：预期 repair.book")


async def test_a_sibling_in_a_dotted_taxonomy_is_partial() -> None:
    assert verdict(await judged(answer(act("repair.cancel", 0, "请问您的姓名")))) == (Fraction(1, 2), False)


async def test_without_dots_there_are_no_siblings() -> None:
    assert verdict(await judged(answer(PRICE), expected_intent="complaint")) == (0, False)


async def test_another_intent_is_incorrect_and_quoted() -> None:
    result = await judged(answer(PRICE), accept_partial=True)
    assert verdict(result) == (0, False)
    assert result.reason == "意图错误：预期 repair.book，智能体处理了 inquiry（第 2 轮：“上门费 50 元”）。"
    assert "上门费 50 元" in [span.text for span in result.evidence]


async def test_a_fitting_clarifying_question_is_correct() -> None:
    result = await judged(answer(question="请问您的姓名"))
    assert verdict(result) == (1, True)
    assert "恰当的澄清问题" in result.reason


async def test_an_empty_list_without_one_is_incorrect() -> None:
    assert verdict(await judged(answer())) == (0, False)


async def test_reasons_are_english_in_an_english_dialog() -> None:
    raw = answer(act("inquiry", 0, "what is your name"))
    result = await judged(raw, ENGLISH)
    assert result.reason == (
        'Intent wrong: expected repair.book, the agent acted on inquiry (turn 1: "what is your name").'
    )


async def test_a_tool_result_shows_an_intent_too() -> None:
    call = ToolCall("create_order", {"kind": "ac"}, {"order": "R-17"}, ok=True)
    booked = dialog(said("好的。", "想预约维修", tool_calls=(call,)))
    shown = act("repair.book", 0, "", "想预约维修") | {"tool_quote": {"turn": 0, "text": "R-17"}}
    result = await judged(answer(shown), booked)
    assert verdict(result) == (1, True)
    assert result.detail["acted_on"][0]["speaker"] == "tool"


# ---- no verdict without evidence -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "unusable",
    [
        act("refund", 1, "上门费 50 元"),  # no such intent
        act("inquiry", 1, "上门费 80 元"),  # nobody said so
        act("inquiry", 1, "上门费 50 元") | {"agent_quote": None},  # no quote
        act("inquiry", 1, "上门费 50 元") | {"asked_by_user": "maybe"},
        act("inquiry", 1, "上门费 50 元", "退款"),  # the user never said so
    ],
)
async def test_what_cannot_be_verified_accuses_nobody(unusable: dict[str, Any]) -> None:
    result = await judged(answer(unusable))
    assert result.status is ResultStatus.FAILED_TO_SCORE
    assert result.cause is Cause.EVIDENCE
    assert bounds(result) == (0, 1)
    assert result.passed is None


async def test_it_is_asked_again_before_it_is_left_out() -> None:
    assert verdict(await judged(Tries(answer(act("refund", 1, "x")), answer(BOOK)))) == (1, True)


INVENTED = act("repair.book", 1, "已为您办理预约")


@pytest.mark.parametrize("verified", [BOOK, act("repair.cancel", 0, "请问您的姓名"), PRICE])
async def test_one_that_was_left_out_may_change_any_verdict(verified: dict[str, Any]) -> None:
    result = await judged(answer(INVENTED, verified), accept_partial=True)
    assert (result.cause, bounds(result), result.passed) == (Cause.EVIDENCE, (0, 1), None)
    assert result.reason.startswith("意图未能判定：预期 repair.book，智能体处理了")
    assert "另有 1 项" in result.reason
    assert (result.detail["verdict"], "predicted" in result.detail) == (None, False)
    assert len(result.detail["dropped"]) == 1


@pytest.mark.parametrize(("match", "expected"), [("any", (1, 1)), ("all", (Fraction(1, 2), 1))])
async def test_of_a_list_what_is_left_is_proven_all_the_same(match: str, expected: tuple[Fraction, Fraction]) -> None:
    result = await judged(answer(INVENTED, BOOK), expected_intent=["repair.book", "complaint"], match=match)
    assert bounds(result) == expected


@pytest.mark.parametrize("expected", ["repair.book", ["repair.book", "complaint"]])
async def test_an_agent_that_is_said_to_have_acted_has_not_only_asked(expected: str | list[str]) -> None:
    raw = answer(INVENTED) | {"only_asked": "yes", "question": {"turn": 0, "text": "请问您的姓名"}}
    result = await judged(raw, expected_intent=expected)
    assert (result.status, result.cause, bounds(result)) == (ResultStatus.FAILED_TO_SCORE, Cause.SCHEMA, (0, 1))


@pytest.mark.parametrize(
    "contradiction",
    [
        answer(BOOK, question="请问您的姓名"),
        answer() | {"only_asked": "yes"},
        answer(question="您要投诉吗"),
        {"reason": "", "only_asked": "no"},
        "repair.book",
    ],
)
async def test_a_contradiction_in_the_answer_is_no_verdict(contradiction: object) -> None:
    result = await judged(contradiction)
    assert result.status is ResultStatus.FAILED_TO_SCORE
    assert "意图未能判定" in result.reason


async def test_what_is_noteworthy_of_the_answer_is_told() -> None:
    votes, windows = (("repair.book/yes", 2), ("inquiry/yes", 1)), ((0, 0), (1, 1))

    def script(ask: Ask) -> Any:
        assert isinstance(ask, Question)
        return Judged(_read(ask.form, answer(BOOK)), "model:m", turns_seen=windows, votes=votes, repaired=True)

    params = {"expected_intent": "repair.book", "intent_taxonomy": TAXONOMY}
    result, _ = await concluded("intent_classification", params, BOOKING, script)
    assert result.detail["votes"] == {"repair.book/yes": 2, "inquiry/yes": 1}
    assert (result.detail["turns_seen"], result.detail["repaired"]) == ([[0, 0], [1, 1]], True)


async def test_names_are_read_in_any_case_and_width() -> None:
    taxonomy = {"预约（上门）": "book", "Inquiry": "ask"}
    shown = act("预约(上门)", 0, "请问您的姓名", "想预约维修")
    assert verdict(await judged(answer(shown), expected_intent="预约（上门）", intent_taxonomy=taxonomy)) == (1, True)


async def test_a_failed_judge_gives_no_number() -> None:
    result = await judged(Unscored(Cause.MODEL_ERROR, "503"))
    assert (result.cause, bounds(result), result.passed) == (Cause.MODEL_ERROR, (0, 1), None)
    assert "503" in result.reason


@pytest.mark.parametrize("reply", ["", " \n", None])
async def test_an_agent_that_says_nothing_is_wrong_without_a_model(reply: str | None) -> None:
    result, step = await concluded(
        "intent_classification",
        {"expected_intent": "inquiry", "intent_taxonomy": TAXONOMY},
        dialog(("鞋不合脚怎么办？", reply)),
        always(answer()),
    )
    assert verdict(result) == (0, False)
    assert "空回复" in result.reason
    assert step.asked == []


# ---- lists and turns -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("match", "expected", "score", "passed"),
    [
        ("any", ["repair.book", "complaint"], Fraction(1), True),
        ("any", ["complaint"], Fraction(0), False),
        ("all", ["repair.book", "inquiry"], Fraction(1), True),
        ("all", ["repair.book", "inquiry", "complaint"], Fraction(2, 3), False),
        ("all", ["complaint", "other"], Fraction(0), False),
    ],
)
async def test_a_list_by_any_or_all(match: str, expected: list[str], score: Fraction, passed: bool) -> None:
    result = await judged(answer(PRICE, BOOK), expected_intent=expected, match=match)
    assert verdict(result) == (score, passed)
    if match == "all" and not passed:
        assert "complaint" in result.reason


async def test_a_clarifying_question_is_correct_for_a_list_too() -> None:
    asked = answer(question="请问您的姓名")
    assert verdict(await judged(asked, expected_intent=["inquiry", "complaint"], match="all")) == (1, True)


async def test_each_turn_is_judged_on_the_dialog_up_to_it() -> None:
    def script(ask: Ask) -> Any:
        assert isinstance(ask, Question)
        return {"intent:0": answer(BOOK), "intent:1": answer(BOOK)}[ask.item]

    turns = [{"turn_index": 0, "intent": "repair.book"}, {"turn_index": 1, "intent": "inquiry"}]
    params = {"intent_taxonomy": TAXONOMY, "expected_intents": turns}
    result, step = await concluded("intent_classification", params, BOOKING, script)
    assert verdict(result) == (Fraction(1, 2), False)
    assert [ask.view for ask in step.asked if isinstance(ask, Question)] == [until_turn(0), until_turn(1)]
    assert result.reason.startswith("2 轮中 1 轮意图正确。第 2 轮：意图错误：预期 inquiry")
    assert [turn["verdict"] for turn in result.detail["turns"]] == ["correct", "incorrect"]

    lenient, _ = await concluded("intent_classification", params | {"min_turn_accuracy": 0.5}, BOOKING, script)
    assert lenient.passed is True


async def test_a_turn_counts_1_or_0() -> None:
    sibling = answer(act("repair.cancel", 0, "请问您的姓名"))
    result = await judged(sibling, expected_intents=[{"turn_index": 0, "intent": "repair.book"}])
    assert verdict(result) == (0, False)


@pytest.mark.parametrize(("minimum", "passed"), [(0.5, True), (1, None)])
async def test_turns_that_were_not_judged_give_bounds(minimum: float, passed: bool | None) -> None:
    def script(ask: Ask) -> Any:
        return answer(BOOK) if isinstance(ask, Question) and ask.view == until_turn(0) else Unscored(Cause.MODEL_ERROR)

    turns = [{"turn_index": turn, "intent": "repair.book"} for turn in (0, 1)]
    params = {"intent_taxonomy": TAXONOMY, "expected_intents": turns, "min_turn_accuracy": minimum}
    result, _ = await concluded("intent_classification", params, BOOKING, script)
    assert (result.status, bounds(result)) == (ResultStatus.FAILED_TO_SCORE, (Fraction(1, 2), 1))
    assert (result.cause, result.passed) == (Cause.MODEL_ERROR, passed)


async def test_turns_after_a_failure_of_the_agent_are_wrong_turns_never_due_are_not() -> None:
    turns = [{"turn_index": turn, "intent": "repair.book"} for turn in (0, 5)]
    failed = dialog(said("请问您的姓名？", "想预约维修"), said(None, "张三", status=TurnStatus.TIMEOUT))
    missed = [{"turn_index": 1, "intent": "repair.book"}]
    assert verdict(await judged(answer(BOOK), failed, expected_intents=missed)) == (0, False)
    assert verdict(await judged(answer(BOOK), failed, expected_intents=turns)) == (Fraction(1, 2), False)
    assert verdict(await judged(answer(BOOK), BOOKING, expected_intents=turns)) == (1, True)
    none_due = await judged(answer(BOOK), BOOKING, expected_intents=turns[1:])
    assert none_due.status is ResultStatus.NOT_APPLICABLE


# ---- the judge is blind ----------------------------------------------------------------------------------------------


def questions(**params: Any) -> list[Question[AgentIntents]]:
    rule = build(RuleSpec("intent_classification", {"intent_taxonomy": TAXONOMY} | params))
    return [ask for ask in rule.ask(CASE, BOOKING, Answers()) if isinstance(ask, Question)]


@given(st.sampled_from(sorted(TAXONOMY)), st.permutations(sorted(TAXONOMY)))
def test_neither_what_is_expected_nor_the_authors_order_shows(expected: str, order: list[str]) -> None:
    (reference,) = questions(expected_intent="inquiry")
    (question,) = questions(expected_intent=expected, intent_taxonomy={name: TAXONOMY[name] for name in order})
    assert question.key == reference.key
    assert question.isolate


def test_the_judge_may_say_other_and_sees_all_that_describes_an_intent() -> None:
    (question,) = questions(expected_intent="inquiry")
    assert "- other: " in question.text
    assert '- inquiry: 咨询信息; 价格; "维修多少钱？"' in question.text
    (given_other,) = questions(expected_intent="other", intent_taxonomy=TAXONOMY | {"other": "其他"})
    assert given_other.text.count("- other: ") == 1


def test_samples_and_examples_reach_the_question() -> None:
    (question,) = questions(expected_intent="inquiry", samples=3, examples=["“查一下” → inquiry"])
    assert question.samples == 3
    assert "“查一下” → inquiry" in question.guide


def test_the_prompt_is_short() -> None:
    (question,) = questions(expected_intent="inquiry")
    asked = instructions([Task("q1", question.form, "The intents to choose from:", question.guide)])
    assert len(FRAME) + len(asked) <= 1_600


def test_votes_compare_what_the_agent_did_not_the_runner_up() -> None:
    form = form_of(("a", "b"))
    one, other = (_read(form, answer(act("a", 0, "请问您的姓名"), second=second)) for second in ("b", None))
    assert one.ballot() == other.ballot()
    assert one.ballot() != _read(form, answer(act("b", 0, "请问您的姓名"))).ballot()


def test_windows_of_a_long_dialog_are_read_as_one() -> None:
    form = form_of(("a", "b"))
    early = _read(form, answer(act("a", 0, "请问您的姓名", "想预约维修")))
    late = _read(form, answer(act("b", 1, "上门费 50 元"), act("a", 1, "已为您预约")))
    asked = _read(form, answer(question="请问您的姓名"))
    nothing = _read(form, answer())
    merged = form.merge([early, late])
    assert merged is not None
    assert [(act.intent, act.asked_by_user) for act in merged.intents] == [("b", "no"), ("a", "yes")]
    assert form.merge([asked, nothing]) == asked
    assert form.merge([asked, late]) == late


def _read(form: type[AgentIntents], raw: object) -> AgentIntents:
    value = verify(Question("q", form, ""), raw, Seen(BOOKING, DIALOG), rejected={}).value
    assert isinstance(value, AgentIntents)
    return value


async def test_an_intent_outside_the_taxonomy_is_asked_again_alone_on_the_wire() -> None:
    script = {"Give only the one item": BOOK, "choose from": answer(act("refund", 0, "请问您的姓名"))}
    params = {"expected_intent": "repair.book", "intent_taxonomy": TAXONOMY}
    async with scripted_judge(script) as wire:
        result = await result_by("intent_classification", params, BOOKING, wire.judge)
    assert verdict(result) == (1, True)
    assert len(wire.requests) == 2
    assert "must be one of" in transcript(wire.requests[1])


# ---- without a model -------------------------------------------------------------------------------------------------


def winners(**by_text: str) -> Script:
    """A scorer that finds a clear winner in texts that hold one of the words."""

    def script(ask: Ask) -> Any:
        if not isinstance(ask, Ranking):
            return None
        best = {name for word, name in by_text.items() if word in ask.text}
        return Ranked(best.pop(), "local") if len(best) == 1 else Unscored(Cause.NEEDS_JUDGE)

    return script


async def keyless(script: Script, dialog: Dialog = BOOKING, **params: Any) -> RuleResult:
    given = {"intent_taxonomy": TAXONOMY} | (params or {"expected_intent": "repair.book"})
    return (await concluded("intent_classification", given, dialog, script))[0]


async def test_a_clear_winner_of_the_agents_words_decides() -> None:
    result = await keyless(winners(预约="repair.book"))
    assert verdict(result) == (1, True)
    assert result.detail["decided_by"] == "encoder:scripted"
    assert [(span.turn, span.text) for span in result.evidence] == [(1, "上门费 50 元。已为您预约。")]


async def test_a_clear_winner_that_was_not_expected_is_incorrect_with_its_reply() -> None:
    result = await keyless(winners(上门费="complaint"))
    assert verdict(result) == (0, False)
    assert "预期 repair.book" in result.reason
    assert "上门费 50 元" in result.reason


async def test_the_words_of_both_sides_are_ranked_and_other_is_no_candidate() -> None:
    _, step = await concluded(
        "intent_classification",
        {"intent_taxonomy": TAXONOMY | {"other": "其他"}, "expected_intent": "repair.book"},
        BOOKING,
        winners(),
    )
    ranked = [ask for ask in step.asked if isinstance(ask, Ranking)]
    said = [turn.sent_message for turn in BOOKING]
    assert [ask.text for ask in ranked] == [
        "好的，请问您的姓名？\n上门费 50 元。已为您预约。",
        "好的，请问您的姓名？",
        "上门费 50 元。已为您预约。",
        "\n上门费 50 元。已为您预约。",
        *("\n".join(said), *said),
        "\n".join([*said, "好的，请问您的姓名？\n上门费 50 元。已为您预约。"]),
    ]
    assert "other" not in dict(ranked[0].candidates)
    assert dict(ranked[0].candidates)["inquiry"] == ("咨询信息", "价格", "维修多少钱？")


@pytest.mark.parametrize(
    "script",
    [
        winners(),  # no winner at all
        winners(上门费="inquiry", 姓名="inquiry", 预约="inquiry", 好的="repair.book"),  # the whole is not clear
    ],
)
async def test_without_a_clear_winner_it_needs_a_judge(script: Script) -> None:
    result = await keyless(script)
    assert (result.status, result.cause) == (ResultStatus.FAILED_TO_SCORE, Cause.NEEDS_JUDGE)
    assert "需要评审模型" in result.reason


async def test_nobody_is_accused_when_one_reply_shows_the_expected_intent() -> None:
    def script(ask: Ask) -> Any:
        if not isinstance(ask, Ranking):
            return None
        return Ranked(
            "repair.book" if ask.text.startswith("好的，请问您的姓名？") and "\n" not in ask.text else "inquiry", "s"
        )

    assert (await keyless(script)).cause is Cause.NEEDS_JUDGE


async def test_nothing_is_decided_when_no_single_reply_shows_it() -> None:
    def script(ask: Ask) -> Any:
        whole = isinstance(ask, Ranking) and "\n" in ask.text
        return Ranked("inquiry", "s") if whole else None

    assert (await keyless(script)).cause is Cause.NEEDS_JUDGE


# ---- what both sides speak of ----------------------------------------------------------------------------------------

PLAIN = {"book": "book a visit", "cancel": "cancel a visit", "price": "ask for a price", "hours": "opening hours"}
VISIT = dialog(("I want a visit", "When?"), ("Monday", "It is in the calendar."))
AGENT, USER, BOTH = "When?\nIt is", "I want a visit\nMonday", "I want a visit\nMonday\nWhen?"


def leads(**by_start: Ranked) -> Script:
    """A scorer with its rankings by how a text begins; of all others it knows nothing."""
    starts = {"agent": AGENT, "user": USER, "both": BOTH, "reply": "It is", "message": "I want a visit"}

    def script(ask: Ask) -> Any:
        if not isinstance(ask, Ranking):
            return None
        fits = [name for name in by_start if ask.text.startswith(starts[name])]
        return by_start[max(fits, key=lambda name: len(starts[name]))] if fits else None

    return script


def first(best: str, *following: str, lead: Lead = Lead.FIRST) -> Ranked:
    return Ranked(best, "s", lead, following)


SPEAK_OF_BOOKING = {
    "agent": first("price", "book", "hours"),
    "user": first("book", "cancel"),
    "both": first("book", "cancel", lead=Lead.AHEAD),
    "reply": first("book"),
    "message": first("book"),
}


async def visit(expected: str = "book", taxonomy: Any = PLAIN, **changed: Ranked) -> RuleResult:
    script = leads(**{**SPEAK_OF_BOOKING, **changed})
    return await keyless(script, VISIT, intent_taxonomy=taxonomy, expected_intent=expected)


async def test_what_both_sides_speak_of_decides_with_the_reply_that_shows_it() -> None:
    result = await visit()
    assert verdict(result) == (1, True)
    assert [(span.turn, span.text) for span in result.evidence] == [(1, "It is in the calendar.")]


async def test_an_intent_that_nothing_is_most_like_was_not_acted_on() -> None:
    assert verdict(await visit("cancel")) == (0, False)


@pytest.mark.parametrize(
    ("expected", "changed"),
    [
        ("book", {"both": first("book", "cancel")}),  # hardly ahead
        ("book", {"agent": first("price", "cancel", "hours")}),  # the agent speaks of something else
        ("book", {"user": first("price", "cancel", "hours")}),  # the user does
        ("book", {"reply": first("price")}),  # no single reply shows it
        ("cancel", {"message": first("cancel")}),  # one message is like what was expected
        ("book", {"taxonomy": PLAIN | {"book": {"description": "book a visit", "keywords": ["booked"]}}}),  # not said
    ],
)
async def test_else_what_both_sides_speak_of_tells_nothing(expected: str, changed: Any) -> None:
    assert (await visit(expected, **changed)).cause is Cause.NEEDS_JUDGE


async def test_lists_without_a_model() -> None:
    booked = winners(预约="repair.book")
    assert verdict(await keyless(booked, expected_intent=["repair.book", "inquiry"])) == (1, True)
    assert (await keyless(booked, expected_intent=["repair.book", "inquiry"], match="all")).cause is Cause.NEEDS_JUDGE


async def test_a_judge_that_failed_is_not_replaced_by_the_scorer() -> None:
    def script(ask: Ask) -> Any:
        return Unscored(Cause.MODEL_ERROR) if isinstance(ask, Question) else Ranked("repair.book", "s")

    assert (await keyless(script)).cause is Cause.MODEL_ERROR


SHOP = {
    "return": {"description": "return an item", "keywords": ["return is registered"]},
    "cancel": {"description": "cancel an order", "keywords": ["order is cancelled", "cancel your order"]},
    "refund": {"description": "refund", "keywords": ["money back"]},
}
SHOP_ZH = {
    "return": {"description": "退货", "keywords": ["登记退货"]},
    "cancel": {"description": "取消订单", "keywords": ["订单已取消", "取消订单"]},
    "refund": {"description": "退款", "keywords": ["退回原账户"]},
}


def every_text(intent: str) -> Script:
    """A scorer that takes every text with a word for this intent: only what is asked of it, and code, can help."""
    return lambda ask: Ranked(intent, "s") if isinstance(ask, Ranking) else None


async def shop(reply: str, best: str, expected: str = "return") -> RuleResult:
    chinese = not reply.isascii()
    said_to = "我要退货" if chinese else "I want to return it"
    taxonomy = SHOP_ZH if chinese else SHOP
    return await keyless(every_text(best), dialog((said_to, reply)), intent_taxonomy=taxonomy, expected_intent=expected)


@pytest.mark.parametrize(
    "reply",
    [
        "Do you want to return it, or to cancel the order?",
        "Would you rather cancel your order instead?",
        "Has your order been sent already? If not I can also cancel your order.",
        "You do not want your order cancelled, right? I will never say your order is cancelled.",
        "I can also cancel your order.",
        "I will cancel your order, if you like.",
        "If you prefer, I will cancel your order.",
        "To cancel your order, or to return it?",
        "您是要退货，还是要取消订单？",
        "您想改为取消订单吗？",
        "您的订单发货了吗？如果还没有，我也可以取消订单。",
        "您不想取消订单，对吧？我绝不会说您的订单已取消。",
        "我也可以帮您取消订单。",
        "如果您愿意，我马上为您取消订单。",
    ],
)
async def test_questions_denials_conditions_and_offers_accuse_nobody(reply: str) -> None:
    result = await shop(reply, "cancel")
    assert (result.status, result.cause) == (ResultStatus.FAILED_TO_SCORE, Cause.NEEDS_JUDGE)


@pytest.mark.parametrize(
    ("reply", "quote"),
    [
        ("Thanks for waiting. Your order is cancelled.", "Your order is cancelled."),
        ("I will cancel your order right away. Is that all?", "I will cancel your order right away."),
        ("To cancel your order, may I have its number?", "To cancel your order,"),
        ("久等了，您的订单已取消。", "您的订单已取消。"),
        ("为了取消订单，请问订单号是多少？", "为了取消订单，"),
        ("我马上为您取消订单。还有别的问题吗？", "我马上为您取消订单。"),
    ],
)
async def test_another_intent_asserted_or_promised_is_incorrect_with_its_clause(reply: str, quote: str) -> None:
    result = await shop(reply, "cancel")
    assert verdict(result) == (0, False)
    assert [span.text for span in result.evidence] == [quote]


@pytest.mark.parametrize("reply", ["I will see to your return.", "我来处理您的退货。"])
async def test_nobody_is_accused_of_an_intent_none_of_whose_keywords_is_said(reply: str) -> None:
    assert (await shop(reply, "cancel")).cause is Cause.NEEDS_JUDGE


@pytest.mark.parametrize(
    "reply",
    ["Your return is registered. I will not charge you, your order is cancelled.", "已登记退货，您的订单已取消。"],
)
async def test_nobody_is_accused_who_said_a_keyword_of_the_expected_intent(reply: str) -> None:
    assert (await shop(reply, "cancel")).cause is Cause.NEEDS_JUDGE


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("Our refund policy is on the website.", "refund"),
        ("我们的退款政策在网站上。", "refund"),
        ("Sorry, I cannot say that your return is registered.", "return"),
        ("抱歉，目前无法为您登记退货", "return"),
    ],
)
async def test_neither_a_topic_nor_a_refusal_passes_as_acting_on_an_intent(reply: str, expected: str) -> None:
    assert (await shop(reply, expected, expected)).cause is Cause.NEEDS_JUDGE


@pytest.mark.parametrize(
    "reply",
    [
        "To cancel your order please call us. I can't do it.",
        "You can cancel your order on our website.",
        "You want to cancel your order? I am not able to do that here.",
        "取消订单请致电客服，我这边无法办理。",
        "您可以通过官网取消订单。",
        "您要取消订单？这个我办不了。",
    ],
)
async def test_to_send_the_user_elsewhere_is_not_to_act(reply: str) -> None:
    assert (await shop(reply, "cancel", "cancel")).cause is Cause.NEEDS_JUDGE


@pytest.mark.parametrize(
    "reply",
    ["Your order is cancelled. For anything else please call us.", "您的订单已取消。其他问题请致电客服。"],
)
async def test_who_acted_may_send_the_user_elsewhere_for_the_rest(reply: str) -> None:
    assert verdict(await shop(reply, "cancel", "cancel")) == (1, True)


@pytest.mark.parametrize(
    "reply", ["Your return is registered.", "Is it right that your return is registered today?", "我这就为您登记退货。"]
)
async def test_acting_promising_and_a_fitting_question_pass(reply: str) -> None:
    assert verdict(await shop(reply, "return")) == (1, True)


# ---- parameters ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "named"),
    [
        ({"expected_intent": "refund"}, "refund"),
        ({}, "expected_intent"),
        ({"expected_intent": []}, "expected_intent"),
        ({"expected_intent": "inquiry", "expected_intents": [{"turn_index": 0, "intent": "inquiry"}]}, "either"),
        ({"expected_intents": [{"turn_index": 1, "intent": "inquiry"}] * 2}, r"twice: \[1, 1\]"),
        ({"expected_intents": [{"turn_index": 0, "intent": "inquiry"}] * 2}, r"twice: \[0, 0\]"),
        ({"expected_intents": [{"turn_index": -1, "intent": "inquiry"}]}, "expected_intents/0/turn_index"),
        ({"expected_intent": ["inquiry", "inquiry"]}, "twice"),
        ({"expected_intent": ["inquiry"], "accept_partial": True}, "accept_partial"),
        ({"expected_intent": "a", "intent_taxonomy": {}}, "intent_taxonomy"),
        ({"expected_intent": "a", "intent_taxonomy": {"a": "x", "A": "y"}}, "'A'"),
        ({"expected_intent": "a", "intent_taxonomy": {"a": "x", " ": "y"}}, "blank"),
        ({"expected_intent": "inquiry", "samples": 2}, "samples"),
        ({"expected_intent": "inquiry", "min_turn_accuracy": 2}, "min_turn_accuracy"),
        ({"expected_intent": "inquiry", "expect": 1}, "expect"),
    ],
)
def test_what_cannot_be_used_is_refused_by_name(params: dict[str, Any], named: str) -> None:
    with pytest.raises(InputError, match=named):
        build(RuleSpec("intent_classification", {"intent_taxonomy": TAXONOMY} | params))


def test_a_turn_that_the_case_lacks_is_warned_of() -> None:
    turns = [{"turn_index": 3, "intent": "inquiry"}]
    rule = build(RuleSpec("intent_classification", {"intent_taxonomy": TAXONOMY, "expected_intents": turns}))
    assert list(rule.warnings(CASE)) == ["expected_intents: there is no turn 3, the last one is 0"]
