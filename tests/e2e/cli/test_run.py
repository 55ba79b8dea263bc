"""`agenteval run` over real HTTP: what a person at a terminal, or a pipeline, relies on."""

import asyncio
import os
import sqlite3
import sys
import time
from fcntl import ioctl
from pathlib import Path
from signal import SIGHUP, SIGINT, SIGKILL, SIGTERM, Signals
from termios import TIOCSCTTY
from typing import Any

import orjson
import pytest

from tests.e2e.cli.program import START, Ended, Program, ended, says, scenario, until
from tests.fakes.faulty_agent import FaultyAgent
from tests.fakes.scripted_judge import Script, tasks
from tests.fakes.scripted_model import Hang, ScriptedModel, Status

KEY = "sk-quite-secret-1"
POLITE = [{"type": "llm_score", "params": {"criteria": "语气礼貌"}}]


def judge(model: ScriptedModel, **more: str) -> dict[str, str]:
    settings = {"BASE_URL": model.base_url, "MODEL": "judge-1", "API_KEY": KEY, **more}
    return {f"AGENTEVAL_JUDGE_{name}": value for name, value in settings.items()}


def run_id(run: Ended) -> str:
    return run.err.split()[1].rstrip(":")


def stored(folder: Path, query: str) -> list[Any]:
    with sqlite3.connect(folder / ".agenteval" / "agenteval.db") as database:
        return database.execute(query).fetchall()


async def test_a_run_reports_on_stdout_and_in_files_and_ends_with_0_whatever_the_scores(
    program: Program, agent: FaultyAgent
) -> None:
    rules = [{"type": "keyword_match", "params": {"all_of": ["不会说的话"]}}]
    file = program.write("s.json", scenario(says("你好"), says("再见", rules=rules)))
    run = await program("run", file, "-t", f"{agent.url}/echo", "--report-dir", "out")
    assert (run.code, "error" in run.err) == (0, False)
    assert "case-002" in run.text
    assert "订餐" in run.text
    names = {"report.html", "report.json", "report.md", "junit.xml"}
    assert {path.name for path in (program.folder / "out").iterdir()} == names
    again = await program("report", "--json")
    assert [c["attempts"][0]["outcome"]["passed"] for c in again.json["cases"]] == [True, False]
    assert again.out == (program.folder / "out" / "report.json").read_bytes()


async def test_what_an_agent_does_wrong_is_said_of_the_case_and_the_run_goes_on(
    program: Program, agent: FaultyAgent
) -> None:
    faults = ["500", "hang", "binary", "empty", "broken-json", "drop", "drop-mid-body", "too-large", "drip"]
    file = program.write("s.json", scenario(*(says(fault) for fault in faults), says("echo")))
    run = await program("run", file, "-t", f"{agent.url}/{{message}}", "--json", "--timeout", "0.5", "--quiet")
    assert (run.code, run.err) == (0, "")
    levels = [case["attempts"][0]["outcome"]["success_level"] for case in run.json["cases"]]
    assert levels == ["failure"] * len(faults) + ["success"]


async def test_what_cannot_be_delivered_ends_with_3_and_is_tried_again_by_resume(
    program: Program, agent: FaultyAgent
) -> None:
    params = {
        "mode": "hybrid",
        "required_slots": [{"name": "词", "description": "说的词", "expected_value": "echo"}],
        "required_steps": [{"name": "repeat", "keywords": ["echo"]}],
    }
    rules = [{"type": "task_completion", "params": params}]
    file = program.write("s.json", scenario(says("404", rules=rules), says("echo", rules=rules)))
    run = await program("run", file, "-t", f"{agent.url}/{{message}}", "--json", "--quiet")
    levels = [case["attempts"][0]["outcome"]["success_level"] for case in run.json["cases"]]
    assert (run.code, levels) == (3, [None, "success"])
    share = {"value": 1.0, "count": 1, "n": 1, "unmeasured": 1}
    assert (run.json["summary"]["slots"], run.json["summary"]["steps"]) == ({"词": share}, {"repeat": share})
    (message,) = (line for line in run.err.splitlines() if line.startswith("error"))
    assert "1 of the dialogs could not be delivered" in message
    assert "404" in message
    assert "--resume" in message
    again = await program("run", "--resume", "last", "--json", "--quiet")
    assert [len(case["attempts"]) for case in again.json["cases"]] == [2, 1]
    assert again.json["summary"]["attempts"] == 2


async def test_a_judge_scores_and_its_key_is_shown_nowhere(program: Program, agent: FaultyAgent) -> None:
    answer = {"reason": "礼貌", "quote": {"turn": 0, "text": "您好"}, "score": 9}
    file = program.write("s.json", scenario(says("您好", rules=POLITE)))
    async with ScriptedModel(Script({"礼貌": answer}), api_key=KEY) as model:
        run = await program("run", file, "-t", f"{agent.url}/echo", "--json", **judge(model))
        (result,) = run.json["cases"][0]["attempts"][0]["results"]
        assert (run.code, result["score"], "judge: judge-1" in run.err) == (0, 0.9, True)
        asked = len(model.requests)
        again = await program("run", file, "-t", f"{agent.url}/echo", "--json", "--debug", **judge(model))
        assert len(model.requests) == asked + 1  # the check; the answer was remembered
    assert again.json["cases"][0]["attempts"][0]["results"] == [result]
    assert KEY not in run.text + run.err + again.text + again.err
    assert KEY.encode() not in (program.folder / ".agenteval" / "agenteval.db").read_bytes()


@pytest.mark.parametrize("fault", ["key", "model", "nobody", "agent"])
async def test_who_cannot_be_reached_ends_the_run_before_anything_of_it_is_stored(
    program: Program, agent: FaultyAgent, fault: str
) -> None:
    file = program.write("s.json", scenario(says("您好", rules=POLITE)))
    program.write("t.json", {"channel": "http", "params": {"url": "${AGENT}/echo"}})
    environ = {"AGENT": "http://127.0.0.1:9" if fault == "agent" else agent.url}
    async with ScriptedModel(
        api_key="another" if fault == "key" else KEY, models=["judge-2" if fault == "model" else "judge-1"]
    ) as model:
        environ |= judge(model) | ({"AGENTEVAL_JUDGE_BASE_URL": "http://127.0.0.1:9/v1"} if fault == "nobody" else {})
        run = await program("run", file, "-t", "t.json", "--debug", **environ)
    assert (run.code, run.out) == (3, b"")
    (error,) = [line for line in run.err.splitlines() if line.startswith("error: ")]
    assert ("AGENTEVAL_JUDGE_" in error or "judge" in error) == (fault != "agent")
    assert KEY not in run.err
    assert "127.0.0.1:9" not in error or fault == "nobody"  # the agent's address came from the environment
    assert not agent.received
    assert stored(program.folder, "select * from runs") == []


async def test_resuming_changes_nothing_while_the_agent_cannot_be_reached(program: Program, agent: FaultyAgent) -> None:
    program.write("t.json", {"channel": "http", "params": {"url": "${AGENT}"}})
    file = program.write("s.json", scenario(says("您好")))
    run = await program("run", file, "-t", "t.json", AGENT=f"{agent.url}/404")
    before = stored(program.folder, "select * from runs")
    down = await program("run", "--resume", "last", AGENT="http://127.0.0.1:9")
    assert (run.code, down.code, down.out) == (3, 3, b"")
    assert stored(program.folder, "select * from runs") == before
    resumed = await program("run", "--resume", "last", "--json", AGENT=f"{agent.url}/echo")
    assert (resumed.code, resumed.json["summary"]["pass_rate"]["value"]) == (0, 1.0)
    assert resumed.json["run"]["config"]["target"]["params"] == {"url": "${AGENT}"}


async def test_resuming_a_completed_run_changes_nothing(program: Program, agent: FaultyAgent) -> None:
    file = program.write("s.json", scenario(says("您好")))
    await program("run", file, "-t", f"{agent.url}/echo", "--quiet")
    before = stored(program.folder, "select * from runs")
    again = await program("run", "--resume", "last", "--json")
    assert (again.code, again.json["run"]["status"]) == (0, "completed")
    assert stored(program.folder, "select * from runs") == before


async def test_what_the_judge_failed_at_ends_with_3_and_is_judged_again_without_the_agent(
    program: Program, agent: FaultyAgent
) -> None:
    answer = Script({"礼貌": {"reason": "礼貌", "quote": {"turn": 0, "text": "您好"}, "score": 9}})
    file = program.write("s.json", scenario(says("您好", rules=POLITE), says("再见")))
    async with ScriptedModel(lambda request: answer(request) if well or not tasks(request) else Status(400)) as model:
        well = False
        run = await program("run", file, "-t", f"{agent.url}/echo", "--json", "--quiet", **judge(model))
        assert run.code == 3
        (message,) = run.err.splitlines()
        assert "1 of the dialogs could not be judged: " in message
        assert "injected" in message
        assert "--resume" in message
        assert stored(program.folder, "select status from runs") == [("failed",)]
        well, heard = True, len(agent.received)
        again = await program("run", "--resume", "last", "--json", "--quiet", **judge(model))
    assert (again.code, again.err, len(agent.received)) == (0, "", heard)
    first, last = again.json["cases"][0]["attempts"]
    assert [attempt["results"][0]["status"] for attempt in (first, last)] == ["failed_to_score", "scored"]
    assert last["turns"] == first["turns"]
    assert again.json["summary"]["attempts"] == 2
    assert stored(program.folder, "select status, error from runs") == [("completed", "")]


async def test_a_judge_that_never_answers_is_waited_for_as_long_as_the_case_may_take(
    program: Program, agent: FaultyAgent
) -> None:
    file = program.write("s.json", scenario(says("您好", rules=POLITE)))
    async with ScriptedModel(lambda request: Hang() if tasks(request) else "ok") as model:
        run = await program("run", file, "-t", f"{agent.url}/echo", "--json", "--case-timeout", "0.3", **judge(model))
    assert run.code == 3
    assert "1 of the dialogs could not be judged: the case's time limit of 0.3 s was used up" in run.err
    assert run.json["cases"][0]["attempts"][0]["turns"][0]["reply"] == "您好"


@pytest.mark.parametrize("setting", [{"TEMPERATURE": "0.7"}, {"MODEL": "judge-2"}, {"BASE_URL": "other"}])
async def test_a_run_goes_on_only_with_the_models_that_it_began_with(
    program: Program, agent: FaultyAgent, setting: dict[str, str]
) -> None:
    file = program.write("s.json", scenario(says("404", rules=POLITE)))
    async with ScriptedModel() as model, ScriptedModel() as other:
        setting = {name: other.base_url if value == "other" else value for name, value in setting.items()}
        await program("run", file, "-t", f"{agent.url}/{{message}}", **judge(model))
        before = stored(program.folder, "select * from runs")
        changed = await program("run", "--resume", "last", **judge(model, **setting))
        same = await program("run", "--resume", "last", **judge(model, MAX_CONCURRENCY="3"))
    assert (changed.code, changed.out, same.code) == (2, b"", 3)
    assert "other models" in changed.err
    assert next(iter(setting.values())) in changed.err
    assert KEY not in str(before)


@pytest.mark.parametrize(("number", "code"), [(SIGINT, 130), (SIGTERM, 143), (SIGHUP, 129)])
async def test_ctrl_c_stops_within_two_seconds_says_how_to_go_on_and_nothing_is_run_twice(
    program: Program, agent: FaultyAgent, number: Signals, code: int
) -> None:
    program.write("t.json", {"channel": "http", "params": {"url": "${AGENT}"}, "max_concurrency": 3})
    file = program.write("s.json", scenario(*(says("一", "二", id=f"c{n}") for n in range(30))))
    process = await program.start("run", file, "-t", "t.json", AGENT=f"{agent.url}/hang")
    await until(lambda: agent.received)
    began = time.monotonic()
    process.send_signal(number)
    stopped = await ended(process)
    assert (stopped.code, stopped.out) == (code, b"")
    assert time.monotonic() - began < 2
    assert f"agenteval run --resume {run_id(stopped)}" in stopped.err
    assert stored(program.folder, "select status from runs") == [("interrupted",)]
    resumed = await program("run", "--resume", run_id(stopped), "--json", "--quiet", AGENT=f"{agent.url}/echo")
    assert (resumed.code, resumed.err, resumed.json["summary"]["attempts"]) == (0, "", 30)
    assert len([received for received in agent.received if received.path == "echo"]) == 60


async def test_ctrl_c_also_stops_a_check_that_gets_no_answer(program: Program, agent: FaultyAgent) -> None:
    file = program.write("s.json", scenario(says("您好", rules=POLITE)))
    async with ScriptedModel(lambda _: Hang()) as model:
        process = await program.start("run", file, "-t", f"{agent.url}/echo", **judge(model))
        await until(lambda: model.requests)
        began = time.monotonic()
        process.send_signal(SIGINT)
        stopped = await ended(process)
    assert (stopped.code, time.monotonic() - began < 2) == (130, True)
    assert stored(program.folder, "select * from runs") == []


async def test_the_second_ctrl_c_ends_at_once(program: Program) -> None:
    (program.folder / "agent.py").write_text(
        "import pathlib, time\n"
        "async def reply(message, session):\n  pathlib.Path('heard').touch()\n  time.sleep(60)\n"  # holds up everything
    )
    file = program.write("s.json", scenario(says("您好")))
    process = await program.start("run", file, "-t", "python:agent.py:reply")
    await until((program.folder / "heard").exists)
    process.send_signal(SIGINT)
    await asyncio.sleep(0.05)
    began = time.monotonic()
    process.send_signal(SIGINT)
    assert ((await ended(process)).code, time.monotonic() - began < 1) == (130, True)


async def test_sigterm_leaves_no_agent_behind(program: Program) -> None:
    (program.folder / "agent.py").write_text(
        "import os, pathlib, time\npathlib.Path('pid').write_text(f'{os.getpid()}.')\ntime.sleep(60)\n"
    )
    file = program.write("s.json", scenario(says("您好")))
    process = await program.start("run", file, "-t", f"command:{sys.executable} agent.py")
    pid = program.folder / "pid"
    await until(lambda: pid.exists() and pid.read_text().endswith("."))
    process.terminate()
    assert (await ended(process)).code == 143
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()[:-1]), 0)


HANGS = """
import asyncio, pathlib
async def reply(message, session):
    if message.startswith("hang"):
        pathlib.Path("heard").touch()
        await asyncio.sleep(60)
    return message
"""
DEMANDS = ("--min-pass-rate", "0.9", "--max-unscored", "100")


@pytest.mark.parametrize("number", [SIGINT, SIGKILL])
async def test_what_was_not_run_is_counted_and_turns_no_build_green(program: Program, number: Signals) -> None:
    (program.folder / "agent.py").write_text(HANGS)
    done = [{"type": "keyword_match", "params": {"all_of": ["做"]}, "layer": "L2"}]
    cases = [says(f"做{n}", rules=done) for n in range(3)] + [says("hang", rules=done)] + [says("hang")] * 5
    file = program.write("s.json", scenario(*cases, says("hang, and nothing is expected of it", rules=[])))
    process = await program.start("run", file, "-t", "python:agent.py:reply", "--concurrency", "1", *DEMANDS)
    await until((program.folder / "heard").exists)
    process.send_signal(number)
    assert (await ended(process)).code in (130, -SIGKILL)

    report = await program("report", "--json", *DEMANDS)
    summary = report.json["summary"]
    of = {name: (summary[name]["n"], summary[name]["of"]) for name in ("pass_rate", "success_rate", "avg_completion")}
    assert of == {"pass_rate": (3, 9), "success_rate": (3, 9), "avg_completion": (3, 4)}
    assert (summary["pass_rate"]["worst_case"], summary["avg_completion"]["worst_case"]) == (1 / 3, 0.75)
    assert (summary["cases"], summary["attempts"], summary["unmade"]) == (10, 3, 7)
    (gate,) = [line for line in report.err.splitlines() if line.startswith("gate: ")]
    assert (report.code, "NOT CHECKED" in gate, "3 of 10 attempts" in gate) == (3, True, True)
    shown = await program("report", "--lang", "en")
    assert (shown.code, "3 of 9" in shown.text, "without an outcome yet: 7" in shown.text) == (0, True, True)


async def test_ctrl_c_leaves_the_reports_that_were_asked_for(program: Program) -> None:
    (program.folder / "agent.py").write_text(HANGS)
    file = program.write("s.json", scenario(says("hi"), says("hang")))
    process = await program.start("run", file, "-t", "python:agent.py:reply", "--concurrency", "1", "--report-dir", "r")
    await until((program.folder / "heard").exists)
    process.send_signal(SIGINT)
    stopped = await ended(process)
    assert (stopped.code, stopped.out) == (130, b"")
    reports = {path.name: path.read_text() for path in (program.folder / "r").iterdir()}
    for name in ("report.html", "junit.xml", "report.md"):
        assert "its figures are provisional" in reports[name]
    assert orjson.loads(reports["report.json"])["run"]["status"] == "interrupted"


async def test_a_terminal_that_is_closed_stops_a_run_cleanly(program: Program, agent: FaultyAgent) -> None:
    file = program.write("s.json", scenario(says("您好")))
    terminal, end = os.openpty()

    def take_terminal() -> None:
        os.setsid()
        ioctl(end, TIOCSCTTY)

    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", START, "run", file, "-t", f"{agent.url}/hang"),
        cwd=program.folder,
        stdin=end,
        stdout=end,
        stderr=end,
        preexec_fn=take_terminal,
    )
    os.close(end)
    await until(lambda: agent.received)
    os.close(terminal)
    assert await asyncio.wait_for(process.wait(), 5) == 129
    assert stored(program.folder, "select status from runs") == [("interrupted",)]


async def test_elsewhere_than_on_a_terminal_progress_is_lines_on_stderr(program: Program, agent: FaultyAgent) -> None:
    file = program.write("s.json", scenario(says("您好")))
    run = await program("run", file, "-t", f"{agent.url}/echo", "--json")
    assert "\x1b" not in run.err
    assert run.err.splitlines() == [f"run {run_id(run)}: {agent.url}/echo, judge: built-in"]
