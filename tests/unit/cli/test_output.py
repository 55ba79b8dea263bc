"""Results reach whoever asked for them, whatever the terminal can show."""

import io
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path

import pytest

from agenteval.cli import output

AWKWARD = "中文 ≠ 😀 \x1b[31m \u202e"
ENCODINGS = pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])


@contextmanager
def stdout(encoding: str) -> Iterator[io.BytesIO]:
    written = io.BytesIO()
    with redirect_stdout(io.TextIOWrapper(written, encoding=encoding, write_through=True)) as stream:
        yield written
        stream.detach()


@ENCODINGS
def test_text_for_people_is_escaped_where_it_cannot_be_shown(encoding: str) -> None:
    with stdout(encoding) as written:
        output.people(AWKWARD)
    text = written.getvalue().decode(encoding)
    assert "\x1b" not in text
    assert ("中文 ≠ 😀" in text) == (encoding == "utf-8")
    assert (r"\u4e2d\u6587 \u2260 \U0001f600" in text) == (encoding != "utf-8")


@ENCODINGS
def test_documents_are_utf_8_everywhere(encoding: str) -> None:
    with stdout(encoding) as written:
        output.json({"said": AWKWARD}, indent=False)
    assert "中文 ≠ 😀" in written.getvalue().decode()


def test_columns_are_aligned_by_what_the_eye_sees() -> None:
    with stdout("utf-8") as written:
        output.table([("订餐", "1"), ("abcde", "2")], ("NAME", "N"))
    assert written.getvalue().decode().splitlines() == ["NAME   N", "订餐   1", "abcde  2"]


def test_two_files_of_one_folder_can_be_written_at_once(tmp_path: Path) -> None:
    with output.replacing(tmp_path / "a") as first, output.replacing(tmp_path / "b") as second:
        first.write("1")
        second.write("2")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a": "1", "b": "2"}
