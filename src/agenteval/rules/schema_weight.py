"""How much work a user's JSON Schema may make: found out before it is used, because a validator cannot be interrupted.

Schemas of a few lines can double the work with every `$ref`. So a schema is weighed with its references written out.
"""

import re
from collections.abc import Mapping
from enum import Enum, auto
from typing import Any

from agenteval.domain.json_value import steps_of

MAX_DEPTH = 32
"""Levels of nesting, `$ref` followed."""
MAX_WEIGHT = 20_000
PATTERN_WEIGHT = 400
"""A pattern is searched for at most this many times slower than a plain keyword is checked."""
UNEVALUATED_FACTOR = 3
"""`unevaluatedProperties` and `unevaluatedItems` check all that stands beside them again."""


class _Kind(Enum):
    SCHEMA = auto()
    NAMED = auto()  # a mapping of names to schemas
    DATA = auto()


_CHILDREN = {
    **dict.fromkeys(("properties", "patternProperties", "dependentSchemas", "dependencies"), _Kind.NAMED),
    **dict.fromkeys(("$defs", "definitions"), _Kind.NAMED),
    **dict.fromkeys(("const", "default", "enum", "examples"), _Kind.DATA),
}


def weigh(schema: Mapping[str, Any]) -> int:
    """The number of keywords and values of the schema, those that it refers to once for each reference.

    Raises ValueError when it is too heavy, too deep or recursive, or refers to anything but a part of itself.
    """
    return _Scales(schema).weigh()


class _Scales:
    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._schema = schema
        self._weight = 0

    def weigh(self) -> int:
        self._add(self._schema, _Kind.SCHEMA, 1, 1, ())
        return self._weight

    def _add(self, node: object, kind: _Kind, factor: int, depth: int, refs: tuple[str, ...]) -> None:
        """Adds `factor` for each value in `node`; with factor 0, for definitions as they stand, only looks at it."""
        self._count(factor)
        if not isinstance(node, Mapping | list | tuple):
            return
        if depth > MAX_DEPTH:
            raise ValueError(f"the schema is nested deeper than {MAX_DEPTH} levels, $ref followed")
        if not isinstance(node, Mapping):
            for item in node:
                self._add(item, kind, factor, depth + 1, refs)
            return
        if kind is _Kind.SCHEMA:
            factor *= UNEVALUATED_FACTOR if "unevaluatedProperties" in node or "unevaluatedItems" in node else 1
            self._add_keywords(node, factor, depth, refs)
            return
        for value in node.values():
            self._add(value, _Kind.SCHEMA if kind is _Kind.NAMED else _Kind.DATA, factor, depth + 1, refs)

    def _add_keywords(self, node: Mapping[str, Any], factor: int, depth: int, refs: tuple[str, ...]) -> None:
        for keyword, value in node.items():
            if keyword in {"$dynamicRef", "$recursiveRef"} and isinstance(value, str):
                raise ValueError(f"{keyword} is not supported; use $ref with '#/...'")
            if keyword in {"$id", "id", "$schema"} and isinstance(value, str) and depth > 1:
                raise ValueError(f"{keyword} may only stand at the top of the schema")
            if keyword == "$ref" and isinstance(value, str):
                self._add_referenced(value, factor, depth, refs)
            if keyword == "pattern":
                self._count(factor * PATTERN_WEIGHT)
            if keyword == "patternProperties" and isinstance(value, Mapping):
                self._count(factor * PATTERN_WEIGHT * len(value))
            definitions = keyword in {"$defs", "definitions"}
            self._add(value, _CHILDREN.get(keyword, _Kind.SCHEMA), 0 if definitions else factor, depth + 1, refs)

    def _add_referenced(self, ref: str, factor: int, depth: int, refs: tuple[str, ...]) -> None:
        if not ref.startswith("#/"):
            raise ValueError(
                f"$ref {ref!r} cannot be followed: only references within the schema, such as '#/$defs/name', can, and "
                "not to the whole of it"
            )
        if ref in refs:
            raise ValueError(f"$ref {ref!r} leads back to itself: a schema that holds itself is not supported")
        if factor:
            self._add(self._resolve(ref), _Kind.SCHEMA, factor, depth + 1, (*refs, ref))

    def _resolve(self, ref: str) -> object:
        node: Any = self._schema
        for name in steps_of(_PERCENT_ENCODED.sub(_decoded, ref.removeprefix("#"))):
            try:
                node = node[name if isinstance(node, Mapping) else int(name)]
            except (KeyError, IndexError, ValueError, TypeError):
                raise ValueError(f"$ref {ref!r} points to nothing in the schema") from None
        return node

    def _count(self, weight: int) -> None:
        self._weight += weight
        if self._weight > MAX_WEIGHT:
            raise ValueError(
                f"the schema makes too much work: more than {MAX_WEIGHT:,} keywords and values with each $ref written "
                f"out (a pattern counts {PATTERN_WEIGHT}, below unevaluated... all counts {UNEVALUATED_FACTOR} times)"
            )


_PERCENT_ENCODED = re.compile(r"(?:%[0-9A-Fa-f]{2})+")


def _decoded(encoded: re.Match[str]) -> str:
    return bytes.fromhex(encoded.group().replace("%", "")).decode("utf-8", "replace")
