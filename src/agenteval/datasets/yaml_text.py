"""YAML as people mean it: JSON's data in a friendlier notation, and nothing more.

Plain text is text, `no`, `on`, `12:30` and `2026-09-01` included; only `null`, `true`, `false` and JSON's numbers are
values. Aliases, anchors, tags, doubled keys and second documents are refused.
"""

from dataclasses import dataclass, field
from typing import Any

import yaml

from agenteval.datasets.document import MAX_DEPTH, NUMBER, Document, Problems, number
from agenteval.domain.errors import InputError
from agenteval.domain.json_value import Json, below

_VALUES: dict[str, Json] = {"": None, "~": None, "null": None, "true": True, "false": False}
_PLAIN = "write the value out; text that begins with * & or ! needs quotes"
_QUOTES = "text that holds ': ' or ' #', or begins with a sign such as * & ! @ [ {, needs quotes"


def parse(text: str, name: str, *, as_written: bool = False) -> Document:
    """Raises InputError. `as_written`: see `document.number`."""
    builder = _Builder(name, as_written=as_written)
    try:
        for event in yaml.parse(text.encode(errors="replace"), Loader=yaml.CSafeLoader):
            builder.take(event)
    except yaml.YAMLError as error:
        raise _syntax(error, text, name) from error
    if builder.problems:
        raise builder.problems.error()
    return Document(name, builder.value, lambda: builder.lines).cleaned()


def dump(value: Json) -> str:
    """YAML that `parse` reads back, and that readers of YAML 1.1 understand the same way."""
    text: str = yaml.dump(value, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=110)
    return text


@dataclass(slots=True)
class _Open:
    """A mapping or list that is being read. `key`: the key whose value comes next."""

    pointer: str
    value: Any
    key: str | None = None


@dataclass(slots=True)
class _Builder:
    name: str
    as_written: bool
    value: Json = None
    lines: dict[str, int] = field(default_factory=dict)
    problems: Problems = field(default_factory=Problems)
    documents: int = 0
    around: list[_Open] = field(default_factory=list)

    def take(self, event: Any) -> None:
        match event:
            case yaml.DocumentStartEvent():
                self.documents += 1
                if self.documents > 1:
                    raise self._problem(event, "a second document begins here", "give each its own file")
            case yaml.AliasEvent():
                self.problems.append(self._problem(event, f"an alias (*{event.anchor}) is not supported", _PLAIN))
                self._put(event, None)
            case yaml.ScalarEvent():
                self._refuse_extras(event)
                if self.around and self.around[-1].key is None and isinstance(self.around[-1].value, dict):
                    self._begin_member(event)
                else:
                    self._put(event, self._scalar(event))
            case yaml.MappingStartEvent() | yaml.SequenceStartEvent():
                self._refuse_extras(event)
                value: Any = {} if isinstance(event, yaml.MappingStartEvent) else []
                self.around.append(_Open(self._put(event, value), value))
                if len(self.around) > MAX_DEPTH:
                    raise self._problem(event, f"is nested deeper than {MAX_DEPTH} levels")
            case yaml.CollectionEndEvent():
                self.around.pop()

    def _begin_member(self, event: Any) -> None:
        here = self.around[-1]
        if event.value in here.value:
            self.problems.append(self._problem(event, f"the key {event.value!r} stands here twice"))
        here.key = event.value

    def _put(self, event: Any, value: Json) -> str:
        """Put a value where it belongs; returns its pointer."""
        pointer = ""
        if not self.around:
            self.value = value
        elif isinstance((here := self.around[-1]).value, list):
            pointer = below(here.pointer, len(here.value))
            here.value.append(value)
        elif here.key is None:
            raise self._problem(event, "a key must be text", _QUOTES)
        else:
            pointer = below(here.pointer, here.key)
            here.value[here.key] = value
            here.key = None
        self.lines[pointer] = event.start_mark.line + 1
        return pointer

    def _scalar(self, event: Any) -> Json:
        text: str = event.value
        if not event.implicit[0]:
            return text
        if text.lower() in _VALUES and text in {text.lower(), text.upper(), text.capitalize()}:
            return _VALUES[text.lower()]
        return number(text, as_written=self.as_written) if NUMBER.fullmatch(text) else text

    def _refuse_extras(self, event: Any) -> None:
        if event.anchor is not None:
            self.problems.append(self._problem(event, f"an anchor (&{event.anchor}) is not supported", _PLAIN))
        if event.tag is not None:
            self.problems.append(self._problem(event, f"a tag ({event.tag}) is not supported", _PLAIN))

    def _problem(self, event: Any, message: str, fix: str = "") -> InputError:
        mark = event.start_mark
        return InputError(message, where=f"{self.name}: line {mark.line + 1}, column {mark.column + 1}", fix=fix)


def _syntax(error: yaml.YAMLError, text: str, name: str) -> InputError:
    if isinstance(error, yaml.MarkedYAMLError) and (mark := error.problem_mark):
        where = f"{name}: line {mark.line + 1}, column {mark.column + 1}"
        here = "".join(text.split("\n")[mark.line : mark.line + 1])
        if here[mark.column : mark.column + 1] == "\t":
            return InputError("is no YAML: a tab stands here", where=where, fix="indent with spaces")
        said = ", ".join(part for part in (error.context, error.problem) if part)
        return InputError(f"is no YAML: {said}", where=where, fix=_QUOTES)
    if isinstance(error, yaml.reader.ReaderError):
        line = text.encode(errors="replace")[: error.position].count(b"\n") + 1
        return InputError(f"is no YAML: {error.reason}", where=f"{name}: line {line}")
    return InputError(f"is no YAML: {error}", where=name)


class _Dumper(yaml.CSafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def _float(dumper: _Dumper, value: float) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:float", repr(value))


_Dumper.add_representer(float, _float)
_Dumper.add_implicit_resolver("tag:yaml.org,2002:float", NUMBER, list("-0123456789"))
