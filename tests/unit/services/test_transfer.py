"""A run carried from one database to another."""

import asyncio
import shutil
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import aclosing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from agenteval.bootstrap import App, app
from agenteval.cli.reports import report_of
from agenteval.datasets import run_file
from agenteval.domain.errors import InputError, NotFound
from agenteval.domain.records import RunStatus, TurnSending
from agenteval.domain.review import Review
from agenteval.reporting.json_report import json_report
from agenteval.services import transfer
from agenteval.settings import Settings
from agenteval.storage import reviews, runs
from agenteval.storage.batch import Remembered
from agenteval.storage.store import Store
from agenteval.storage.tables import METADATA
from agenteval.storage.transfer import CARRIED, PAGE
from agenteval.storage.writer import Writer
from tests.fakes.clock import START
from tests.fakes.dialogs import dialog, said
from tests.fakes.records import MODEL_FAILED, NOT_DELIVERED, SUCCESS, UNSCORED, key, places, record, run, started


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database at the newest schema."""
    path = tmp_path_factory.mktemp("empty") / "empty.db"

    async def make() -> None:
        await (await Store.open(path)).aclose()

    asyncio.run(make())
    return path


@pytest.fixture
def opened(empty: Path, tmp_path: Path) -> Callable[[str], Any]:
    def opening(name: str) -> Any:
        shutil.copy(empty, tmp_path / name)
        return app(Settings(database_url=str(tmp_path / name)))

    return opening


@pytest.fixture
async def here(opened: Callable[[str], Any]) -> AsyncIterator[App]:
    async with opened("here.db") as wired:
        yield wired


@pytest.fixture
async def there(opened: Callable[[str], Any]) -> AsyncIterator[App]:
    async with opened("there.db") as wired:
        yield wired


async def filled(store: Store) -> None:
    """A run with whatever may become of attempts: finished, failed, made good, reviewed, cut in the middle."""
    await runs.create(store, run(repeats=2), places(5))
    async with Writer(store) as writer:
        await writer.put(record(key(0)))
        await writer.put(record(key(0, repeat=2), UNSCORED))
        await writer.put(record(key(1), NOT_DELIVERED, said=dialog(said(None, "在吗"))))
        await writer.put(record(key(1, attempt=2)))
        await writer.put(record(key(2), results=(MODEL_FAILED,), failure="no answer"))
        await writer.put(started(key(3)))
        await writer.put(TurnSending(key(3), 0, "订一张桌子", START))
    said_by = ("key", "tone", "score", "tone", "pass", True, "fail", False, {"score": 3}, "粗鲁", "zhang", START)
    await reviews.copy(store, [Review(id_, key(0).id, *said_by) for id_ in ("r2", "r1")])
    async with Writer(store) as writer:
        await writer.put(Remembered("elsewhere", {"value": "of another run"}, START))
    await runs.finish(store, "run", RunStatus.FAILED, START + timedelta(minutes=1), "no answer")


async def exported(wired: App, run_id: str = "run") -> bytes:
    found = await runs.get(wired.store, run_id)
    return "".join([line async for line in transfer.export(wired.store, found)]).encode()


async def take(wired: App, data: bytes) -> transfer.Taken:
    return await transfer.take(wired.store, data.splitlines(keepends=True), "run.jsonl")


async def report(wired: App, run_id: str = "run") -> str:
    found = await report_of(wired, await runs.get(wired.store, run_id))
    return "".join([piece async for piece in json_report(found)])


async def rows(wired: App) -> dict[str, list[Any]]:
    async with wired.store.read() as connection:
        tables = [name for name in METADATA.tables if name != "install"]
        return {name: list(await connection.execute(text(f"select * from {name}"))) for name in tables}


async def test_a_run_is_the_same_in_another_database(here: App, there: App) -> None:
    await filled(here.store)
    data = await exported(here)
    taken = await take(there, data)
    assert (taken.run, taken.new) == (await runs.get(here.store, "run"), True)
    assert await report(there) == await report(here)
    assert await exported(there) == data
    assert await runs.left(there.store, taken.run) == await runs.left(here.store, taken.run)


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)
OUTCOMES = st.sampled_from([SUCCESS, UNSCORED, replace(SUCCESS, passed=False), replace(UNSCORED, l2_bounds=None)])


@settings(max_examples=12)
@given(
    texts=st.lists(st.tuples(TEXTS, TEXTS, st.none() | st.floats(0, 1e9)), min_size=1, max_size=4),
    outcomes=st.lists(OUTCOMES, min_size=1, max_size=4),
    name=TEXTS,
)
def test_whatever_was_said_and_came_out_is_carried(
    empty: Path, tmp_path_factory: pytest.TempPathFactory, texts: list[Any], outcomes: list[Any], name: str
) -> None:
    folder = tmp_path_factory.mktemp("carried")
    talk = dialog(*(said({"text": reply}, message, latency_ms=ms) for message, reply, ms in texts))

    async def carried() -> None:
        for database in ("here.db", "there.db"):
            shutil.copy(empty, folder / database)
        async with app(Settings(database_url=str(folder / "here.db"))) as here:
            await runs.create(here.store, replace(run(), name=name), places(len(outcomes), tuple(t for t, *_ in texts)))
            async with Writer(here.store) as writer:
                for n, outcome in enumerate(outcomes):
                    await writer.put(record(key(n), outcome, said=talk, failure=name))
            data, before = await exported(here), await report(here)
        async with app(Settings(database_url=str(folder / "there.db"))) as there:
            await take(there, data)
            assert (await report(there), await exported(there)) == (before, data)

    asyncio.run(carried())


async def test_more_than_a_page_of_cases_and_a_run_without_any_are_carried(here: App, there: App) -> None:
    await runs.create(here.store, run(), places(2 * PAGE + 1))
    async with Writer(here.store) as writer:
        for n in range(2 * PAGE + 1):
            await writer.put(record(key(n)))
    await runs.create(here.store, run("bare"), ())
    for run_id in ("run", "bare"):
        data = await exported(here, run_id)
        assert (await take(there, data)).new
        assert await exported(there, run_id) == data


async def test_a_run_that_is_here_is_not_doubled(here: App, there: App) -> None:
    await filled(here.store)
    data = await exported(here)
    await take(there, data)
    before = await rows(there)
    for wired in (here, there):
        again = await take(wired, data)
        assert (again.run.id, again.new) == ("run", False)
    assert await rows(there) == before


async def test_another_run_of_the_same_id_is_refused(here: App, there: App) -> None:
    await filled(here.store)
    early = await exported(here)
    async with Writer(here.store) as writer:
        await writer.put(record(key(4)))
    await take(there, early)
    before = await rows(there)
    with pytest.raises(InputError, match="the run run is here already, but differs from this one"):
        await take(there, await exported(here))
    with pytest.raises(InputError, match="differs"):
        await take(here, early)
    assert await rows(there) == before


async def test_what_models_answered_in_the_run_is_remembered_there_too(here: App, there: App) -> None:
    await filled(here.store)
    async with here.store.read() as connection:
        answer = await connection.scalar(text("select answer from answers where \"by\" = 'model:m' limit 1"))
    for wired, keys in ((here, ("mine", "both")), (there, ("both",))):
        async with Writer(wired.store) as writer:
            for one in keys:
                value = orjson.loads(answer) if wired is here else "as it was"
                await writer.put(Remembered(one, value, START))
    await take(there, await exported(here))
    kept = {row.key: row.answer for row in (await rows(there))["memo"]}
    assert kept == {"mine": answer, "both": '"as it was"'}


async def test_an_export_that_is_given_up_lets_go_of_the_database(here: App) -> None:
    await filled(here.store)
    async with aclosing(transfer.export(here.store, await runs.get(here.store, "run"))) as lines:
        assert "agenteval.run" in await anext(lines)
        assert '"runs"' in await anext(lines)
    await runs.finish(here.store, "run", RunStatus.COMPLETED, START)


def test_every_table_is_carried_or_belongs_to_the_database() -> None:
    assert {table.name for table in CARRIED} | {"install", "capabilities"} == set(METADATA.tables)


# ---- what is refused -------------------------------------------------------------------------------------------------


async def sealed(records: list[Any]) -> bytes:
    """A file of these records, as if they had been exported."""

    async def each() -> AsyncGenerator[Any]:
        for one in records:
            yield one

    return "".join([line async for line in run_file.write(each())]).encode()


def changed(data: bytes, place: str, value: Any) -> list[Any]:
    """The records with another value at `<record>/<table>/<row>/<column>`."""
    records = [orjson.loads(line) for line in data.splitlines()[1:-1]]
    n, *steps, last = [int(step) if step.isdecimal() else step for step in place.split("/")]
    around: Any = records[int(n)]
    for step in steps:
        around = around[step]
    if value is ...:
        del around[last]
    else:
        around[last] = value
    return records


@pytest.mark.parametrize(
    ("place", "value", "error"),
    [
        ("1/reviewers", [], "run.jsonl: /reviewers (line 3): there is no such table in this version (if a newer"),
        ("1/turns/0/mood", 1, "run.jsonl: /turns/0/mood (line 3): there is no such column in this version (if a"),
        ("1/turns/0/status", ..., "/turns/0/status (line 3): is missing, or not of this column's type"),
        ("1/turns/1/latency_ms", "1", "/turns/1/latency_ms (line 3)"),
        ("1/attempts/0/attempt", True, "/attempts/0/attempt (line 3)"),
        ("1/attempts/0/attempt", 2**63, "/attempts/0/attempt (line 3)"),
        ("1/results/0/detail", {"a": 1}, "/results/0/detail (line 3)"),
        ("1/results/0", [], "/results (line 3): is no list of rows"),
        ("1/results", None, "/results (line 3): is no list of rows"),
        ("1/results/0/score", "seven", "run.jsonl (line 3): the row of results"),
        ("1/results/0/evidence", "{", "run.jsonl (line 3): the row of results"),
        ("1/turns/0/status", "fine", "run.jsonl (line 3): the row of turns"),
        ("1/calls/0/cost", "1/0", "run.jsonl (line 3): the row of calls"),
        ("1/answers/0/answer", "nothing", "run.jsonl (line 3): the row of answers"),
        ("1/attempts/0/started_at", "yesterday", "run.jsonl (line 3): the row of attempts"),
        ("1/attempts/0/policy", "{}", "run.jsonl (line 3): the row of attempts"),
        ("1/attempts/0/id", "00000000-another", "run.jsonl (line 3): is not about one case"),
        ("1/attempts/0/run_id", "another", "run.jsonl (line 3): is not about one case"),
        ("1/turns/0/attempt_id", "another", "run.jsonl (line 3): is not about one case"),
        ("2/run_cases/0/run_id", "another", "run.jsonl (line 4): is not about one case"),
        ("2/run_cases/0/case_id", "another", "run.jsonl (line 4): is not about one case"),
        ("2/run_cases/0/case", "{}", "run.jsonl (line 4): "),
        ("2/run_cases", ..., "run.jsonl (line 4): is not about one case"),
        ("2/run_cases/0/n", 7, "run.jsonl (line 4): is not about one case"),
        ("0/runs/0/status", "fine", "run.jsonl: /runs/0 (line 2): the row of runs"),
        ("0/runs/0/config", "[", "run.jsonl: /runs/0 (line 2): the row of runs"),
        ("0/attempts", [], "run.jsonl (line 2): is not about one run"),
        ("1/runs", [], "run.jsonl (line 3): is not about one case"),
        ("1/memo", [{"key": "k", "answer": "{", "created_at": "now"}], "run.jsonl: /memo/0/answer (line 3): cannot be"),
        ("0/runs", ..., "run.jsonl (line 2): is not about one run"),
        ("0/runs", [], "run.jsonl (line 2): is not about one run"),
    ],
)
async def test_what_cannot_be_a_run_is_refused_with_its_place(
    here: App, there: App, place: str, value: Any, error: str
) -> None:
    await filled(here.store)
    with pytest.raises(InputError) as caught:
        await take(there, await sealed(changed(await exported(here), place, value)))
    assert error in str(caught.value)
    assert not any((await rows(there)).values())


async def test_rows_that_stand_twice_are_refused(here: App, there: App) -> None:
    await filled(here.store)
    first, *cases = changed(await exported(here), "0/runs/0/name", "x")
    with pytest.raises(InputError, match=r"\(line 9\): rows up to here contradict each other"):
        await take(there, await sealed([first, *cases, cases[0]]))
    with pytest.raises(InputError, match="is not about one case"):
        await take(there, await sealed([first, first]))
    assert not any((await rows(there)).values())


async def test_of_a_file_that_was_cut_nothing_is_stored(here: App, there: App) -> None:
    await runs.create(here.store, run(), places(PAGE + 9))
    lines = (await exported(here)).splitlines(keepends=True)

    def broken() -> Iterator[bytes]:
        yield from lines[:-2]

    with pytest.raises(InputError, match="was cut"):
        await transfer.take(there.store, broken(), "run.jsonl")
    with pytest.raises(NotFound):
        await runs.get(there.store, "run")


async def test_of_one_that_is_here_the_file_is_read_to_its_end(here: App) -> None:
    await filled(here.store)
    with pytest.raises(InputError, match="was cut"):
        await take(here, (await exported(here))[:-20])
