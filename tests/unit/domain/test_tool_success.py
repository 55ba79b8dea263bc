"""Whether a tool call succeeded is read from what was recorded of it, in one way for every channel and file."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenteval.domain.json_value import Json
from agenteval.domain.tool_success import succeeded


@pytest.mark.parametrize(
    ("said", "ok"),
    [(True, True), (False, False), (1, True), (0, False), (0.0, False), ("true", True), (" False ", False)],
)
def test_what_is_said_of_the_call_itself_decides(said: Json, ok: bool) -> None:
    assert succeeded(said, {"ok": not ok}) is ok
    assert succeeded(None, {"succeeded": said}) is ok


@pytest.mark.parametrize("said", ["maybe", "", 2, -1, [], {}, [True], float("nan")])
def test_any_other_word_is_refused_but_in_a_result_it_says_nothing(said: Json) -> None:
    with pytest.raises(ValueError, match="must be true or false"):
        succeeded(said, {"ok": True})
    assert succeeded(None, {"success": said}) is None


@pytest.mark.parametrize(
    "result",
    [
        {"ok": False},
        {"success": 0},
        {"ok": "false"},
        {"error": "库存不足"},
        {"error": {"code": 500}, "items": []},
        {"status": "Failed"},
        {"content": [], "isError": True},
        '{"success": false}',
        [{"type": "text", "text": ' {"ok":'}, {"type": "text", "text": "false}"}],
    ],
)
def test_results_tell_failure(result: Json) -> None:
    assert succeeded(None, result) is False


@pytest.mark.parametrize("result", [{"ok": True, "error": None}, {"success": "true", "error": ""}, '{"ok": 1}'])
def test_results_tell_success(result: Json) -> None:
    assert succeeded(None, result) is True


@pytest.mark.parametrize(
    "result",
    [
        None,
        "ok",
        "Error: 已售罄",
        "{broken",
        {},
        {"status": "started"},
        {"error": "", "isError": False},
        {"error": "false"},
        [{"ok": False}, {"ok": True}],
        [{"type": "text", "text": '{"ok": false}'}, {"type": "image"}],
    ],
)
def test_other_results_say_nothing(result: Json) -> None:
    assert succeeded(None, result) is None


@pytest.mark.parametrize("result", [{"ok": True, "success": False}, {"ok": True, "error": "full"}])
def test_a_result_that_contradicts_itself_says_nothing(result: Json) -> None:
    assert succeeded(None, result) is None


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(),
        lambda part: st.lists(part) | st.dictionaries(st.sampled_from(["ok", "error", "status", "type", "text"]), part),
    )
)
def test_any_result_is_read_without_a_fault(result: Json) -> None:
    assert succeeded(None, result) in {True, False, None}
