"""For test suites: a fixture that evaluates an agent by a scenario, and assertions on what came out.

    def test_booking(agenteval):
        agenteval.run("booking.yaml", my_agent).assert_success()

pytest loads this module at every start, so it imports what it needs only when it is used.
"""

import inspect
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from agenteval.pytest_plugin.evaluation import AgentEval


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini(
        "agenteval_database",
        "An SQLite file, from the root folder, for the runs of all tests; what judge models answered is remembered in "
        "it. Without it each test has one of its own in tmp_path.",
    )


@pytest.fixture
def agenteval(request: pytest.FixtureRequest, tmp_path: Path) -> "AgentEval":
    """Evaluates agents: `agenteval.run(scenario, target)`."""
    from agenteval.pytest_plugin.evaluation import AgentEval

    named = request.config.getini("agenteval_database")
    database = request.config.rootpath / named if named else tmp_path / "agenteval.db"
    return AgentEval(database, request.path.parent)


def cases(scenario: str | Path) -> list[Any]:
    """The cases of a scenario file, or of a folder of them, for `pytest.mark.parametrize`: each a scenario by itself,
    with its id. A path is looked up beside the calling file, then in the working directory."""
    from agenteval.pytest_plugin.evaluation import scenarios

    folder = Path(inspect.stack(0)[1].filename).parent
    return [
        pytest.param(replace(one, cases=(case,)), id=case.id)
        for one in scenarios(scenario, folder)
        for case in one.cases
    ]
