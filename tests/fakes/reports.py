"""Runs to be reported: realistic ones in Chinese and English, and what tests need to build others."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from fractions import Fraction
from typing import Any

from agenteval.domain.evidence import Match, Span, Speaker
from agenteval.domain.json_value import Json
from agenteval.domain.judgement import decide
from agenteval.domain.outcome import ResultStatus, RuleResult
from agenteval.domain.ports import Call, Role, Usage
from agenteval.domain.questions import Cause
from agenteval.domain.records import AttemptKey, AttemptStatus, AttemptView, CaseView, Run, RunCase, RunStatus
from agenteval.domain.run_summary import AttemptFacts, Tally, UsageTotal
from agenteval.domain.scenario import Case, EffectivePolicy, Layer, Policy, RuleLogic
from agenteval.domain.text import Language
from agenteval.domain.transcript import Dialog, ToolCall, Turn, TurnStatus
from agenteval.reporting.html import html_report
from agenteval.reporting.json_report import json_report
from agenteval.reporting.junit import junit_report
from agenteval.reporting.markdown import markdown_report
from agenteval.reporting.report import RunReport

AT = datetime(2026, 8, 25, 9, 30, tzinfo=UTC)
RUN_ID = "r-1"
SEED_POLICY = EffectivePolicy.of(Policy(rule_logic=RuleLogic.WEIGHTED, rule_pass_threshold=Fraction("0.7")))
SLOTS = ("user_name", "phone", "address", "fault_description", "appointment_time")


def span(turn: int, speaker: Speaker, text: str, of: str, *, source: int = 0) -> Span:
    """Where `text` stands in `of`, the first time."""
    start = of.index(text)
    return Span(turn, speaker, source, start, start + len(text), text, Match.EXACT)


def scored(rule: str, score: str | Fraction, passed: bool, reason: str = "", **more: Any) -> RuleResult:
    return RuleResult(
        rule,
        ResultStatus.SCORED,
        score=Fraction(score),
        passed=passed,
        reason=reason,
        version="1",
        label=more.pop("label", rule),
        **more,
    )


def unscored(rule: str, cause: Cause = Cause.NEEDS_JUDGE, reason: str = "", **more: Any) -> RuleResult:
    label = more.pop("label", rule)
    return RuleResult(rule, ResultStatus.FAILED_TO_SCORE, cause=cause, reason=reason, version="1", label=label, **more)


def slots_result(
    slots: Mapping[str, Mapping[str, Any]], *, steps: Mapping[str, Mapping[str, Any]] | None = None, **more: Any
) -> RuleResult:
    """A task_completion whose score is the share of what is filled and done; unscored when any of it is unknown."""
    detail = {"slots": dict(slots)} | ({"steps": dict(steps)} if steps else {})
    done = [slot["filled"] for slot in slots.values()] + [step["done"] for step in (steps or {}).values()]
    low, high = (Fraction(sum(d is not False if best else d is True for d in done), len(done)) for best in (0, 1))
    given: dict[str, Any] = {"layer": Layer.L2, "weight": Fraction(2), "detail": detail, **more}
    if low != high:
        return unscored("task_completion", low=low, high=high, **given)
    return scored("task_completion", low, low >= Fraction("0.6"), **given)


def filled(value: str, turn: int, *, quote: str = "", **more: Any) -> dict[str, Any]:
    found = {"status": "filled", "filled": True, "value": value, "turn_index": turn, "quote": quote or value}
    return {**found, **more}


def missing(reason: str = "", **more: Any) -> dict[str, Any]:
    empty = {"value": None, "turn_index": None, "quote": None}
    return {"status": "missing", "filled": False, **empty, "reason": reason, **more}


def attempt_at(
    case: Case,
    turns: Sequence[Turn],
    results: Sequence[RuleResult],
    *,
    n: int = 0,
    repeat: int = 1,
    attempt: int = 1,
    policy: EffectivePolicy = SEED_POLICY,
    calls: tuple[Call, ...] = (),
) -> AttemptView:
    """A finished attempt, decided by its results."""
    dialog = Dialog(tuple(replace(turn, index=i) for i, turn in enumerate(turns)))
    return AttemptView(
        key=AttemptKey(RUN_ID, n, case.id, repeat, attempt),
        status=AttemptStatus.FINISHED,
        conversation_id=f"conversation-{n}-{repeat}-{attempt}",
        started_at=AT,
        finished_at=AT + timedelta(seconds=3),
        dialog=dialog,
        calls=calls,
        results=tuple(results),
        outcome=decide(results, policy, dialog[-1].status if len(dialog) else TurnStatus.OK),
    )


def interrupted_at(case: Case, turns: Sequence[Turn], sending: str, *, n: int = 0) -> AttemptView:
    finished = attempt_at(case, turns, (), n=n)
    return replace(finished, status=AttemptStatus.INTERRUPTED, finished_at=None, outcome=None, sending=sending)


def report_of(
    *cases: CaseView, name: str = "run", config: Mapping[str, Json] | None = None, status: RunStatus | None = None
) -> RunReport:
    tally = Tally()
    for case in cases:
        if finished := [a for a in case.attempts if a.outcome is not None and not case.superseded(a)]:
            tally.add_case(case.place.case.id, [_facts(attempt) for attempt in finished])
    calls = [call.usage for case in cases for a in case.attempts for call in a.calls]

    async def views() -> AsyncIterator[CaseView]:
        for case in cases:
            yield case

    status = status or RunStatus.COMPLETED
    run = Run(RUN_ID, name, config or CONFIG, AT, status=status, finished_at=AT + timedelta(seconds=61))
    return RunReport(run, tally.summary(UsageTotal.of(calls)), views)


def _facts(attempt: AttemptView) -> AttemptFacts:
    assert attempt.outcome is not None
    return AttemptFacts(
        outcome=attempt.outcome,
        latencies_ms=[turn.latency_ms for turn in attempt.dialog],
        details=[result.detail for result in attempt.results],
        causes=[result.cause for result in attempt.results if result.cause],
    )


CONFIG: Mapping[str, Json] = {
    "agenteval": "0.1.0",
    "target": {"name": "demo-good", "channel": "http", "url": "http://127.0.0.1:8801/chat"},
    "target_name": "demo-good",
    "channel": "http",
    "scenarios": ["预约维修服务 - 功能完整性"],
    "policy": {
        "rule_logic": "all",
        "rule_pass_threshold": 0.7,
        "verdict_policy": "layered",
        "success_threshold": 0.8,
        "partial_threshold": 0.5,
    },
    "repeats": 1,
    "sample": None,
    "seed": 7,
    "case_limit_s": 1800.0,
    "models": {"judge": None, "embedding": None, "moderation": None, "local_scorer": "char-ngrams"},
    "roles": ["judge"],
    "rules": {"intent_classification": "1", "llm_score": "1", "task_completion": "1"},
}

# ---- the repair service, in Chinese ----------------------------------------------------------------------------------

ASKED = ("我家空调坏了，想预约维修", "我叫张三", "电话是 13800138000", "地址是朝阳区建国路 88 号")
ANSWERED = (
    "很抱歉给您带来不便，我来帮您预约空调维修。请问您怎么称呼？",
    "张三您好，请留一个联系电话。",
    "好的，13800138000。请问上门地址是哪里？",
    "已为您登记：张三，13800138000，朝阳区建国路 88 号。师傅会尽快联系您。",
)
REPAIR = Case("case-001", ASKED, name="预约空调维修", tags=("预约", "多轮"))
SCENARIO = "预约维修服务 - 功能完整性"


def repair_turns(*last_calls: ToolCall) -> list[Turn]:
    turns = [
        Turn(i, ask, answer, latency_ms=latency)
        for i, (ask, answer, latency) in enumerate(zip(ASKED, ANSWERED, (420.0, 380.5, 512.0, 1240.0), strict=True))
    ]
    return [*turns[:-1], replace(turns[-1], tool_calls=last_calls)]


REPAIR_SLOTS: dict[str, dict[str, Any]] = {
    "user_name": filled("张三", 1, quote="我叫张三"),
    "phone": filled("13800138000", 2, quote="电话是 13800138000"),
    "address": filled("朝阳区建国路 88 号", 3),
    "fault_description": filled("空调坏了", 0),
    "appointment_time": missing("用户未说明，智能体也没有询问。"),
}
REPAIR_SPANS = (
    span(0, Speaker.USER, "空调坏了", ASKED[0]),
    span(1, Speaker.USER, "我叫张三", ASKED[1]),
    span(2, Speaker.USER, "电话是 13800138000", ASKED[2]),
    span(3, Speaker.USER, "朝阳区建国路 88 号", ASKED[3]),
)


def intent(expected: str, found: str, turns: Sequence[Turn], quote: str) -> RuleResult:
    right = expected == found
    return scored(
        "intent_classification",
        "1" if right else "0",
        right,
        f"期望 {expected}，识别为 {found}。",
        layer=Layer.L1,
        evidence=(span(0, Speaker.AGENT, quote, str(turns[0].reply)),),
        detail={
            "expected": expected,
            "verdict": "correct" if right else "incorrect",
            "acted_on": [{"intent": found, "turn_index": 0, "quote": quote, "speaker": "agent"}],
            "expected_intent": expected,
            "predicted_intent": found,
        },
    )


def politeness(score: str) -> RuleResult:
    quote = "很抱歉给您带来不便"
    return scored(
        "llm_score",
        score,
        Fraction(score) >= Fraction("0.7"),
        "礼貌并致歉。",
        evidence=(span(0, Speaker.AGENT, quote, ANSWERED[0]),),
    )


def seed_case(polite: str = "0.7", *, n: int = 0, case: Case = REPAIR) -> CaseView:
    """The repair scenario: L1 right, L2 4/5 without the appointment, and politeness as given."""
    turns = repair_turns()
    completion = slots_result(REPAIR_SLOTS, evidence=REPAIR_SPANS, reason="槽位 4/5，缺 appointment_time。")
    booking = intent("appointment_booking", "appointment_booking", turns, "帮您预约空调维修")
    calls = (Call("call-1", Role.JUDGE, "qwen-max", "5f0c", Usage(812, 96, Fraction("0.0021")), 640.0, '{"q1": 1}'),)
    attempt = attempt_at(case, turns, [booking, completion, politeness(polite)], n=n, calls=calls)
    return CaseView(RunCase(n, SCENARIO, case), (attempt,))


def contradicted_case(n: int = 0) -> CaseView:
    """The user gave one phone number, the agent says another two turns later."""
    case = Case(f"case-{n + 1:03d}", ("My phone is 555-0123", "And now?"))
    reply = "I will call you at 555-0132."
    turns = [Turn(0, case.messages[0], "Noted."), Turn(1, case.messages[1], reply)]
    said = [(0, Speaker.USER, "555-0123"), (1, Speaker.AGENT, "at 555-0132")]
    phone = filled("555-0123", 0, status="contradicted", filled=False)
    phone["evidence"] = [{"turn_index": turn, "speaker": who.value, "quote": text} for turn, who, text in said]
    spans = (span(0, Speaker.USER, "555-0123", case.messages[0]), span(1, Speaker.AGENT, "at 555-0132", reply))
    completion = slots_result({"phone": phone}, evidence=spans, reason="0/1.")
    return CaseView(RunCase(n, "Booking", case), (attempt_at(case, turns, [completion], n=n),))


def chinese_report() -> RunReport:
    """One case of each kind that a report has to show."""
    return report_of(
        seed_case(),
        _claimed(1),
        seed_case("0.1", n=2, case=replace(REPAIR, id="case-003", name="语气生硬")),
        _without_judge(3),
        _timed_out(4),
        undelivered_case(5),
        _resumed(6),
        _keyword(7),
        _completeness(8),
        CaseView(RunCase(9, SCENARIO, Case("case-010", ("在吗？",)))),
        name=SCENARIO,
    )


def _claimed(n: int) -> CaseView:
    case = replace(REPAIR, id="case-002", name="声称已预约但工具失败", messages=(*ASKED, "明天下午三点"))
    call = ToolCall("create_order", {"phone": "13800138000"}, {"error": "库存系统不可用"}, ok=False)
    claim = "预约成功！师傅明天 15:00 上门。"
    turns = [*repair_turns(), Turn(4, "明天下午三点", claim, (call,), latency_ms=2310.0)]
    steps = {
        "greet": {"status": "done", "done": True, "turn_index": 0, "quote": "我来帮您预约空调维修"},
        "confirm_booking": {
            "status": "claim_contradicted",
            "done": False,
            "critical": True,
            "turn_index": 4,
            "quote": "预约成功",
            "reason": "智能体称预约成功，但 create_order 返回失败。",
        },
    }
    slots = {**REPAIR_SLOTS, "appointment_time": filled("明天下午三点", 4)}
    evidence = (
        *REPAIR_SPANS,
        span(4, Speaker.USER, "明天下午三点", "明天下午三点"),
        span(4, Speaker.AGENT, "预约成功", claim),
        span(4, Speaker.AGENT, "预约成功！师傅明天 15:00 上门", claim),
        span(4, Speaker.TOOL, "库存系统不可用", '{"error":"库存系统不可用"}'),
    )
    completion = slots_result(
        slots, steps=steps, evidence=evidence, vetoes=("step:confirm_booking",), reason="关键步骤未完成。"
    )
    booking = intent("appointment_booking", "inquiry", turns, "帮您预约空调维修")
    return CaseView(RunCase(n, SCENARIO, case), (attempt_at(case, turns, [booking, completion], n=n),))


def _without_judge(n: int) -> CaseView:
    case = replace(REPAIR, id="case-004", name="无评审模型")
    slots = {
        **REPAIR_SLOTS,
        "fault_description": {"status": "unscored", "filled": None, "value": None, "turn_index": None, "quote": None},
    }
    rules = [
        unscored("intent_classification", layer=Layer.L1, reason="需要评审模型。"),
        slots_result(slots, evidence=REPAIR_SPANS[1:], reason="fault_description 需要评审模型。"),
        unscored("llm_score", reason="需要评审模型。"),
    ]
    return CaseView(RunCase(n, SCENARIO, case), (attempt_at(case, repair_turns(), rules, n=n),))


def _timed_out(n: int) -> CaseView:
    case = replace(REPAIR, id="case-005", name="智能体超时")
    turns = [*repair_turns()[:2], Turn(2, ASKED[2], None, (), 60_000.0, TurnStatus.TIMEOUT, "60 秒内没有回复")]
    slots = {name: missing() for name in SLOTS} | {"user_name": REPAIR_SLOTS["user_name"]}
    rules = [slots_result(slots, evidence=REPAIR_SPANS[1:2], reason="槽位 1/5。")]
    return CaseView(RunCase(n, SCENARIO, case), (attempt_at(case, turns, rules, n=n),))


def undelivered_case(n: int) -> CaseView:
    case = replace(REPAIR, id="case-006", name="无法送达")
    turns = [Turn(0, ASKED[0], None, (), None, TurnStatus.NOT_DELIVERED, "HTTP 429，重试后仍然失败")]
    skipped = RuleResult(
        "task_completion", ResultStatus.SKIPPED, reason="the message could not be delivered", label="task_completion"
    )
    return CaseView(RunCase(n, SCENARIO, case), (attempt_at(case, turns, [replace(skipped, layer=Layer.L2)], n=n),))


def redelivered_case(n: int = 0) -> CaseView:
    """The first attempt could not be delivered; a later one could."""
    lost = undelivered_case(n)
    again = seed_case(n=n, case=lost.place.case).attempts[0]
    return replace(lost, attempts=(*lost.attempts, replace(again, key=replace(again.key, attempt=2))))


def _resumed(n: int) -> CaseView:
    case = replace(REPAIR, id="case-007", name="中断后续跑")
    again = seed_case(n=n, case=case).attempts[0]
    again = replace(again, key=replace(again.key, attempt=2))
    return CaseView(RunCase(n, SCENARIO, case), (interrupted_at(case, repair_turns()[:1], ASKED[1], n=n), again))


def _keyword(n: int) -> CaseView:
    case = Case("case-008", ("营业时间是？",), name="单轮问答")
    reply = "我们 9:00-18:00 营业，周末不休。"
    rule = scored(
        "keyword_match",
        "1/2",
        False,
        "满足 1/2 项条件；缺少：节假日。",
        label="expectation.keywords_all",
        hard=True,
        implicit=True,
        evidence=(span(0, Speaker.AGENT, "营业", reply),),
        detail={"met": 1, "required": 2, "conditions": [{"list": "all_of", "items": ["节假日"], "met": False}]},
    )
    return CaseView(
        RunCase(n, "常见问题", case), (attempt_at(case, [Turn(0, "营业时间是？", reply, (), 95.0)], [rule], n=n),)
    )


def _completeness(n: int) -> CaseView:
    asked = ("我想订一张明天去上海的高铁票，还要帮我查一下那边的酒店。", "订 G101 吧。")
    answered = (
        "没问题！已经为您查到明天去上海的高铁有 G101 和 G105。请问您要订哪一班？",
        "好的，G101 高铁票已为您预订成功！祝您旅途愉快。",
    )
    case = Case("case-009", asked, name="订票与查酒店")
    turns = [Turn(i, a, b, latency_ms=700.0 + i) for i, (a, b) in enumerate(zip(asked, answered, strict=True))]
    hotel = {"intent": "查酒店", "quote": "查一下那边的酒店", "turn_index": 0, "state": "active", "verdict": "unmet"}
    ticket = {
        "intent": "订高铁票",
        "quote": "订一张明天去上海的高铁票",
        "turn_index": 0,
        "state": "active",
        "verdict": "met",
    }
    rule = scored(
        "conversation_completeness",
        "1/2",
        False,
        "评分为 0.5：2 项意图中满足 1 项。未满足：查酒店（第 1 轮提出，未得到回应）。",
        evidence=(
            span(0, Speaker.USER, "订一张明天去上海的高铁票", asked[0]),
            span(0, Speaker.USER, "查一下那边的酒店", asked[0]),
            span(1, Speaker.AGENT, "G101 高铁票已为您预订成功", answered[1]),
        ),
        detail={
            "intents": [ticket, {**hotel, "reason_code": "ignored", "reason": "智能体没有提到酒店。"}],
            "unmet_intents": ["查酒店"],
        },
    )
    policy = EffectivePolicy.of()
    return CaseView(RunCase(n, "常见问题", case), (attempt_at(case, turns, [rule], n=n, policy=policy),))


# ---- in English ------------------------------------------------------------------------------------------------------


def english_report() -> RunReport:
    """Two repeats of one booking, one of which forgets the date, and a run with a judge model."""
    case = Case("book-table", ("A table for two, please", "Friday at 7 pm"), name="Book a table", tags=("booking",))
    config: dict[str, Json] = {
        **CONFIG,
        "target_name": "bistro",
        "scenarios": ["Restaurant"],
        "repeats": 2,
        "models": {
            "judge": {"id": "gpt-4o-mini", "params": {"temperature": 0.0}},
            "embedding": None,
            "moderation": None,
            "local_scorer": "char-ngrams",
        },
    }
    attempts = tuple(_booking(case, repeat) for repeat in (1, 2))
    return report_of(CaseView(RunCase(0, "Restaurant", case), attempts), name="Restaurant", config=config)


def _booking(case: Case, repeat: int) -> AttemptView:
    good = repeat == 1
    last = "Booked: two people, Friday 7 pm." if good else "Which day would you like?"
    turns = [
        Turn(0, case.messages[0], "With pleasure. When would you like to come?", latency_ms=310.0),
        Turn(1, case.messages[1], last, latency_ms=290.0 * repeat),
    ]
    slots = {
        "party_size": filled("two", 0, quote="A table for two"),
        "date": filled("Friday", 1)
        if good
        else {**filled("Friday", 1), "status": "stated_only", "filled": False, "reasked": True},
        "time": filled("7 pm", 1),
    }
    evidence = (
        span(0, Speaker.USER, "A table for two", case.messages[0]),
        span(1, Speaker.USER, "Friday", case.messages[1]),
    )
    completion = slots_result(slots, evidence=evidence, reason=f"Slots {3 if good else 2}/3.")
    calls = (Call(f"call-{repeat}", Role.JUDGE, "gpt-4o-mini", "ab12", Usage(400, 50), 500.0),)
    return attempt_at(case, turns, [completion], repeat=repeat, policy=EffectivePolicy.of(), calls=calls)


# ---- for properties --------------------------------------------------------------------------------------------------


def report_saying(text: str) -> RunReport:
    """A run in which everything that people, agents and models name or say is `text`."""
    case = Case("case", (text,), name=text, description=text, tags=(text,))
    call = ToolCall(text, {"argument": text}, text, ok=False)
    turns = [Turn(0, text, text, (call,), 10.0), Turn(1, text, {"text": text, text: [text]}, (), 20.0)]
    whole = Span(0, Speaker.USER, 0, 0, len(text), text, Match.EXACT)
    part = Span(0, Speaker.USER, 0, len(text) // 2, len(text), text[len(text) // 2 :], Match.EXACT)
    evidence = (whole, part, replace(whole, speaker=Speaker.AGENT), replace(whole, speaker=Speaker.TOOL))
    slot = {**filled(text, 0), "status": text, "filled": False, "reason": text}
    wanted = {"intent": text, "quote": text, "turn_index": 0, "state": text, "verdict": "unmet", "reason": text}
    rules = [
        slots_result({text: slot}, reason=text, evidence=evidence, vetoes=(f"slot:{text}",), label=text),
        scored("a rule", "0", False, text, detail={"intents": [wanted], f"more {text}": text}, evidence=evidence),
        scored("intent", "0", False, text, detail={"expected_intent": text, "predicted_intent": text}, layer=Layer.L1),
        unscored("another", Cause.MODEL_ERROR, text),
    ]
    cut = interrupted_at(case, turns[:1], text)
    again = attempt_at(case, turns, rules, attempt=2)
    failed = [Turn(0, text, None, (), None, TurnStatus.ERROR, text)]
    return report_of(
        CaseView(RunCase(0, text, case), (cut, again)),
        CaseView(RunCase(1, text, replace(case, id="other")), (attempt_at(case, failed, rules[:1], n=1),)),
        name=text,
        config={**CONFIG, "target_name": text, f"key {text}": text},
    )


def unscored_report(*causes: Cause) -> RunReport:
    """A run of which nothing was measured, one case for each cause."""
    views = []
    for n, cause in enumerate(causes):
        case = replace(REPAIR, id=f"case-{'abcdefghij'[n]}", name="")
        unknown = {"status": "unscored", "filled": None, "value": None, "turn_index": None, "quote": None}
        rules = [
            unscored("intent_classification", cause, layer=Layer.L1),
            unscored("task_completion", cause, layer=Layer.L2, detail={"slots": dict.fromkeys(SLOTS, unknown)}),
            unscored("llm_score", cause),
        ]
        views.append(CaseView(RunCase(n, SCENARIO, case), (attempt_at(case, repair_turns(), rules, n=n),)))
    return report_of(*views)


class Format(StrEnum):
    HTML = "html"
    JSON = "json"
    JUNIT = "junit"
    MARKDOWN = "markdown"


def render(report: RunReport, format_: Format, lang: Language) -> AsyncIterator[str]:
    match format_:
        case Format.HTML:
            return html_report(report, lang)
        case Format.JSON:
            return json_report(report)
        case Format.JUNIT:
            return junit_report(report, lang)
        case Format.MARKDOWN:
            return markdown_report(report, lang)


async def text_of(chunks: AsyncIterator[str]) -> str:
    return "".join([chunk async for chunk in chunks])
