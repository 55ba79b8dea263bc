"""What a validation library says of a value, in the words of this project."""

from collections.abc import Mapping
from typing import Any


def in_words(fault: Mapping[str, Any]) -> str:
    """`fault` as pydantic reports it, with `type` and `msg`."""
    match fault["type"]:
        case "tuple_type" | "list_type":
            return "must be a list"
        case "dict_type" | "mapping_type" | "model_type" | "dataclass_type":
            return "must be an object"
        case "bool_type" | "bool_parsing":
            return "must be true or false"
    return str(fault["msg"]).removeprefix("Value error, ").replace("Input should be", "must be")
