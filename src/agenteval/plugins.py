"""The one registry of plug-ins: rules, channels and models.

Built-ins are the modules of a `builtin` package, third parties come by entry points. A plug-in's name is its module's
stem or its entry point's name; it is loaded on first use, and its class must have been marked by the kind's `register`
decorator under that name. What is broken or doubled is kept as a problem, quoted by `doctor` and by every "unknown"
error.
"""

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, NamedTuple, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic.json_schema import GenerateJsonSchema

from agenteval.domain.caching import per_class
from agenteval.domain.errors import ConfigError, InputError
from agenteval.domain.faults import advice, in_words
from agenteval.domain.json_value import below
from agenteval.domain.near import did_you_mean

T = TypeVar("T")
C = TypeVar("C", bound=type)


_KINDS: dict[type, str] = {}
"""Which kind of plug-in a class was marked as."""


class Problem(NamedTuple):
    """A plug-in that cannot be used: its name, where it comes from, and why."""

    name: str
    origin: str
    message: str

    def __str__(self) -> str:
        return f"{self.name} ({self.origin}): {self.message}"


class Registry(Generic[T]):
    """All plug-ins of one kind ("rules"), whose classes derive from `base` and have the class attribute `name`."""

    def __init__(
        self,
        kind: str,
        base: type[T],
        *,
        found: Callable[[str], Iterable[EntryPoint]] = lambda group: entry_points(group=group),
    ) -> None:
        self.kind = kind
        self.base = base
        self._found = found
        self._loaded: dict[str, type[T]] = {}
        self._broken: dict[str, Problem] = {}

    def register(self, cls: C) -> C:
        """Mark a class as a plug-in of this kind."""
        _KINDS[cls] = self.kind
        return cls

    @cached_property
    def _sources(self) -> dict[str, EntryPoint]:
        package = importlib.import_module(f"agenteval.{self.kind}.builtin")
        group = f"agenteval.{self.kind}"
        sources = {
            name: EntryPoint(name, f"{package.__name__}.{name}", group)
            for _, name, _ in pkgutil.iter_modules(package.__path__)
            if not name.startswith("_")
        }
        for entry in self._found(group):
            if entry.name in sources:
                taken = sources[entry.name]
                self._broken[f"{entry.name}#{entry.value}"] = Problem(
                    entry.name, entry.value, f"the name is taken by {taken.value}"
                )
            else:
                sources[entry.name] = entry
        return sources

    @property
    def names(self) -> list[str]:
        """Every name that can be asked for, sorted; loading one may still show a problem."""
        return sorted(self._sources)

    def get(self, name: str) -> type[T]:
        """The plug-in's class. Raises ConfigError when unknown or broken, naming what is near and what is broken."""
        if name not in self._loaded:
            self._loaded[name] = self._load(name)
        return self._loaded[name]

    def build(self, name: str, params: Mapping[str, Any], *, name_at: str, params_at: str) -> T:
        """The plug-in `name` with these parameters. Raises InputError for an unknown name, at the JSON pointer
        `name_at`, and for each bad parameter, by its pointer below `params_at`; no input value stands in it."""
        try:
            cls = self.get(name)
        except ConfigError as error:
            raise InputError(error.message, where=name_at, fix=error.fix) from error
        try:
            return _adapter(cls).validate_python(params)
        except ValidationError as error:
            raise InputError.all([_problem(fault, params_at, cls) for fault in error.errors()]) from None

    def all(self) -> list[type[T]]:
        """Every plug-in that works."""
        usable = []
        for name in self.names:
            try:
                usable.append(self.get(name))
            except ConfigError:
                continue  # kept in `problems`
        return usable

    @property
    def problems(self) -> list[Problem]:
        """What is broken or doubled, after loading everything."""
        self.all()
        return sorted(self._broken.values())

    def _load(self, name: str) -> type[T]:
        source = self._sources.get(name)
        if source is None:
            raise ConfigError(f"unknown {self.kind[:-1]} {name!r}", fix=self._advice(name))
        try:
            return self._marked_class(name, source)
        except Exception as error:
            self._broken[name] = Problem(name, source.value, f"{type(error).__name__}: {error}")
            raise ConfigError(f"{self.kind[:-1]} {name!r} cannot be loaded", fix=str(self._broken[name])) from error

    def _marked_class(self, name: str, source: EntryPoint) -> type[T]:
        loaded = source.load()
        found = [loaded] if isinstance(loaded, type) else list(vars(loaded).values())
        for cls in found:
            if (
                isinstance(cls, type)
                and issubclass(cls, self.base)
                and _KINDS.get(cls) == self.kind
                and getattr(cls, "name", None) == name
            ):
                return cls
        raise ConfigError(f"no class named {name!r} marked by @register_{self.kind[:-1]} in {source.value}")

    def _advice(self, name: str) -> str:
        advice = did_you_mean(name, self.names)
        if self._broken:
            advice += f"; broken plug-ins: {'; '.join(map(str, self._broken.values()))}"
        return advice


def parameters_schema(plugin: type[object]) -> dict[str, Any]:
    """The JSON Schema of a plug-in's parameters, for validation, reference pages and editor forms."""
    return _adapter(plugin).json_schema(schema_generator=_Schema)


class _Schema(GenerateJsonSchema):
    def encode_default(self, dft: Any) -> Any:
        """As people write it: exact numbers are numbers, and what is parsed from something has that as `written`."""
        return super().encode_default(float(dft) if isinstance(dft, Fraction) else getattr(dft, "written", dft))


@per_class
def _adapter(plugin: type[T]) -> TypeAdapter[T]:
    return TypeAdapter(plugin)


def _problem(fault: Mapping[str, Any], where: str, plugin: type[object]) -> InputError:
    message = _OF_PARAMETERS.get(fault["type"]) or in_words(fault)
    around = fault["loc"][:-1] if fault["type"] in _OF_PARAMETERS else fault["loc"]
    part = _part(parameters_schema(plugin), around)
    fix = advice(fault, part.get("properties", {}), part.get("required", ()))
    return InputError(message, where=below(where, *map(str, fault["loc"])), fix=fix)


_OF_PARAMETERS = {
    "missing": "this parameter is required",
    "missing_argument": "this parameter is required",
    "unexpected_keyword_argument": "unknown parameter",
}


def _part(schema: Mapping[str, Any], path: Sequence[str | int]) -> Mapping[str, Any]:
    """Of a plug-in's schema what describes the place `path`; empty where there is a choice that it does not tell."""
    here = schema
    for step in (None, *path):
        if step is not None:
            here = here.get("items", {}) if isinstance(step, int) else here.get("properties", {}).get(step, {})
        kinds = [kind for kind in here.get("anyOf", ()) if kind != {"type": "null"}]
        here = kinds[0] if len(kinds) == 1 else here
        if "$ref" in here:
            here = schema["$defs"][here["$ref"].rpartition("/")[2]]
    return here
