from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.e2e.cli.program import Program
from tests.fakes.faulty_agent import FaultyAgent


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program(tmp_path)


@pytest.fixture
async def agent() -> AsyncIterator[FaultyAgent]:
    async with FaultyAgent() as server:
        yield server
