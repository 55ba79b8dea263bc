"""JSON as a type, and its two texts: canonical bytes for identity, readable text for people and quotes."""

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
