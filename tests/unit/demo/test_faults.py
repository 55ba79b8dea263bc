"""A planted fault that is not there must be missed: the demo would otherwise prove nothing."""

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from agenteval.bootstrap import app
from agenteval.demo import evaluation
from agenteval.demo.agents import FaultyRepairAgent, RepairAgent
from agenteval.demo.evaluation import Part, evaluate, scenario
from agenteval.demo.faults import PLANTED, find, not_successful
from agenteval.domain.text import Language
from agenteval.reporting.report import RunReport
from agenteval.rules.build import bind
from agenteval.settings import Settings
from agenteval.storage import attempts

# A method of the faulty agent, and what is found no more once it is the good one's. An agent that takes the new date
# books it in the end.
CURES = {
    "understand": {"address"},
    "remember": {"phone", "confirm_booking"},
    "succeeded": {"confirm_booking"},
    "task_of": {"appointment_booking"},
}


@pytest.mark.parametrize("language", ["zh", "en"])
@pytest.mark.parametrize("method", CURES)
async def test_a_fault_that_was_cured_is_found_no_more_and_the_others_are(
    method: str, language: Language, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    members: dict[str, Any] = {method: getattr(RepairAgent, method)}
    monkeypatch.setattr(evaluation, "FaultyRepairAgent", type("Cured", (FaultyRepairAgent,), members))
    async with app(Settings(database_url=str(tmp_path / "demo.db"))) as wired:
        runs = await evaluate(wired, [language], asyncio.Event())
        reports = {
            part: RunReport(run, await wired.runs.summary(run), partial(attempts.views, wired.store, run.id))
            for part, run in runs.items()
        }
        findings = await find(reports[Part.FAULTY], [language])
        assert await not_successful(reports[Part.GOOD]) == []
        assert f"{language}-at-once" not in await not_successful(reports[Part.FAULTY])
    assert {finding.planted.name for finding in findings if not finding.found} == CURES[method]


def test_every_planted_fault_has_its_case_and_its_item_in_both_languages() -> None:
    for language in ("zh", "en"):
        cases = {case.id: case for case in scenario(f"{language}_repair.yaml").cases}
        for planted in PLANTED:
            case = cases[f"{language}-{planted.case}"]
            assert planted.name in str([spec.params for spec in case.eval_rules])
            assert planted.turn < len(case.messages)


async def test_stopped_before_it_begins_it_runs_nothing(tmp_path: Path) -> None:
    stop = asyncio.Event()
    stop.set()
    async with app(Settings(database_url=str(tmp_path / "demo.db"))) as wired:
        assert await evaluate(wired, ["zh"], stop) == {}


@pytest.mark.parametrize("file", ["zh_repair.yaml", "en_repair.yaml"])
def test_scenarios_have_nothing_to_be_warned_of_but_the_time_that_nobody_gives(file: str) -> None:
    warnings = [w for case in scenario(file).cases for bound in bind(case) for w in bound.rule.warnings(case)]
    assert warnings == ["slot 'appointment_time': required, but no message of the user gives such a value"]
