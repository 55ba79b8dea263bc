"""Recorded dialogs, from JSON, JSONL or CSV.

A dialog is `{"id"?, "turns": [{"input", "actual_output", ...}]}` or `{"id"?, "messages": [{"role", "content", ...}]}`
(chat messages as in OpenAI's API), or the list of its turns or messages alone. JSON holds one dialog or a list of them,
JSONL one a line; the columns of CSV are in `datasets.csv`. A dialog without an id gets one by its place: dialog-001.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import orjson
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError

from agenteval.datasets import csv, files, json_text
from agenteval.datasets.document import Document, Problems, faults
from agenteval.datasets.fields import FEW, Id, Ok
from agenteval.datasets.messages import turns_of
from agenteval.domain.errors import InputError
from agenteval.domain.json_value import below
from agenteval.domain.tool_success import succeeded
from agenteval.domain.transcript import Dialog, ToolCall, Turn, TurnStatus

_CSV = {".csv", ".tsv", ".txt"}
_JSONL = {".jsonl", ".ndjson"}
UTF_16 = (b"\xff\xfe", b"\xfe\xff")
"""What UTF-16 begins with, in which Excel saves "Unicode Text"."""


@dataclass(frozen=True, slots=True)
class RecordedDialog:
    """`named`: the file gives the id."""

    id: str
    dialog: Dialog
    named: bool = field(default=True, compare=False)


@dataclass(frozen=True, slots=True)
class LoadedDialogs:
    """`dialogs` have unique ids. `warnings`: what was left out or changed in reading."""

    dialogs: tuple[RecordedDialog, ...]
    warnings: tuple[str, ...]

    @property
    def by_id(self) -> dict[str, Dialog]:
        return {recorded.id: recorded.dialog for recorded in self.dialogs}


def load(path: Path, encoding: str = "utf-8") -> LoadedDialogs:
    """Raises InputError with every problem of the file, of very many the first 50 and their number."""
    return loads(files.read(path), str(path), encoding)


def loads(data: bytes, name: str, encoding: str = "utf-8") -> LoadedDialogs:
    """The same from bytes; `name` is what messages call them. Without a known ending it is JSON if it begins so, else
    CSV; JSON whose first line is complete by itself is JSONL."""
    suffix = Path(name).suffix.lower()
    if data.startswith(UTF_16) and suffix not in {".json", *_JSONL}:
        encoding = "utf-16"
    text = files.decode(data, name, encoding)
    reading = _Reading(name)
    if suffix in _CSV or (suffix not in {".json", *_JSONL} and not text.lstrip().startswith(("{", "["))):
        reading.table(csv.read(text, name))
    elif suffix in _JSONL or _is_jsonl(text):
        reading.lines(text)
    else:
        reading.file(json_text.parse(text, name))
    return reading.result()


def dumps_jsonl(dialogs: Iterable[RecordedDialog]) -> str:
    """JSONL that `loads` reads back to equal dialogs."""
    return "".join(orjson.dumps(_written(recorded)).decode() + "\n" for recorded in dialogs)


# ---- the forms -------------------------------------------------------------------------------------------------------


class _Recorded(BaseModel):
    """A part of a recording, which may hold more than is used."""

    model_config = ConfigDict(extra="allow", allow_inf_nan=False)


class _Call(_Recorded):
    name: Annotated[str, Field(min_length=1)]
    arguments: Any = None
    result: Any = None
    ok: Ok = None


class _Turn(_Recorded):
    input: str
    actual_output: Any
    tool_calls: Annotated[tuple[_Call, ...], FEW] = ()
    latency_ms: Annotated[float, Field(ge=0)] | None = None
    status: TurnStatus = TurnStatus.OK
    error: str = ""

    def turn(self, index: int) -> Turn:
        calls = tuple(
            ToolCall(call.name, call.arguments, call.result, succeeded(call.ok, call.result))
            for call in self.tool_calls
        )
        return Turn(index, self.input, self.actual_output, calls, self.latency_ms, self.status, self.error)


class _Row(_Turn):
    dialog_id: Id | None = None
    turn_index: int | None = None


class _Dialog(_Recorded):
    id: Id | None = Field(default=None, validation_alias=AliasChoices("id", "dialog_id", "conversation_id"))
    turns: list[Any] | None = None
    messages: list[Any] | None = None


class _Reading:
    """Collects the dialogs of a file, and all that is wrong or left out."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._dialogs: dict[str, Dialog] = {}
        self._numbered: set[str] = set()  # the ids that are none of the file's
        self._places: dict[str, tuple[Document, str]] = {}  # of the dialogs, by id
        self._count = 0
        self._problems = Problems()
        self._warnings: list[str] = []
        self._unused: Counter[str] = Counter()

    def result(self) -> LoadedDialogs:
        if not self._count and not self._problems:
            self._problems.append(InputError("holds no dialog", where=self._name))
        if self._problems:
            raise self._problems.error()
        if self._unused:
            names = ", ".join(f"{name} ({times}x)" for name, times in self._unused.items())
            self._warnings.append(f"{self._name}: not used: {names}")
        dialogs = tuple(RecordedDialog(id_, each, id_ not in self._numbered) for id_, each in self._dialogs.items())
        return LoadedDialogs(dialogs, tuple(self._warnings))

    def file(self, document: Document) -> None:
        self._warnings += document.notes
        value = document.value
        if isinstance(value, list) and not _is_one_dialog(value):
            for i, dialog in enumerate(value):
                self._dialog(document, dialog, below("", i))
        else:
            self._dialog(document, value, "")

    def lines(self, text: str) -> None:
        for number, line in enumerate(text.split("\n"), 1):
            if line.strip():
                try:
                    document = json_text.parse(line, self._name, first_line=number)
                except InputError as error:
                    self._problems.extend(error.problems or [error])
                else:
                    self._warnings += document.notes
                    self._dialog(document, document.value, "")

    def _dialog(self, document: Document, raw: object, pointer: str) -> None:
        self._count += 1
        before = len(self._problems)
        if isinstance(raw, list):
            dialog_id, items, at = None, raw, pointer
            is_chat = any(isinstance(item, Mapping) and "role" in item for item in raw)
        else:
            head = document.check(_Dialog, raw, pointer, self._problems)
            if head is None:
                return
            self._leave_out(head)
            if (head.turns is None) is (head.messages is None):
                self._problems.append(document.problem(pointer, "must have either turns or messages"))
                return
            dialog_id, is_chat = head.id, head.turns is None
            items = (head.messages if is_chat else head.turns) or []
            at = below(pointer, "messages" if is_chat else "turns")
        if is_chat:
            turns = turns_of(items, document, at, self._problems, lambda name: self._unused.update([name]))
        else:
            turns = self._turns(items, document, at)
        if len(self._problems) == before:
            if not turns:
                self._problems.append(document.problem(at, "must not be empty"))
            self._take(dialog_id or self._number(self._count), turns, document, pointer)

    def _number(self, place: int) -> str:
        dialog_id = f"dialog-{place:03d}"
        self._numbered.add(dialog_id)
        return dialog_id

    def _take(self, dialog_id: str, turns: tuple[Turn, ...], document: Document, pointer: str) -> None:
        first, at = self._places.setdefault(dialog_id, (document, pointer))
        if dialog_id in self._dialogs:
            self._problems.append(document.problem(pointer, f"the id {dialog_id!r} is that of {first.place(at)}"))
        self._dialogs[dialog_id] = Dialog(turns)

    def _turns(self, items: Sequence[object], document: Document, pointer: str) -> tuple[Turn, ...]:
        turns = []
        for i, item in enumerate(items):
            if found := document.check(_Turn, item, below(pointer, i), self._problems):
                self._leave_out(found)
                turns.append(found.turn(i))
        return tuple(turns)

    def table(self, table: csv.Table) -> None:
        self._warnings += table.notes
        self._problems.extend(table.problems)
        if table.unused and len(table.rows) > 1 and not {"dialog_id", "turn_index"} & table.columns.keys():
            self._warnings.append(
                f"{self._name}: no column tells which rows are one dialog, so each of the {len(table.rows)} rows is a "
                f"dialog of one turn; if {' or '.join(map(repr, table.unused))} tells it, call that column dialog_id"
            )
        dialogs: dict[str, dict[int, _Turn]] = {}
        for row in table.rows:
            self._count += 1
            found = self._row(row, table)
            if found is None:
                continue
            number = 1 if "turn_index" in table.columns else self._count
            turns = dialogs.setdefault(found.dialog_id or self._number(number), {})
            place = len(turns) if found.turn_index is None else found.turn_index
            if place in turns:
                self._problems.append(self._at(row, table, "turn_index", f"{place} stands twice in one dialog"))
            turns[place] = found
        for dialog_id, turns in dialogs.items():
            in_order = tuple(turns[place].turn(i) for i, place in enumerate(sorted(turns)))
            self._dialogs[dialog_id] = Dialog(in_order)

    def _row(self, row: csv.Row, table: csv.Table) -> "_Row | None":
        given: dict[str, Any] = {name: cell for name, cell in row.cells.items() if cell.strip() or name in _SAID}
        before = len(self._problems)
        for name in ("dialog_id", "turn_index"):
            if name in row.cells and name not in given:
                self._problems.append(self._at(row, table, name, "is blank"))
        try:
            if "tool_calls" in given:
                given["tool_calls"] = json_text.parse(given["tool_calls"], "tool_calls").value
            found = _Row.model_validate(given)
        except InputError as error:
            self._problems.append(self._at(row, table, "tool_calls", error.message))
        except ValidationError as error:
            for pointer, message, fix in faults(error, _Row):
                self._problems.append(self._at(row, table, pointer.split("/")[1], message, fix))
        else:
            return found if len(self._problems) == before else None
        return None

    def _at(self, row: csv.Row, table: csv.Table, column: str, message: str, fix: str = "") -> InputError:
        return InputError(message, where=f"{self._name}: row {row.number}, column {table.columns[column]}", fix=fix)

    def _leave_out(self, part: _Recorded) -> None:
        self._unused.update(list(part.model_extra or ()))


_SAID = ("input", "actual_output")


def _is_one_dialog(items: Sequence[object]) -> bool:
    """Whether a list is one dialog (of turns or messages), not a list of dialogs."""
    return any(isinstance(item, Mapping) and {"role", *_SAID} & item.keys() for item in items)


def _is_jsonl(text: str) -> bool:
    first, _, rest = text.lstrip().partition("\n")
    if not rest.strip():
        return False
    try:
        json_text.parse(first, "")
    except InputError:
        return False
    return True


# ---- writing ---------------------------------------------------------------------------------------------------------


def _written(recorded: RecordedDialog) -> dict[str, Any]:
    return {"id": recorded.id, "turns": [_turn_written(turn) for turn in recorded.dialog]}


def _turn_written(turn: Turn) -> dict[str, Any]:
    written: dict[str, Any] = {"input": turn.sent_message, "actual_output": turn.reply}
    if turn.tool_calls:
        written["tool_calls"] = [_call_written(call) for call in turn.tool_calls]
    if turn.latency_ms is not None:
        written["latency_ms"] = turn.latency_ms
    if turn.status is not TurnStatus.OK:
        written["status"] = turn.status
    if turn.error:
        written["error"] = turn.error
    return written


def _call_written(call: ToolCall) -> dict[str, Any]:
    members = {"arguments": call.arguments, "result": call.result, "ok": call.ok}
    return {"name": call.name, **{name: value for name, value in members.items() if value is not None}}
