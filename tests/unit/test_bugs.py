"""Bugs that users of such tools reported, as cases: each comes out right here, or names the test that shows it."""

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from agenteval.domain.errors import InputError
from tests.fakes.scripted_case import Bench, bench, load, loaded
from tests.fakes.scripted_judge import system_prompt
from tests.golden.shown import differences, shown, wanted
from tests.golden.specification import missing_tests

CASES = Path(__file__).parents[1] / "cases"
BUGS = [bug for path in sorted((CASES / "bugs").glob("*.yaml")) for bug in load(path)]
INPUTS = [
    pytest.param({"id": f"{bug['id']}-{n}", **case}, id=f"{bug['id']}-{n}")
    for bug in BUGS
    for n, case in enumerate(bug.get("cases", ()), 1)
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def judges() -> AsyncIterator[Bench]:
    async with bench() as opened:
        yield opened


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("entry", INPUTS)
async def test_bug(judges: Bench, entry: Mapping[str, Any]) -> None:
    if "refused" in entry:
        with pytest.raises(InputError) as refused:
            loaded(entry)
        assert [part for part in entry["refused"] if part not in str(refused.value)] == []
        return
    judgement = await judges.judge(entry)
    expected = wanted(entry["expect"])
    wrong = differences(shown(judgement.evaluation, expected), expected)
    prompts = "\n".join(system_prompt(request) for request in judgement.requests)
    wrong += [f"a prompt has {part!r}" for part in entry.get("prompt_lacks", ()) if part in prompts]
    assert not wrong, "\n".join(wrong)


def test_every_bug_is_shown_somewhere_or_says_why_not() -> None:
    assert len({bug["id"] for bug in BUGS}) == len(BUGS)
    assert [bug["id"] for bug in BUGS if not bug.keys() & {"cases", "shown_by", "later"}] == []
    assert missing_tests(test for bug in BUGS for test in bug.get("shown_by", ())) == []


def test_the_table_lists_every_bug() -> None:
    rows = [
        line.split("|")[1].strip() for line in (CASES / "README.md").read_text("utf-8").splitlines() if "| B" in line
    ]
    assert {bug["id"] for bug in BUGS} <= set(rows)
    assert len(set(rows)) == len(rows)
