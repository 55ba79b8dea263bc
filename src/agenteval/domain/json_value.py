"""JSON as a type, its two texts (canonical bytes for identity, readable text for people and quotes), and places in it:
JSON pointers, RFC 6901."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import orjson

Json: TypeAlias = "str | int | float | bool | Sequence[Json] | Mapping[str, Json] | None"


def canonical(value: object) -> bytes:
    """The same bytes for equal values, whatever the order of their keys."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def as_text(value: Json) -> str:
    """Text as it is, nothing for None, anything else as JSON without escapes."""
    if value is None:
        return ""
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def below(pointer: str, *steps: str | int) -> str:
    """The JSON pointer of what stands `steps` below another."""
    return pointer + "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in steps)


def steps_of(pointer: str) -> tuple[str, ...]:
    """The inverse: the steps from the whole document, as text."""
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:])
