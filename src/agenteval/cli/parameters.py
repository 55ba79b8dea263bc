"""The parameters of a plug-in in a few words each, from their JSON Schema."""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

import orjson

_BOUNDS = {"minimum": ">=", "exclusiveMinimum": ">", "maximum": "<=", "exclusiveMaximum": "<"}


class Parameter(NamedTuple):
    """`default` is JSON, or "required"."""

    name: str
    type: str
    default: str


def parameters(schema: Mapping[str, Any]) -> Iterator[Parameter]:
    required = schema.get("required", ())
    for name, prop in schema.get("properties", {}).items():
        yield Parameter(name, type_name(prop), "required" if name in required else default_text(prop))


def default_text(prop: Mapping[str, Any]) -> str:
    default = prop.get("default")
    if prop.get("type") == "number" and isinstance(default, str):  # pydantic writes a fraction's default as "4/5"
        default = float(Fraction(default))
    return orjson.dumps(default).decode()


def type_name(prop: Mapping[str, Any]) -> str:
    """A JSON Schema in a few words."""
    if "$ref" in prop:
        return str(prop["$ref"]).rpartition("/")[2]
    if "enum" in prop or "const" in prop:
        return " | ".join(f"`{choice}`" for choice in prop.get("enum", [prop.get("const")]))
    if "anyOf" in prop:
        return " | ".join(type_name(option) for option in prop["anyOf"])
    if prop.get("type") == "array":
        return f"list of {type_name(prop.get('items', {}))}"
    if isinstance(prop.get("additionalProperties"), dict):
        return f"mapping to {type_name(prop['additionalProperties'])}"
    bounds = [f"{sign} {prop[key]}" for key, sign in _BOUNDS.items() if key in prop]
    return " ".join([str(prop.get("type", "anything")), *bounds])
