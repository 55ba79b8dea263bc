"""The file of an exported run: what was cut, changed or is of a newer version is refused with its place."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenteval.datasets.run_file import RunFile, write
from agenteval.domain.errors import InputError

RECORDS = [{"runs": [{"id": "r", "name": "预约"}]}, {"run_cases": [{"n": 0}], "turns": [{"reply": "你好\u2028\n"}]}, {}]


def written(records: list[Any] = RECORDS) -> bytes:
    async def each() -> AsyncGenerator[Any]:
        for record in records:
            yield record

    async def text() -> str:
        return "".join([line async for line in write(each())])

    return asyncio.run(text()).encode()


def read(data: bytes) -> list[Any]:
    return list(RunFile(data.splitlines(keepends=True), "run.jsonl"))


def refused(data: bytes) -> str:
    with pytest.raises(InputError) as caught:
        read(data)
    return str(caught.value)


@pytest.mark.parametrize("records", [RECORDS, RECORDS[:1], []])
def test_what_was_written_is_read(records: list[Any]) -> None:
    assert read(written(records)) == records


@given(st.integers(0, len(written()) - 2))
def test_a_file_that_was_cut_anywhere_is_refused(length: int) -> None:
    assert "run.jsonl" in refused(written()[:length])


@given(st.integers(0, len(written()) - 2), st.integers(1, 255))
def test_a_file_that_was_changed_anywhere_is_refused(at: int, change: int) -> None:
    data = bytearray(written())
    data[at] ^= change
    assert "run.jsonl" in refused(bytes(data)) or read(bytes(data)) == RECORDS


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "run.jsonl: is no exported run (`agenteval export RUN -o FILE` writes one)"),
        (b"\x80\x00", "is no exported run"),
        (b"[]\n", "is no exported run"),
        (b'{"format":"agenteval.report/1","run":{}}\n', "is no exported run"),
        (
            b'{"format":"agenteval.run/2","agenteval":"9.0"}\n',
            "newer version (AgentEval 9.0, format 2; this one reads 1)",
        ),
        (written()[:-3], "run.jsonl (line 5): the file was cut within this line"),
        (b"".join(written().splitlines(keepends=True)[:-1]), "run.jsonl (line 4): the file was cut: it goes on"),
        (written().replace(b'"r"', b'"s"'), "run.jsonl (line 5): the file is not as it was written"),
        (written() + b"{}\n", "run.jsonl (line 5): the file goes on after its end"),
        (written().replace(b'{"run_cases"', b'{"run_cases'), "run.jsonl: line 3, column "),
        (written().replace(b"{}\n", b"[]\n"), "run.jsonl (line 4): is no JSON object"),
    ],
)
def test_it_is_said_what_is_wrong_and_where(data: bytes, said: str) -> None:
    assert said in refused(data)
