"""Faulty answers of judge models: none becomes a wrong number, none crashes a run."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.fakes.faulty_answers import ANSWERS, wrong_of_answer
from tests.fakes.scripted_case import bench


@pytest.mark.parametrize("faulty", [pytest.param(faulty, id=faulty["id"]) for faulty in ANSWERS])
async def test_faulty_answer(faulty: Mapping[str, Any]) -> None:
    async with bench() as judges:
        wrong = await wrong_of_answer(judges, faulty)
    assert not wrong, "\n".join(wrong)


def test_ids_are_unique_and_there_are_enough() -> None:
    assert len({faulty["id"] for faulty in ANSWERS}) == len(ANSWERS) >= 60
