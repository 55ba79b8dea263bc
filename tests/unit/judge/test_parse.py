import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenteval.domain.errors import AnswerCutOff, UnparsableAnswer
from agenteval.judge.parse import MAX_CHARS, parse
from tests.fakes.faulty_answers import TEXTS, wrong_of_text

KEYS = ("q1", "q2", "q3")


@pytest.mark.parametrize("faulty", [pytest.param(faulty, id=faulty["id"]) for faulty in TEXTS])
def test_faulty_answer(faulty: dict[str, Any]) -> None:
    wrong = wrong_of_text(faulty)
    assert not wrong, "\n".join(wrong)


def test_case_ids_are_unique() -> None:
    assert len({faulty["id"] for faulty in TEXTS}) == len(TEXTS)


@pytest.mark.parametrize(
    ("text", "finish_reason", "breaks_off"),
    [
        (None, None, True),
        (" \n", "stop", True),
        ('{"q1": {"verdict": "met", "reason": "用户', "stop", True),
        ('```json\n{"q1": "met",', None, True),
        ('Here is the result: {"q1": "met", "q2', "stop", True),
        ('{"answer": {"q1": "met"}', None, True),
        ("<think>The agent", "stop", True),
        ("<think>The agent met it.</think>", "stop", False),
        ("", "length", False),
        ('{"q1": {"reason": "用户', "length", False),
        ("I cannot judge this.", "stop", False),
        ('{"verdict": "met"}', "stop", False),
        ('{"q1": "the agent said "done" and "booked"}', "stop", False),
        ('```json\n{"q1": "the agent said "done"}\n```', "stop", False),
        ("{" * 70_000, "stop", False),
    ],
)
def test_what_breaks_off_is_told_from_what_is_complete_but_wrong(
    text: str | None, finish_reason: str | None, breaks_off: bool
) -> None:
    with pytest.raises(UnparsableAnswer) as refused:
        parse(text, KEYS, finish_reason=finish_reason)
    assert isinstance(refused.value, AnswerCutOff) is breaks_off


# What storage cannot hold is replaced, so it does not come back as it went in.
storable = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**17), 10**18)
    | st.floats(allow_nan=False, allow_infinity=False)
    | storable,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(storable, inner, max_size=3),
    max_leaves=8,
)
verdicts = st.dictionaries(st.sampled_from(KEYS), json_values, min_size=1)
prose = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="{}｛｝[]<>"), max_size=30)


@given(verdicts, st.booleans(), prose, prose)
def test_what_was_dumped_comes_back(verdict: dict[str, object], ascii_only: bool, before: str, after: str) -> None:
    dumped = json.dumps(verdict, ensure_ascii=ascii_only)
    draft = json.dumps(dict.fromkeys(KEYS, "draft"))
    for text in (
        dumped,
        f"```json\n{dumped}\n```",
        f"<think>{before}{draft}</think>\n{dumped}",
        f"<think>{before}{draft}</think>```\n{dumped}```",
        f"{before}</think>{dumped}",
        f"{before}{dumped}{after}",
    ):
        assert parse(text, KEYS) == (verdict, False)


@given(verdicts, prose)
def test_a_wrapped_verdict_comes_back_repaired(verdict: dict[str, object], name: str) -> None:
    dumped = json.dumps(verdict)
    for text in (f"[{dumped}]", json.dumps(dumped), json.dumps({"name": name, "arguments": verdict})):
        assert parse(text, KEYS) == (verdict, True)


@given(verdicts, verdicts, prose)
def test_two_verdicts_are_none(one: dict[str, object], other: dict[str, object], between: str) -> None:
    with pytest.raises(UnparsableAnswer, match="2 JSON objects"):
        parse(f"{json.dumps(one)}{between}{json.dumps(other)}", KEYS)


@given(verdicts, json_values, st.booleans())
def test_a_key_that_stands_twice_is_never_read(verdict: dict[str, object], other: object, ascii_only: bool) -> None:
    key = next(iter(verdict))
    dumped = json.dumps(verdict, ensure_ascii=ascii_only)
    with pytest.raises(UnparsableAnswer, match="same key twice"):
        parse(f'{{"{key}": {json.dumps(other, ensure_ascii=ascii_only)}, {dumped[1:]}', KEYS)


@given(verdicts, st.integers(10**20) | st.integers(max_value=-(10**19)))
def test_a_number_that_is_out_of_range_is_never_read(verdict: dict[str, object], number: int) -> None:
    with pytest.raises(UnparsableAnswer, match="out of range"):
        parse(f'{{"other": {number}, {json.dumps(verdict)[1:]}', KEYS)


@given(verdicts, st.data())
def test_a_cut_answer_is_never_completed(verdict: dict[str, object], data: st.DataObject) -> None:
    dumped = json.dumps(verdict)
    cut = dumped[: data.draw(st.integers(0, len(dumped) - 1))]
    with pytest.raises(UnparsableAnswer, match="length limit"):
        parse(cut, KEYS, finish_reason="length")
    with pytest.raises(UnparsableAnswer):
        parse(cut, KEYS)


WORDS = r""""q1" 'q1' q1 met NaN 1e9 True null // /* */ <think> </think> ```json \u0000 \ud83d 否"""
PIECES = [*"{}[]:,\"'“”‘’｛｝［］：，\\/*#`\0 \n\ud83d\ufeff", *WORDS.split()]


@given(
    st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=40).map("".join), st.sampled_from([None, "length"])
)
def test_any_text_gives_storable_data_or_one_error(text: str, finish_reason: str | None) -> None:
    try:
        data = parse(text, ["q1"], finish_reason=finish_reason).data
    except UnparsableAnswer:
        return
    assert list(data) == ["q1"]
    json.dumps(data, ensure_ascii=False, allow_nan=False).encode()


HOSTILE = """{ ｛ {" {' {"a": {"a":1} {'a':1} {a:1} {a {// {/* {a:/* /* [ [" <think> <think></think> " ' “ \\ "\\ ``` 9
    {"a":"{ {'a',' {'q1':{}, {'a':[["""


@pytest.mark.parametrize("piece", [*HOSTILE.split(), "{ ", "{a ", '{"a":"\n'])
def test_hostile_answers_are_refused_fast(piece: str) -> None:
    for text in (piece, '{"q1":' + piece, "{'q1':" + piece, '{"q1":"' + piece):
        started = time.process_time()
        with pytest.raises(UnparsableAnswer):
            parse((text + piece * MAX_CHARS)[:MAX_CHARS], ["q1"])
        assert time.process_time() - started < 1
