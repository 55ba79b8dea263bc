"""A run exported on one machine and imported on another."""

from pathlib import Path

import pytest

from tests.e2e.cli.program import Ended, Program, ended, says, scenario
from tests.e2e.cli.test_rescore import GRADE, POLITE
from tests.e2e.cli.test_run import KEY, judge, run_id, stored
from tests.fakes.faulty_agent import FaultyAgent
from tests.fakes.scripted_judge import Script
from tests.fakes.scripted_model import ScriptedModel

TOKEN = "t0ken-of-the-agent"


@pytest.fixture
async def before(program: Program, agent: FaultyAgent) -> Ended:
    """A run judged by a model, of an agent that wants a token; one of its cases cannot be delivered."""
    file = program.write("s.json", scenario(says("echo", rules=POLITE), says("=1+1"), says("404")))
    headers = {"Authorization": "Bearer ${AGENT_TOKEN}"}
    params = {"url": f"{agent.url}/{{message}}", "headers": headers, "request": {"message": "{message}"}}
    target = program.write("t.json", {"channel": "http", "params": params})
    async with ScriptedModel(Script({"礼貌": {**GRADE, "quote": {"turn": 0, "text": "echo"}}})) as model:
        return await program("run", file, "-t", target, "--repeats", "2", AGENT_TOKEN=TOKEN, **judge(model))


@pytest.fixture
def elsewhere(tmp_path: Path) -> Program:
    (tmp_path / "elsewhere").mkdir()
    return Program(tmp_path / "elsewhere")


async def carried(program: Program, elsewhere: Program) -> Ended:
    assert (await program("export", "-o", "elsewhere/run.jsonl")).code == 0
    return await elsewhere("import", "run.jsonl", "--json")


async def test_reports_are_the_same_byte_by_byte(program: Program, elsewhere: Program, before: Ended) -> None:
    taken = await carried(program, elsewhere)
    assert (taken.code, taken.json) == (0, {"run": run_id(before), "new": True})
    for form in ("json", "html"):
        here, there = [await one("report", "--format", form) for one in (program, elsewhere)]
        assert (there.code, there.out) == (here.code, here.out), form
        assert len(there.out) > 1000, form
    again = await elsewhere("export", run_id(before))
    assert again.out == (elsewhere.folder / "run.jsonl").read_bytes()


async def test_it_is_judged_again_and_compared_there_without_a_model(
    program: Program, elsewhere: Program, before: Ended, agent: FaultyAgent
) -> None:
    await carried(program, elsewhere)
    talked = len(agent.received)
    here, there = [await one("rescore", "--set", "llm_score.min_score=7.5", "--json") for one in (program, elsewhere)]
    outcomes = [[a["outcome"] for a in ended.json["cases"][0]["attempts"]] for ended in (here, there)]
    assert outcomes[0] == outcomes[1]
    assert [outcome["passed"] for outcome in outcomes[1]] == [False, False]
    compared = await elsewhere("compare", run_id(before), "last", "--json")
    assert (compared.code, len(agent.received)) == (0, talked)


async def test_it_can_be_resumed_only_with_the_same_models(program: Program, elsewhere: Program, before: Ended) -> None:
    await carried(program, elsewhere)
    resumed = await elsewhere("run", "--resume", run_id(before), AGENT_TOKEN=TOKEN)
    assert resumed.code == 2
    assert f"run {run_id(before)} was begun with other models than the settings now name" in resumed.err


async def test_no_secret_leaves_with_it(program: Program, elsewhere: Program, before: Ended) -> None:
    await carried(program, elsewhere)
    file = (elsewhere.folder / "run.jsonl").read_bytes()
    assert "语气礼貌".encode() in file
    secret = stored(program.folder, "select secret from install")[0][0].hex()
    for hidden in (KEY, TOKEN, secret):
        assert hidden.encode() not in file


async def test_through_a_pipe_and_a_second_time(program: Program, elsewhere: Program, before: Ended) -> None:
    lines = (await program("export", run_id(before))).out
    first = await ended(await elsewhere.start("import", "/dev/stdin"), lines)
    assert (first.code, first.text) == (0, f"run {run_id(before)}: taken in\n")
    again = await ended(await elsewhere.start("import", "/dev/stdin"), lines)
    assert (again.code, again.text) == (0, f"run {run_id(before)}: it is here already\n")
    assert len(stored(elsewhere.folder, "select * from runs")) == 1


async def test_what_cannot_be_taken_is_one_line_and_2(program: Program, elsewhere: Program, before: Ended) -> None:
    await carried(program, elsewhere)
    whole = (elsewhere.folder / "run.jsonl").read_bytes()
    files = {"report.jsonl": (await program("report", "--format", "jsonl")).out, "cut.jsonl": whole[:-99]}
    for name, data in files.items():
        (elsewhere.folder / name).write_bytes(data)
        refused = await elsewhere("import", name)
        assert (refused.code, refused.out, len(refused.err.splitlines())) == (2, b"", 1)
        assert refused.err.startswith(f"error: {name}")
    missing = await elsewhere("import", "nowhere.jsonl")
    assert (missing.code, missing.err) == (2, "error: nowhere.jsonl: cannot be used: No such file or directory\n")
