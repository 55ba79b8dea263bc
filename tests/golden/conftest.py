"""The golden dialogs, evaluated once for all tests."""

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest_asyncio

from tests.fakes.scripted_case import Bench, Judgement, bench, load

FILES = sorted(Path(__file__).parent.glob("*_*.yaml"))
ENTRIES: Mapping[str, dict[str, Any]] = {
    entry["id"]: {"file": path.stem, **entry} for path in FILES for entry in load(path)
}
DIALOGS = {id_: entry for id_, entry in ENTRIES.items() if "expect" in entry}


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def judges() -> AsyncIterator[Bench]:
    async with bench() as opened:
        yield opened


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def judgements(judges: Bench) -> Mapping[str, Judgement | AssertionError]:
    """Of every dialog; the error when its script and what was asked did not fit."""
    return {id_: await _judged(judges, entry) for id_, entry in DIALOGS.items()}


async def _judged(judges: Bench, entry: Mapping[str, Any]) -> Judgement | AssertionError:
    try:
        return await judges.judge(entry)
    except AssertionError as error:
        return error
