"""`agenteval demo` as a newcomer runs it: a fresh folder, no key, no service."""

import asyncio
import signal
from pathlib import Path
from typing import Any

import pytest

from agenteval.cli import main
from agenteval.demo import evaluation
from agenteval.demo.agents import RepairAgent
from tests.e2e.cli.program import Program, ended

PLANTED = (
    "{}-booking: slot address, turn 4",
    "{}-change: slot phone, turn 3",
    "{}-full-day: step confirm_booking, turn 2",
    "{}-cancel: intent appointment_booking, turn 1",
)


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program(tmp_path, {"LC_ALL": "C.UTF-8"})


async def test_shows_both_agents_names_each_planted_fault_and_writes_the_reports(program: Program) -> None:
    shown = await program("demo")
    assert (shown.code, shown.err) == (0, "")
    for planted in PLANTED:
        for language in ("zh", "en"):
            assert f"named  {planted.format(language)}" in shown.text
    assert "good agent" in shown.text
    assert "faulty agent" in shown.text
    assert "slot 3/5 missing address" in " ".join(shown.text.split())
    assert "llm_score: not scored (needs a judge model)" in shown.text
    for page in ("good", "faulty", "needs_judge"):
        path = Path(".agenteval/demo") / f"{page}.html"
        assert str(path) in shown.text
        assert (program.folder / path).read_text(encoding="utf-8").lower().startswith("<!doctype html>")
    faulty = (program.folder / ".agenteval/demo/faulty.html").read_text(encoding="utf-8")
    assert "朝阳区建国路 88 号" in faulty


async def test_once_more_in_another_language_where_only_ascii_can_be_shown(program: Program) -> None:
    shown = await program("demo", "--lang", "zh", "--dir", "reports")
    assert shown.code == 0
    assert "已指出  zh-change: 槽位 phone" in shown.text
    assert "en-" not in shown.text
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"}
    shown = await Program(program.folder, ascii_only)("demo", "--lang", "en", "--dir", "reports")
    assert (shown.code, shown.err) == (0, "")
    assert shown.out.isascii()
    assert b"\\" not in shown.out


async def test_the_json_holds_all_of_it_and_no_model_is_asked_even_if_one_is_set(tmp_path: Path) -> None:
    judge = {"AGENTEVAL_JUDGE_BASE_URL": "http://127.0.0.1:9/v1", "AGENTEVAL_JUDGE_MODEL": "none"}
    shown = await Program(tmp_path, judge)("demo", "--json", "--html", "page.html")
    assert (shown.code, shown.err) == (0, "")
    told = shown.json
    assert told["html"]["faulty"] == "page.html"
    assert (tmp_path / "page.html").exists()
    assert [fault["found"] for fault in told["faults"]] == [True] * 8
    assert all(
        case["attempts"][0]["outcome"]["success_level"] == "success" for case in told["reports"]["good"]["cases"]
    )
    for report in told["reports"].values():
        assert report["summary"]["usage"]["calls"] == 0
    assert causes(told["reports"]["needs_judge"]) == {"needs_judge"}
    assert causes(told["reports"]["good"]) == causes(told["reports"]["faulty"]) == set()


def causes(report: Any) -> set[str]:
    """Why rules were not scored."""
    results = [result for case in report["cases"] for result in case["attempts"][0]["results"]]
    return {result["cause"] for result in results if result["cause"]}


def test_a_planted_fault_that_is_not_found_fails_it_and_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(evaluation, "FaultyRepairAgent", RepairAgent)
    with pytest.raises(SystemExit) as exit_:
        main(["demo", "--lang", "en", "--dir", str(tmp_path)])
    told = capsys.readouterr()
    assert exit_.value.code == 1
    assert told.out.count("NOT FOUND") == 4
    assert "the planted fault slot phone in turn 3 of en-change was not found" in told.err


async def test_ctrl_c_ends_it(program: Program) -> None:
    process = await program.start("demo")
    database = program.folder / ".agenteval/demo/agenteval.db"
    while process.returncode is None and not database.exists():  # noqa: ASYNC110 - another process makes it
        await asyncio.sleep(0.01)
    process.send_signal(signal.SIGINT)
    stopped = await asyncio.wait_for(ended(process), timeout=5)
    assert stopped.code == 130
    assert "Traceback" not in stopped.err


async def test_a_folder_that_cannot_be_made_is_told(program: Program) -> None:
    program.write("taken", {})
    shown = await program("demo", "--dir", "taken/inside")
    assert (shown.code, shown.out) == (2, b"")
    assert "taken" in shown.err
