"""A run judged again from what is stored of it: no agent, no model."""

from typing import Any

import pytest

from tests.e2e.cli.program import Ended, Program, says, scenario
from tests.e2e.cli.test_run import judge, stored
from tests.fakes.faulty_agent import FaultyAgent
from tests.fakes.scripted_judge import Script
from tests.fakes.scripted_model import ScriptedModel

GRADE = {"reason": "礼貌", "quote": {"turn": 0, "text": "您好"}, "score": 7}
POLITE = [{"type": "llm_score", "params": {"criteria": "语气礼貌", "min_score": 7}}]


@pytest.fixture
async def before(program: Program, agent: FaultyAgent) -> Ended:
    """A run whose one case a model gave 7 of 10 points, which is enough."""
    file = program.write("s.json", scenario(says("您好", rules=POLITE)))
    async with ScriptedModel(Script({"礼貌": GRADE})) as model:
        return await program("run", file, "-t", f"{agent.url}/echo", "--json", **judge(model))


def only(report: Any) -> Any:
    """The one attempt of a report."""
    ((attempt,),) = (case["attempts"] for case in report["cases"])
    return attempt


async def test_a_changed_parameter_is_judged_by_the_stored_answer(
    program: Program, before: Ended, agent: FaultyAgent
) -> None:
    talked = len(agent.received)
    after = await program("rescore", "--set", "llm_score.min_score=7.5", "--json")
    old, new = only(before.json), only(after.json)
    assert (old["outcome"]["passed"], new["outcome"]["passed"]) == (True, False)
    assert (new["results"][0]["score"], new["turns"], new["answers"]) == (0.7, old["turns"], old["answers"])
    assert (new["calls"], len(agent.received)) == ([], talked)  # a call is counted once, where it was made
    assert after.json["run"]["config"]["rescored_from"] == before.json["run"]["id"]
    again = await program("report", before.json["run"]["id"], "--json")
    assert again.out == before.out


async def test_a_rescored_run_is_no_new_run_of_the_agent(program: Program, before: Ended, agent: FaultyAgent) -> None:
    first = before.json["run"]["id"]
    second = (await program("rescore", "--set", "llm_score.min_score=7.5", "--json")).json["run"]["id"]
    third = (await program("rescore", "--set", "success_threshold=0.9", "--json")).json["run"]["id"]
    listed = (await program("runs")).text
    assert f"(rescored from {first})" in listed
    assert [run["rescored_from"] for run in (await program("runs", "--json")).json] == [second, first, None]
    target = f"{agent.url}/echo"
    assert [run["id"] for run in (await program("trend", target, "--json")).json] == [first]
    shown = await program("trend", target, "--rescored", "--lang", "en")
    assert f"{third} (rescored from {second})" in shown.text
    score, success = "/set/llm_score.min_score", "/set/success_threshold"
    for before_, after, changed in (
        (first, second, {score}),
        (first, third, {score, success}),
        (second, third, {success}),
    ):
        compared = (await program("compare", before_, after, "--json")).json
        assert compared["changed_cases"] == []
        assert {setting["pointer"] for setting in compared["settings"]} == {*changed, "/rescored_from"}


async def test_without_a_change_the_outcome_is_the_same(program: Program, before: Ended) -> None:
    after = await program("rescore", "--json")
    assert only(after.json)["outcome"] == only(before.json)["outcome"]
    assert only(after.json)["results"] == only(before.json)["results"]


async def test_another_question_has_no_stored_answer(program: Program, before: Ended) -> None:
    after = await program("rescore", "--set", "llm_score.criteria=简洁", "--json")
    assert only(after.json)["outcome"]["success_level"] is None
    assert only(after.json)["results"][0]["cause"] == "needs_judge"


@pytest.mark.parametrize(
    ("setting", "place"),
    [
        ("success_threshold=2", "thresholds must satisfy"),
        ("success_threshold=viel", "success_threshold: must be a finite number"),
        ("llm_score.min_scor=7", "unknown parameter"),
        ("politeness.min_score=7", "changes nothing"),
        ("llm_score.min_score=7", "changes nothing"),
        ("nope=1", "no such setting"),
        ("success_threshold", "no NAME=VALUE"),
    ],
)
async def test_a_setting_that_cannot_be_or_does_nothing_is_refused(
    program: Program, before: Ended, setting: str, place: str
) -> None:
    ended = await program("rescore", "--set", setting)
    assert (ended.code, place in ended.err) == (2, True)
    assert len(stored(program.folder, "select * from runs")) == 1
