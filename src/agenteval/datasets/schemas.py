"""JSON Schemas of the files, with the parameters of every plug-in in them."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

Schema = dict[str, Any]


def of(model: type[BaseModel], title: str, examples: list[Any]) -> Schema:
    schema = model.model_json_schema()
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": title,
        "examples": examples,
    }


def choose(schema: Schema, within: Schema, selector: str, plugins: Mapping[str, Mapping[str, Any]]) -> None:
    """Let the value of `selector` in `within`, a part of `schema`, decide what its `params` must be."""
    definitions = schema.setdefault("$defs", {})
    branches = []
    for name, params in sorted(plugins.items()):
        rest = {key: value for key, value in params.items() if key != "$defs"}
        definitions |= {f"{name}.{key}": _moved(value, name) for key, value in params.get("$defs", {}).items()}
        definitions[name] = _moved(rest, name)
        needed = ["params"] if rest.get("required") else []
        branches.append(
            {
                "if": {"properties": {selector: {"const": name}}, "required": [selector]},
                "then": {"properties": {"params": {"$ref": f"#/$defs/{name}"}}, "required": needed},
            }
        )
    within["properties"][selector]["enum"] = sorted(plugins)
    within["allOf"] = branches


def _moved(schema: Any, name: str) -> Any:
    """The schema with its references led to where its definitions stand now."""
    if isinstance(schema, Mapping):
        return {
            key: f"#/$defs/{name}.{value.removeprefix('#/$defs/')}"
            if key == "$ref" and isinstance(value, str)
            else _moved(value, name)
            for key, value in schema.items()
        }
    return [_moved(part, name) for part in schema] if isinstance(schema, list) else schema
