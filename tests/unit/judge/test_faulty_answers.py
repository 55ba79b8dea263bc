"""Faulty answers of judge models: none becomes a wrong number, none crashes a run."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.scripted_case import bench, load
from tests.golden.shown import differences, shown, wanted

CASES = load(Path(__file__).parents[2] / "cases" / "judge_answers.yaml")


@pytest.mark.parametrize("faulty", [pytest.param(faulty, id=faulty["id"]) for faulty in CASES])
async def test_faulty_answer(faulty: Mapping[str, Any]) -> None:
    (rule,) = faulty["rule"]
    entry = {**faulty, "case": {"eval_rules": [faulty["rule"]]}}
    async with bench() as judges:
        evaluation = (await judges.judge(entry)).evaluation
    result = wanted({"level": None, "rules": {rule: faulty["expect"]}})["rules"]
    wrong = differences(shown(evaluation, {"conflict": None, "rules": result})["rules"], result)
    calls = faulty.get("calls", len(faulty["answers"]))
    wrong += [f"{len(evaluation.calls)} calls, expected {calls}"] if len(evaluation.calls) != calls else []
    assert not wrong, "\n".join(wrong)


def test_ids_are_unique_and_there_are_enough() -> None:
    assert len({faulty["id"] for faulty in CASES}) == len(CASES) >= 60
