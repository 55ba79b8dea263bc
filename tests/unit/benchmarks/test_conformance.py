"""All faulty answers come to what they must; and the benchmark would tell if one did not."""

from benchmarks.conformance import measure
from tests.fakes.faulty_answers import ANSWERS, TEXTS


async def test_every_faulty_answer_comes_to_what_it_must() -> None:
    measured = await measure(ANSWERS, TEXTS)
    assert measured["cases"] == measured["right"] == len(ANSWERS) + len(TEXTS) >= 60
    assert measured["differing"] == {}


async def test_wrong_and_crashed_are_told_apart() -> None:
    right, other, broken = ANSWERS[:3]
    answers = [right, {**other, "expect": {**other["expect"], "score": 0.1}}, {**broken, "rule": {"llm_score": {}}}]
    measured = await measure(answers, [{**TEXTS[0], "expect": {"data": {}}}])
    assert (measured["cases"], measured["right"], measured["wrong"], measured["crashed"]) == (4, 1, 2, 1)
    assert set(measured["differing"]) == {other["id"], broken["id"], TEXTS[0]["id"]}
