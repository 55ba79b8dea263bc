"""The judge's requests in files: rounds until all is answered give what a server gives at once."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest

from agenteval.cli.reports import FILES
from tests.e2e.cli.program import Program, says, scenario, shell
from tests.fakes.faulty_agent import FaultyAgent
from tests.fakes.scripted_judge import Again, Script
from tests.fakes.scripted_model import ScriptedModel

JUDGE = {"AGENTEVAL_JUDGE_MODEL": "judge-1"}
MISQUOTED = {"reason": "礼貌", "quote": {"turn": 0, "text": "没有说过"}, "score": 9}
POLITE = MISQUOTED | {"quote": {"turn": 0, "text": "您好"}}
RUDE = {"reason": "rude", "quote": {"turn": 0, "text": "go away"}, "score": 2}
TONE = {"type": "llm_score", "params": {"criteria": "礼貌", "min_score": 7}}
MANNERS = {"type": "llm_score", "params": {"criteria": "manners", "min_score": 7, "samples": 3}}
MANNERS_ONCE = {"type": "llm_score", "params": {"criteria": "manners", "min_score": 7}}
CASES = scenario(says("您好", rules=[TONE]), says("go away", rules=[MANNERS]), says("再见"))


def script() -> Script:
    """The first quote is no quote, and asked for again."""
    return Script({"礼貌": Again([MISQUOTED, POLITE]), "manners": RUDE})


def lines(path: Path) -> list[Any]:
    return [orjson.loads(line) for line in path.read_bytes().splitlines()]


def answer(folder: Path, requests: str, answers: str, judge: Script, *, failing: int = 0) -> int:
    """What the provider makes of a file; the first `failing` requests fail."""
    asked = lines(folder / requests)
    with (folder / answers).open("wb") as file:
        for n, request in enumerate(asked):
            failed = {"custom_id": request["custom_id"], "response": None, "error": {"message": "expired"}}
            message = {"content": "" if n < failing else orjson.dumps(judge(request["body"])).decode()}
            body = {"choices": [{"message": message, "finish_reason": "stop"}]}
            told = {"custom_id": request["custom_id"], "response": {"status_code": 200, "body": body}, "error": None}
            file.write(orjson.dumps(failed if n < failing else told) + b"\n")
    return len(asked)


def outcomes(report: Mapping[str, Any]) -> list[Any]:
    """What came of each case, without what differs from run to run."""
    last = [case["attempts"][-1] for case in report["cases"]]
    return [
        (one["results"], one["outcome"], [(a["text"], a["answer"]["value"]) for a in one["answers"]]) for one in last
    ]


async def test_nobody_who_reads_the_requests_is_no_fault_of_the_judge(program: Program, agent: FaultyAgent) -> None:
    program.write("s.json", CASES)
    settings = "AGENTEVAL_JUDGE_MODEL=judge-1 AGENTEVAL_JUDGE_BASE_URL=http://127.0.0.1:9/v1"
    command = f"agenteval run s.json -t {agent.url}/echo --batch-out -"
    ended = await shell(program, f"export {settings}; {{ {command}; echo code $? >&2; }} | true")
    assert "code 141" in ended.err
    assert "BrokenPipeError" not in ended.err
    assert "could not be judged" not in ended.err
    (run,) = (await program("runs", "--json")).json
    assert run["status"] == "awaiting_judge"


async def test_in_rounds_it_comes_out_as_with_a_server(program: Program, agent: FaultyAgent) -> None:
    file = program.write("s.json", CASES)
    target = f"{agent.url}/echo"
    async with ScriptedModel(script()) as model:
        environ = JUDGE | {"AGENTEVAL_JUDGE_BASE_URL": model.base_url}
        direct = await program(
            "run", file, "-t", target, "--json", "--quiet", **environ, AGENTEVAL_DATABASE_URL="other.db"
        )
    judge = script()
    heard = len(agent.received)
    run = await program("run", file, "-t", target, "--json", "--quiet", "--batch-out", "1.jsonl", **JUDGE)
    assert run.code == 0
    (note,) = run.err.splitlines()
    assert "2 of the dialogs wait for the judge's answers: 4 requests written to 1.jsonl" in note
    assert f"--resume {run.json['run']['id']} --batch-in" in note
    assert run.json["run"]["status"] == "awaiting_judge"
    assert run.json["summary"]["attempts"] == 1
    assert len(agent.received) == heard + 3

    assert answer(program.folder, "1.jsonl", "1.out", judge, failing=1) == 4
    resume = ("run", "--resume", "last", "--json", "--quiet")
    second = await program(*resume, "--batch-in", "1.out", "--batch-out", "2.jsonl", **JUDGE)
    assert (second.code, second.json["run"]["status"]) == (0, "awaiting_judge")
    assert "warning: 1.out:1: " in second.err
    assert "failed: expired" in second.err
    again = await program(*resume, "--batch-out", "2b.jsonl", **JUDGE)
    assert again.code == 0
    ids = {line["custom_id"] for line in lines(program.folder / "2.jsonl")}
    assert ids == {line["custom_id"] for line in lines(program.folder / "2b.jsonl")}

    rounds, last = 2, again
    while answer(program.folder, f"{rounds}.jsonl", f"{rounds}.out", judge):
        last = await program(*resume, "--batch-in", f"{rounds}.out", "--batch-out", f"{rounds + 1}.jsonl", **JUDGE)
        rounds += 1
    assert rounds <= 4
    assert (last.code, last.err, last.json["run"]["status"]) == (0, "", "completed")
    assert last.json["summary"]["attempts"] == 3
    assert outcomes(last.json) == outcomes(direct.json)
    assert last.json["summary"]["usage"]["calls"] == direct.json["summary"]["usage"]["calls"]
    assert len(agent.received) == heard + 3


async def test_final_leaves_the_rest_unscored_and_completes_the_run(program: Program, agent: FaultyAgent) -> None:
    file = program.write("s.json", CASES)
    await program("run", file, "-t", f"{agent.url}/echo", "--batch-out", "1.jsonl")
    assert {line["body"]["model"] for line in lines(program.folder / "1.jsonl")} == {"judge"}
    done = await program("run", "--resume", "last", "--json", "--quiet", "--final")
    assert (done.code, done.json["run"]["status"], done.json["summary"]["attempts"]) == (0, "completed", 3)
    first = done.json["cases"][0]["attempts"][-1]
    assert first["results"][0]["cause"] == "pending"
    assert done.json["summary"]["pass_rate"]["n"] == 1


async def test_answers_that_come_after_the_end_are_told_to_be_too_late(program: Program, agent: FaultyAgent) -> None:
    file = program.write("s.json", CASES)
    await program("run", file, "-t", f"{agent.url}/echo", "--batch-out", "1.jsonl")
    answer(program.folder, "1.jsonl", "late.jsonl", script())
    done = await program("run", "--resume", "last", "--final", "--lang", "en")
    again = await program("run", "--resume", "last", "--batch-in", "late.jsonl", "--quiet", "--lang", "en")
    told = "is complete and takes no more answers"
    assert (again.code, f"{told}: nothing of late.jsonl counts in it" in again.err) == (0, True)
    assert (again.out, told in done.text, "resume the run" in done.text) == (done.out, True, False)


@pytest.mark.parametrize("answered", [0, 1])
@pytest.mark.parametrize("final", [(), ("--final",)])
async def test_judged_again_what_has_no_answer_stays_unscored_and_meets_no_demand(
    program: Program, agent: FaultyAgent, answered: int, final: tuple[str, ...]
) -> None:
    file = program.write("s.json", scenario(says("go away", rules=[MANNERS_ONCE]), says("您好", rules=[TONE])))
    await program("run", file, "-t", f"{agent.url}/echo", "--batch-out", "1.jsonl")
    answer(program.folder, "1.jsonl", "1.out", Script({"礼貌": POLITE, "manners": RUDE}), failing=2 - answered)
    before = await program("run", "--resume", "last", "--json", "--batch-in", "1.out", *(final or ("--batch-out", "2")))
    after = (await program("rescore", "--set", "success_threshold=0.9", "--json")).json
    assert after["run"]["status"] == "completed"
    assert after["run"]["error"] == ""
    attempts = [case["attempts"][-1] for case in after["cases"]]
    assert [attempt["status"] for attempt in attempts] == ["finished", "finished"]
    causes = [attempt["results"][0]["cause"] for attempt in attempts]
    assert causes.count("pending") == 2 - answered
    found, was = after["summary"]["pass_rate"], before.json["summary"]["pass_rate"]
    assert (found["n"], found["of"], found["worst_case"]) == (answered, 2, answered / 2)
    assert found == was
    gated = await program("report", "--min-pass-rate", "0.9")
    assert (gated.code, f"gate: FAILED: {2 - answered} attempt" in gated.err) == (1, True)


async def test_on_stdout_stand_the_requests_and_nothing_else(program: Program, agent: FaultyAgent) -> None:
    file = program.write("s.json", CASES)
    run = await program("run", file, "-t", f"{agent.url}/echo", "--quiet", "--batch-out", "-")
    assert len({orjson.loads(line)["custom_id"] for line in run.out.splitlines()}) == 4


async def test_requests_and_reports_may_stand_in_one_folder(program: Program, agent: FaultyAgent) -> None:
    file = program.write("s.json", CASES)
    run = await program(
        *("run", file, "-t", f"{agent.url}/echo", "--quiet"),
        *("--batch-out", "b/q.jsonl", "--markdown", "b/r.md", "--json-out", "b/r.json"),
    )
    assert run.code == 0
    assert {path.name for path in (program.folder / "b").iterdir()} == {"q.jsonl", "r.md", "r.json"}
    assert len(lines(program.folder / "b" / "q.jsonl")) == 4


async def test_of_a_run_that_waits_for_the_judge_no_demand_is_met(program: Program, agent: FaultyAgent) -> None:
    file = program.write("s.json", CASES)
    demand = ("--json", "--min-pass-rate", "0.3", "--max-unscored", "2")
    run = await program("run", file, "-t", f"{agent.url}/echo", "-q", "--batch-out", "q.jsonl", *demand)
    report = await program("report", *demand)
    for told in (run, report):
        assert (told.code, "gate: NOT CHECKED" in told.err, "gate: ok" in told.err) == (3, True, False)
        rate = told.json["summary"]["pass_rate"]
        assert (rate["value"], rate["n"], rate["of"], rate["worst_case"]) == (1, 1, 3, 1 / 3)
    assert len(lines(program.folder / "q.jsonl")) == 4


async def test_a_dialog_that_waited_for_the_judge_is_told_once_and_what_it_waits_for(
    program: Program, agent: FaultyAgent
) -> None:
    file = program.write("s.json", CASES)
    await program("run", file, "-t", f"{agent.url}/echo", "-q", "--batch-out", "1.jsonl")
    for option, level, told in (
        (("--batch-out", "2.jsonl"), "awaits judge", "resume the run with the batch's answers"),
        (("--final",), "not settled", "takes no more answers"),
    ):
        report = (await program("run", "--resume", "last", "-q", *option, "--lang", "en")).text
        assert {*re.findall(rf"{level} +(\S+)\s", report)} >= {"case-001", "case-002"}
        assert told in " ".join(report.split())
        table = (await program("report", "-f", "csv")).text
        assert [line.split(",")[2] for line in table.splitlines()[1:]] == ["case-001", "case-002", "case-003"]
        assert "superseded" not in report + table
        assert "attempt 2" not in report


async def test_of_what_waits_for_the_judge_nothing_is_said_to_be_undelivered(
    program: Program, agent: FaultyAgent
) -> None:
    tone = TONE | {"layer": "L2"}
    file = program.write("s.json", scenario(says("您好", rules=[tone]), says("再见")))
    run = await program("run", file, "-t", f"{agent.url}/echo", "-q", "--batch-out", "1.jsonl", "--lang", "en")
    told = " ".join(run.text.split())
    assert "not measured: the judge has not answered in a batch file (L2 average completion)" in told


async def test_what_a_waiting_run_is_resumed_with_is_told(program: Program, agent: FaultyAgent) -> None:
    file = program.write("s.json", CASES)
    await program("run", file, "-t", f"{agent.url}/echo", "-q", "--batch-out", "1.jsonl")
    gated = (await program("report", "--min-pass-rate", "0.3")).err
    (hint,) = re.findall("go on with: agenteval (.*)", gated)
    answer(program.folder, "1.jsonl", "1.out", script())
    resumed = await program(*hint.replace("ANSWERS", "1.out").replace("NEXT", "2.jsonl").split())
    assert resumed.code == 0, resumed.err
    without = await program("run", "--resume", "last")
    assert (without.code, "now none, nor files for it by --batch-in or --batch-out" in without.err) == (2, True)


async def test_every_report_can_be_had_while_the_judge_is_waited_for(program: Program, agent: FaultyAgent) -> None:
    file = program.write("s.json", CASES)
    run = await program(
        *("run", file, "-t", f"{agent.url}/echo", "-q", "--batch-out", "q.jsonl"), "--report-dir", "out", "--lang", "en"
    )
    assert (run.code, len(lines(program.folder / "q.jsonl"))) == (0, 4)
    reports = {path.name: path.read_text() for path in (program.folder / "out").iterdir()}
    assert reports.keys() == set(FILES.values())
    for name in ("report.html", "junit.xml"):
        assert "answers from a batch file are waited for" in reports[name]


async def test_the_requests_are_written_though_nobody_reads_the_report(program: Program, agent: FaultyAgent) -> None:
    file = program.write("s.json", CASES)
    command = f"agenteval run {file} -t {agent.url}/echo --batch-out q.jsonl"
    run = await shell(program, f"({command}; echo $? >code) | true")
    assert (program.folder / "code").read_text() == "141\n"
    assert "4 requests written to q.jsonl" in run.err
    assert len(lines(program.folder / "q.jsonl")) == 4


async def test_a_run_that_asked_nothing_leaves_an_older_file_of_requests(program: Program) -> None:
    (program.folder / "q.jsonl").write_text("older")
    file = program.write("s.json", CASES)
    run = await program("run", file, "-t", "http://127.0.0.1:9", "--batch-out", "q.jsonl")
    assert (run.code, (program.folder / "q.jsonl").read_text()) == (3, "older")


async def test_recorded_dialogs_are_judged_in_rounds(program: Program) -> None:
    dialog = {"id": "d1", "messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "您好"}]}
    file = program.write("d.json", dialog)
    command = ("evaluate", "llm_score", file, "--params", orjson.dumps(TONE["params"]).decode(), "--json")
    judge = script()
    first = await program(*command, "--batch-out", "1.jsonl")
    assert (first.code, first.out) == (0, b"")
    assert "1 request written to 1.jsonl" in first.err
    answer(program.folder, "1.jsonl", "1.out", judge)
    assert (await program(*command, "--batch-in", "1.out", "--batch-out", "2.jsonl")).out == b""
    unscored = await program(*command, "--final")
    assert (unscored.code, unscored.json["cause"]) == (3, "pending")
    answer(program.folder, "2.jsonl", "2.out", judge)
    last = await program(*command, "--batch-in", "1.out", "--batch-in", "2.out")
    assert (last.code, last.err, last.json["score"]) == (0, "", 0.9)
