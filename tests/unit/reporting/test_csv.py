"""The table of results: what a spreadsheet and a data frame rely on."""

import asyncio
import csv
import io
import re
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agenteval.domain.questions import Cause
from agenteval.domain.review import Review
from agenteval.reporting.csv_report import COLUMNS, MAX_CELL, csv_report
from agenteval.reporting.escape import for_csv
from agenteval.reporting.report import RunReport
from tests.fakes.reports import (
    AT,
    chinese_report,
    redelivered_case,
    report_of,
    report_saying,
    seed_case,
    text_of,
    unscored_report,
)

DANGEROUS = re.compile("[=+\\-@\t\r\n]")
FORMULAS = (
    "=1+1",
    "+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "\n=1",
    " =1",
    "\0=1",
    "\ufeff=1",
    "＝1",
    "'=1",
)
TEXTS = st.one_of(st.text(), st.text(alphabet="=+-@\t\r\n'\";,x1. ＝\0", max_size=8))


def read(text: str) -> list[dict[str, str]]:
    assert text.startswith("\ufeff")
    return list(csv.DictReader(io.StringIO(text.removeprefix("\ufeff"), newline=""), strict=True))


def rows(report: RunReport) -> list[dict[str, str]]:
    return read(asyncio.run(text_of(csv_report(report))))


def taken_off(cell: str) -> str:
    """The text of a cell."""
    return cell[1:] if cell.startswith("'") and for_csv(cell[1:]) != cell[1:] else cell


def hostile(test: Any) -> Any:
    for formula in FORMULAS:
        test = example(text=formula)(test)
    return given(text=TEXTS)(test)


@hostile
def test_no_cell_begins_a_formula_and_nothing_is_lost(text: str) -> None:
    cell = for_csv(text)
    assert not DANGEROUS.match(cell) or re.fullmatch(r"[-+]?\d+(\.\d+)?", cell, re.ASCII)
    assert taken_off(cell) == text


@pytest.mark.parametrize("text", FORMULAS)
def test_formulas_begin_with_an_apostrophe(text: str) -> None:
    assert for_csv(text) == f"'{text}"


@pytest.mark.parametrize("text", ["-5", "+8613800138000", "-0.25", "13800138000", "a=b", "预约", "it's", "'tis", ""])
def test_numbers_and_plain_words_stay(text: str) -> None:
    assert for_csv(text) == text


@hostile
def test_every_cell_is_read_back_as_it_was(text: str) -> None:
    _, *attempt, other = rows(report_saying(text))
    assert [row["rule"] for row in attempt] == ["task_completion", "a rule", "intent", "another"]
    for row in (*attempt, other):
        assert list(row) == list(COLUMNS)
        for name in ("scenario", "case_name", "tags"):
            assert taken_off(row[name]) == text, name
    first = attempt[0]
    for name in ("rule_label", "rule_reason", "evidence_quote"):
        assert taken_off(first[name]) == text, name
    assert taken_off(other["error"]) == text


def test_a_row_tells_of_an_attempt_and_of_a_rule() -> None:
    intent, completion, polite = rows(report_of(seed_case()))
    assert (completion["case_id"], completion["tags"], completion["status"]) == ("case-001", "预约; 多轮", "finished")
    assert (completion["repeat"], completion["attempt"], completion["turns"]) == ("1", "1", "4")
    assert (completion["success_level"], completion["passed"], completion["source"]) == ("success", "true", "layered")
    assert (completion["l1_intent"], completion["l2_completion"], completion["weighted_score"]) == (
        "true",
        "0.8",
        "0.825",
    )
    assert (completion["latency_max_ms"], completion["error"]) == ("1240.0", "")
    assert (completion["rule"], completion["rule_layer"], completion["rule_weight"]) == ("task_completion", "L2", "2.0")
    assert (completion["rule_score"], completion["rule_passed"], completion["rule_cause"]) == ("0.8", "true", "")
    assert (completion["failed_items"], completion["unscored_items"]) == ("slot:appointment_time", "")
    assert (completion["evidence_turn_index"], completion["evidence_speaker"]) == ("0", "user")
    assert completion["evidence_quote"] == "空调坏了"
    assert {row["run_id"] for row in (intent, completion, polite)} == {"r-1"}
    assert [row["rule"] for row in (intent, completion, polite)] == [
        "intent_classification",
        "task_completion",
        "llm_score",
    ]


def test_a_rule_that_people_reviewed_says_who_and_what_the_machine_had_said() -> None:
    view = seed_case()
    (attempt,) = view.attempts
    first = Review(
        id="1",
        attempt_id=attempt.key.id,
        key="k",
        label="task_completion",
        kind="slot",
        item="slot:phone",
        machine="filled",
        machine_good=True,
        word="filled",
        good=True,
        value=None,
        note="",
        by="anna",
        at=AT,
    )
    again = replace(first, id="2", by="王芳", word="missing", good=False)
    step = replace(first, id="3", item="step:greet", machine=None, machine_good=None, word="done")
    reviewed = replace(view, attempts=(replace(attempt, reviews=(first, again, step)),))
    intent, completion, _ = rows(report_of(reviewed))
    names = ("review_by", "review_verdicts", "machine_verdicts")
    assert [completion[name] for name in names] == [
        "王芳; anna",
        "slot:phone=missing; step:greet=done",
        "slot:phone=filled; step:greet=unscored",
    ]
    assert [intent[name] for name in names] == ["", "", ""]


def test_what_was_not_measured_is_an_empty_cell() -> None:
    found = rows(unscored_report(*Cause))
    assert {row["rule_cause"] for row in found} == set(Cause)
    measured = ("success_level", "passed", "l1_intent", "l2_completion", "weighted_score", "rule_score", "rule_passed")
    assert {row[name] for row in found for name in measured} == {""}
    assert {row["unscored_items"].count("slot:") for row in found if row["rule"] == "task_completion"} == {5}


def test_an_attempt_without_results_has_a_row_of_its_own() -> None:
    lost, *again = rows(report_of(redelivered_case()))
    assert (lost["status"], lost["success_level"], lost["rule"]) == ("superseded", "", "")
    assert [row["attempt"] for row in again] == ["2", "2", "2"]
    by_case: dict[str, list[str]] = {}
    for row in rows(chinese_report()):
        by_case.setdefault(row["case_id"], []).append(row["status"])
    assert by_case["case-010"] == ["not_run"]
    assert by_case["case-007"] == ["interrupted", "finished", "finished", "finished"]


def test_a_score_is_the_nearest_decimal_and_a_long_cell_is_cut() -> None:
    view = seed_case()
    long = replace(view.attempts[0].results[1], score=Fraction(2, 3), reason="长" * 40_000)
    (row,) = rows(report_of(replace(view, attempts=(replace(view.attempts[0], results=(long,)),))))
    assert float(row["rule_score"]) == 2 / 3
    assert row["rule_reason"] == "长" * MAX_CELL


async def test_the_table_is_written_attempt_by_attempt() -> None:
    chunks = [chunk async for chunk in csv_report(report_of(*(seed_case(n=n) for n in range(50))))]
    assert len(chunks) == 51
    assert chunks[0] == "\ufeff" + ",".join(COLUMNS) + "\r\n"
    assert max(map(len, chunks[1:])) < 2 * min(map(len, chunks[1:]))
