"""Places in a JSON document: a dotted path ("data.items[0].text") or a JSON pointer ("/data/items/0/text")."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias

from pydantic import PlainValidator, WithJsonSchema

from agenteval.domain.errors import TargetProtocolError
from agenteval.domain.json_value import Json, steps_of

_DOTTED = re.compile(r"[^.\[\]]+(?:\[\d+\])*(?:\.[^.\[\]]+(?:\[\d+\])*)*")
_STEP = re.compile(r"[^.\[\]]+")


@dataclass(frozen=True, slots=True)
class JsonPath:
    """`steps` are member names, and indexes where a list stands."""

    text: str
    steps: tuple[str, ...]

    @property
    def written(self) -> str:
        """As it stands in a target."""
        return self.text

    @classmethod
    def parse(cls, text: Any) -> "JsonPath":
        """Raises ValueError when it is neither form."""
        if isinstance(text, JsonPath):
            return text
        if not isinstance(text, str) or not text:
            raise ValueError('must be a path such as "data.items[0].text" or "/data/items/0/text"')
        if text.startswith("/"):
            return cls(text, steps_of(text))
        if not _DOTTED.fullmatch(text):
            raise ValueError(f'{text!r} is no path; write it like "data.items[0].text" or "/data/items/0/text"')
        return cls(text, tuple(_STEP.findall(text)))

    def find(self, document: Json) -> Json:
        """Raises LookupError when nothing stands there; null is something."""
        found = document
        for step in self.steps:
            if isinstance(found, Mapping):
                found = found[step]
            elif isinstance(found, list) and step.isascii() and step.isdigit():
                found = found[int(step)]
            else:
                raise LookupError(step)
        return found

    def get(self, document: Json) -> Json:
        """None when nothing stands there."""
        try:
            return self.find(document)
        except LookupError:
            return None

    def require(self, document: Json) -> Json:
        """Raises TargetProtocolError, saying what there is, when nothing stands there."""
        try:
            return self.find(document)
        except LookupError:
            there = f"its members are {', '.join(document)}" if isinstance(document, Mapping) else "it is no object"
            raise TargetProtocolError(f"nothing at {self.text!r} in the reply ({there})") from None


PathParameter: TypeAlias = Annotated[JsonPath, PlainValidator(JsonPath.parse), WithJsonSchema({"type": "string"})]
