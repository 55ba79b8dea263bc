from collections.abc import AsyncIterator, Iterable
from dataclasses import replace
from datetime import timedelta
from fractions import Fraction
from pathlib import Path

import pytest

from agenteval.domain.comparison import Setting
from agenteval.domain.outcome import CaseOutcome, SuccessLevel
from agenteval.domain.records import Run, RunCase, RunStatus
from agenteval.domain.run_summary import MeasureName
from agenteval.services.compare import comparison
from agenteval.storage import runs
from agenteval.storage.store import Store
from agenteval.storage.writer import Writer
from tests.fakes.clock import START
from tests.fakes.records import SUCCESS, UNSCORED, key, places, record, run

FAILURE = replace(SUCCESS, success_level=SuccessLevel.FAILURE, passed=False)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    opened = await Store.open(tmp_path / "runs.db")
    yield opened
    await opened.aclose()


async def stored(store: Store, of: Run, outcomes: Iterable[CaseOutcome], cases: Iterable[RunCase] | None = None) -> Run:
    outcomes = list(outcomes)
    held = list(cases or places(len(outcomes)))
    await runs.create(store, of, held)
    async with Writer(store) as writer:
        for place, outcome in zip(held, outcomes, strict=True):
            await writer.put(record(replace(key(place.n, run_id=of.id), case_id=place.case.id), outcome))
    return of


async def test_two_stored_runs_are_paired_case_by_case(store: Store) -> None:
    before = await stored(store, run("a"), [SUCCESS] * 8)
    after = await stored(store, run("b"), [FAILURE] * 6 + [UNSCORED, SUCCESS])
    found = (await comparison(store, before, after)).comparison
    passing = next(change for change in found.changes if change.measure is MeasureName.PASS_RATE)
    assert (passing.pairs, passing.of, passing.difference) == (7, 8, Fraction(-6, 7))
    assert [case.case_id for case in found.fell] == [f"case-{n}" for n in range(7)]


async def test_a_case_without_rules_is_no_pair(store: Store) -> None:
    before, bare = await stored(store, run("a"), [SUCCESS]), run("b")
    await runs.create(store, bare, places(1))
    async with Writer(store) as writer:
        await writer.put(record(key(0, run_id="b"), results=()))
    assert (await comparison(store, before, bare)).comparison.only_before == ("case-0",)


async def test_settings_that_differ_are_named_by_their_place(store: Store) -> None:
    before = replace(run("a"), config={"seed": 7, "models": {"judge": {"id": "m1"}}, "repeats": 1})
    after = replace(run("b"), config={"seed": 7, "models": {"judge": {"id": "m2"}}, "sample": 5, "repeats": 1})
    found = await comparison(store, await stored(store, before, []), await stored(store, after, []))
    assert found.settings == (Setting("/models/judge/id", "m1", "m2"), Setting("/sample", None, 5))


async def test_cases_that_were_rewritten_are_named(store: Store) -> None:
    before = await stored(store, run("a"), [SUCCESS, SUCCESS])
    kept, other = places(2)
    rewritten = replace(other, case=replace(other.case, messages=("别的",)))
    after = await stored(store, run("b"), [SUCCESS, SUCCESS], [kept, rewritten])
    assert (await comparison(store, before, after)).changed_cases == ("case-1",)


@pytest.mark.parametrize("flipped", [False, True])
async def test_cases_are_the_same_whatever_other_scenarios_ran(store: Store, flipped: bool) -> None:
    (lunch,) = places(1)
    qualified = replace(lunch, case=replace(lunch.case, id="餐厅/case-0"))
    hotel = RunCase(1, "酒店", replace(lunch.case, id="酒店/case-0"))
    alone = await stored(store, run("a"), [SUCCESS], [lunch])
    beside = await stored(store, run("b"), [FAILURE, FAILURE], [qualified, hotel])
    found = await comparison(store, *((beside, alone) if flipped else (alone, beside)))
    moved = (*found.comparison.fell, *found.comparison.rose)
    assert [case.case_id for case in moved] == ["case-0" if flipped else "餐厅/case-0"]
    assert (found.comparison.only_before, found.comparison.only_after)[not flipped] == ("酒店/case-0",)
    assert found.changed_cases == ()


async def test_cases_of_two_scenarios_are_no_pair_though_they_share_an_id(store: Store) -> None:
    (lunch,) = places(1)
    before = await stored(store, run("a"), [SUCCESS], [lunch])
    after = await stored(store, run("b"), [FAILURE], [replace(lunch, scenario="酒店")])
    found = (await comparison(store, before, after)).comparison
    assert (found.only_before, found.only_after, found.fell) == (("餐厅/case-0",), ("酒店/case-0",), ())


async def test_the_completed_runs_of_a_target_come_in_their_order(store: Store) -> None:
    for age, name in enumerate(["new", "old", "older"]):
        made = replace(run(name, age=timedelta(days=age)), config={"target_name": "bot"})
        await stored(store, made, [])
        await runs.finish(store, name, RunStatus.COMPLETED, START)
    await stored(store, replace(run("going"), config={"target_name": "bot"}), [])
    await stored(store, run("another"), [])
    assert [found.id for found in await runs.of_target(store, "bot", 2)] == ["old", "new"]
    assert await runs.of_target(store, "nobody", 2) == []
