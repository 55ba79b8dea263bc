"""What a validation library says of a value, in the words of this project; the value itself may be a secret."""

from collections.abc import Collection, Mapping
from typing import Any

from agenteval.domain.near import did_you_mean, nearest


def in_words(fault: Mapping[str, Any]) -> str:
    """`fault` as pydantic reports it, with `type`, `msg` and, if it may be told of, `input`."""
    instead = f", not {kind(fault['input'])}" if "input" in fault else ""
    match fault["type"]:
        case "tuple_type" | "list_type" | "set_type" | "frozen_set_type":
            return f"must be a list{instead}"
        case "dict_type" | "mapping_type" | "model_type" | "dataclass_type":
            return f"must be an object{instead}"
        case "bool_type" | "bool_parsing":
            return "must be true or false"
        case "string_type":
            return f"must be text{instead}"
        case "too_short":
            return "must not be empty"
    return str(fault["msg"]).removeprefix("Value error, ").replace("Input should be", "must be")


def advice(fault: Mapping[str, Any], known: Collection[str], needed: Collection[str] = ()) -> str:
    """What to do about it. `known`: the names that an object in its place may have; `needed`: those that it must."""
    match fault["type"], fault["input"]:
        case "extra_forbidden" | "unexpected_keyword_argument", _:
            return did_you_mean(str(fault["loc"][-1]), known)
        case "missing" | "missing_argument", Mapping() as given:
            near = nearest(str(fault["loc"][-1]), sorted(given.keys() - known))
            return f"is it what {near!r} means?" if near else ""
        case "tuple_type" | "list_type", str() | int() | float():
            return "a single one is a list, too: [...]"
        case "string_type", given if given is not None:
            return QUOTES
        case "dict_type" | "model_type" | "dataclass_type", str():
            names = f"it must have {', '.join(needed)}; " if needed else ""
            return f"{names}a field is its name, a colon and a space"
    return ""


QUOTES = "put it in quotes"


def kind(value: object) -> str:
    match value:
        case None:
            return "empty"
        case bool():
            return "true or false"
        case str():
            return "text"
        case int() | float():
            return "a number"
        case list() | tuple():
            return "a list"
        case _:
            return "an object"
