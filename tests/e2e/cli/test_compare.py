"""Runs compared, demanded of, and followed over time, over real HTTP."""

from typing import Any

import pytest

from tests.e2e.cli.program import Ended, Program, says, scenario
from tests.fakes.faulty_agent import FaultyAgent

WORDS = ("你好", "再见", "谢谢", "早上好", "晚安")


def cases(*wanted: str) -> dict[str, Any]:
    """What the echoing agent is expected to say, beside what is said."""
    pairs = zip(WORDS, wanted, strict=True)
    return scenario(
        *(says(said, rules=[{"type": "keyword_match", "params": {"all_of": [word]}}]) for said, word in pairs)
    )


@pytest.fixture
async def before(program: Program, agent: FaultyAgent) -> str:
    """A run in which all pass."""
    program.write("good.json", cases(*WORDS))
    return await run(program, agent, "good.json")


async def run(program: Program, agent: FaultyAgent, file: str, *more: str) -> str:
    ended = await program("run", file, "-t", f"{agent.url}/echo", *more, "--json")
    return str(ended.json["run"]["id"])


async def gated(program: Program, agent: FaultyAgent, file: str, *demands: str) -> Ended:
    return await program("run", file, "-t", f"{agent.url}/echo", "--quiet", "--report-dir", "out", *demands)


async def test_a_comparison_says_what_changed_how_sure_it_is_and_which_cases_flipped(
    program: Program, agent: FaultyAgent, before: str
) -> None:
    program.write("worse.json", cases("你好", *["别的"] * 4))
    after = await run(program, agent, "worse.json", "--name", "worse")
    shown = await program("compare", before, "--lang", "en")
    assert shown.code == 0
    assert "Fell (4); 4 of them pass no more, or less often" in shown.text
    assert "✓ success  ✗ failure  no more" in shown.text
    assert "-80 pp" in shown.text
    assert "0.125" in shown.text  # 2 of 2^4; without layers success and passing are one quantity
    found = (await program("compare", before, after, "--json")).json
    assert (found["before"]["id"], found["after"]["id"]) == (before, after)
    passing = found["measures"]["pass_rate"]
    assert (passing["difference_exact"], passing["test"], passing["p"], passing["p_holm"]) == (
        "-4/5",
        "mcnemar_exact",
        0.125,
        0.125,
    )
    assert passing["low"] < -0.8 < passing["high"] < 0
    assert len(found["fell"]) == len(found["changed_cases"]) == 4
    assert found["measures"]["intent_accuracy"]["difference"] is None
    markdown = await program("compare", before, after, "-f", "markdown", "--lang", "zh")
    assert "变差（4），其中 4 个不再通过" in markdown.text


async def test_a_run_that_does_not_exist_is_named(program: Program, before: str) -> None:
    ended = await program("compare", before, "nothing")
    assert (ended.code, "no run 'nothing'" in ended.err) == (2, True)


async def test_demands_that_are_met_end_with_0(program: Program, agent: FaultyAgent, before: str) -> None:
    ended = await gated(
        program, agent, "good.json", "--min-pass-rate", "1", "--min-success-rate", "1", "--no-regression-from", before
    )
    assert ended.code == 0
    assert ended.err.count("gate: ok") == 4


@pytest.mark.parametrize(
    ("demand", "said"),
    [
        (("--min-pass-rate", "0.9"), "the pass rate is 20 %, wanted 90 %"),
        (("--min-success-rate", "0.21"), "the success rate is 20 %, wanted 21 %"),
        (("--min-success-rate", "0.200001"), "the success rate is 20 %, wanted 20.0001 %"),
        (("--no-regression-from", "last"), ""),
    ],
)
async def test_a_demand_that_is_not_met_ends_with_1_and_the_reports_are_there(
    program: Program, agent: FaultyAgent, before: str, demand: tuple[str, str], said: str
) -> None:
    program.write("worse.json", cases("你好", *["别的"] * 4))
    if demand[1] == "last":  # five pairs: four that fell may be chance, five not
        program.write("worse.json", cases(*["别的"] * 5))
        said = "success rate and pass rate 100 % -> 0 % (5 of 5 cases fell, 0 rose; one-sided p 0.0313: not chance)"
    ended = await gated(program, agent, "worse.json", *demand)
    assert ended.code == 1
    (failed,) = [line for line in ended.err.splitlines() if line.startswith("gate: FAILED")]
    assert said in failed
    assert (program.folder / "out" / "junit.xml").exists()
    assert (await program("report", "--min-pass-rate", "0.2", "--json")).code == (1 if demand[1] == "last" else 0)


async def test_a_drop_that_may_be_chance_is_told_in_plain_words(
    program: Program, agent: FaultyAgent, before: str
) -> None:
    program.write("worse.json", cases("你好", *["别的"] * 4))
    ended = await gated(program, agent, "worse.json", "--no-regression-from", before)
    assert ended.code == 0
    assert (
        "pass rate 100 % -> 20 % (4 of 5 cases fell, 0 rose; one-sided p 0.0625: may be chance); pass no more, or"
        in ended.err
    )


async def test_a_second_scenario_hides_no_regression(program: Program, agent: FaultyAgent, before: str) -> None:
    program.write("good.json", cases(*["别的"] * 5))
    program.write("more.json", {**cases(*WORDS), "name": "more"})
    ended = await gated(program, agent, "good.json", "more.json", "--no-regression-from", before)
    assert ended.code == 1
    assert "5 of 5 cases fell" in ended.err
    assert "in this run only, by scenario and id: more/case-001, more/case-002" in ended.err


async def test_runs_without_a_common_case_are_not_compared(program: Program, agent: FaultyAgent, before: str) -> None:
    program.write("more.json", {**cases(*WORDS), "name": "more"})
    ended = await gated(program, agent, "more.json", "--no-regression-from", before)
    assert ended.code == 1
    assert "no case was measured in both runs" in ended.err
    assert ended.err.count("run only, by scenario and id:") == 2


async def test_a_demand_allows_nothing_unscored_unless_said(program: Program, agent: FaultyAgent) -> None:
    polite = [{"type": "llm_score", "params": {"criteria": "语气礼貌"}}]
    program.write("s.json", scenario(says("你好"), says("再见", rules=polite)))
    bare = await gated(program, agent, "s.json")
    assert (bare.code, "gate" in bare.err) == (0, False)
    failed = await gated(program, agent, "s.json", "--min-pass-rate", "1")
    assert (failed.code, "gate: FAILED: 1 attempt without a level, 0 allowed" in failed.err) == (1, True)
    assert (await gated(program, agent, "s.json", "--min-pass-rate", "1", "--max-unscored", "1")).code == 0


@pytest.mark.parametrize("value", ["1.5", "-0.1", "viel", "nan"])
async def test_a_threshold_that_is_none_is_refused(program: Program, agent: FaultyAgent, value: str) -> None:
    program.write("good.json", cases(*WORDS))
    ended = await gated(program, agent, "good.json", f"--min-pass-rate={value}")
    assert (ended.code, "--min-pass-rate" in ended.err) == (2, True)
    assert not agent.received


async def test_a_run_to_compare_with_is_looked_for_before_anything_is_begun(
    program: Program, agent: FaultyAgent
) -> None:
    program.write("good.json", cases(*WORDS))
    ended = await gated(program, agent, "good.json", "--no-regression-from", "nothing")
    assert (ended.code, agent.received) == (2, [])


async def test_the_trend_of_a_target(program: Program, agent: FaultyAgent, before: str) -> None:
    program.write("worse.json", cases("你好", *["别的"] * 4))
    after = await run(program, agent, "worse.json")
    target = f"{agent.url}/echo"
    found = (await program("trend", target, "--json")).json
    assert [(one["id"], one["measures"]["pass_rate"]["value"]) for one in found] == [(before, 1.0), (after, 0.2)]
    shown = await program("trend", target, "--lang", "en", "--limit", "1")
    assert after in shown.text
    assert before not in shown.text
    assert (await program("trend", "nobody")).code == 2
