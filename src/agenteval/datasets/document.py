"""The data of a YAML or JSON file, and where in the file each part stands."""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from agenteval.domain.errors import InputError
from agenteval.domain.faults import advice, in_words
from agenteval.domain.json_value import Json, below, canonical
from agenteval.domain.text import clean

MAX_DEPTH = 100
_TOO_MANY = 1_000
_SHOWN = 50
NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?P<fraction>\.\d+)?(?P<exponent>[eE][+-]?\d+)?", re.ASCII)
"""A JSON number."""

M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True)
class Document:
    """`value`: JSON data. `find_lines` gives the line (from 1) of each JSON pointer; it is called when there is
    something to report. `notes`: what was changed in reading."""

    name: str
    value: Json
    find_lines: Callable[[], Mapping[str, int]] = field(repr=False)
    notes: tuple[str, ...] = ()

    def cleaned(self) -> "Document":
        """With texts as storage can hold them. Raises InputError when nested deeper than 100 levels."""
        notes: list[str] = []
        value = self._cleaned(self.value, "", 0, notes)
        return replace(self, value=value, notes=tuple(notes))

    def place(self, pointer: str) -> str:
        """The file, the pointer, and the line of it or of the nearest part around it."""
        around = pointer
        while around and around not in self._lines:
            around = around.rpartition("/")[0]
        line = self._lines.get(around)
        return self.name + (f": {pointer}" if pointer else "") + (f" (line {line})" if line else "")

    def problem(self, pointer: str, message: str, fix: str = "") -> InputError:
        return InputError(message, where=self.place(pointer), fix=fix)

    def check(self, model: type[M], value: object, pointer: str, problems: "Problems") -> M | None:
        """`value` as a `model`; or None, with what is wrong added to `problems`."""
        try:
            return model.model_validate(value)
        except ValidationError as error:
            if error.error_count() >= _TOO_MANY:
                problems.append(self.problem(pointer, f"holds {error.error_count():,} faults, too many to name"))
                return None
            for at, message, fix in faults(error, model):
                problems.append(self.problem(pointer + at, message, fix))
            return None

    @cached_property
    def _lines(self) -> Mapping[str, int]:
        return self.find_lines()

    def _cleaned(self, value: Json, pointer: str, depth: int, notes: list[str]) -> Json:
        if depth > MAX_DEPTH:
            raise InputError(f"is nested deeper than {MAX_DEPTH} levels", where=self.name)
        if isinstance(value, str):
            text = clean(value)
            if text != value and len(notes) < _SHOWN:
                notes.append(f"{self.place(pointer)}: NUL or half a character was taken out")
            return text
        if isinstance(value, Mapping):
            return {
                clean(key): self._cleaned(member, below(pointer, key), depth + 1, notes)
                for key, member in value.items()
            }
        if isinstance(value, list):
            return [self._cleaned(member, below(pointer, i), depth + 1, notes) for i, member in enumerate(value)]
        return value


def number(literal: str, *, as_written: bool) -> int | float | str:
    """What a JSON number stands for, or the literal itself if no 64-bit number can hold it. `as_written`: also the
    literal itself if it is not the shortest for its value, as in 1.10, so that it can still be used as text."""
    form = NUMBER.fullmatch(literal)
    value: int | float
    if form and not form["fraction"] and not form["exponent"]:
        if len(literal) > 20 or not -(2**63) <= (value := int(literal)) < 2**63:
            return literal
    elif not math.isfinite(value := float(literal)):
        return literal
    return literal if as_written and literal not in {repr(value), canonical(value).decode()} else value


def faults(error: ValidationError, model: type[BaseModel]) -> Iterator[tuple[str, str, str]]:
    """JSON pointer, message and advice for each fault."""
    for fault in error.errors(include_url=False, include_context=False):
        message = _OF_FIELDS.get(fault["type"]) or in_words(fault)
        yield below("", *(step for step in fault["loc"] if step != "")), message, advice(fault, model.model_fields)


_OF_FIELDS = {"extra_forbidden": "there is no such field", "missing": "this field is required"}


class Problems(list[InputError]):
    """What is wrong with a file. Reading ends at the 1,000th: `append` then raises what there is."""

    def append(self, problem: InputError) -> None:
        super().append(problem)
        if len(self) >= _TOO_MANY:
            raise self.error()

    def extend(self, problems: Iterable[InputError]) -> None:
        for problem in problems:
            self.append(problem)

    def error(self) -> InputError:
        """All of them (at least one) as one error; of very many the first and their number."""
        shown = self[:_SHOWN]
        if len(self) > _SHOWN:
            end = ", then reading ended" if len(self) >= _TOO_MANY else ""
            shown.append(InputError(f"and {len(self) - _SHOWN} more problems{end}"))
        return InputError.all(shown)
