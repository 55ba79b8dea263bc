"""People in the loop: what they say changes the outcome, the machine's verdict stays, and no model is asked."""

import asyncio
import contextlib
import csv
import os
import pty
import signal
import sys
import termios
from typing import Any

import pytest

from tests.e2e.cli.program import START, Ended, Program, says, scenario, until
from tests.e2e.cli.test_run import judge
from tests.fakes.faulty_agent import FaultyAgent
from tests.fakes.scripted_judge import Script
from tests.fakes.scripted_model import ScriptedModel

SLOTS = {
    "mode": "slot",
    "required_slots": [
        {"name": "name", "description": "客人的姓名"},
        {"name": "people", "description": "用餐的人数"},
    ],
}
RULES = [{"type": "task_completion", "params": SLOTS}]


def filled(turn: int, text: str) -> dict[str, Any]:
    quote = {"turn": turn, "text": text}
    rest = {"agent": None, "tool": None, "part": "none", "reasked": False}
    return {"reason": "说了", "user": [quote], **rest, "status": "filled"}


ANSWERS = {"姓名": filled(0, "张三"), "人数": filled(0, "四位")}


@pytest.fixture
async def judged(program: Program, agent: FaultyAgent) -> Ended:
    """A run with one case in which a model found both slots filled."""
    file = program.write("s.json", scenario(says("我是张三，四位", rules=RULES)))
    async with ScriptedModel(Script(ANSWERS)) as model:
        run = await program("run", file, "-t", f"{agent.url}/echo", "--json", **judge(model))
    assert run.json["summary"]["avg_completion"]["exact"] == "1/1"
    return run


async def queue(program: Program) -> list[dict[str, str]]:
    name = f"q{len(list(program.folder.iterdir()))}.csv"
    assert (await program("review", "--out", name, "--lang", "zh")).code == 0
    with (program.folder / name).open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def fill_in(program: Program, rows: list[dict[str, str]], name: str = "v.csv") -> str:
    with (program.folder / name).open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return name


async def test_overruling_a_slot_changes_layers_rates_and_agreement_and_asks_nobody(
    program: Program, judged: Ended
) -> None:
    rows = await queue(program)
    assert {(row["item"], row["machine"], row["queue"]) for row in rows} == {
        ("slot:name", "filled", "sample"),
        ("slot:people", "filled", "sample"),
    }
    assert "张三" in rows[0]["dialog"]
    for row in rows:
        row |= {"verdict": "filled" if row["item"] == "slot:name" else "missing"}
        row |= {"note": "" if row["item"] == "slot:name" else "说的是桌数"}
    taken = await program("review", "--in", fill_in(program, rows), "--by", "anna", "--json")
    assert taken.code == 0, taken.err
    assert taken.json["kinds"]["slot"] | {"corrected": None} == {
        "n": 2,
        "same": 1,
        "left_out": 0,
        "kappa": 0.0,
        "overruled": 1,
        "judged": 2,
        "rate": 1.0,
        "corrected": None,
    }

    report = (await program("report", "--json")).json
    ((attempt,),) = (case["attempts"] for case in report["cases"])
    assert attempt["outcome"]["l2_completion_exact"] == "1/2"
    assert (attempt["outcome"]["success_level"], attempt["outcome"]["source"]) == ("partial", "review")
    assert report["summary"]["avg_completion"]["exact"] == "1/2"
    assert report["summary"]["success_rate"]["exact"] == "1/2"
    people = attempt["results"][0]["detail"]["slots"]["people"]
    assert (people["status"], people["decided_by"]) == ("missing", "person:anna")
    assert people["reviewed"] == {"by": "anna", "machine": "filled", "note": "说的是桌数"}
    assert [answer["by"] for answer in attempt["answers"]] == ["model:judge-1"] * 2  # the machine's stay
    assert len(attempt["reviews"]) == 2
    for form in ("terminal", "markdown", "html"):
        told = (await program("report", "--format", form)).text
        assert "anna" in told, form
        assert "评审原判：已" in told, form
        assert "说的是桌数" in told, form


async def test_a_verdict_can_be_taken_back(program: Program, judged: Ended) -> None:
    rows = await queue(program)
    wrong = [row | {"verdict": "missing"} for row in rows]
    right = [row | {"verdict": "unclear"} for row in rows]
    for said in (wrong, right):
        assert (await program("review", "--in", fill_in(program, said), "--by", "bob")).code == 0
    report = (await program("report", "--json")).json
    outcome = report["cases"][0]["attempts"][0]["outcome"]
    assert (outcome["success_level"], outcome["source"]) == ("success", "layered")
    assert report["review"]["kinds"]["slot"]["left_out"] == 2


async def test_nothing_is_taken_when_one_row_is_wrong(program: Program, judged: Ended) -> None:
    first, second = await queue(program)
    bad = fill_in(program, [first | {"verdict": "missing"}, second | {"verdict": "yes"}])
    taken = await program("review", "--in", bad)
    assert taken.code == 2
    assert "v.csv: row 3: is no verdict for" in taken.err
    assert "filled, missing" in taken.err
    assert (await program("report", "--json")).json["review"] is None


async def test_a_verdict_that_needs_words_says_whose(program: Program, judged: Ended) -> None:
    row = (await queue(program))[0] | {"verdict": "contradicted"}
    taken = await program("review", "--in", fill_in(program, [row]))
    assert (taken.code, "needs the words of the agent" in taken.err) == (2, True)
    taken = await program("review", "--in", fill_in(program, [row | {"agent": "没有这句话"}]))
    assert (taken.code, "nowhere in the words of the agent" in taken.err) == (2, True)
    assert (await program("review", "--in", fill_in(program, [row | {"agent": "#1"}]))).code == 0


async def test_json_lines_are_a_queue_too(program: Program, judged: Ended) -> None:
    assert (await program("review", "--out", "q.jsonl")).code == 0
    text = (program.folder / "q.jsonl").read_text(encoding="utf-8")
    (program.folder / "v.jsonl").write_text(text.replace('"verdict":""', '"verdict":"missing"'), encoding="utf-8")
    assert (await program("review", "--in", "v.jsonl")).code == 0
    assert (await program("report", "--json")).json["summary"]["avg_completion"]["exact"] == "0/1"


async def test_what_people_said_goes_on_into_a_rescored_run(program: Program, judged: Ended) -> None:
    rows = [row | {"verdict": "missing"} for row in await queue(program) if row["item"] == "slot:people"]
    assert (await program("review", "--in", fill_in(program, rows), "--by", "anna")).code == 0
    again = (await program("rescore", "--set", "task_completion.min_completion_rate=0.5", "--json")).json
    outcome = again["cases"][0]["attempts"][0]["outcome"]
    assert (outcome["l2_completion_exact"], outcome["rules_passed"]) == ("1/2", True)
    assert again["review"]["people"] == {"anna": 1}
    assert [row["item"] for row in await queue(program)] == ["slot:name"]


async def test_verdicts_on_one_run_are_not_taken_for_another(program: Program, judged: Ended) -> None:
    rows = [row | {"verdict": "missing"} for row in await queue(program)]
    other = (await program("rescore", "--set", "success_threshold=0.9", "--json")).json["run"]["id"]
    taken = await program("review", other, "--in", fill_in(program, rows))
    assert (taken.code, "v.csv: row 2: is about run" in taken.err) == (2, True)


async def test_a_queue_that_may_hold_verdicts_is_not_overwritten(program: Program, judged: Ended) -> None:
    (program.folder / "q.csv").write_text("mine", encoding="utf-8")
    refused = await program("review", "--out", "q.csv")
    assert (refused.code, "may hold verdicts" in refused.err) == (2, True)
    assert (program.folder / "q.csv").read_text(encoding="utf-8") == "mine"
    assert (await program("review", "--out", "q.xlsx")).code == 2


async def test_without_a_terminal_a_file_is_asked_for(program: Program, judged: Ended) -> None:
    refused = await program("review")
    assert (refused.code, "--out FILE" in refused.err) == (2, True)


class Terminal:
    """A person at the program."""

    def __init__(self, program: Program, *arguments: str) -> None:
        self._ours, theirs = pty.openpty()
        self._process = asyncio.create_subprocess_exec(
            *(sys.executable, "-c", START, *arguments),
            cwd=program.folder,
            env={**os.environ, "LC_ALL": "C.UTF-8", "TERM": "xterm"},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
        )
        self._theirs = theirs
        self.shown = b""

    async def __aenter__(self) -> "Terminal":
        self.process = await self._process
        os.close(self._theirs)
        os.set_blocking(self._ours, False)
        return self

    async def __aexit__(self, *_: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            await asyncio.wait_for(self.process.wait(), 30)
        os.close(self._ours)

    def sees(self, text: str) -> bool:
        with contextlib.suppress(OSError):
            self.shown += os.read(self._ours, 65536)
        return text.encode() in self.shown

    def reads_keys(self) -> bool:
        """What is typed before is thrown away."""
        return not termios.tcgetattr(self._ours)[3] & termios.ICANON

    async def types(self, keys: str, when: str) -> None:
        await asyncio.wait_for(until(lambda: self.sees(when) and (len(keys) > 1 or self.reads_keys())), 60)
        self.shown = b""
        os.write(self._ours, keys.encode())


async def test_keys_give_verdicts_on_a_terminal(program: Program, judged: Ended) -> None:
    async with Terminal(program, "review", "--by", "anna", "--lang", "en") as terminal:
        await terminal.types("2", when="q: end")  # missing
        await terminal.types("wrong table\r", when="Note")
        await terminal.types("1", when="q: end")  # filled
        await asyncio.wait_for(until(lambda: terminal.sees("1 overruled")), 60)
    assert terminal.process.returncode == 0
    report = (await program("report", "--json")).json
    assert report["summary"]["avg_completion"]["exact"] == "1/2"
    assert {one["note"] for one in report["cases"][0]["attempts"][0]["reviews"]} == {"wrong table", ""}


async def test_ctrl_c_ends_it_while_a_note_is_typed(program: Program, judged: Ended) -> None:
    async with Terminal(program, "review", "--by", "anna", "--lang", "en") as terminal:
        await terminal.types("1", when="q: end")
        await terminal.types("2", when="q: end")
        await terminal.types("no", when="Note")
        terminal.process.send_signal(signal.SIGINT)
    assert terminal.process.returncode == 130
    assert not terminal.sees("Traceback")
    assert len(await queue(program)) == 1


async def test_what_was_said_before_the_end_is_kept(program: Program, judged: Ended) -> None:
    async with Terminal(program, "review", "--by", "anna", "--lang", "en") as terminal:
        await terminal.types("1", when="q: end")
        await terminal.types("q", when="q: end")
        await asyncio.wait_for(until(lambda: terminal.sees("items reviewed: 1")), 60)
    assert len(await queue(program)) == 1
