"""The fake model server: its answers, its faults, what it counts."""

from collections import Counter

import orjson
import pytest

from benchmarks.speed import floor
from benchmarks.speed.conversations import conversation
from benchmarks.speed.fake_model import FAULT_PERIOD, Server, answer, fault_at

REQUEST = {
    "model": "fake",
    "messages": [{"role": "system", "content": "判断"}, {"role": "user", "content": conversation(1).transcript}],
    "response_format": {"json_schema": {"schema": {"properties": {"q1": {}}, "required": ["q1"]}}},
}


class Calls:
    """Makes calls, and says what became of each."""

    def __init__(self, *, faults: bool) -> None:
        self.server = Server()
        self.server.admin(orjson.dumps({"latency_ms": 0, "faults": faults}))

    def make(self, n: int) -> list[str]:
        return [self._make() for _ in range(n)]

    def _make(self) -> str:
        responses: list[bytes | None] = []
        self.server.complete(orjson.dumps(REQUEST), responses.append)
        if not responses:
            return "unanswered"
        if responses[0] is None:
            return "dropped"
        head, _, body = responses[0].partition(b"\r\n\r\n")
        status = head.split()[1].decode()
        if status != "200":
            assert b"retry-after" not in head.lower()
            return status
        content = orjson.loads(body)["choices"][0]["message"]["content"]
        return "answered" if content.endswith("}") else "malformed"


def test_each_kind_of_fault_strikes_two_of_a_hundred_calls_at_places_that_are_known() -> None:
    first, again = Calls(faults=True).make(2 * FAULT_PERIOD), Calls(faults=True).make(2 * FAULT_PERIOD)
    assert first == again
    kinds = ("500", "429", "dropped", "malformed", "unanswered")
    assert Counter(first) == {"answered": 90, **dict.fromkeys(kinds, 2)}


def test_a_call_that_is_repeated_a_hundred_calls_later_does_not_meet_its_fault_again() -> None:
    faulty = [call for call in range(1, 1000) if fault_at(call)]
    assert len(faulty) == 100
    assert not any(fault_at(call) is fault_at(call + 100) for call in faulty)


def test_without_faults_every_call_is_answered_and_counted_with_its_characters() -> None:
    calls = Calls(faults=False)
    assert set(calls.make(60)) == {"answered"}
    chars = len(conversation(1).transcript) + len("判断")
    counted = orjson.loads(calls.server.admin(b"").partition(b"\r\n\r\n")[2])
    assert (counted["requests"], counted["prompt_chars"]) == (60, 60 * chars)


@pytest.mark.parametrize("number", range(10))
def test_its_quotes_are_verbatim_and_a_refusal_is_unmet(number: int) -> None:
    said = conversation(number)
    numbered = "\n".join(f"[{i}] user: {user}\n[{i}] agent: {agent}" for i, (user, agent) in enumerate(said.turns))
    schema = REQUEST["response_format"]["json_schema"]["schema"]  # type: ignore[index]
    intents = answer(schema, f"<mark>\n{numbered}\n</mark>")["q1"]["intents"]
    for intent in intents:
        quote, evidence = intent["quote"], intent["judgement"]["agent_quote"]
        assert quote["text"] == said.turns[quote["turn"]][0]
        assert evidence["text"] == said.turns[evidence["turn"]][1]
    met = [intent["judgement"]["verdict"] == "met" for intent in intents]
    assert met == [True, number * 7 % 10 >= 3]


def test_the_floor_gets_the_same_verdicts_in_its_own_form() -> None:
    scores = [answer(floor.SCHEMA, conversation(number).transcript)["score"] for number in range(10)]
    assert sorted(scores) == [0.5] * 3 + [1.0] * 7
