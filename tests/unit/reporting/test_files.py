"""JSON, JSON lines, Markdown and JUnit: what machines and other pages rely on."""

import xml.etree.ElementTree as ET

import jsonschema_rs
import orjson
import pytest

from agenteval.reporting.json_report import json_report, jsonl_report, schema
from agenteval.reporting.junit import junit_report
from agenteval.reporting.markdown import markdown_report
from agenteval.reporting.report import RunReport
from tests.fakes.reports import (
    Format,
    chinese_report,
    english_report,
    redelivered_case,
    render,
    report_of,
    seed_case,
    text_of,
)


@pytest.mark.parametrize("report", [chinese_report(), english_report(), report_of()])
async def test_the_json_report_fits_its_schema(report: RunReport) -> None:
    jsonschema_rs.meta.validate(orjson.loads(schema()))
    jsonschema_rs.validator_for(orjson.loads(schema())).validate(orjson.loads(await text_of(json_report(report))))


async def test_json_has_decimals_and_exact_fractions() -> None:
    report = orjson.loads(await text_of(json_report(chinese_report())))
    assert report["format"] == "agenteval.report/1"
    rate = report["summary"]["intent_accuracy"]
    assert (rate["value"], rate["exact"], rate["n"], rate["of"], rate["worst_case"]) == (0.75, "3/4", 4, 5, 0.6)
    first = report["cases"][0]
    assert first["tags"] == ["预约", "多轮"]
    attempt = first["attempts"][0]
    assert (attempt["outcome"]["l2_completion"], attempt["outcome"]["l2_completion_exact"]) == (0.8, "4/5")
    assert (attempt["outcome"]["weighted_score"], attempt["outcome"]["weighted_score_exact"]) == (0.825, "33/40")
    phone = attempt["results"][1]["detail"]["slots"]["phone"]
    assert (phone["status"], phone["value"], phone["turn_index"], phone["quote"]) == (
        "filled",
        "13800138000",
        2,
        "电话是 13800138000",
    )
    assert [a["status"] for a in report["cases"][6]["attempts"]] == ["interrupted", "finished"]
    assert report["cases"][6]["attempts"][0]["sending"] == "我叫张三"


async def test_json_and_markdown_are_written_case_by_case() -> None:
    chunks = [chunk async for chunk in json_report(report_of(*(seed_case(n=n) for n in range(50))))]
    assert len(chunks) == 52
    assert max(map(len, chunks[1:])) < 2 * min(map(len, chunks[1:-1]))


@pytest.mark.parametrize("report", [chinese_report(), english_report(), report_of(redelivered_case()), report_of()])
async def test_json_lines_hold_each_attempt_as_in_the_json_report(report: RunReport) -> None:
    whole = orjson.loads(await text_of(json_report(report)))
    lines = [orjson.loads(line) for line in (await text_of(jsonl_report(report))).splitlines()]
    wanted = []
    for case in whole["cases"]:
        attempts = case.pop("attempts")
        wanted += [{"run_id": "r-1", "case": case, "attempt": attempt} for attempt in attempts or [None]]
    assert lines == wanted


async def test_json_lines_are_written_line_by_line() -> None:
    chunks = [chunk async for chunk in jsonl_report(report_of(*(seed_case(n=n) for n in range(50))))]
    assert len(chunks) == 50
    assert all(chunk.endswith("\n") and chunk.count("\n") == 1 for chunk in chunks)


async def test_markdown_shows_the_slots_and_explains_what_failed() -> None:
    text = await text_of(markdown_report(chinese_report(), "zh"))
    assert "| ✓ | phone | 已填充 | 13800138000 | 3 | 电话是 13800138000 |  |" in text
    assert "| ✗ | appointment_time | 缺失 |  |  |  | 用户未说明，智能体也没有询问。 |" in text
    assert "- 硬性要求未满足，用例失败：task_completion 的关键项 confirm_booking。" in text
    assert "已中断" in text
    assert "设置 AGENTEVAL_JUDGE_BASE_URL" in text


async def test_junit_has_a_test_case_for_each_attempt() -> None:
    suite = ET.fromstring(await text_of(junit_report(chinese_report(), "en")))[0]
    ended = {case.attrib["name"].split(" ")[0]: [child.tag for child in case] for case in suite.iter("testcase")}
    assert "failure" in ended["case-002"]  # a critical step
    assert not {"failure", "error", "skipped"} & set(ended["case-003"])  # partial passes
    assert "error" in ended["case-004"]  # unscored
    assert "failure" in ended["case-005"]  # the agent timed out
    assert "error" in ended["case-006"]  # not delivered
    assert "skipped" in ended["case-010"]  # not run
    counts = {name: suite.attrib[name] for name in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "11", "failures": "4", "errors": "2", "skipped": "2"}
    partial = next(case for case in suite.iter("testcase") if case.attrib["name"].startswith("case-003"))
    assert {p.attrib["name"]: p.attrib["value"] for p in partial.iter("property")}["level"] == "partial"
    assert "[3] User: 电话是 13800138000" in (partial.findtext("system-out") or "")


@pytest.mark.parametrize("format_", list(Format))
async def test_an_empty_run_can_be_written(format_: Format) -> None:
    assert await text_of(render(report_of(), format_, "zh"))
