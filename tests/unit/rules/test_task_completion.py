"""task_completion: each bullet of what it means, by a scripted judge and by code alone, in Chinese and English."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import orjson
import pytest

from agenteval.domain.errors import InputError
from agenteval.domain.forms import load
from agenteval.domain.outcome import ONE, ZERO, ResultStatus, RuleResult
from agenteval.domain.questions import Answers, Ask, Cause, Judged, Question, Unscored
from agenteval.domain.scenario import Case, Layer, RuleSpec
from agenteval.domain.transcript import Dialog, ToolCall, TurnStatus
from agenteval.judge.compile import Seal, Task, compile_request
from agenteval.rules.build import build
from agenteval.rules.completion.forms import SlotAnswer
from tests.fakes.dialogs import CASE, dialog, said
from tests.fakes.scripted_panel import ScriptedStep, concluded

BOOKING = dialog(
    ("我家空调坏了，想预约维修", "好的，请问您贵姓？"),
    ("我叫张三", "张先生您好，请问您的联系电话是多少？"),
    ("电话是 13800138000", "收到，13800138000。请问服务地址是？"),
    ("地址是朝阳区建国路 88 号", "已记录您的地址，师傅会尽快联系您。"),
)
SLOTS = [
    {"name": "user_name", "description": "用户姓名"},
    {"name": "phone", "description": "联系电话"},
    {"name": "address", "description": "服务地址"},
    {"name": "fault_description", "description": "故障描述"},
    {"name": "appointment_time", "description": "预约时间"},
]
ENGLISH = dialog(
    ("I'd like to book a repair for my AC", "Sure, may I have your name?"),
    ("Jane Doe", "Thanks Jane. What is your phone number?"),
    ("It's 212-555-0147", "Got it. Your repair is booked for Monday."),
)

Said = Mapping[str, Any]


def quote(turn: int, text: str) -> dict[str, Any]:
    return {"turn": turn, "text": text}


def slot(
    status: str,
    *user: dict[str, Any],
    agent: dict[str, Any] | None = None,
    tool: dict[str, Any] | None = None,
    part: str = "none",
    reasked: bool = False,
) -> dict[str, Any]:
    return {
        "reason": "理由",
        "user": list(user),
        "agent": agent,
        "tool": tool,
        "part": part,
        "reasked": reasked,
        "status": status,
    }


MISSING = slot("missing")


def step(status: str, *agent: dict[str, Any], tool: dict[str, Any] | None = None) -> dict[str, Any]:
    shown = [{"agent": said_, "tool": None} for said_ in agent] + ([{"agent": None, "tool": tool}] if tool else [])
    return {"reason": "理由", "shown": shown, "status": status}


def when(holds: str, user: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"reason": "理由", "user": user, "agent": None, "tool": None, "holds": holds}


async def judged(params: Mapping[str, Any], talk: Dialog, answers: Said | None = None) -> RuleResult:
    """The result when the judge answers by item; what it has no answer to needs a judge."""
    result, _ = await judged_and_asked(params, talk, answers)
    return result


async def judged_and_asked(
    params: Mapping[str, Any], talk: Dialog, answers: Said | None = None
) -> tuple[RuleResult, ScriptedStep]:
    def script(ask: Ask) -> Any:
        return (answers or {}).get(ask.item) if isinstance(ask, Question) else None

    return await concluded("task_completion", params, talk, script)


def slots(*items: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    return {"mode": "slot", "required_slots": list(items), **more}


def steps(*items: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    return {"mode": "step", "required_steps": list(items), **more}


def turns(*evidence: int | None) -> tuple[dict[str, Any], Dialog]:
    """Steps s0, s1, ... that code finds by a keyword in the given turns (None: nowhere)."""
    talk = dialog(
        *(
            (f"第 {turn} 轮", "好的。" + "".join(f"完成S{i}了。" for i, at in enumerate(evidence) if at == turn))
            for turn in range(max((t for t in evidence if t is not None), default=0) + 1)
        )
    )
    return steps(*({"name": f"s{i}", "keywords": [f"完成S{i}了"]} for i in range(len(evidence)))), talk


FILLED = {
    "slot:user_name": slot("filled", quote(1, "张三"), agent=quote(1, "张先生您好"), part="repeated"),
    "slot:phone": slot("filled", quote(2, "13800138000"), agent=quote(1, "请问您的联系电话是多少"), part="asked"),
    "slot:address": slot("filled", quote(3, "朝阳区建国路 88 号")),
    "slot:fault_description": slot("filled", quote(0, "空调坏了")),
    "slot:appointment_time": MISSING,
}


# ---- the seed's case -------------------------------------------------------------------------------------------------


async def test_the_seeds_case_is_4_of_5() -> None:
    result = await judged(slots(*SLOTS, min_completion_rate=0.6), BOOKING, FILLED)
    assert (result.status, result.score, result.passed) == (ResultStatus.SCORED, Fraction(4, 5), True)
    assert result.reason == "完成 4/5 项：缺少 appointment_time（预约时间，用户未提供）"
    detail = result.detail
    assert (detail["filled"], detail["slot_rate"], detail["missing"]) == ("4/5", "4/5", ["appointment_time"])
    phone = detail["slots"]["phone"]
    assert (phone["status"], phone["filled"], phone["value"]) == ("filled", True, "13800138000")
    assert (phone["turn_index"], phone["quote"], phone["decided_by"]) == (2, "13800138000", "model:scripted")
    assert {(span.turn, span.text) for span in result.evidence} >= {(1, "张三"), (2, "13800138000"), (0, "空调坏了")}
    assert orjson.loads(orjson.dumps(dict(detail))) == detail


async def test_without_a_model_nothing_is_guessed() -> None:
    result = await judged(slots(*SLOTS), BOOKING)
    assert (result.status, result.cause, result.bounds) == (
        ResultStatus.FAILED_TO_SCORE,
        Cause.NEEDS_JUDGE,
        (ZERO, ONE),
    )
    assert result.passed is None
    assert result.may_leave, "all five may have been declined"
    assert "未判定 user_name（用户姓名，需要评审模型）" in result.reason
    assert result.detail["slots"]["phone"]["filled"] is None


async def test_expected_values_are_decided_without_a_model() -> None:
    values = ["张三", "138 0013 8000", "建国路88号", "空调坏了", "明天上午"]
    items = [{**item, "expected_value": value} for item, value in zip(SLOTS, values, strict=True)]
    items[1]["type"] = "phone"
    result, judge = await judged_and_asked(slots(*items), BOOKING)
    assert (result.status, result.score, result.passed) == (ResultStatus.SCORED, Fraction(4, 5), True)
    phone = result.detail["slots"]["phone"]
    assert (phone["value"], phone["turn_index"], phone["decided_by"]) == ("13800138000", 2, "code")
    assert [ask.item for ask in judge.asked if isinstance(ask, Question)] == [
        "slot:user_name",
        "slot:phone",
        "slot:address",
        "slot:fault_description",
    ], "what was not stated is not asked; of the rest only the uptake is"


async def test_no_prompt_holds_an_expected_value() -> None:
    hidden = ["VALUE-77", "LISTED-78", "PATTERN-79"]
    expected: list[Any] = [hidden[0], [hidden[1], "b"], {"pattern": hidden[2]}]
    items = [{"name": f"s{i}", "description": "d", "expected_value": value} for i, value in enumerate(expected)]
    talk = dialog((f"{hidden[0]} {hidden[1]} {hidden[2]}", "ok"))
    _, judge = await judged_and_asked(slots(*items), talk)
    asked = [ask for ask in judge.asked if isinstance(ask, Question)]
    assert len(asked) == 3
    tasks = [Task(ask.item, ask.form, ask.text, ask.guide) for ask in asked]
    request = compile_request(tasks, "[0] user: hello", Seal.of(b"s", talk, 0))
    prompt = str(request.messages) + str(request.schema)
    assert not [value for value in hidden if value in prompt]


def test_the_prompt_is_short() -> None:
    rule = build(RuleSpec("task_completion", slots(*SLOTS)))
    asked = [ask for ask in rule.ask(CASE, BOOKING, Answers()) if isinstance(ask, Question)]
    tasks = [Task(f"q{i}", ask.form, ask.text, ask.guide) for i, ask in enumerate(asked)]
    request = compile_request(tasks, "[0] user: hello", Seal.of(b"s", BOOKING, 0))
    assert len(request.messages[0].content) <= 1_400


# ---- uptake: three levels from one judgement -------------------------------------------------------------------------

PHONE = {"name": "phone", "description": "联系电话"}


@pytest.mark.parametrize(
    ("answer", "levels"),
    [
        (slot("filled", quote(2, "13800138000"), agent=quote(1, "请问您的联系电话"), part="asked"), (1, 1, 1)),
        (slot("filled", quote(2, "13800138000"), agent=quote(2, "收到，13800138000"), part="repeated"), (1, 1, 1)),
        (slot("filled", quote(2, "13800138000")), (1, 1, 0)),
        (slot("stated_only", quote(2, "13800138000")), (1, 0, 0)),
        (slot("stale", quote(2, "13800138000"), agent=quote(3, "已记录您的地址")), (1, 0, 0)),
        (slot("contradicted", quote(2, "13800138000"), agent=quote(3, "已记录您的地址")), (1, 0, 0)),
        (slot("invalid", quote(2, "13800138000")), (0, 0, 0)),
        (slot("fabricated", agent=quote(2, "13800138000")), (0, 0, 0)),
        (MISSING, (0, 0, 0)),
    ],
)
async def test_each_status_counts_as_its_row_says(answer: dict[str, Any], levels: tuple[int, int, int]) -> None:
    for uptake, filled in zip(("stated", "accepted", "confirmed"), levels, strict=True):
        result = await judged(slots(PHONE, uptake=uptake), BOOKING, {"slot:phone": answer})
        assert result.score == filled
        detail = result.detail["slots"]["phone"]
        assert (detail["stated"], detail["accepted"], detail["confirmed"]) == tuple(map(bool, levels))
        assert detail["status"] == answer["status"]


async def test_a_tool_call_with_the_value_confirms_it() -> None:
    talk = dialog(said("好的。", "电话 13800138000", tool_calls=(ToolCall("save", {"tel": "138-0013-8000"}),)))
    item = {**PHONE, "type": "phone"}
    result = await judged(
        slots(item, uptake="confirmed"), talk, {"slot:phone": slot("filled", quote(0, "13800138000"))}
    )
    assert result.score == 1


async def test_an_offer_counts_when_the_user_assents_in_words() -> None:
    talk = dialog(("我要预约", "明天上午九点可以吗？"), ("好的", "已为您登记。"))
    offered = slot("filled", quote(1, "好的"), agent=quote(0, "明天上午九点"), part="offered")
    result = await judged(slots({"name": "time", "description": "预约时间"}), talk, {"slot:time": offered})
    assert result.score == 1
    detail = result.detail["slots"]["time"]
    assert (detail["value"], detail["turn_index"]) == ("明天上午九点", 0)


@pytest.mark.parametrize(
    ("answer", "filled"),
    [
        ("好的", 1),
        ("对，就这个时间", 1),
        ("好的，那地址呢？", 1),
        ("", 0),
        ("那你们几点下班？", 0),
        ("可以便宜点吗？", 0),
        ("好的，但是换成后天吧", 0),
        ("对了，我要改一下", 0),
        ("行李怎么办", 0),
        ("不行", 0),
        ("Sure!", 1),
        ("That sounds good", 1),
        ("That is too early", 0),
        ("Okay, but another day please", 0),
    ],
)
async def test_code_sees_assent_in_words_only(answer: str, filled: int) -> None:
    talk = dialog(("我要预约", "明天上午九点可以吗？"), (answer, "收到。"))
    item = {"name": "time", "description": "预约时间", "expected_value": "明天上午九点"}
    assert (await judged(slots(item), talk)).score == filled


async def test_a_value_of_a_tool_result_is_stated() -> None:
    lookup = (ToolCall("find_user", {"id": 7}, {"name": "张三", "tel": "13800138000"}, ok=True),)
    talk = dialog(said("查到了，张先生。", "我是老用户", tool_calls=lookup))
    item = {**PHONE, "type": "phone", "expected_value": "13800138000"}
    result = await judged(slots(item), talk)
    assert result.score == 1
    assert result.detail["slots"]["phone"]["evidence"][0]["speaker"] == "tool"
    quoted = slot("filled", tool=quote(0, "13800138000"))
    assert (await judged(slots(PHONE), talk, {"slot:phone": quoted})).score == 1


async def test_the_result_of_a_failed_call_states_nothing() -> None:
    failed = (ToolCall("find_user", {"id": 7}, "13800138000 unknown", ok=False),)
    talk = dialog(said("没有查到。", "我是老用户", tool_calls=failed))
    assert (await judged(slots({**PHONE, "expected_value": "13800138000"}), talk)).score == 0


async def test_accepted_needs_a_reply_that_follows() -> None:
    talk = dialog(("你好", "您好，请问电话？"), said(None, "13800138000", status=TurnStatus.TIMEOUT))
    result = await judged(slots(PHONE), talk, {"slot:phone": slot("filled", quote(1, "13800138000"))})
    assert result.detail["slots"]["phone"]["status"] == "stated_only"
    assert result.score == 0
    expected = {**PHONE, "expected_value": "13800138000"}
    result, judge = await judged_and_asked(slots(expected), talk)
    assert (result.detail["slots"]["phone"]["status"], judge.asked) == ("stated_only", [])
    assert (await judged(slots(expected, uptake="stated"), talk)).score == 1


async def test_reasked_is_reported_and_a_value_taken_up_later_counts() -> None:
    again = slot("filled", quote(2, "13800138000"), agent=quote(1, "请问您的联系电话"), part="asked", reasked=True)
    result = await judged(slots(PHONE), BOOKING, {"slot:phone": again})
    assert (result.score, result.detail["slots"]["phone"]["reasked"]) == (ONE, True)


# ---- statuses --------------------------------------------------------------------------------------------------------


async def test_the_last_value_wins_and_the_history_is_kept() -> None:
    talk = dialog(("电话 13900139000", "好的。"), ("说错了，是 13800138000", "已更正为 13800138000。"))
    answer = slot("filled", quote(0, "13900139000"), quote(1, "13800138000"))
    detail = (await judged(slots({**PHONE, "type": "phone"}), talk, {"slot:phone": answer})).detail["slots"]["phone"]
    assert (detail["value"], detail["turn_index"]) == ("13800138000", 1)
    assert detail["history"] == [{"turn_index": 0, "speaker": "user", "quote": "13900139000"}]


async def test_declined_leaves_the_denominator() -> None:
    talk = dialog(("我叫李四", "李先生，请问您的电话？"), ("电话不方便说", "好的，没关系。"))
    answers = {
        "slot:name": slot("filled", quote(0, "李四")),
        "slot:phone": slot("declined", quote(1, "电话不方便说"), agent=quote(0, "请问您的电话"), part="asked"),
    }
    params = slots({"name": "name", "description": "姓名"}, {**PHONE, "critical": True})
    result = await judged(params, talk, answers)
    assert (result.score, result.vetoes) == (ONE, ()), "a critical item that left is no veto"
    assert result.reason == "完成 1/1 项：不计入 phone（联系电话，用户拒绝提供）"
    assert (result.detail["slots"]["phone"]["status"], result.detail["slots"]["phone"]["filled"]) == ("declined", None)


async def test_when_everything_left_the_rule_does_not_apply() -> None:
    talk = dialog(("你好", "请问您的电话？"), ("不想说", "好的。"))
    answer = slot("declined", quote(1, "不想说"), agent=quote(0, "请问您的电话"), part="asked")
    result = await judged(slots({**PHONE, "critical": True}), talk, {"slot:phone": answer})
    assert (result.status, result.score, result.vetoes) == (ResultStatus.NOT_APPLICABLE, None, ())
    assert result.reason == "没有可计入的必需项：不计入 phone（联系电话，用户拒绝提供）"


async def test_missing_says_when_it_was_asked_for() -> None:
    asked = slot("missing", agent=quote(2, "请问服务地址是"), part="asked")
    result = await judged(slots(SLOTS[2]), dialog(*BOOKING.turns[:3]), {"slot:address": asked})
    assert result.reason == "完成 0/1 项：缺少 address（服务地址，智能体询问过，用户的消息中没有答案）"
    assert result.detail["slots"]["address"]["asked"] is True


async def test_code_sees_that_it_was_asked_for() -> None:
    talk = dialog(("I want a repair", "What is your phone number?"), ("Just come by", "Fine."))
    item = {"name": "phone", "description": "contact phone", "type": "phone"}
    result = await judged(slots(item), talk)
    assert (
        result.reason
        == "0/1 items done: missing phone (contact phone, asked for, but no message of the user answers it)"
    )
    assert result.detail["slots"]["phone"]["evidence"][0]["quote"] == "What is your phone number?"


@pytest.mark.parametrize(
    ("constraint", "value", "status"),
    [
        ({"type": "phone"}, "一二三", "invalid"),
        ({"type": "phone"}, "13800138000", "filled"),
        ({"pattern": r"[A-Z]{2}\d{4}"}, "AB1234", "filled"),
        ({"pattern": r"^[A-Z]{2}\d{4}$"}, "我的号是 AB1234", "filled"),
        ({"pattern": r"[A-Z]{2}\d{4}"}, "AB12345", "invalid"),
        ({"pattern": r"^\d+元$|^免费$"}, "免费", "filled"),
        ({"values": ["红色", "蓝色"]}, "要蓝色的", "filled"),
        ({"values": ["红色", "蓝色"]}, "绿色", "invalid"),
        ({"type": "number", "pattern": "[1-9]"}, "3", "filled"),
        ({"type": "number", "pattern": "[1-9]"}, "12", "invalid"),
    ],
)
async def test_a_value_that_fails_its_constraint_is_invalid(
    constraint: dict[str, Any], value: str, status: str
) -> None:
    # The other words hold a fitting value, so that code alone cannot decide that there is none.
    talk = dialog((value, "好的。样例：13800138000、ZZ9999、红色、5"))
    result = await judged(
        slots({"name": "x", "description": "d", **constraint}), talk, {"slot:x": slot("filled", quote(0, value))}
    )
    assert result.detail["slots"]["x"]["status"] == status


@pytest.mark.parametrize("constraint", [{"type": "date"}, {"pattern": r"[A-Z]{2}\d{4}"}, {"values": ["红色", "蓝色"]}])
async def test_code_decides_missing_when_no_such_value_stands_anywhere(constraint: dict[str, Any]) -> None:
    item = {"name": "x", "description": "d", **constraint}
    result, judge = await judged_and_asked(slots(item), BOOKING)
    assert (result.score, result.detail["slots"]["x"]["status"], judge.asked) == (ZERO, "missing", [])
    talk = dialog(("明天和后天 AB1234 红色", "好的。"))
    two = slots(item, {"name": "y", "description": "e", **constraint})
    assert (await judged(two, talk)).cause is Cause.NEEDS_JUDGE


@pytest.mark.parametrize(
    ("kind", "talk", "status"),
    [
        ("date", dialog(("明天到店，两位", "好的。")), "filled"),
        ("time", dialog(("Come at 8 pm please", "Fine, 8 pm.")), "filled"),
        ("phone", dialog(("My number is 138 0013 8000", "Thanks.")), "filled"),
        ("phone", dialog(("打 13800138000", "好的，您的电话是 13900139000，对吧。")), "contradicted"),
        ("phone", dialog(("13800138000", "好的。"), ("改成 13900139000", "已改为 13900139000。")), "filled"),
        ("email", dialog(("tom@mail.com", None)), "stated_only"),
        ("date", dialog(("住在 8号", "好的。")), "unscored"),  # a house
        ("number", dialog(("四位", "好的。")), "unscored"),  # of what?
    ],
)
async def test_the_only_value_of_a_telling_kind_needs_no_judge(kind: str, talk: Dialog, status: str) -> None:
    result = await judged(slots({"name": "x", "description": "d", "type": kind}), talk)
    assert result.detail["slots"]["x"]["status"] == status


@pytest.mark.parametrize(
    ("kind", "other", "said"),
    [
        ("date", "date", "明天"),
        ("date", "datetime", "明天"),
        ("time", "datetime", "8 pm"),
        ("phone", "phone", "13800138000"),
    ],
)
async def test_a_kind_that_two_slots_have_tells_nothing(kind: str, other: str, said: str) -> None:
    items = [{"name": name, "description": name, "type": of} for name, of in (("x", kind), ("y", other))]
    result = await judged(slots(*items), dialog((said, "好的。")))
    assert result.detail["slots"]["x"]["status"] == "unscored"


@pytest.mark.parametrize(
    ("kind", "said"),
    [("email", "tommailcom"), ("email", "tom at mail dot com"), ("phone", "174555893"), ("date", "2292018")],
)
async def test_what_lost_its_signs_on_the_way_is_not_missing(kind: str, said: str) -> None:
    result = await judged(slots({"name": "x", "description": "d", "type": kind}), dialog((said, "好的。")))
    assert result.detail["slots"]["x"]["status"] == "unscored"


async def test_fabricated_needs_the_agents_words() -> None:
    params = slots(SLOTS[4])
    result = await judged(
        params, BOOKING, {"slot:appointment_time": slot("fabricated", agent=quote(3, "师傅会尽快联系您"))}
    )
    assert result.reason == "完成 0/1 项：缺少 appointment_time（预约时间，智能体编造）"
    result = await judged(params, BOOKING, {"slot:appointment_time": slot("fabricated")})
    assert (result.status, result.cause) == (ResultStatus.FAILED_TO_SCORE, Cause.SCHEMA)


@pytest.mark.parametrize(
    "answer",
    [
        slot("filled"),
        slot("filled", part="asked", agent=quote(1, "请问您的联系电话")),
        slot("filled", quote(2, "13800138000"), part="asked"),
        slot("filled", quote(2, "13800138000"), part="offered", agent=quote(2, "收到")),
        slot("stale", quote(2, "13800138000")),
        slot("contradicted", quote(2, "13800138000"), agent=quote(1, "请问您的联系电话是多少")),
        slot("declined", quote(2, "电话是 13800138000")),
        slot("declined", quote(1, "我叫张三"), agent=quote(1, "请问您的联系电话")),
        slot("missing", quote(2, "13800138000")),
        slot("fabricated", quote(2, "13800138000"), agent=quote(2, "13800138000")),
        slot("great", quote(2, "13800138000")),
    ],
)
async def test_a_verdict_that_contradicts_itself_gives_no_number(answer: dict[str, Any]) -> None:
    result = await judged(slots(PHONE), BOOKING, {"slot:phone": answer})
    assert (result.status, result.cause, result.score) == (ResultStatus.FAILED_TO_SCORE, Cause.SCHEMA, None)


async def test_an_invented_quote_gives_no_number() -> None:
    result = await judged(slots(PHONE), BOOKING, {"slot:phone": slot("filled", quote(2, "13900139000"))})
    assert result.cause is Cause.EVIDENCE


async def test_one_unscored_slot_gives_bounds() -> None:
    answers = {**FILLED, "slot:address": Unscored(Cause.MODEL_ERROR, "timeout")}
    result = await judged(slots(*SLOTS, min_completion_rate=0.6), BOOKING, answers)
    assert (result.status, result.cause) == (ResultStatus.FAILED_TO_SCORE, Cause.MODEL_ERROR)
    assert (result.bounds, result.passed) == ((Fraction(3, 5), Fraction(4, 5)), True), "settled: both ends pass"
    assert "3/5" in result.reason
    assert (await judged(slots(*SLOTS), BOOKING, answers)).passed is None


# ---- expected values: what code decides, what the judge --------------------------------------------------------------

EXPECTED = {**PHONE, "type": "phone", "expected_value": "13800138000"}


@pytest.mark.parametrize(
    ("answer", "status", "score"),
    [
        (slot("filled", quote(2, "13800138000")), "filled", ONE),
        (slot("stated_only", quote(2, "13800138000")), "stated_only", ZERO),
        (slot("contradicted", quote(2, "13800138000"), agent=quote(2, "收到，13800138000")), "contradicted", ZERO),
        (MISSING, "stated_only", ZERO),
        (slot("fabricated", agent=quote(2, "13800138000")), "stated_only", ZERO),
    ],
)
async def test_of_a_stated_value_the_judge_decides_the_uptake(
    answer: dict[str, Any], status: str, score: Fraction
) -> None:
    result = await judged(slots(EXPECTED), BOOKING, {"slot:phone": answer})
    detail = result.detail["slots"]["phone"]
    assert (detail["status"], result.score, detail["stated"]) == (status, score, True)
    assert (detail["value"], detail["turn_index"]) == ("13800138000", 2)


async def test_a_judge_that_failed_leaves_the_uptake_open() -> None:
    failed = {"slot:phone": Unscored(Cause.UNPARSABLE, "")}
    result = await judged(slots(EXPECTED), BOOKING, failed)
    assert (result.status, result.cause, result.bounds) == (ResultStatus.FAILED_TO_SCORE, Cause.UNPARSABLE, (ZERO, ONE))
    assert result.detail["slots"]["phone"]["stated"] is True
    assert (await judged(slots(EXPECTED, uptake="stated"), BOOKING, failed)).score == 1


@pytest.mark.parametrize(
    ("talk", "status"),
    [
        (dialog(("13800138000", "您的电话 13900139000 已登记。")), "contradicted"),
        (dialog(("13900139000", "好的。"), ("改成 13800138000", "您的电话 13900139000 已登记。")), "stale"),
        (dialog(("13800138000", "请问您的联系电话是多少？")), "stated_only"),
        (dialog(("13800138000", "请问您的联系电话是多少？"), ("说过了", "抱歉，已登记。")), "filled"),
        (dialog(("13800138000", "好的。如有问题请拨打我们的热线 4001234567。")), "filled"),
        (dialog(("13800138000", "您的电话是 13800138000，我们的电话是 4001234567。")), "filled"),
        (dialog(("13800138000", "您的联系电话是刚才说的那个，对吗？")), "filled"),
        (dialog(("不是 13800138000", "好的。")), "missing"),
        (dialog(("13800138000", "好的。"), ("改成 13900139000", "好的。")), "invalid"),
        (dialog(("My number is 13800138000", "I noted your phone as 13900139000.")), "contradicted"),
    ],
)
async def test_without_a_model_code_sees_what_it_can_quote(talk: Dialog, status: str) -> None:
    result = await judged(slots(EXPECTED), talk)
    detail = result.detail["slots"]["phone"]
    assert (detail["status"], detail["decided_by"]) == (status, "code")
    assert result.score == (1 if status == "filled" else 0)
    assert len(detail["history"]) == (status == "stale")
    if status in ("contradicted", "stale"):
        assert {said_["speaker"] for said_ in detail["evidence"]} == {"user", "agent"}


async def test_a_second_slot_of_the_kind_makes_code_careful() -> None:
    talk = dialog(("我的 13800138000，紧急联系人 13900139000", "您的电话 13900139000 已登记。"))
    items = [EXPECTED, {**EXPECTED, "name": "emergency", "description": "紧急电话", "expected_value": "13900139000"}]
    assert (await judged(slots(*items), talk)).score == 1


async def test_without_a_model_confirmed_is_seen_or_unknown() -> None:
    params = slots(EXPECTED, uptake="confirmed")
    assert (await judged(params, BOOKING)).score == 1
    quiet = dialog(("13800138000", "好的。"))
    assert (await judged(params, quiet)).cause is Cause.NEEDS_JUDGE


@pytest.mark.parametrize(
    ("expected", "message", "filled"),
    [
        ("张三", "我叫张三", 1),
        ("张三", "我叫张山", 0),
        (2, "两个人", 1),
        (2, "12 个人", 0),
        ([2, 3], "三个人", 1),
        ({"pattern": r"\d+ 号楼"}, "在 12 号楼", 1),
        ({"pattern": r"\d+ 号楼"}, "在 12 号院", 0),
    ],
)
async def test_an_expected_value_is_a_value_a_list_or_a_pattern(expected: Any, message: str, filled: int) -> None:
    kind = {"type": "number"} if isinstance(expected, int | list) else {}
    item = {"name": "x", "description": "d", "expected_value": expected, **kind}
    assert (await judged(slots(item), dialog((message, "好的。")))).score == filled


# ---- steps -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("evidence", "score", "out_of_order"),
    [
        ((2, 0, 1, 3), Fraction(3, 4), ["s0"]),
        ((3, 2, 1, 0), Fraction(1, 4), ["s1", "s2", "s3"]),
        ((0, 0, 1, 2), Fraction(1), []),
        ((0, None, 1), Fraction(2, 3), []),
    ],
)
async def test_the_longest_chain_is_credited(
    evidence: tuple[int | None, ...], score: Fraction, out_of_order: list[str]
) -> None:
    params, talk = turns(*evidence)
    result = await judged(params, talk)
    assert result.score == score
    shown = result.detail["steps"]
    assert [name for name, found in shown.items() if found["out_of_order"]] == out_of_order
    assert sum(found["done"] for found in shown.values()) == score * len(evidence), "what is shown done is what counts"
    for order in ("none", "advisory"):
        free = await judged({**params, "order": order}, talk)
        assert free.score == Fraction(sum(turn is not None for turn in evidence), len(evidence))


async def test_a_judges_done_does_not_stand_on_a_failed_call() -> None:
    params = {
        "mode": "step",
        "required_steps": [{"name": "book", "description": "books", "tool": {"name": "book", "ok": True}}],
    }
    talk = dialog(
        said("稍等", "订票", tool_calls=(ToolCall("book", None, "查询中", ok=None),)),
        said("已为您订好", "好了吗", tool_calls=(ToolCall("book", None, "失败", ok=False),)),
    )
    claim = {"agent": {"turn": 1, "text": "已为您订好"}, "tool": None}
    told = {"reason": "-", "shown": [claim], "status": "done", "calls": [1]}
    result = await judged(params, talk, {"step:book": told})
    assert (result.score, result.cause) == (None, Cause.EVIDENCE)


async def test_out_of_order_counts_as_done_for_critical() -> None:
    params, talk = turns(2, 0, 1)
    params["required_steps"][0]["critical"] = True
    result = await judged(params, talk)
    assert (result.detail["steps"]["s0"]["status"], result.vetoes) == ("out_of_order", ())
    assert "s0（顺序不对）" in result.reason


async def test_any_verified_evidence_turn_may_serve() -> None:
    talk = dialog(("a", "核实了身份。"), ("b", "记录了问题。"), ("c", "核实了身份。"))
    answers = {
        "step:record": step("done", quote(1, "记录了问题")),
        "step:verify": step("done", quote(0, "核实了身份"), quote(2, "核实了身份")),
    }
    result = await judged(steps({"name": "record"}, {"name": "verify"}), talk, answers)
    assert result.score == 1
    assert result.detail["steps"]["verify"]["turn_index"] == 2


@pytest.mark.parametrize(
    ("reply", "done"),
    [
        ("您的预约已确认。", True),
        ("预约已  确认！", True),
        ("您的预约尚未确认。", False),
        ("稍后为您确认。", False),
        ("我将为您确认。", False),
        ("请问是否确认？", False),
        ("好的。", False),
        ("Your booking is confirmed.", True),
        ("Your booking is not confirmed.", False),
        ("Let me get that confirmed.", False),
        ("Is it confirmed?", False),
        ("", False),
    ],
)
async def test_keywords_decide_a_step(reply: str, done: bool) -> None:
    item = {"name": "confirm", "keywords": ["确认", "confirmed"]}
    result, judge = await judged_and_asked(steps(item), dialog(("预约", reply)))
    assert (result.score, judge.asked) == (Fraction(done), [])
    assert (result.detail["steps"]["confirm"]["quote"] is not None) == done


BOOK = {"name": "book", "description": "下单", "tool": {"name": "book"}, "keywords": ["预约成功"]}


def booking(*calls: ToolCall, reply: str = "预约成功！") -> Dialog:
    return dialog(said(reply, "帮我预约", tool_calls=calls))


@pytest.mark.parametrize(
    ("talk", "status"),
    [
        (booking(ToolCall("book", {}, {"id": 1}, ok=True)), "done"),
        (booking(ToolCall("book", {}, {"id": 1}, ok=True), reply="好的。"), "done"),
        (booking(ToolCall("book")), "done"),
        (booking(ToolCall("book", {}, "full", ok=False)), "claim_contradicted"),
        (booking(ToolCall("book", {}, "full", ok=False), reply="抱歉，没有位置了。"), "not_done"),
        (booking(ToolCall("book", {}, "full", ok=False), ToolCall("book", {}, "ok", ok=True)), "done"),
        (booking(ToolCall("search", {}, "x", ok=True), reply="好的。"), "not_done"),
        (booking(ToolCall("search", {}, "x", ok=True)), "not_done"),  # calls are reported, and this is none
        (dialog(said("预约成功！", "预约"), said("好的。", "几点", tool_calls=(ToolCall("search"),))), "not_done"),
        (booking(), "done"),
    ],
)
async def test_a_recorded_call_outranks_the_words(talk: Dialog, status: str) -> None:
    result, judge = await judged_and_asked(steps({**BOOK, "critical": True}), talk)
    assert (result.detail["steps"]["book"]["status"], judge.asked) == (status, [])
    assert result.vetoes == (() if status == "done" else ("step:book",))
    if status == "claim_contradicted":
        assert result.reason == "完成 0/1 项：缺少 book（下单，智能体声称完成，但工具调用失败）"
        claim = result.detail["steps"]["book"]
        assert (claim["turn_index"], claim["quote"]) == (0, "预约成功！")


async def test_a_call_whose_success_nobody_reports_is_for_the_judge() -> None:
    item = {"name": "book", "tool": {"name": "book", "ok": True}}
    talk = booking(ToolCall("book", {"day": 1}))
    assert (await judged(steps(item), talk)).cause is Cause.NEEDS_JUDGE
    done = {**step("done", quote(0, "预约成功")), "calls": [0, 7]}
    result = await judged(steps(item), talk, {"step:book": done})
    assert (result.score, result.detail["steps"]["book"]["turn_index"]) == (ONE, 0)
    elsewhere = {**step("done"), "calls": [7]}
    assert (await judged(steps(item), talk, {"step:book": elsewhere})).cause is Cause.EVIDENCE


async def test_a_step_that_must_be_a_failed_call() -> None:
    item = {"name": "refuse", "tool": {"name": "book", "ok": False}}
    assert (await judged(steps(item), booking(ToolCall("book", ok=False)))).score == 1
    assert (await judged(steps(item), booking(ToolCall("book", ok=True)))).score == 0


async def test_done_needs_a_quote_and_not_done_none() -> None:
    params = steps({"name": "apologise", "description": "道歉"})
    assert (await judged(params, BOOKING, {"step:apologise": step("not_done")})).score == 0
    assert (await judged(params, BOOKING, {"step:apologise": step("done")})).cause is Cause.SCHEMA
    invented = await judged(params, BOOKING, {"step:apologise": step("done", quote(0, "非常抱歉"))})
    assert invented.status is ResultStatus.FAILED_TO_SCORE


async def test_one_bad_quote_of_several_does_not_lose_the_step() -> None:
    answer = step("done", quote(3, "已记录您的地址"), quote(0, "非常抱歉"))
    result = await judged(steps({"name": "record"}), BOOKING, {"step:record": answer})
    assert (result.score, result.detail["steps"]["record"]["turn_index"]) == (ONE, 3)


async def test_the_claim_against_a_failed_result_needs_both_quotes() -> None:
    talk = booking(ToolCall("reserve", {}, "no free slot", ok=False))
    params = steps({"name": "book"})
    claim = step("claim_contradicted", quote(0, "预约成功"), tool=quote(0, "no free slot"))
    assert (await judged(params, talk, {"step:book": claim})).detail["steps"]["book"]["status"] == "claim_contradicted"
    claim = step("claim_contradicted", quote(0, "预约成功"))
    assert (await judged(params, talk, {"step:book": claim})).cause is Cause.SCHEMA
    failure = step("done", tool=quote(0, "no free slot"))
    assert (await judged(params, talk, {"step:book": failure})).cause is Cause.EVIDENCE


# ---- depends_on, satisfied_by_slot, when -----------------------------------------------------------------------------


async def test_a_step_counts_only_after_its_prerequisites() -> None:
    params, talk = turns(1, 0)
    params["required_steps"][1] |= {"depends_on": ["s0"], "critical": True}
    result = await judged({**params, "order": "none"}, talk)
    assert (result.score, result.vetoes) == (Fraction(1, 2), ("step:s1",))
    assert result.detail["steps"]["s1"]["status"] == "done_without_prerequisite"
    assert "s1（前置步骤未先完成）" in result.reason


async def test_a_step_without_its_prerequisite_is_left_out_before_the_chain_is_formed() -> None:
    # s0 (turn 2) would displace s1 (turn 0) and s2 (turn 1) from no chain; but it may not stand in one.
    params, talk = turns(0, 1, None)
    params["required_steps"][0]["depends_on"] = ["s2"]
    result = await judged(params, talk)
    assert (result.score, result.detail["steps"]["s1"]["status"]) == (Fraction(1, 3), "done")


async def test_a_prerequisite_that_left_is_waived() -> None:
    params, talk = turns(None, 0)
    params["required_steps"][0]["when"] = "用户要求发票"
    params["required_steps"][1]["depends_on"] = ["s0"]
    result = await judged(params, talk, {"when:s0": when("no")})
    assert (result.score, result.detail["steps"]["s0"]["status"]) == (ONE, "left")
    assert result.reason == "完成 1/1 项：不计入 s0（条件不成立）"


async def test_when_true_needs_a_quote() -> None:
    params, talk = turns(0, None)
    params["required_steps"][1]["when"] = "用户说了第几轮"
    shown = await judged(params, talk, {"when:s1": when("yes", quote(0, "第 0 轮"))})
    assert (shown.score, shown.status) == (Fraction(1, 2), ResultStatus.SCORED)
    bare = await judged(params, talk, {"when:s1": when("yes")})
    assert (bare.status, bare.cause) == (ResultStatus.FAILED_TO_SCORE, Cause.SCHEMA)
    assert bare.bounds == (Fraction(1, 2), ONE)


async def test_an_open_condition_gives_bounds_and_an_open_veto() -> None:
    params, talk = turns(0, None)
    params["required_steps"][1] |= {"when": "用户要求发票", "critical": True}
    result = await judged(params, talk)
    assert (result.bounds, result.may_leave) == ((Fraction(1, 2), ONE), False)
    assert (result.vetoes, result.open_vetoes) == ((), ("step:s1",))
    alone = await judged(steps({"name": "x", "when": "w", "keywords": ["完成"]}), BOOKING)
    assert (alone.may_leave, alone.passed, alone.bounds) == (True, False, (ZERO, ZERO))


HYBRID_SLOTS = [{"name": "phone", "description": "联系电话"}]


@pytest.mark.parametrize(
    ("answer", "status", "bounds"),
    [
        (slot("filled", quote(2, "13800138000")), "done", (ONE, ONE)),
        (slot("stated_only", quote(2, "13800138000")), "not_done", (ZERO, ZERO)),
        (None, "unscored", (ZERO, ONE)),
    ],
)
async def test_a_step_that_a_slot_satisfies_follows_it(
    answer: dict[str, Any] | None, status: str, bounds: tuple[Fraction, Fraction]
) -> None:
    params = {
        "mode": "hybrid",
        "required_slots": HYBRID_SLOTS,
        "required_steps": [{"name": "ask_phone", "satisfied_by_slot": "phone"}],
    }
    result, judge = await judged_and_asked(params, BOOKING, {"slot:phone": answer})
    assert result.detail["steps"]["ask_phone"]["status"] == status
    assert result.bounds == bounds
    assert [ask.item for ask in judge.asked if isinstance(ask, Question)] == ["slot:phone"]


async def test_a_satisfied_step_stands_at_the_slots_last_quote() -> None:
    params, talk = turns(1)
    params |= {"mode": "hybrid", "required_slots": [{"name": "t", "description": "轮次"}]}
    params["required_steps"].append({"name": "told", "satisfied_by_slot": "t"})
    early = await judged(params, talk, {"slot:t": slot("filled", quote(0, "第 0 轮"))})
    assert early.detail["steps"]["told"]["status"] == "out_of_order"
    late = await judged(params, talk, {"slot:t": slot("filled", quote(0, "第 0 轮"), quote(1, "第 1 轮"))})
    assert (late.detail["steps"]["told"]["turn_index"], late.score) == (1, ONE)


async def test_a_step_leaves_with_its_declined_slot() -> None:
    talk = dialog(("你好", "请问您的电话？"), ("不想说", "好的。"))
    params = {
        "mode": "hybrid",
        "required_slots": HYBRID_SLOTS,
        "required_steps": [{"name": "ask_phone", "satisfied_by_slot": "phone", "critical": True}],
    }
    answer = slot("declined", quote(1, "不想说"), agent=quote(0, "请问您的电话"), part="asked")
    result = await judged(params, talk, {"slot:phone": answer})
    assert (result.status, result.vetoes) == (ResultStatus.NOT_APPLICABLE, ())
    assert "ask_phone（用户拒绝提供）" in result.reason


# ---- hybrid, weights, thresholds -------------------------------------------------------------------------------------


def mixed(
    slots_filled: int, slots_of: int, steps_done: int, steps_of: int, **more: Any
) -> tuple[dict[str, Any], Dialog]:
    talk = dialog(
        (
            " ".join(f"值{i}号" for i in range(slots_filled)),
            "好的。" + "".join(f"做完{i}号。" for i in range(steps_done)),
        )
    )
    params = {
        "mode": "hybrid",
        "required_slots": [
            {"name": f"v{i}", "description": "d", "expected_value": f"值{i}号"} for i in range(slots_of)
        ],
        "required_steps": [{"name": f"s{i}", "keywords": [f"做完{i}号"]} for i in range(steps_of)],
        "slot_weight": 0.4,
        "step_weight": 0.6,
        **more,
    }
    return params, talk


@pytest.mark.parametrize(
    ("counts", "score"),
    [
        ((3, 5, 3, 4), Fraction(69, 100)),  # .4 * 3/5 + .6 * 3/4
        ((1, 4, 4, 4), Fraction(7, 10)),  # .4 * 1/4 + .6 * 1
        ((5, 5, 0, 4), Fraction(4, 10)),
    ],
)
async def test_hybrid_is_exact(counts: tuple[int, int, int, int], score: Fraction) -> None:
    params, talk = mixed(*counts, min_completion_rate=0.7)
    result = await judged(params, talk)
    assert (result.score, result.passed) == (score, score >= Fraction(7, 10))


async def test_the_edge_of_a_threshold_passes() -> None:
    # 0.3 * 1/3 + 0.7 * 1 = 0.8, which floats miss.
    params, talk = mixed(1, 3, 2, 2, slot_weight=0.3, step_weight=0.7)
    assert (await judged(params, talk)).passed is True
    assert (await judged({**params, "min_completion_rate": "0.8000001"}, talk)).passed is False
    assert (await judged({**params, "min_completion_rate": 0}, talk)).passed is True


async def test_the_default_threshold_is_four_fifths_and_is_shown() -> None:
    rule = build(RuleSpec("task_completion", slots(PHONE)))
    assert (rule.min_completion_rate, rule.uptake, rule.layer) == (Fraction(4, 5), "accepted", Layer.L2)  # type: ignore[attr-defined]


async def test_a_hybrid_list_without_required_items_drops_its_weight() -> None:
    params, talk = mixed(1, 1, 1, 2)
    params["required_slots"][0]["optional"] = True
    result = await judged(params, talk)
    assert (result.score, result.reason) == (Fraction(1, 2), "完成 步骤 1/2，完成率 0.5：缺少 s1（未完成）")
    rule = build(RuleSpec("task_completion", params))
    assert "required_slots: no required item, so slot_weight is dropped" in list(rule.warnings(CASE))


async def test_a_hybrid_list_that_emptied_drops_its_weight() -> None:
    params, talk = mixed(0, 1, 1, 2)
    params["required_slots"] = HYBRID_SLOTS
    talk = dialog(("你好", "请问您的电话？"), ("不想说", "做完0号。"))
    answer = slot("declined", quote(1, "不想说"), agent=quote(0, "请问您的电话"), part="asked")
    assert (await judged(params, talk, {"slot:phone": answer})).score == Fraction(1, 2)


async def test_the_hybrid_reason_names_both_lists() -> None:
    params, talk = mixed(3, 5, 3, 4)
    result = await judged(params, talk)
    assert result.reason == (
        "完成 槽位 3/5、步骤 3/4，完成率 0.69：缺少 v3（d，用户未提供）、v4（d，用户未提供）、s3（未完成）"
    )
    assert (result.detail["slots_filled"], result.detail["steps_filled"], result.detail["filled"]) == (
        "3/5",
        "3/4",
        "6/9",
    )


async def test_weighted_slots_print_counts_and_rate() -> None:
    items: list[dict[str, Any]] = [
        {**PHONE, "expected_value": "13800138000", "weight": 3},
        {**SLOTS[4], "expected_value": "明天"},
    ]
    result = await judged(slots(*items), BOOKING)
    assert (result.score, result.passed) == (Fraction(3, 4), False)
    assert result.reason == "完成 1/2 项，完成率 0.75：缺少 appointment_time（预约时间，用户未提供）"


async def test_optional_items_are_judged_and_not_counted() -> None:
    items: list[dict[str, Any]] = [
        {**PHONE, "expected_value": "13800138000"},
        {**SLOTS[4], "expected_value": "明天", "optional": True},
    ]
    result = await judged(slots(*items), BOOKING)
    assert (result.score, result.detail["filled"], result.detail["missing"]) == (ONE, "1/1", [])
    assert result.detail["slots"]["appointment_time"]["status"] == "missing"
    assert (await judged(slots(items[0], {**SLOTS[4], "optional": True}), BOOKING)).status is ResultStatus.SCORED


async def test_a_critical_slot_that_is_not_filled_is_a_veto() -> None:
    item = {**SLOTS[4], "critical": True}
    missing = await judged(slots(PHONE, item), BOOKING, {"slot:appointment_time": MISSING})
    assert (missing.vetoes, missing.open_vetoes) == (("slot:appointment_time",), ())
    open_ = await judged(slots(PHONE, item), BOOKING, FILLED | {"slot:appointment_time": None})
    assert (open_.vetoes, open_.open_vetoes) == ((), ("slot:appointment_time",))


def test_critical_items_are_named_as_their_vetoes() -> None:
    params = {
        "mode": "hybrid",
        "required_slots": [PHONE, {**SLOTS[4], "critical": True}],
        "required_steps": [{"name": "book", "description": "确认预约", "critical": True}],
    }
    rule = build(RuleSpec("task_completion", params))
    assert rule.critical_items == ("slot:appointment_time", "step:book")


async def test_what_is_noteworthy_of_an_answer_stands_with_its_item() -> None:
    raw = {"slot:phone": MISSING, "step:book": step("not_done"), "when:book": when("no")}

    def script(ask: Ask) -> Any:
        assert isinstance(ask, Question)
        votes = (("missing", 2), ("filled", 1)) if ask.item == "slot:phone" else ()
        seen = ((0, 1), (2, 3)) if ask.item == "step:book" else None
        answer = load(ask.form, raw[ask.item])
        return Judged(answer, "model:m", votes=votes, turns_seen=seen, repaired=ask.item.startswith("when"))

    wanted = {"name": "book", "description": "确认预约", "when": "用户同意"}
    params = {"mode": "hybrid", "required_slots": [PHONE], "required_steps": [wanted]}
    result, _ = await concluded("task_completion", params, BOOKING, script)
    phone, book = result.detail["slots"]["phone"], result.detail["steps"]["book"]
    assert (phone["votes"], "repaired" in phone) == ({"missing": 2, "filled": 1}, False)
    assert (book["turns_seen"], book["repaired"], "votes" in book) == ([[0, 1], [2, 3]], True, False)


# ---- silence ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("talk", "why", "given"),
    [
        (dialog(("电话 13800138000", " ")), "空回复", "智能体只有空回复"),
        (dialog(said(None, "电话 13800138000", status=TurnStatus.ERROR)), "没有回复", "但没有回复"),
    ],
)
async def test_a_silent_agent_did_nothing_and_no_model_is_asked(talk: Dialog, why: str, given: str) -> None:
    params = {
        "mode": "hybrid",
        "required_slots": [SLOTS[0], EXPECTED],
        "required_steps": [{"name": "confirm"}, {"name": "bill", "when": "用户要发票"}],
    }
    result, judge = await judged_and_asked(params, talk)
    assert (result.status, result.score, judge.asked) == (ResultStatus.SCORED, ZERO, [])
    assert [result.detail["slots"][name]["status"] for name in ("user_name", "phone")] == ["missing", "stated_only"]
    assert f"user_name（用户姓名，{why}）" in result.reason
    assert f"phone（联系电话，用户已说明，{given}）" in result.reason
    assert f"confirm（{why}）" in result.reason


async def test_a_silent_agent_may_still_have_called_a_tool() -> None:
    talk = booking(ToolCall("book", {}, "ok", ok=True), reply="")
    assert (await judged(steps({"name": "book", "tool": {"name": "book"}}), talk)).score == 1


async def test_an_empty_dialog_is_nothing_done() -> None:
    assert (await judged(slots(PHONE), dialog())).score == 0


# ---- language --------------------------------------------------------------------------------------------------------


async def test_the_reason_is_in_the_dialogs_language() -> None:
    params = slots(
        {"name": "name", "description": "full name", "expected_value": "Jane Doe"},
        {"name": "phone", "description": "phone number", "type": "phone", "expected_value": "212-555-0147"},
        {"name": "email", "description": "e-mail address", "type": "email", "expected_value": "a@b.com"},
    )
    result = await judged(params, ENGLISH)
    assert result.reason == "2/3 items done: missing email (e-mail address, not given by the user)"


# ---- what is refused, what is warned of ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "named"),
    [
        (slots(), "at least one required item"),
        (steps(), "at least one required item"),
        ({"mode": "hybrid"}, "at least one required item"),
        (slots({**PHONE, "optional": True}), "at least one required item"),
        (slots({"name": " "}), "slot ' '"),
        (slots(PHONE, PHONE), "slot 'phone' is listed 2 times"),
        (steps({"name": "a"}, {"name": "a"}), "step 'a' is listed 2 times"),
        (slots({**PHONE, "optional": True, "critical": True}), "slot 'phone'"),
        (steps({"name": "a", "optional": True, "critical": True}), "step 'a'"),
        (steps({"name": "a", "depends_on": ["b"]}), "step 'a': depends_on 'b'"),
        (steps({"name": "a", "depends_on": ["a"]}), "circle"),
        (steps({"name": "a", "depends_on": ["b"]}, {"name": "b", "depends_on": ["a"]}), "circle"),
        (
            {"mode": "hybrid", "required_slots": [PHONE], "required_steps": [{"name": "a", "satisfied_by_slot": "x"}]},
            "step 'a': satisfied_by_slot 'x'",
        ),
        ({"mode": "slot", "required_slots": [PHONE], "required_steps": [{"name": "a"}]}, "step 'a'"),
        ({"mode": "step", "required_slots": [PHONE], "required_steps": [{"name": "a"}]}, "slot 'phone'"),
        (slots({**PHONE, "pattern": "(?=x)"}), "slot 'phone': the pattern"),
        (slots({**PHONE, "expected_value": {"pattern": "("}}), "slot 'phone': the pattern"),
        (slots({**PHONE, "expected_value": " "}), "slot 'phone': expected_value"),
        (slots({**PHONE, "expected_value": []}), "slot 'phone': expected_value"),
        (slots({**PHONE, "expected_value": True}), "quotes"),
        (slots({**PHONE, "values": ["a"], "expected_value": "b"}), "slot 'phone': expected_value 'b'"),
        (slots({**PHONE, "type": "colour"}), "type"),
        (slots({**PHONE, "weight": 0}), "greater than 0"),
        (slots({**PHONE, "colour": 1}), "unknown parameter"),
        (slots(PHONE, uptake="perhaps"), "uptake"),
        (slots(PHONE, evaluation_scope="last_turn"), "evaluation_scope"),
        (slots(PHONE, min_completion_rate=1.1), "min_completion_rate"),
        (slots(PHONE, samples=2), "samples"),
        ({"required_slots": [PHONE]}, "required"),
        (steps({"name": "a", "keywords": [" "]}), "step 'a': keywords"),
    ],
)
def test_what_cannot_mean_anything_is_refused_by_name(params: dict[str, Any], named: str) -> None:
    with pytest.raises(InputError) as refused:
        build(RuleSpec("task_completion", params), "/params")
    assert named in str(refused.value)


def test_warnings() -> None:
    rule = build(
        RuleSpec(
            "task_completion",
            {
                "mode": "hybrid",
                "required_slots": [
                    {"name": "user_name", "description": "User Name"},
                    {"name": "empty"},
                    {"name": "phone", "description": "电话", "type": "phone"},
                    {"name": "city", "description": "城市", "expected_value": "北京"},
                    {"name": "colour", "description": "颜色", "values": ["红"], "optional": True},
                    {"name": "fine", "description": "问题是什么"},
                ],
                "required_steps": [{"name": "a"}],
                "order": "advisory",
            },
        )
    )
    warned = list(rule.warnings(Case("c", ("我在上海",))))
    assert [text.split(":")[0] for text in warned] == [
        "slot 'user_name'",
        "slot 'empty'",
        "slot 'phone'",
        "slot 'city'",
        "order advisory",
    ]


async def test_examples_reach_the_judge_once_per_call() -> None:
    item = {**PHONE, "examples": ["“打我手机”不算"]}
    rule = build(RuleSpec("task_completion", slots(item, SLOTS[0], examples=["昵称算姓名"])))
    asked = [ask for ask in rule.ask(CASE, BOOKING, Answers()) if isinstance(ask, Question)]
    assert all("昵称算姓名" in ask.guide for ask in asked)
    assert ["“打我手机”不算" in ask.text for ask in asked] == [True, False]


# ---- review, and what the engine relies on ---------------------------------------------------------------------------


async def test_a_person_overrules_code_and_constraints() -> None:
    confirmed = load(SlotAnswer, slot("filled", quote(0, "空调坏了")))
    result = await judged(slots({**PHONE, "type": "phone"}), BOOKING, {"slot:phone": Judged(confirmed, "person:li")})
    detail = result.detail["slots"]["phone"]
    assert (detail["status"], detail["decided_by"], result.score) == ("filled", "person:li", ONE)


def test_asking_twice_gives_the_same_questions() -> None:
    params = {
        "mode": "hybrid",
        "required_slots": SLOTS,
        "required_steps": [{"name": "a", "when": "w"}, {"name": "b", "tool": {"name": "t", "ok": True}}],
    }
    rules = [build(RuleSpec("task_completion", params)) for _ in range(2)]
    first, second = ([ask.key for ask in rule.ask(CASE, BOOKING, Answers())] for rule in rules)
    assert first == second
    assert len(set(first)) == 8


def first_question(params: dict[str, Any]) -> Question[Any]:
    ask = next(iter(build(RuleSpec("task_completion", params)).ask(CASE, BOOKING, Answers())))
    assert isinstance(ask, Question)
    return ask


def test_what_stands_beside_a_slot_does_not_change_what_a_model_is_asked() -> None:
    alone = first_question(slots(PHONE))
    beside = first_question(slots(PHONE, SLOTS[0], min_completion_rate=0.5, uptake="confirmed"))
    assert alone.wording == beside.wording


def test_slots_that_differ_only_in_their_expected_value_are_told_apart() -> None:
    one, other = (first_question(slots({**PHONE, "expected_value": value})) for value in ("13800138000", "13900139000"))
    assert one.wording == other.wording
    assert one.key != other.key


async def test_what_nobody_read_in_a_silent_dialog_is_not_said_to_be_unsaid() -> None:
    talk = dialog(said("", "我叫张三"), said(None, "电话 13800138000"))
    result = await judged(slots(SLOTS[0], {"name": "phone", "expected_value": "13800138000"}), talk)
    name, phone = (result.detail["slots"][slot] for slot in ("user_name", "phone"))
    assert (name["filled"], name["accepted"], name["stated"]) == (False, False, None)
    assert phone["stated"] is True


async def test_there_is_no_rate_where_an_item_is_not_judged() -> None:
    result = await judged(slots({"name": "mood", "description": "how the user feels"}), BOOKING)
    assert (result.score, result.detail["slot_rate"]) == (None, None)
