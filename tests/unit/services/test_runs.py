"""Runs planned from Python."""

import asyncio
from pathlib import Path

import pytest

from agenteval.bootstrap import app
from agenteval.domain.errors import InputError, TargetError
from agenteval.domain.scenario import Case, Scenario
from agenteval.domain.target import Target
from agenteval.services.runs import Plan
from agenteval.settings import Settings
from agenteval.storage import runs

CASES = (Case("a", ("你好",)), Case("b", ("再见",)))
NOBODY = Target("nobody", "http", {"url": "http://127.0.0.1:9/"})


@pytest.mark.parametrize(
    ("scenarios", "target", "error", "said"),
    [
        ((Scenario("s", CASES), Scenario("t", CASES[:1])), NOBODY, InputError, "several cases have the id 'a'"),
        ((), NOBODY, InputError, "no case"),
        ((Scenario("s", CASES),), NOBODY, TargetError, "cannot connect"),
    ],
)
async def test_of_what_cannot_be_run_nothing_is_stored(
    tmp_path: Path, scenarios: tuple[Scenario, ...], target: Target, error: type[Exception], said: str
) -> None:
    async with app(Settings(database_url=str(tmp_path / "agenteval.db"))) as wired:
        with pytest.raises(error, match=said):
            await wired.runs.create(Plan(scenarios, target, {}), asyncio.Event())
        assert await runs.listed(wired.store, 9) == []
