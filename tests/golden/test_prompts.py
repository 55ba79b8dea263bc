"""What is sent to judge models, over all golden dialogs: nothing that they must not know, no more than is needed."""

import re
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any

import orjson
import pytest

from agenteval.domain.questions import Cause, Unscored
from tests.fakes.memory_memo import MemoryMemo
from tests.fakes.scripted_case import NO_MODEL, Bench, Judgement, dialog_of
from tests.fakes.scripted_judge import system_prompt, transcript
from tests.fakes.scripted_model import Request
from tests.golden.conftest import DIALOGS

JUDGED = {id_: entry for id_, entry in DIALOGS.items() if entry["expect"]["calls"] and entry.get("judge") != NO_MODEL}
Judgements = Mapping[str, Judgement]


def _params(entry: Mapping[str, Any], rule: str) -> Iterator[dict[str, Any]]:
    return (spec[rule] for spec in entry["case"].get("eval_rules", ()) if rule in spec)


def _told(request: Request) -> str:
    """All that a request holds beside the transcript."""
    return system_prompt(request) + orjson.dumps(request.get("response_format")).decode()


def _texts(params: Any) -> Iterator[str]:
    match params:
        case str():
            yield params
        case dict():
            for value in params.values():
                yield from _texts(value)
        case list():
            for value in params:
                yield from _texts(value)


def _is_telling(text: str) -> bool:
    """Whether finding it somewhere is no coincidence."""
    return len(text) > 3 or (len(text) > 1 and not text.isascii())


def test_an_expected_value_reaches_no_prompt(judgements: Judgements) -> None:
    looked_for = 0
    for id_, entry in JUDGED.items():
        slots = [slot for params in _params(entry, "task_completion") for slot in params.get("required_slots", ())]
        shown = " ".join(f"{slot['name']} {slot['description']} {slot.get('values')}" for slot in slots)
        for value in {str(v) for slot in slots for v in _texts(slot.get("expected_value"))} - {"", "None"}:
            if _is_telling(value) and value not in shown:
                looked_for += 1
                assert [id_ for request in judgements[id_].requests if value in _told(request)] == []
    assert looked_for >= 5


INTENTS = {id_: entry for id_, entry in JUDGED.items() if any(_params(entry, "intent_classification"))}


def _for_intents(requests: Sequence[Request]) -> list[Request]:
    return [request for request in requests if "The intents to choose from" in system_prompt(request)]


def test_the_question_for_intents_shows_nothing_of_other_rules(judgements: Judgements) -> None:
    looked_for = 0
    for id_, entry in INTENTS.items():
        (own,) = _params(entry, "intent_classification")
        others = [spec for spec in entry["case"]["eval_rules"] if "intent_classification" not in spec]
        its_own = " ".join((*own["intent_taxonomy"], *_texts(own)))
        for text in set(_texts(others)):
            if _is_telling(text) and text not in its_own and text not in {"slot", "step", "none"}:
                looked_for += 1
                assert [id_ for request in _for_intents(judgements[id_].requests) if text in _told(request)] == []
    assert looked_for >= 20


@pytest.mark.asyncio(loop_scope="session")
async def test_the_question_for_intents_is_the_same_whatever_is_expected(judges: Bench, judgements: Judgements) -> None:
    for id_, entry in INTENTS.items():
        (own,) = _params(entry, "intent_classification")
        if not isinstance(own.get("expected_intent"), str):
            continue
        answers = {key: raw for key, raw in entry["judge"].items() if key.startswith("The intents")}
        for other in own["intent_taxonomy"]:
            rule = {"intent_classification": {**own, "expected_intent": other}}
            alone = {**deepcopy(entry), "case": {"eval_rules": [rule]}, "judge": answers}
            again = await judges.judge(alone)
            assert again.requests == _for_intents(judgements[id_].requests)


def test_a_case_with_intent_slots_and_tone_makes_three_calls(judgements: Judgements) -> None:
    worked = [id_ for id_ in DIALOGS if id_.startswith("worked_l")]
    assert len(worked) == 7
    assert {len(judgements[id_].evaluation.calls) for id_ in worked} == {3}


def test_a_rules_first_question_takes_at_most_1600_characters_beside_the_transcript(judgements: Judgements) -> None:
    lengths = [
        len(system_prompt(judgements[id_].requests[0]))
        for id_, entry in JUDGED.items()
        if len(entry["case"].get("eval_rules", ())) == 1 and judgements[id_].requests
    ]
    assert len(lengths) >= 50
    assert max(lengths) <= 1_600


@pytest.mark.asyncio(loop_scope="session")
async def test_an_unchanged_rerun_calls_no_model(judges: Bench) -> None:
    compared = 0
    for entry in DIALOGS.values():
        memo = MemoryMemo()
        first = await judges.judge(entry, memo)
        answers = [first.evaluation.answers[ask] for ask in first.evaluation.asks.values()]
        if any(isinstance(answer, Unscored) and answer.cause is not Cause.NEEDS_JUDGE for answer in answers):
            continue  # what failed is asked again
        second = await judges.judge(entry, memo)
        compared += bool(first.evaluation.calls)
        assert second.evaluation.calls == ()
        assert second.evaluation.results == first.evaluation.results
        assert second.evaluation.outcome == first.evaluation.outcome
    assert compared >= 75


@pytest.mark.asyncio(loop_scope="session")
async def test_every_call_is_made_to_be_repeatable(judges: Bench, judgements: Judgements) -> None:
    for id_, entry in JUDGED.items():
        requests = judgements[id_].requests
        assert {(request["temperature"], isinstance(request["seed"], int)) for request in requests} <= {(0.0, True)}
        again = await judges.judge(entry)
        assert sorted(map(repr, again.requests)) == sorted(map(repr, requests))


def test_the_reason_comes_before_the_verdict(judgements: Judgements) -> None:
    forms: dict[str, list[str]] = {}
    for id_ in JUDGED:
        for request in judgements[id_].requests:
            for name, form in request["response_format"]["json_schema"]["schema"]["$defs"].items():
                forms[name.rstrip("0123456789")] = list(form["properties"])
    verdicts = {"status", "score", "holds", "verdict", "intents", "only_asked"}
    judging = {name: members for name, members in forms.items() if verdicts & set(members) and "reason" in members}
    assert judging.keys() >= {"Grade", "SlotAnswer", "StepAnswer", "ConditionAnswer", "Judgement", "AgentIntents"}
    assert {members[0] for members in judging.values()} == {"reason"}


_LINE = re.compile(
    r"\[\d+] (?:user|agent|agent calls tool|tool result(?: \((?:succeeded|failed)\))?): |\| |\[\d+] agent: no"
)


def test_what_was_said_stays_within_its_fence(judgements: Judgements) -> None:
    for id_, entry in JUDGED.items():
        dialog = dialog_of(entry["dialog"])
        written = " ".join(_texts(entry["case"]))
        said = [text for turn in dialog for text in (turn.sent_message, turn.reply_text) if len(text) > 12]
        for request in judgements[id_].requests:
            assert [text for text in said if text in system_prompt(request) and text not in written] == []
            fenced, *rejected = re.split(r"\n(?=<[0-9a-f]{16}>)", transcript(request))
            mark, *lines, end = fenced.splitlines()
            assert end == mark.replace("<", "</")
            assert mark.strip("<>") in system_prompt(request)
            assert [line for line in lines if not _LINE.match(line)] == []
            assert [block for block in rejected if not (block.startswith(mark) and block.endswith(end))] == []
