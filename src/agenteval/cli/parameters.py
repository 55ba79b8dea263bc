"""The parameters of a plug-in in a few words each, from their JSON Schema."""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Any, NamedTuple

import orjson

_BOUNDS = {"minimum": ">=", "exclusiveMinimum": ">", "maximum": "<=", "exclusiveMaximum": "<"}


class Parameter(NamedTuple):
    """`default` is JSON, or "required"."""

    name: str
    type: str
    default: str


def parameters(schema: Mapping[str, Any]) -> Iterator[Parameter]:
    required, definitions = schema.get("required", ()), schema.get("$defs", {})
    for name, prop in schema.get("properties", {}).items():
        yield Parameter(name, type_name(prop, definitions), "required" if name in required else default_text(prop))


def default_text(prop: Mapping[str, Any]) -> str:
    default = prop.get("default", {} if prop.get("type") == "object" else None)
    if prop.get("type") == "number" and isinstance(default, str):  # pydantic writes a fraction's default as "4/5"
        default = float(Fraction(default))
    return orjson.dumps(default).decode()


def type_name(prop: Mapping[str, Any], definitions: Mapping[str, Any] = MappingProxyType({})) -> str:
    """A JSON Schema in a few words. Of several types the first is what people write; a choice is spelled out, another
    definition is named."""
    if "$ref" in prop:
        name = str(prop["$ref"]).rpartition("/")[2]
        found = definitions.get(name, {})
        return type_name(found) if "enum" in found else name
    if "enum" in prop or "const" in prop:
        return " | ".join(f"`{choice}`" for choice in prop.get("enum", [prop.get("const")]))
    if "anyOf" in prop:
        return " | ".join(type_name(option, definitions) for option in prop["anyOf"])
    if prop.get("type") == "array":
        return f"list of {type_name(prop.get('items', {}), definitions)}"
    if isinstance(prop.get("additionalProperties"), dict):
        return f"mapping to {type_name(prop['additionalProperties'], definitions)}"
    bounds = [f"{sign} {prop[key]}" for key, sign in _BOUNDS.items() if key in prop]
    kind = prop.get("type", "anything")
    return " ".join([kind if isinstance(kind, str) else kind[0], *bounds])
