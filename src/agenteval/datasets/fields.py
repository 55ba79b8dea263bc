"""Types of the fields that files share. What is written as a number can be used as text, and numbers stay exact."""

from fractions import Fraction
from typing import Annotated, Any, TypeAlias

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PlainValidator, WithJsonSchema

from agenteval.domain.exact import exact
from agenteval.domain.faults import QUOTES, kind
from agenteval.domain.json_value import canonical
from agenteval.domain.text import is_blank, name_form, visible
from agenteval.domain.tool_success import succeeded

_LONGEST_NAME = 200
_MOST_ITEMS = 10_000
_LARGEST = 1_000_000_000


class Strict(BaseModel):
    """A part of a file: a field that it does not have is a fault."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        allow_inf_nan=False,
        use_attribute_docstrings=True,
        model_title_generator=lambda model: model.__name__.strip("_"),
    )


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    if value is None or isinstance(value, bool):
        raise ValueError(f"must be text, not {canonical(value).decode()}: {QUOTES}")
    raise ValueError(f"must be text, not {kind(value)}: {QUOTES}")


def _name(value: str) -> str:
    if len(value) > _LONGEST_NAME:
        raise ValueError(f"has {len(value)} characters, more than the {_LONGEST_NAME} of a name")
    name = name_form(value)
    if visible(name) != name or "\n" in name or "\t" in name:
        raise ValueError(f"holds a character that cannot be seen: {visible(name)!r}")
    return name


def _said(value: str) -> str:
    if is_blank(value):
        raise ValueError("is blank")
    return value


def _few(value: Any) -> Any:
    if isinstance(value, list) and len(value) > _MOST_ITEMS:  # checked first, for each fault takes memory
        raise ValueError(f"has {len(value):,} items, more than {_MOST_ITEMS:,}")
    return value


def _not_empty(value: Any) -> Any:
    if value == []:
        raise ValueError("must not be empty")  # `min_length` would also count the texts that are wrong
    return value


_AS_WRITTEN = {"type": ["number", "string"], "pattern": r"^[0-9]+([./][0-9]+)?$"}

FEW = BeforeValidator(_few)
"""At most 10,000 items of a list."""
Ok: TypeAlias = Annotated[bool | None, PlainValidator(lambda value: succeeded(value, None))]
"""Whether a tool call succeeded, as a file says."""
Text: TypeAlias = Annotated[str, BeforeValidator(_text), WithJsonSchema({"type": ["string", "number"]})]
Said: TypeAlias = Annotated[Text, AfterValidator(_said)]
"""Text that says something."""
Texts: TypeAlias = Annotated[
    tuple[Said, ...],
    BeforeValidator(_not_empty),
    FEW,
    WithJsonSchema({"type": "array", "items": {"type": ["string", "number"]}, "minItems": 1}),
]
"""At least one text."""
Name: TypeAlias = Annotated[Text, AfterValidator(_name)]
"""One visible line of at most 200 characters, or nothing."""
Id: TypeAlias = Annotated[Name, AfterValidator(_said)]
"""A name that is there."""
Tags: TypeAlias = Annotated[tuple[Id, ...], FEW]
Rate: TypeAlias = Annotated[
    Fraction, BeforeValidator(exact), Field(ge=0, le=1), WithJsonSchema({**_AS_WRITTEN, "minimum": 0, "maximum": 1})
]
Positive: TypeAlias = Annotated[
    Fraction,
    BeforeValidator(exact),
    Field(gt=0, le=_LARGEST),
    WithJsonSchema({**_AS_WRITTEN, "exclusiveMinimum": 0, "maximum": _LARGEST}),
]
