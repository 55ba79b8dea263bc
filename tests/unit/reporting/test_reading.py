"""Slots, steps and intents as people are told of them, and the order of attempts."""

from dataclasses import replace
from typing import Any

import pytest

from agenteval.domain.outcome import RuleResult
from agenteval.domain.ports import Role
from agenteval.domain.records import AttemptStatus, RunCase
from agenteval.domain.scenario import Case
from agenteval.domain.transcript import Turn
from agenteval.reporting.items import counted, items, more_detail
from agenteval.reporting.labels import Labels
from agenteval.reporting.level import Level
from agenteval.reporting.reading import MODELS, Entry, Worst, entries, facts, failing, told, unscored
from agenteval.reporting.report import language_of
from agenteval.rules import RULES
from tests.fakes.reports import (
    REPAIR_SLOTS,
    attempt_at,
    chinese_report,
    english_report,
    filled,
    missing,
    redelivered_case,
    report_of,
    scored,
    seed_case,
)
from tests.fakes.reports import (
    unscored as unscored_result,
)

ZH, EN = Labels("zh"), Labels("en")


def completion(**detail: Any) -> RuleResult:
    return scored("task_completion", "1/2", True, detail=detail)


def test_the_seeds_case_is_four_of_five_with_the_missing_name() -> None:
    assert counted(completion(slots=REPAIR_SLOTS), EN) == "4/5 missing appointment_time"
    assert counted(completion(slots=REPAIR_SLOTS), ZH) == "4/5 缺 appointment_time"


def test_what_has_left_or_is_optional_is_not_counted() -> None:
    slots = {
        "name": filled("Ann", 0),
        "phone": {**missing(), "status": "declined"},
        "fax": {**missing(), "required": False},
    }
    steps = {"greet": {"status": "left", "done": None}, "book": {"status": "done", "done": True, "turn_index": 0}}
    assert counted(completion(slots=slots, steps=steps), EN) == "slot 1/1 · step 1/1"


def test_what_is_unknown_is_named_and_nothing_is_counted_when_nothing_is_known() -> None:
    unknown = {"status": "unscored", "filled": None, "cause": "needs_judge"}
    assert counted(completion(slots={"a": filled("x", 0), "b": unknown}), EN) == "1/2 not judged b"
    assert counted(completion(slots={"a": unknown}), EN) == "not judged a"


def test_turns_count_from_one_and_flags_are_in_words() -> None:
    slot = {**filled("Friday", 1), "status": "stated_only", "filled": False, "reasked": True, "critical": True}
    (item,) = items({"slots": {"date": slot}})
    assert item.turn_text() == "2"
    assert item.status_text(EN) == "stated only (critical, asked again)"
    assert item.status_text(ZH) == "仅陈述，未被采纳（关键、重复询问）"
    (late,) = items({"steps": {"book": {"status": "out_of_order", "done": True, "out_of_order": True}}})
    assert late.status_text(EN) == "out of order"


def test_what_is_noteworthy_of_an_answer_stands_beside_its_item() -> None:
    judging = {"turns_seen": [[0, 39], [30, 59], [60, 60]], "votes": {"met": 2, "unmet": 1}, "repaired": True}
    slot = {**filled("Friday", 1), **judging}
    wanted = {"intent": "book", "state": "active", "verdict": "unmet", "reason_code": "ignored", **judging}
    noted = "judged on turns 1–40, 31–60, 61, votes 2:1, repaired"
    assert [item.status_text(EN) for item in items({"slots": {"date": slot}, "intents": [wanted]})] == [
        f"filled ({noted})",
        f"unmet (ignored, {noted})",
    ]
    (item,) = items({"steps": {"book": {"status": "done", "done": True, **judging}}})
    assert item.status_text(ZH) == "已完成（分段评审：第 1–40、31–60、61 轮、投票 2:1、评审回复经修复）"
    result = scored("llm_score", "1/2", True, detail={"points": 5, **judging})
    assert facts(result, EN)[-3:] == ["judged on turns 1–40, 31–60, 61", "votes 2:1", "repaired"]
    assert more_detail(result.detail, EN) == [("points (0–10)", "5"), ("votes", "met: 2, unmet: 1")]


def test_intents_that_are_not_active_do_not_count() -> None:
    wanted = [
        {"intent": "book", "state": "active", "verdict": "met", "turn_index": 0, "quote": "book it"},
        {"intent": "hotel", "state": "active", "verdict": "unmet", "reason_code": "ignored"},
        {"intent": "taxi", "state": "withdrawn", "verdict": None},
        {"intent": "visa", "state": None, "verdict": None, "cause": "evidence"},
    ]
    found = items({"intents": wanted})
    assert [item.state for item in found] == ["ok", "bad", "left", "unknown"]
    assert [item.status_text(EN) for item in found] == [
        "met",
        "unmet (ignored)",
        "withdrawn",
        "not scored (the judge's evidence could not be verified)",
    ]


def test_the_intents_that_an_agent_acted_on() -> None:
    detail = {"expected": ["a", "b"], "acted_on": [{"intent": "a", "turn_index": 0, "quote": "q"}, {"intent": "c"}]}
    assert [(item.name, item.good) for item in items(detail)] == [("a", True), ("c", False)]


@pytest.mark.parametrize(
    "detail",
    [{"slots": 3}, {"slots": {"a": 1}}, {"intents": "x"}, {"steps": {"s": {}}}, {"turns_seen": [3], "votes": 2}, {}],
)
def test_a_plugins_detail_of_another_shape_breaks_nothing(detail: dict[str, Any]) -> None:
    counted(completion(**detail), EN)
    facts(completion(**detail), EN)


def test_the_rest_of_a_detail_is_shown_in_words() -> None:
    detail = {"slots": REPAIR_SLOTS, "score_of_mine": [1, 2], "note": "", "decided_by": "code", "zero": 0}
    assert more_detail(detail, EN) == [("score_of_mine", "1, 2"), ("decided by", "code"), ("zero", "0")]


def test_the_worst_come_first_and_memory_is_bounded() -> None:
    success = seed_case().attempts[0]
    place = RunCase(0, "s", Case("c", ("m",)))
    worst = Worst(3)
    for i in range(1_000):
        worst.add(Entry(place, None if i == 500 else success, nth=i))
    assert worst.count == 1_000
    assert [(entry.level, entry.nth) for entry in worst.entries()] == [
        (Level.NOT_RUN, 500),
        (Level.SUCCESS, 0),
        (Level.SUCCESS, 1),
    ]


async def test_every_attempt_is_an_entry_the_interrupted_ones_too() -> None:
    found = [entry async for entry in entries(chinese_report())]
    names = [entry.name(ZH) for entry in found]
    assert [entry.level for entry in found if entry.place.case.id == "case-007"] == [Level.INTERRUPTED, Level.SUCCESS]
    assert "case-007（中断后续跑） · 第 1 次尝试" in names
    assert found[-1].level is Level.NOT_RUN
    repeats = [entry.name(EN) async for entry in entries(english_report())]
    assert repeats == ["book-table (Book a table) · repeat 1", "book-table (Book a table) · repeat 2"]


async def test_an_attempt_that_a_later_one_stands_in_for_is_no_result() -> None:
    case = redelivered_case()
    lost, made_good = [entry async for entry in entries(report_of(case))]
    assert (lost.level, made_good.level) == (Level.SUPERSEDED, Level.SUCCESS)
    assert not lost.results
    assert failing(lost, EN) == ["turn 1 not delivered"]


async def test_only_a_finished_attempt_at_the_same_repeat_stands_in_for_another() -> None:
    lost, made_good = redelivered_case().attempts
    other_repeat = replace(made_good, key=replace(made_good.key, repeat=2))
    open_ = replace(made_good, status=AttemptStatus.OPEN, outcome=None)
    report = report_of(replace(redelivered_case(), attempts=(lost, open_, other_repeat)))
    assert [entry.level async for entry in entries(report)] == [Level.UNSETTLED, Level.OPEN, Level.SUCCESS]


async def test_what_is_unscored_and_what_to_do_about_it() -> None:
    report = chinese_report()
    results = [result async for entry in entries(report) for result in entry.results]
    (line,) = unscored(report, results, EN)
    assert line.startswith("needs a judge model (3×): intent_classification, task_completion, llm_score; set AGENTEVAL")


def wants(*rules: str) -> tuple[RuleResult, ...]:
    return tuple(unscored_result(rule, label=rule) for rule in rules)


@pytest.mark.parametrize("role", [Role.EMBEDDING, Role.MODERATION])
async def test_the_advice_names_the_model_that_is_needed(role: Role) -> None:
    (rule,) = (rule for rule, of in MODELS.items() if of is role)
    (result,) = wants(rule)
    report = report_of()
    report = replace(report, summary=replace(report.summary, causes={"needs_judge": 2}))
    (line,) = unscored(report, [result], EN)
    assert f"model (2×): {rule}; set AGENTEVAL_{role.upper()}_BASE_URL" in line
    assert role.upper() in unscored(report, [result], ZH)[0]
    assert facts(result, EN)[0] == f"not scored (needs {'an' if role == 'embedding' else 'a'} {role.upper()} model)"
    both = unscored(report, [*wants("llm_score"), result], EN)
    assert [line.partition(";")[0] for line in both] == [
        "needs a judge model: llm_score",
        f"needs {'an' if role == 'embedding' else 'a'} {role.upper()} model: {rule}",
    ]


def test_the_model_of_each_rule_is_the_one_that_it_asks() -> None:
    assert {rule.name: MODELS.get(rule.name, Role.JUDGE) for rule in RULES.all() if rule.roles} == {
        rule.name: next(iter(rule.roles)) for rule in RULES.all() if rule.roles
    }


async def test_a_report_speaks_the_users_language() -> None:
    assert await language_of(chinese_report().cases()) == "zh"
    assert await language_of(english_report().cases()) == "en"


async def test_what_is_still_going_on_is_not_called_interrupted() -> None:
    case = seed_case()
    going = replace(case.attempts[0], status=AttemptStatus.OPEN, outcome=None, results=())
    (entry,) = [e async for e in entries(report_of(replace(case, attempts=(going,))))]
    assert entry.level is Level.OPEN
    assert not entry.needs_reasons


async def test_an_empty_reply_is_told_beside_the_rules() -> None:
    case = seed_case()
    turns = [Turn(0, "您好", None), Turn(1, "在吗", "在"), Turn(2, "嗯", " ")]
    silent = replace(case, attempts=(attempt_at(case.place.case, turns, []),))
    (entry,) = [e async for e in entries(report_of(silent))]
    assert told(entry, EN) == ["turn 1 empty reply", "turn 3 empty reply"]
