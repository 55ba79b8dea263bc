"""Files as data: what plain text means, where things stand, and what no file may do."""

from collections.abc import Callable
from contextlib import suppress

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agenteval.datasets import files, json_text, yaml_text
from agenteval.datasets.document import Document
from agenteval.domain.errors import InputError
from agenteval.domain.json_value import Json

Parse = Callable[[str, str], Document]


def yaml_value(text: str, *, as_written: bool = True) -> Json:
    return yaml_text.parse(text, "f.yaml", as_written=as_written).value


@pytest.mark.parametrize(
    "word", ["no", "on", "y", "12:30", "2026-09-01", "0x1F", "010123", ".5", "+5", "1_000", ".nan"]
)
def test_plain_text_of_yaml_is_text(word: str) -> None:
    assert yaml_value(f"- {word}") == [word]


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("5", 5),
        ("-3", -3),
        ("2.5", 2.5),
        ("0", 0),
        ("true", True),
        ("False", False),
        ("null", None),
        ("~", None),
        ("", None),
    ],
)
def test_values_of_yaml_are_those_of_json(written: str, value: Json) -> None:
    assert yaml_value(f"key: {written}") == {"key": value}


@pytest.mark.parametrize("number", ["1.10", "0.70", "1.0e5", "-0", "12345678901234567890", "1e999", "9" * 5000])
def test_a_number_that_would_change_keeps_its_text(number: str) -> None:
    assert yaml_value(f"- {number}") == [number]
    assert json_text.parse(f"[{number}]", "f.json", as_written=True).value == [number]


def test_numbers_are_numbers_where_text_is_not_wanted() -> None:
    assert yaml_value("- 1.10", as_written=False) == [1.1]
    assert json_text.parse("[1.10, 1e2]", "f.json").value == [1.1, 100.0]


def test_quoted_text_is_text_and_cases_of_keys_are_kept() -> None:
    assert yaml_value("1: 'true'\nNo: \"1.5\"\n") == {"1": "true", "No": "1.5"}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("a: &x 1", "f: line 1, column 4: an anchor (&x)"),
        ("a: 1\nb: *x", "f: line 2, column 4: an alias (*x)"),
        ("a: !!python/object/apply:os.system ['x']", "f: line 1, column 4: a tag"),
        ("a: 1\nb: 2\na: 3", "f: line 3, column 1: the key 'a' stands here twice"),
        ("a: 1\n---\nb: 1", "f: line 2, column 1: a second document"),
        ("[a]: 1", "f: line 1, column 1: a key must be text"),
        ("a: b: c", "f: line 1, column 5: is no YAML: mapping values are not allowed"),
        ("a:\n\tb: 1", "f: line 2, column 1: is no YAML: a tab stands here (indent with spaces)"),
        ("a:\n- b\n\t- c", "f: line 3, column 1: is no YAML: a tab stands here (indent with spaces)"),
        ("中文: 好\na: \x07", "f: line 2: is no YAML: control characters"),
        ("[" * 200, "nested deeper than 100 levels"),
        ("[" * 100_000, "maximum nesting depth"),
    ],
)
def test_what_yaml_must_not_hold_is_named_with_its_place(text: str, fault: str) -> None:
    with pytest.raises(InputError) as error:
        yaml_text.parse(text, "f")
    assert fault in str(error.value)


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ('{"a": 1,\n "b": {"c": 1, "c": 2},\n "a": 3}', ["f: /b/c (line 2)", "f: /a (line 3)"]),
        ('[1,\n {"a": NaN},\n -Infinity]', ["f: /1/a (line 2): NaN", "f: /2 (line 3): -Infinity"]),
        ('{"a":\n oops}', ["f: line 2, column 2: is no JSON"]),
        ("[" * 100_000, ["nested too deeply"]),
        ("[" * 150 + "]" * 150, ["nested deeper than 100 levels"]),
    ],
)
def test_what_json_must_not_hold_is_named_with_its_place(text: str, faults: list[str]) -> None:
    with pytest.raises(InputError) as error:
        json_text.parse(text, "f")
    assert all(fault in str(error.value) for fault in faults)


def test_places_tell_pointer_and_line_the_nearest_if_there_is_nothing() -> None:
    yaml_doc = yaml_text.parse("a:\n  - b/c: 1\n  - 'x, [y] {\"'\nd: 2\n", "f.yaml")
    json_doc = json_text.parse('{"a": [\n{"b/c": 1},\n"x, [y] {\\""],\n"d": 2}', "f.json")
    for document in (yaml_doc, json_doc):
        assert document.place("/a/0/b~1c").endswith(": /a/0/b~1c (line 2)")
        assert document.place("/a/1").endswith(": /a/1 (line 3)")
        assert document.place("/a/0/missing").endswith("(line 2)")
        assert document.place("/d").endswith(": /d (line 4)")


def test_half_characters_and_nul_are_taken_out_and_noted() -> None:
    document = json_text.parse('{"a": ["\\ud83d", "\\u0000b", "\\ud83d\\ude00"]}', "f.json")
    assert document.value == {"a": ["\ufffd", "b", "😀"]}
    assert [note.split(":")[1].strip() for note in document.notes] == ["/a/0 (line 1)", "/a/1 (line 1)"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("你好".encode("gbk"), "is not UTF-8: byte 0 does not fit (it may be GBK; save it as UTF-8)"),
        (b"abc \xff\xfe", "is not UTF-8: byte 4 does not fit (save it as UTF-8)"),
        ("你好".encode("utf-16"), "is UTF-16"),
        ("ab".encode("utf-16-le"), "is UTF-16: byte 1 is 0"),
        (b"PK\x03\x04rest", "is an Excel workbook"),
        (b"\xd0\xcf\x11\xe0rest", "is an old Excel workbook"),
        (b"a" * (files.MAX_BYTES + 1), "has more than 20 MiB"),
    ],
)
def test_bytes_that_are_no_utf8_text_are_told_what_they_are(data: bytes, message: str) -> None:
    with pytest.raises(InputError) as error:
        files.decode(data, "f")
    assert str(error.value).startswith(f"f: {message}")


def test_a_byte_order_mark_is_no_text_and_an_encoding_can_be_chosen() -> None:
    assert files.decode("\ufeff你好".encode(), "f") == "你好"
    assert files.decode("你好".encode("gbk"), "f", "gb18030") == "你好"
    with pytest.raises(InputError, match="unknown encoding"):
        files.decode(b"a", "f", "no-such")


json_values: st.SearchStrategy[Json] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8), inner, max_size=4
        )
    ),
    max_leaves=20,
)


@given(json_values)
@example(
    ["1.10", "1e-05", 1e-05, 1e16, -0.0, "0x1f", "<<", "=", "*a", "12:30", "", " a\n\nb ", "\x85", "\u2028x", "\ufeff"]
)
@settings(max_examples=150)
def test_what_is_dumped_as_yaml_reads_back(value: Json) -> None:
    assert yaml_value(yaml_text.dump(value)) == value


@pytest.mark.parametrize("parse", [yaml_text.parse, json_text.parse])
@given(text=st.text(alphabet="{}[]:,\"'\\ \n\t-#&*!|>%@`?ab1.eé中\ud83d\0\x85", max_size=60))
@settings(max_examples=250)
def test_any_text_is_data_or_an_input_error(parse: Parse, text: str) -> None:
    with suppress(InputError):
        parse(text, "f").place("")
