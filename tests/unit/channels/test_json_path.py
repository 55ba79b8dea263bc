from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenteval.channels.json_path import JsonPath
from agenteval.domain.errors import TargetProtocolError
from agenteval.domain.json_value import Json

DOCUMENT: Json = {
    "data": {"items": [{"text": "你好"}, {"text": None}], "a.b": 1, "a/b": 2, "~": 3, "": 4},
    "0": "zero",
    "回答": "好",
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("data.items[0].text", "你好"),
        ("/data/items/0/text", "你好"),
        ("data.items[1].text", None),
        ("回答", "好"),
        ("0", "zero"),
        ("/data/a.b", 1),
        ("/data/a~1b", 2),
        ("/data/~0", 3),
        ("/data/", 4),
    ],
)
def test_a_path_leads_to_its_place(path: str, found: Any) -> None:
    assert JsonPath.parse(path).require(DOCUMENT) == found


@pytest.mark.parametrize(
    "path",
    ["data.items[2].text", "data.items.text", "data.text", "回答.x", "data[0]", "/data/items/-1", "/data/items/-"],
)
def test_nothing_there_is_told_apart_from_null(path: str) -> None:
    assert JsonPath.parse(path).get(DOCUMENT) is None
    with pytest.raises(TargetProtocolError, match="its members are data, 0, 回答"):
        JsonPath.parse(path).require(DOCUMENT)


def test_a_reply_that_is_no_object_is_named() -> None:
    with pytest.raises(TargetProtocolError, match="it is no object"):
        JsonPath.parse("reply").require("plain")


@pytest.mark.parametrize("path", ["", ".", "a.", ".a", "a..b", "a[", "a[x]", "a[-1]", "[0]", "a[0]b", 7, None])
def test_what_is_no_path_is_refused(path: Any) -> None:
    with pytest.raises(ValueError, match="path"):
        JsonPath.parse(path)


@given(st.lists(st.text(), min_size=1, max_size=5))
def test_every_place_has_a_pointer(keys: list[str]) -> None:
    document: Any = "here"
    for key in reversed(keys):
        document = {key: document}
    pointer = "".join("/" + key.replace("~", "~0").replace("/", "~1") for key in keys)
    assert JsonPath.parse(pointer).require(document) == "here"
