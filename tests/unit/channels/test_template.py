from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenteval.channels.template import Template
from agenteval.domain.json_value import Json

NAMES = ("message", "turn_index", "history")
VALUES: dict[str, Json] = {
    "message": "你好 {turn_index}",
    "turn_index": 2,
    "history": [{"role": "user", "content": "hi"}],
}


@pytest.mark.parametrize(
    ("body", "filled"),
    [
        ("{message}", "你好 {turn_index}"),
        ({"a": ["{turn_index}", {"b": "{history}"}]}, {"a": [2, {"b": [{"role": "user", "content": "hi"}]}]}),
        ("turn {turn_index}: {message}", "turn 2: 你好 {turn_index}"),
        ("all: {history}", 'all: [{"role":"user","content":"hi"}]'),
        ("{{message}}", "{message}"),
        ("${message} ${HOME} $ {message}", "${message} ${HOME} $ 你好 {turn_index}"),
        ("see {{message}} {turn_index}", "see {message} 2"),
        ('{"a": 1} {} {2}', '{"a": 1} {} {2}'),
        ({"{message}": None, "n": 1.5, "t": True}, {"{message}": None, "n": 1.5, "t": True}),
        (None, None),
    ],
)
def test_places_are_filled_and_nothing_else(body: Any, filled: Any) -> None:
    assert Template.parse(body, NAMES).fill(VALUES) == filled


def test_only_values_are_encoded() -> None:
    url = Template.parse("http://a/b?q={message}&n={turn_index}", NAMES)
    assert url.fill_text({"message": "你&/?", "turn_index": 0}, lambda text: quote(text, safe="")) == (
        "http://a/b?q=%E4%BD%A0%26%2F%3F&n=0"
    )


@pytest.mark.parametrize("body", ["{reply}", {"a": [{"b": "x {Message}"}]}, "{message} {__class__}"])
def test_an_unknown_place_is_refused_with_what_there_is(body: Any) -> None:
    with pytest.raises(ValueError, match=r"use \{message\}, \{turn_index\}, \{history\}"):
        Template.parse(body, NAMES)


def test_attributes_are_no_places() -> None:
    assert Template.parse("{message.__class__} {message!r}", NAMES).fill(VALUES) == "{message.__class__} {message!r}"


@given(st.text())
def test_no_message_can_add_places(message: str) -> None:
    values: dict[str, Json] = {"message": message, "turn_index": 7, "history": []}
    assert Template.parse({"text": "<{message}>"}, NAMES).fill(values) == {"text": f"<{message}>"}
