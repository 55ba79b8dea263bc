"""What an author writes: slots to be collected, steps to be done. Everything that cannot mean anything is refused."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from graphlib import CycleError, TopologicalSorter
from typing import Annotated, Any, ClassVar, TypeAlias

from pydantic import BeforeValidator, ConfigDict, WithJsonSchema

from agenteval.domain.regex import compile_pattern
from agenteval.domain.slots import SlotType
from agenteval.domain.text import fold, is_blank
from agenteval.rules.params import Weight


class Mode(StrEnum):
    SLOT = "slot"
    STEP = "step"
    HYBRID = "hybrid"


class Uptake(StrEnum):
    """How far a value must have come to count: said; and taken up by the agent; and asked for, repeated or used."""

    STATED = "stated"
    ACCEPTED = "accepted"
    CONFIRMED = "confirmed"


class Order(StrEnum):
    """`sequence`: only the longest chain of steps in order is credited. `advisory`: the order is shown, not counted."""

    SEQUENCE = "sequence"
    NONE = "none"
    ADVISORY = "advisory"


@dataclass(frozen=True, slots=True)
class ValuePattern:
    """An expected value that is known by its shape (RE2)."""

    pattern: str


def _expected(value: Any) -> Any:
    match value:
        case None | ValuePattern():
            return value
        case Mapping():
            if list(value) != ["pattern"] or not isinstance(value["pattern"], str):
                raise ValueError('must be a value, a list of values, or {"pattern": "..."}')
            return ValuePattern(value["pattern"])
        case list() | tuple():
            return tuple(_scalar(item) for item in value)
        case _:
            return (_scalar(value),)


def _scalar(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float | Fraction):
        raise ValueError(f"must be text or a number, not {value!r}; put it in quotes")
    return str(value)


_SCALAR_SCHEMA = {"type": ["string", "number"]}
Expected: TypeAlias = Annotated[
    tuple[str, ...] | ValuePattern | None,
    BeforeValidator(_expected),
    WithJsonSchema(
        {
            "anyOf": [
                *({"type": kind} for kind in ("string", "number", "null")),
                {"type": "array", "items": _SCALAR_SCHEMA, "minItems": 1},
                {
                    "type": "object",
                    "properties": {"pattern": {"type": "string"}},
                    "required": ["pattern"],
                    "additionalProperties": False,
                },
            ]
        }
    ),
]


@dataclass(frozen=True, slots=True)
class Slot:
    """A piece of information that the agent has to collect.

    `expected_value` is what it must get: a value, several that are equally good, or a pattern; only code ever sees it.
    A value that is not of the `type`, does not match the `pattern` (RE2, the whole value) or is none of the `values`
    is invalid. `examples` are shown to the judge.
    """

    __pydantic_config__: ClassVar[ConfigDict] = {"extra": "forbid"}

    name: str
    description: str = ""
    expected_value: Expected = None
    type: SlotType = SlotType.TEXT
    pattern: str = ""
    values: tuple[str, ...] = ()
    optional: bool = False
    critical: bool = False
    weight: Weight = Fraction(1)
    examples: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _check_name(f"slot {self.name!r}", self.name, self.optional, self.critical)
        if any(is_blank(value) for value in self.values):
            raise ValueError(f"slot {self.name!r}: values must not be blank")
        try:
            for pattern in self.patterns:
                compile_pattern(pattern)
        except ValueError as error:
            raise ValueError(f"slot {self.name!r}: {error}") from None
        if isinstance(self.expected_value, tuple):
            self._check_expected(self.expected_value)

    def _check_expected(self, expected: tuple[str, ...]) -> None:
        if not expected or any(is_blank(value) for value in expected):
            raise ValueError(f"slot {self.name!r}: expected_value must not be blank")
        listed = {fold(value.strip()) for value in self.values}
        for value in expected:
            if listed and fold(value.strip()) not in listed:
                raise ValueError(f"slot {self.name!r}: expected_value {value!r} is none of its values")
            if self.pattern and not compile_pattern(self.pattern).fullmatch(value):
                raise ValueError(f"slot {self.name!r}: expected_value {value!r} does not match its pattern")

    @property
    def patterns(self) -> tuple[str, ...]:
        expected = (self.expected_value.pattern,) if isinstance(self.expected_value, ValuePattern) else ()
        return (*expected, *([self.pattern] if self.pattern else []))

    @property
    def constrained(self) -> bool:
        """Whether code can tell a possible value from other words."""
        return self.type is not SlotType.TEXT or bool(self.pattern or self.values)

    @property
    def item(self) -> str:
        return f"slot:{self.name}"


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool call that is the step. `ok` None: any call that is not reported as failed."""

    __pydantic_config__: ClassVar[ConfigDict] = {"extra": "forbid"}

    name: str
    ok: bool | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """Something that the agent has to have done.

    `when`: a condition, in words; the step counts only if it holds. `depends_on`: steps that must be shown at or before
    it. `satisfied_by_slot`: done when that slot is filled. `keywords`: done when the agent says one of them. `tool`:
    done by that call.
    """

    __pydantic_config__: ClassVar[ConfigDict] = {"extra": "forbid"}

    name: str
    description: str = ""
    optional: bool = False
    critical: bool = False
    when: str = ""
    depends_on: tuple[str, ...] = ()
    satisfied_by_slot: str = ""
    keywords: tuple[str, ...] = ()
    tool: ToolUse | None = None

    def __post_init__(self) -> None:
        _check_name(f"step {self.name!r}", self.name, self.optional, self.critical)
        if any(is_blank(keyword) for keyword in self.keywords):
            raise ValueError(f"step {self.name!r}: keywords must not be blank")
        if self.satisfied_by_slot and (self.keywords or self.tool):
            raise ValueError(f"step {self.name!r}: satisfied_by_slot decides it; remove its keywords and tool")

    @property
    def item(self) -> str:
        return f"step:{self.name}"


def _check_name(item: str, name: str, optional: bool, critical: bool) -> None:
    if is_blank(name):
        raise ValueError(f"{item}: the name must not be blank")
    if critical and optional:
        raise ValueError(f"{item}: an item cannot be both critical and optional")


def check(mode: Mode, slots: Sequence[Slot], steps: Sequence[Step]) -> None:
    """Raises ValueError naming every item that stands in no relation to the others in which it could be judged."""
    problems = [*_unused(mode, slots, steps), *_doubled("slot", slots), *_doubled("step", steps)]
    if all(slot.optional for slot in slots) and all(step.optional for step in steps):
        problems.append(f"mode {mode}: at least one required item is needed in {_lists(mode)}")
    problems += _unknown(slots, steps)
    if not problems:
        problems += _cycle(steps)
    if problems:
        raise ValueError("; ".join(problems))


def _lists(mode: Mode) -> str:
    return {
        Mode.SLOT: "required_slots",
        Mode.STEP: "required_steps",
        Mode.HYBRID: "required_slots or required_steps",
    }[mode]


def _unused(mode: Mode, slots: Sequence[Slot], steps: Sequence[Step]) -> Iterable[str]:
    if mode is Mode.SLOT and steps:
        yield f"step {steps[0].name!r}: mode slot has no required_steps; use mode hybrid"
    if mode is Mode.STEP and slots:
        yield f"slot {slots[0].name!r}: mode step has no required_slots; use mode hybrid"


def _doubled(kind: str, items: Sequence[Slot] | Sequence[Step]) -> Iterable[str]:
    counts = Counter(item.name for item in items)
    return (f"{kind} {name!r} is listed {count} times" for name, count in counts.items() if count > 1)


def _unknown(slots: Sequence[Slot], steps: Sequence[Step]) -> Iterable[str]:
    slot_names, step_names = {slot.name for slot in slots}, {step.name for step in steps}
    for step in steps:
        for name in step.depends_on:
            if name not in step_names:
                yield f"step {step.name!r}: depends_on {name!r} is no step"
        if step.satisfied_by_slot and step.satisfied_by_slot not in slot_names:
            yield f"step {step.name!r}: satisfied_by_slot {step.satisfied_by_slot!r} is no slot"


def _cycle(steps: Sequence[Step]) -> Iterable[str]:
    try:
        TopologicalSorter({step.name: step.depends_on for step in steps}).prepare()
    except CycleError as error:
        yield f"step {error.args[1][0]!r}: depends_on goes in a circle: {' -> '.join(reversed(error.args[1]))}"
