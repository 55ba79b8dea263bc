"""JSON pointers: RFC 6901."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenteval.domain.json_value import below, steps_of


@pytest.mark.parametrize(
    ("path", "pointer"),
    [((), ""), (("",), "/"), (("a/b", 0), "/a~1b/0"), (("m~n",), "/m~0n"), (("~1",), "/~01"), (("预约",), "/预约")],
)
def test_what_a_step_may_hold_is_escaped(path: tuple[str | int, ...], pointer: str) -> None:
    assert below("", *path) == pointer


@given(st.lists(st.text(alphabet="ab/~01")))
def test_steps_undo_it(path: list[str]) -> None:
    assert steps_of(below("", *path)) == tuple(path)
    assert steps_of(below("/x", *path)) == ("x", *path)
