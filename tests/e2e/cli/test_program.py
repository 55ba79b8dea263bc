"""What depends on the process: its start, its streams, its terminal."""

import asyncio
import os
import sys
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median

import orjson
import pytest

from tests.e2e.cli.program import START, Program, ended, says, scenario, shell
from tests.fakes.faulty_agent import FaultyAgent
from tests.fakes.scripted_judge import tasks
from tests.fakes.scripted_model import ScriptedModel
from tests.unit.cli.test_commands import SEED

TIMES = 3
GENEROUS = 1.3
"""Over what is demanded, for a machine that does other things too."""


async def cpu_s(*arguments: str) -> float:
    """Of a Python process, the median of several."""
    spent = []
    for _ in range(TIMES):
        before = getrusage(RUSAGE_CHILDREN)
        process = await asyncio.create_subprocess_exec(
            sys.executable, *arguments, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL
        )
        assert await process.wait() == 0
        after = getrusage(RUSAGE_CHILDREN)
        spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return median(spent)


async def test_help_takes_no_more_than_to_import_an_http_client() -> None:
    assert await cpu_s("-c", START, "--help") <= GENEROUS * await cpu_s("-c", "import aiohttp")


async def test_help_loads_nothing_heavy() -> None:
    heavy = ("pydantic", "sqlalchemy", "rich", "aiohttp", "asyncio", "orjson", "yaml")
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-X",
        "importtime",
        "-c",
        START,
        "--help",
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    _, log = await process.communicate()
    loaded = {line.rpartition("|")[2].strip() for line in log.decode().splitlines()}
    assert "typer" in loaded
    assert loaded.isdisjoint(heavy)


@pytest.mark.parametrize("environ", [{"PYTHONIOENCODING": "ascii"}, {"PYTHONIOENCODING": "cp1252", "NO_COLOR": "1"}])
async def test_no_result_is_lost_on_a_terminal_that_cannot_show_it(
    program: Program, agent: FaultyAgent, environ: dict[str, str]
) -> None:
    file = program.write("s.json", scenario(says("中文 ≠ 😀")))
    run = await ended(await program.start("run", file, "-t", f"{agent.url}/echo", COLUMNS="60", **environ))
    assert run.code == 0
    text = run.out.decode(environ["PYTHONIOENCODING"])
    assert "\\u8ba2\\u9910" in text  # the run's name
    assert "Pass rate" in text
    assert "100 %" in text
    report = await ended(await program.start("report", "--json", **environ))
    assert report.json["cases"][0]["messages"] == ["中文 ≠ 😀"]
    names = await ended(await program.start("runs", **environ))
    assert (names.code, b"\\u8ba2\\u9910" in names.out) == (0, True)


async def test_the_completeness_of_a_dialog_from_stdin_is_the_seeds_json(program: Program) -> None:
    nothing = {"agent_quote": None, "tool_quote": None}
    said = {"turn": 1, "text": "G101 高铁票已为您预订成功"}
    met = {"reason": "已订", "state": "active", **nothing, "agent_quote": said, "verdict": "met", "reason_code": "none"}
    unmet = {"reason": "未答", "state": "active", **nothing, "verdict": "unmet", "reason_code": "ignored"}
    intents = [
        {"quote": {"turn": 0, "text": "订一张明天去上海的高铁票"}, "text": "订高铁票", "judgement": met},
        {"quote": {"turn": 0, "text": "查一下那边的酒店"}, "text": "查酒店", "judgement": unmet},
    ]
    async with ScriptedModel(lambda request: {task: {"intents": intents} for task in tasks(request)}) as model:
        environ = {"AGENTEVAL_JUDGE_BASE_URL": model.base_url, "AGENTEVAL_JUDGE_MODEL": "judge-1"}
        process = await program.start("evaluate", "conversation_completeness", "-", **environ)
        judged = await ended(process, orjson.dumps(SEED))
        assert len(model.requests) == 2  # the check, and one judgement
    assert (judged.code, judged.json["score"], judged.json["unmet_intents"]) == (0, 0.5, ["查酒店"])
    assert "酒店" in judged.json["reason"]


async def test_whoever_stops_reading_gets_no_traceback(program: Program) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", START, "schema", "scenario"),
        cwd=program.folder,
        stdout=writing,
        stderr=asyncio.subprocess.PIPE,
    )
    os.close(writing)
    _, err = await process.communicate()
    assert (process.returncode, err) == (141, b"")


async def test_a_scenario_may_come_through_a_pipe_of_the_shell(program: Program) -> None:
    file = program.write("s.json", scenario(says("你好")))
    assert (await shell(program, f"cat {file} | agenteval validate /dev/stdin")).text == "ok: 订餐, cases: 1\n"
    assert (await shell(program, f"agenteval validate /dev/fd/3 3<{file}")).code == 0


async def test_a_command_needs_neither_stdin_nor_stderr(program: Program) -> None:
    (program.folder / ".agenteval").mkdir()
    (program.folder / ".agenteval" / "agenteval.db").touch()  # of no run yet
    assert (await shell(program, "agenteval runs --json <&- 2>&-")).json == []
    assert (await shell(program, "agenteval runs --json 2>/dev/full")).json == []
    assert (await shell(program, "agenteval runs 2>&-")).out == b""  # no note takes the way of results


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        ("runs >&-", 2, "stdout is closed"),
        ("rules >/dev/full", 3, "stdout: cannot be written: No space left on device"),
        ("--version >/dev/full", 3, "stdout: cannot be written: No space left on device"),
        ("evaluate keyword_match - <&-", 2, "stdin: holds no dialog"),
    ],
)
async def test_a_stream_that_cannot_be_used_is_one_clear_error(
    program: Program, command: str, code: int, said: str
) -> None:
    told = await shell(program, f"agenteval {command}")
    assert (told.code, len(told.err.splitlines())) == (code, 1)
    assert said in told.err
