"""JSON with places to fill in: `{message}` in strings. Names come from a fixed list, and nothing is evaluated."""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from agenteval.domain.json_value import Json, as_text

_PLACE = re.compile(r"\{\{(?P<literal>\w+)\}\}|(?<!\$)\{(?P<name>[A-Za-z_]\w*)\}")


@dataclass(frozen=True, slots=True)
class Template:
    """`body` is any JSON. A string that is nothing but `{name}` becomes the value itself, of its own type; within more
    text it becomes text. `{{name}}` stands for the literal `{name}`; `${name}` is no place, but that text."""

    body: Any

    @property
    def written(self) -> Any:
        """As it stands in a target."""
        return self.body

    @property
    def names(self) -> set[str]:
        """Of its places."""
        return _names(self.body)

    @classmethod
    def parse(cls, body: Any, names: Collection[str]) -> "Template":
        """Raises ValueError for a place whose name is not in `names`."""
        unknown = sorted(_names(body) - set(names))
        if unknown:
            raise ValueError(
                f"{{{unknown[0]}}} is not known here: use {', '.join(f'{{{name}}}' for name in names)}, "
                f"or write {{{{{unknown[0]}}}}} for these characters themselves"
            )
        return cls(body)

    def fill(self, values: Mapping[str, Json], encode: Callable[[str], str] = str) -> Json:
        """`encode` is applied to what is filled into strings, not to what stands around it."""
        return _filled(self.body, values, encode)

    def fill_text(self, values: Mapping[str, Json], encode: Callable[[str], str] = str) -> str:
        """The same for a template that is one string and stays one."""
        return _filled_text(str(self.body), values, encode)


def _names(body: Json) -> set[str]:
    if isinstance(body, str):
        return {match["name"] for match in _PLACE.finditer(body) if match["name"]}
    if isinstance(body, Mapping):
        return set().union(*map(_names, body.values()))
    return set().union(*map(_names, body)) if isinstance(body, list) else set()


def _filled(body: Json, values: Mapping[str, Json], encode: Callable[[str], str]) -> Json:
    if isinstance(body, str):
        whole = _PLACE.fullmatch(body)
        return values[whole["name"]] if whole and whole["name"] else _filled_text(body, values, encode)
    if isinstance(body, Mapping):
        return {key: _filled(member, values, encode) for key, member in body.items()}
    return [_filled(member, values, encode) for member in body] if isinstance(body, list) else body


def _filled_text(text: str, values: Mapping[str, Json], encode: Callable[[str], str]) -> str:
    def value(match: re.Match[str]) -> str:
        return f"{{{match['literal']}}}" if match["literal"] else encode(as_text(values[match["name"]]))

    return _PLACE.sub(value, text)
