"""Forms: the shape of an answer. One description serves the model (as a JSON Schema), its reader, and storage.

A form is a frozen dataclass whose fields are `str`, `int`, `bool`, a `StrEnum` (a closed choice), a `Quote`, another
form, `tuple[T, ...]`, or any of these `| None`. Invariants are plain `ValueError`s in `__post_init__`; their text goes
to the model when it is asked again.
"""

import types
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from typing import Any, ClassVar, Self, TypeVar, Union, get_args, get_origin, get_type_hints

from agenteval.domain.caching import per_class
from agenteval.domain.evidence import Match, Span, Speaker
from agenteval.domain.json_value import Json
from agenteval.domain.quick_init import quick_init


class YesNo(StrEnum):
    YES = "yes"
    NO = "no"


@quick_init
@dataclass(frozen=True)  # without slots: orjson writes what has slots in three times the time
class Quote:
    """Words said in a turn. `span` is where code found them; without it the quote is not verified."""

    speaker: ClassVar[Speaker]
    turn: int
    text: str
    span: Span | None = None


@quick_init
@dataclass(frozen=True)
class UserQuote(Quote):
    speaker = Speaker.USER


@quick_init
@dataclass(frozen=True)
class AgentQuote(Quote):
    speaker = Speaker.AGENT


@quick_init
@dataclass(frozen=True)
class ToolQuote(Quote):
    """Of a recorded tool result."""

    speaker = Speaker.TOOL


Quotes = Mapping[type[Quote], Quote]
"""The words that show a verdict, by who said them."""

Q = TypeVar("Q", bound=Quote)


def spoken(quotes: Quotes, kind: type[Q]) -> Q | None:
    found = quotes.get(kind)
    return found if isinstance(found, kind) else None


class Form:
    """Base of all answer shapes.

    `salvage` names a smaller form of the same item: when an item of a list fails verification twice, what of it can be
    verified in the smaller form is kept, so that a bad verdict does not lose the thing it was about. `kind` is what a
    reviewer knows such an item as; a form without `verdicts` is not reviewed.
    """

    salvage: ClassVar["type[Form] | None"] = None
    kind: ClassVar[str] = ""

    @property
    def word(self) -> str:
        """The answer in a word, one of `verdicts`."""
        raise NotImplementedError

    @classmethod
    def verdicts(cls) -> Mapping[str, tuple[type[Quote], ...]]:
        """What a person may answer, the most usual first, and whose words have to show it."""
        return {}

    @classmethod
    def by_person(cls, word: str, quotes: Quotes, reason: str) -> Self:
        """A person's answer. Raises ValueError when it contradicts itself."""
        raise NotImplementedError

    def ballot(self) -> Hashable:
        """What votes compare: by default the closed choices and whole numbers."""
        return tuple(value for f in fields(self) if isinstance(value := getattr(self, f.name), StrEnum | int))  # type: ignore[arg-type]

    @classmethod
    def merge(cls, parts: Sequence[Self]) -> Self | None:
        """One answer from those of the overlapping windows of a long dialog, in their order; None: cannot be merged."""
        return parts[0] if len(parts) == 1 else None


Path = tuple[str | int, ...]


class FormError(ValueError):
    """A value that does not fit its form. `path` leads to it: `("items", 2, "quote")`. `evidence`: a quote that is not
    where it is said to be."""

    def __init__(self, path: Path, message: str, *, evidence: bool = False) -> None:
        super().__init__(f"{'.'.join(map(str, path))}: {message}" if path else message)
        self.evidence = evidence


class Reader:
    """How the leaves of a form are read. This one is strict and trusts stored data; the judge's maps aliases and
    verifies quotes."""

    def choice(self, kind: type[StrEnum], raw: object, path: Path) -> StrEnum:
        try:
            return kind(str(raw))
        except ValueError:
            raise FormError(path, f"must be one of {', '.join(kind)}, not {raw!r}") from None

    def quote(self, kind: type[Quote], raw: Mapping[str, Any], path: Path) -> Quote:
        span = raw.get("span")
        return kind(raw["turn"], raw["text"], None if span is None else _load_span(span))

    def form_list(self, kind: type[Form], raw: Sequence[object], path: Path) -> tuple[Form, ...]:
        return tuple(self._kept(kind, item, (*path, i)) for i, item in enumerate(raw))

    def _kept(self, kind: type[Form], raw: object, path: Path) -> Form:
        """A stored item is of its form, or is what was salvaged of one."""
        try:
            return read(kind, raw, self, path)
        except FormError:
            if kind.salvage is None:
                raise
            return read(kind.salvage, raw, self, path)


def _load_span(raw: Mapping[str, Any]) -> Span:
    return Span(**{**raw, "speaker": Speaker(raw["speaker"]), "match": Match(raw["match"])})


def read(form: type[Form], raw: object, reader: Reader, path: Path = ()) -> Form:
    """Build `form` from JSON. Raises FormError naming the place; members that the form lacks are ignored."""
    if not isinstance(raw, dict):
        raise FormError(path, f"must be an object, not {_kind(raw)}")
    values: dict[str, object] = {}
    for name, decode, optional in _decoders(form):
        given = raw.get(name)
        if optional and (given is None or _absent(given)):
            values[name] = None
        elif given is None and name not in raw:
            raise FormError((*path, name), "is missing")
        else:
            values[name] = decode(given, reader, (*path, name))
    try:
        return form(**values)
    except FormError:
        raise
    except ValueError as error:
        raise FormError(path, str(error)) from None


def load(form: type[Form], raw: object) -> Form:
    """What `dump` wrote."""
    return read(form, raw, Reader())


def dump(value: object) -> Json:
    """A form (or any part of one) as JSON, quotes with their spans."""
    match value:
        case StrEnum():
            return value.value
        case tuple() | list():
            return [dump(item) for item in value]
        case _ if is_dataclass(value):
            return {f.name: dump(getattr(value, f.name)) for f in fields(value)}
        case _:
            return value  # type: ignore[return-value]


QUOTE_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"turn": {"type": "integer"}, "text": {"type": "string"}},
    "required": ["turn", "text"],
    "additionalProperties": False,
}


@per_class
def schema(form: type[Form]) -> dict[str, Any]:
    """The JSON Schema of a form, fit for strict structured output: every member required, none beside them. It refers
    to QUOTE_SCHEMA as `#/$defs/quote`."""
    hints = _hints(form)
    properties = {f.name: _schema_of(hints[f.name]) for f in fields(form)}  # type: ignore[arg-type]
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


@per_class
def _hints(form: type[Form]) -> dict[str, Any]:
    return get_type_hints(form)


def _schema_of(kind: Any) -> dict[str, Any]:
    inner, optional = _optional(kind)
    if optional:
        return {"anyOf": [_schema_of(inner), {"type": "null"}]}
    if get_origin(kind) is tuple:
        return {"type": "array", "items": _schema_of(get_args(kind)[0])}
    if issubclass(kind, StrEnum):
        return {"type": "string", "enum": [member.value for member in kind]}
    if issubclass(kind, Quote):
        return {"$ref": "#/$defs/quote"}
    if issubclass(kind, Form):
        return schema(kind)
    return {"type": {str: "string", int: "integer", bool: "boolean"}[kind]}


_Decode = Callable[[object, Reader, Path], object]


@per_class
def _decoders(form: type[Form]) -> tuple[tuple[str, _Decode, bool], ...]:
    """Of each member its name, how it is decoded when it is there, and whether it may be absent."""
    kinds = {f.name: _optional(_hints(form)[f.name]) for f in fields(form)}  # type: ignore[arg-type]
    return tuple((name, _decoder(kind), optional) for name, (kind, optional) in kinds.items())


def _decoder(kind: Any) -> _Decode:
    inner, optional = _optional(kind)
    if optional:
        decode = _decoder(inner)
        return lambda raw, reader, path: None if _absent(raw) else decode(raw, reader, path)
    if get_origin(kind) is tuple:
        return _list_decoder(get_args(kind)[0])
    if issubclass(kind, StrEnum):
        return lambda raw, reader, path: reader.choice(kind, raw, path)
    if issubclass(kind, Quote):
        return _quote_decoder(kind)
    if issubclass(kind, Form):
        return lambda raw, reader, path: read(kind, raw, reader, path)
    return _plain_decoder(kind)


def _absent(raw: object) -> bool:
    """Strict schemas make models fill every member: a quote of nothing says that there is none."""
    return raw is None or (isinstance(raw, dict) and raw.get("text") == "")


def _list_decoder(item: Any) -> _Decode:
    is_form = isinstance(item, type) and issubclass(item, Form)
    decode = None if is_form else _decoder(item)

    def decode_list(raw: object, reader: Reader, path: Path) -> object:
        if not isinstance(raw, list | tuple):
            raise FormError(path, f"must be a list, not {_kind(raw)}")
        if decode is None:
            return reader.form_list(item, raw, path)
        return tuple(decode(part, reader, (*path, i)) for i, part in enumerate(raw))

    return decode_list


def _quote_decoder(kind: type[Quote]) -> _Decode:
    def decode_quote(raw: object, reader: Reader, path: Path) -> Quote:
        if not isinstance(raw, dict):
            raise FormError(path, f"must be an object with turn and text, not {_kind(raw)}")
        turn, text = raw.get("turn"), raw.get("text")
        if not isinstance(turn, int) or isinstance(turn, bool) or not isinstance(text, str):
            raise FormError(path, "must be an object with turn (a whole number) and text (a string)")
        return reader.quote(kind, raw, path)

    return decode_quote


def _plain_decoder(kind: type) -> _Decode:
    def decode_plain(raw: object, _reader: Reader, path: Path) -> object:
        if type(raw) is kind:
            return raw
        if kind is int and isinstance(raw, float) and raw.is_integer():
            return int(raw)
        if not isinstance(raw, kind) or (kind is int and isinstance(raw, bool)):
            raise FormError(path, f"must be {_NAMES[kind]}, not {_kind(raw)}")
        return raw

    return decode_plain


_NAMES = {str: "a string", int: "a whole number", bool: "true or false"}


def _kind(raw: object) -> str:
    match raw:
        case None:
            return "null"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case Mapping():
            return "an object"
        case Sequence():
            return "a list"
        case _:
            return type(raw).__name__


def _optional(kind: Any) -> tuple[Any, bool]:
    if get_origin(kind) in (Union, types.UnionType):
        rest = [arg for arg in get_args(kind) if arg is not type(None)]
        if len(rest) == 1:
            return rest[0], True
        raise TypeError(f"a form's field cannot be {kind}")
    return kind, False
