"""A whole run as a file, for another database: JSON lines.

{"format": "agenteval.run/1", "agenteval": "0.1.0"}         what it is, and what wrote it
{"runs": [{...}]}                                           records: tables, each with rows
{"run_cases": [{...}], "attempts": [{...}], ...}
{"end": {"lines": 2, "sha256": "..."}}                      how many records, and a checksum of all bytes before
"""

from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import orjson

from agenteval import __version__
from agenteval.domain.errors import InputError

KIND, VERSION = "agenteval.run", "1"
_AGAIN = "copy it again, or export the run again"


@dataclass(slots=True)
class _Seal:
    lines: int = -1  # the first line is no record
    digest: Any = field(default_factory=sha256)

    def add(self, line: bytes) -> None:
        self.lines += 1
        self.digest.update(line)

    @property
    def told(self) -> dict[str, Any]:
        return {"lines": self.lines, "sha256": self.digest.hexdigest()}


async def write(records: AsyncGenerator[Mapping[str, Any]]) -> AsyncGenerator[str]:
    """The lines of the file."""
    seal = _Seal()

    def line(record: object) -> str:
        data = orjson.dumps(record, option=orjson.OPT_NON_STR_KEYS) + b"\n"
        seal.add(data)
        return data.decode()

    yield line({"format": f"{KIND}/{VERSION}", "agenteval": __version__})
    async with aclosing(records):
        async for record in records:
            yield line(record)
    yield line({"end": seal.told})


class RunFile:
    """Reads the records of a file, once. Iterating raises InputError for what is no such file, is of a newer version,
    or was cut or changed; only at the end is it known to be whole."""

    def __init__(self, lines: Iterable[bytes], name: str) -> None:
        self._lines = iter(lines)
        self._name = name
        self._line = 0

    def __iter__(self) -> Iterator[dict[str, Any]]:
        seal = _Seal()
        for data in self._lines:
            self._line += 1
            record = self._parsed(data)
            if self._line == 1:
                self._check_format(record)
            elif "end" in record:
                self._check_end(record["end"], seal)
                return
            else:
                yield record
            seal.add(data)
        if not self._line:
            raise self._no_run()
        raise InputError("the file was cut: it goes on after this", where=self._place(), fix=_AGAIN)

    def placed(self, error: InputError) -> InputError:
        """The same, found in the record read last: `where` is a JSON pointer into it."""
        if error.where.startswith(self._name):
            return error
        return InputError(error.message, where=self._place(error.where), fix=error.fix)

    def _place(self, pointer: str = "") -> str:
        return f"{self._name}{': ' if pointer else ''}{pointer} (line {self._line})"

    def _parsed(self, data: bytes) -> dict[str, Any]:
        try:
            record = orjson.loads(data)
        except orjson.JSONDecodeError as error:
            if self._line == 1:
                raise self._no_run() from error
            if not data.endswith(b"\n"):
                raise InputError("the file was cut within this line", where=self._place(), fix=_AGAIN) from error
            where = f"{self._name}: line {self._line}, column {error.colno}"
            raise InputError(f"is no JSON: {error.msg}", where=where, fix=_AGAIN) from error
        if not isinstance(record, dict):
            raise InputError("is no JSON object", where=self._place(), fix=_AGAIN) if self._line > 1 else self._no_run()
        return record

    def _check_format(self, head: Mapping[str, Any]) -> None:
        kind, _, version = str(head.get("format")).partition("/")
        if kind != KIND:
            raise self._no_run()
        if version != VERSION:
            by = f"AgentEval {head.get('agenteval')}, format {version}; this one reads {VERSION}"
            raise InputError(f"was written by a newer version ({by})", where=self._name, fix="upgrade AgentEval")

    def _check_end(self, told: object, seal: _Seal) -> None:
        if told != seal.told:
            raise InputError("the file is not as it was written: its checksum differs", where=self._place(), fix=_AGAIN)
        if next(self._lines, None) is not None:
            raise InputError("the file goes on after its end", where=self._place(), fix=_AGAIN)

    def _no_run(self) -> InputError:
        return InputError("is no exported run", where=self._name, fix="`agenteval export RUN -o FILE` writes one")
