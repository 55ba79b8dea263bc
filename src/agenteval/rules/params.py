"""Parameter types that rules share. Numbers that people write are kept exact."""

from fractions import Fraction
from typing import Annotated, Literal, TypeAlias

from annotated_types import Ge, Gt, Le
from pydantic import BeforeValidator, WithJsonSchema

from agenteval.domain.exact import exact

Rate: TypeAlias = Annotated[
    Fraction, BeforeValidator(exact), Ge(0), Le(1), WithJsonSchema({"type": "number", "minimum": 0, "maximum": 1})
]
Weight: TypeAlias = Annotated[
    Fraction, BeforeValidator(exact), Gt(0), WithJsonSchema({"type": "number", "exclusiveMinimum": 0})
]
Points: TypeAlias = Annotated[
    Fraction, BeforeValidator(exact), Ge(0), Le(10), WithJsonSchema({"type": "number", "minimum": 0, "maximum": 10})
]
Scope: TypeAlias = Literal["last_turn", "full_dialog"]
Samples: TypeAlias = Literal[1, 3, 5]
Milliseconds: TypeAlias = Annotated[
    Fraction, BeforeValidator(exact), Gt(0), WithJsonSchema({"type": "number", "exclusiveMinimum": 0})
]
