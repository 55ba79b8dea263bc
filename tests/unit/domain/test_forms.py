"""Forms: one description for the model, its reader and storage."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenteval.domain.evidence import Match, Span, Speaker
from agenteval.domain.forms import (
    QUOTE_SCHEMA,
    AgentQuote,
    Form,
    FormError,
    Reader,
    ToolQuote,
    UserQuote,
    dump,
    load,
    read,
    schema,
)


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True, slots=True)
class Leaf(Form):
    colour: Colour
    quote: UserQuote


@dataclass(frozen=True, slots=True)
class Tree(Form):
    reason: str
    size: int
    colour: Colour
    maybe: AgentQuote | None
    leaves: tuple[Leaf, ...]
    tool: ToolQuote | None = None

    def __post_init__(self) -> None:
        if self.size < 0:
            raise ValueError("size cannot be negative")


RAW: dict[str, Any] = {
    "reason": "因为",
    "size": 3,
    "colour": "red",
    "maybe": {"turn": 1, "text": "好的"},
    "leaves": [{"colour": "blue", "quote": {"turn": 0, "text": "订票"}}],
    "tool": None,
}


def test_the_schema_is_strict_and_admits_the_form() -> None:
    found = schema(Tree)
    assert found["required"] == list(found["properties"])
    assert found["additionalProperties"] is False
    assert found["properties"]["reason"] == {"type": "string"}
    assert jsonschema_rs.validator_for({**found, "$defs": {"quote": QUOTE_SCHEMA}}).is_valid(RAW)


def test_reading_builds_the_form() -> None:
    tree = read(Tree, {**RAW, "extra": 1}, Reader())
    assert tree == Tree("因为", 3, Colour.RED, AgentQuote(1, "好的"), (Leaf(Colour.BLUE, UserQuote(0, "订票")),))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"reason": 5}, "reason: must be a string, not a number"),
        ({"size": True}, "size: must be a whole number, not true or false"),
        ({"size": 1.5}, "size: must be a whole number, not a number"),
        ({"size": -1}, "size cannot be negative"),
        ({"colour": "green"}, "colour: must be one of red, blue, not 'green'"),
        ({"maybe": "好的"}, "maybe: must be an object with turn and text, not a string"),
        ({"maybe": {"turn": "1", "text": "x"}}, "maybe: must be an object with turn"),
        ({"leaves": "none"}, "leaves: must be a list, not a string"),
        ({"leaves": [{"colour": "red"}]}, "leaves.0.quote: is missing"),
        ({"leaves": [3]}, "leaves.0: must be an object, not a number"),
    ],
)
def test_what_does_not_fit_is_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(FormError) as raised:
        read(Tree, {**RAW, **change}, Reader())
    assert message in str(raised.value)


def test_absent_is_null_missing_or_a_quote_of_nothing() -> None:
    for absent in (None, {"turn": 0, "text": ""}):
        assert read(Tree, {**RAW, "maybe": absent}, Reader()).maybe is None  # type: ignore[attr-defined]
    without = {name: value for name, value in RAW.items() if name != "maybe"}
    assert read(Tree, without, Reader()).maybe is None  # type: ignore[attr-defined]


def test_a_whole_number_may_come_as_a_float() -> None:
    assert read(Tree, {**RAW, "size": 7.0}, Reader()).size == 7  # type: ignore[attr-defined]


spans = st.builds(
    Span,
    turn=st.integers(0, 9),
    speaker=st.just(Speaker.USER),
    source=st.integers(0, 2),
    start=st.integers(0, 9),
    end=st.integers(10, 20),
    text=st.text(max_size=5),
    match=st.sampled_from(Match),
    moved=st.booleans(),
)
leaves = st.builds(Leaf, st.sampled_from(Colour), st.builds(UserQuote, st.integers(0, 9), st.text(min_size=1), spans))
trees = st.builds(
    Tree,
    st.text(),
    st.integers(0, 10),
    st.sampled_from(Colour),
    st.none() | st.builds(AgentQuote, st.integers(0, 9), st.text(min_size=1)),
    st.lists(leaves, max_size=3).map(tuple),
)


@given(trees)
def test_what_was_dumped_is_loaded(tree: Tree) -> None:
    assert load(Tree, dump(tree)) == tree


def test_votes_compare_choices_and_numbers() -> None:
    tree = read(Tree, RAW, Reader())
    assert tree.ballot() == (3, Colour.RED)
    assert tree.ballot() == read(Tree, {**RAW, "reason": "other words"}, Reader()).ballot()
