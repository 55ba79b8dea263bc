"""Scenario files, YAML or JSON: what is said to the agent, and what is expected of it."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol, Self

import orjson
from pydantic import Field, SkipValidation, model_validator

from agenteval.datasets import files, json_text, schemas, yaml_text
from agenteval.datasets.document import Document, Problems
from agenteval.datasets.fields import Id, Name, Positive, Rate, Said, Strict, Tags, Text, Texts
from agenteval.domain.errors import InputError
from agenteval.domain.exact import exact
from agenteval.domain.scenario import (
    Case,
    CaseType,
    EffectivePolicy,
    Expectation,
    Layer,
    Policy,
    RuleLogic,
    RuleSpec,
    Scenario,
    VerdictPolicy,
    full_name,
)

Format = Literal["yaml", "json"]
SUFFIXES: Mapping[str, Format] = {".yaml": "yaml", ".yml": "yaml", ".json": "json"}


_EXAMPLE = {
    "name": "预约维修服务",
    "cases": [
        {
            "id": "case-001",
            "messages": ["我家空调坏了，想预约维修", "我叫张三", "电话是 13800138000"],
            "eval_rules": [{"type": "keyword_match", "params": {"any_of": ["预约", "安排"]}, "weight": 2}],
            "expectation": {"max_latency_ms": 5000},
        }
    ],
}


class Warns(Protocol):
    def warnings(self, case: Case) -> Iterable[str]: ...


class Bound(Protocol):
    """A rule in its place in a case."""

    @property
    def label(self) -> str: ...

    @property
    def rule(self) -> Warns: ...


Bind = Callable[[Case, str], Iterable[Bound]]
"""`rules.build.bind`: the rules of a case. Raises InputError with JSON pointers below the one given."""


@dataclass(frozen=True, slots=True)
class LoadedScenario:
    """`warnings`: what its author should look at, though it can be run."""

    scenario: Scenario
    warnings: tuple[str, ...]


def load(path: Path, bind: Bind) -> LoadedScenario:
    """Raises InputError with every problem of the file. A file that does not end in .json is YAML."""
    text = files.decode(files.read(path), str(path))
    return loads(text, str(path), SUFFIXES.get(path.suffix.lower(), "yaml"), bind)


def loads(text: str, name: str, format: Format, bind: Bind) -> LoadedScenario:  # noqa: A002 - what it is called
    """The same from a text; `name` is what messages call it."""
    parse = json_text.parse if format == "json" else yaml_text.parse
    reading = _Reading(parse(text, name, as_written=True), bind)
    scenario = reading.scenario()
    if reading.problems or scenario is None:
        raise reading.problems.error()
    return LoadedScenario(scenario, (*reading.document.notes, *reading.warnings))


def load_all(paths: Iterable[Path], bind: Bind) -> list[LoadedScenario]:
    """The scenarios of several files, and of all YAML and JSON files in folders and below. Case ids become unique: an
    id that two scenarios share becomes `<scenario's name>/<id>` in both. Raises InputError with every problem of every
    file."""
    loaded: list[LoadedScenario] = []
    problems = Problems()
    for path in paths:
        try:
            found = _files(path)
        except InputError as error:
            problems.append(error)
            continue
        for file in found:
            try:
                loaded.append(load(file, bind))
            except InputError as error:
                problems.extend(error.problems or [error])
    if problems:
        raise problems.error()
    return _distinct(loaded)


def dump(scenario: Scenario, format: Format = "yaml") -> str:  # noqa: A002 - what it is called
    """The text that `loads` reads back to an equal scenario."""
    data = _written(scenario)
    return yaml_text.dump(data) if format == "yaml" else orjson.dumps(data, option=orjson.OPT_INDENT_2).decode() + "\n"


def schema(rules: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of scenario files; `rules`: the schema of each rule's parameters."""
    whole = schemas.of(_Scenario, "AgentEval scenario", [_EXAMPLE])
    case = whole["properties"]["cases"]["items"]
    schemas.choose(whole, case["properties"]["eval_rules"]["items"], "type", rules)
    return whole


# ---- the file --------------------------------------------------------------------------------------------------------


class _Policy(Strict):
    """How a case is decided. What a case leaves out is the scenario's."""

    rule_logic: RuleLogic | None = None
    """How the rules count together. Default: all."""
    rule_pass_threshold: Rate | None = None
    """What the weighted mean must reach under rule_logic: weighted. Default: 0.7."""
    verdict_policy: VerdictPolicy | None = None
    """What decides the case's level. Default: layered."""
    success_threshold: Rate | None = None
    """The completion from which on a case is a success. Default: 0.8."""
    partial_threshold: Rate | None = None
    """The completion from which on a case is a partial success. Default: 0.5."""


class _Rule(Strict):
    """A rule that judges the dialog."""

    type: Text
    """Which rule."""
    params: dict[str, Any] = Field(default_factory=dict)
    """Its parameters."""
    weight: Positive = Field(default=Fraction(1), json_schema_extra={"default": 1})
    """Its share under rule_logic: weighted."""
    label: Name = ""
    """Names the rule in the report, once in a case. Default: its type."""
    layer: Layer | None = None
    """L1 (intent), L2 (completion) or none. Default: the rule's own."""
    hard: bool | None = None
    """Whether the case fails when this rule fails."""


class _Expectation(Strict):
    """Plain expectations of the last reply; each is a rule that must pass."""

    keywords_all: Texts | None = None
    """All of them stand in it."""
    keywords_any: Texts | None = None
    """At least one of them does."""
    keywords_none: Texts | None = None
    """None of them does."""
    max_latency_ms: Positive | None = None
    """It came within this time."""
    json_schema: dict[str, Any] | None = None
    """It is JSON that fits."""
    reference: Said | None = None
    """It means the same as this."""


class _Case(_Policy):
    """One dialog to hold. `messages` are sent in order, whatever the agent answers."""

    id: Id | None = None
    """Unique in the scenario. Default: case-001 and so on, by its place."""
    name: Name = ""
    """For people; shown in reports."""
    description: Text = ""
    """For people."""
    tags: Tags = ()
    """Kept with the case, and part of the JSON report."""
    type: CaseType | None = None
    """single_turn has exactly one message. Default: by the number of messages."""
    messages: Texts
    """What the user says."""
    eval_rules: tuple[SkipValidation[_Rule], ...] = ()
    """How the dialog is judged."""
    expectation: SkipValidation[_Expectation] | None = None
    """Plain expectations of the last reply."""

    @model_validator(mode="after")
    def _one_message(self) -> Self:
        if self.type is CaseType.SINGLE_TURN and len(self.messages) != 1:
            raise ValueError(f"type: single_turn has exactly one message, this case has {len(self.messages)}")
        return self


class _Scenario(_Policy):
    """What is said to the agent, and what is expected of it."""

    name: Id
    """Shown in reports; tells apart cases of the same id in several files."""
    description: Text = ""
    """For people."""
    tags: Tags = ()
    """For people."""
    cases: Annotated[tuple[SkipValidation[_Case], ...], Field(min_length=1)]
    """The dialogs to hold, at least one."""


class _Reading:
    """Every part is checked by itself, so that a fault in one hides none in another."""

    def __init__(self, document: Document, bind: Bind) -> None:
        self.document = document
        self.problems = Problems()
        self.warnings: list[str] = []
        self._bind = bind
        self._places: dict[str, str] = {}  # of case ids

    def scenario(self) -> Scenario | None:
        """None when there are problems."""
        raw = self.document.value
        if isinstance(raw, Mapping) and "channel" in raw and "cases" not in raw:
            raise self.document.problem("", "looks like a target file, no scenario", "give it with --target")
        head = self.document.check(_Scenario, raw, "", self.problems)
        policy = self._policy(head, Policy(), "")
        cases = [self._case(case, i, policy) for i, case in enumerate(_list(raw, "cases"))]
        if self.problems or head is None:
            return None
        return Scenario(head.name, tuple(filter(None, cases)), head.description, head.tags, policy)

    def _case(self, raw: object, i: int, outer: Policy) -> Case | None:
        pointer = f"/cases/{i}"
        head = self.document.check(_Case, raw, pointer, self.problems)
        given = [
            self.document.check(_Rule, rule, f"{pointer}/eval_rules/{n}", self.problems)
            for n, rule in enumerate(_list(raw, "eval_rules"))
        ]
        plain = raw.get("expectation") if isinstance(raw, Mapping) else None
        expectation = None
        if plain is not None:
            expectation = self.document.check(_Expectation, plain, f"{pointer}/expectation", self.problems)
        case = Case(
            id=(head and head.id) or f"case-{i + 1:03d}",
            messages=head.messages if head else ("?",),
            eval_rules=tuple(RuleSpec(**dict(rule)) for rule in given if rule),
            expectation=Expectation(**dict(expectation)) if expectation else None,
            policy=self._policy(head, outer, pointer),
        )
        bound = self._rules(case, pointer, [n for n, rule in enumerate(given) if rule])
        if head is None:
            return None
        self._take_id(case.id, pointer)
        case = replace(case, name=head.name, description=head.description, tags=head.tags, type=head.type)
        if not case.eval_rules and case.expectation in (None, Expectation()):
            self._warn(pointer, "has no rule and no expectation: its dialog is held, but decides nothing")
        for rule in bound:
            for warning in rule.rule.warnings(case):
                self._warn(pointer, f"{rule.label}: {warning}")
        return case

    def _rules(self, case: Case, pointer: str, numbers: Sequence[int]) -> Sequence[Bound]:
        """The rules of a case; `numbers` are the places in the file of those that it has."""
        try:
            return tuple(self._bind(case, pointer))
        except InputError as error:
            for problem in error.problems or [error]:
                where = re.sub(
                    f"(?<=^{re.escape(pointer)}/eval_rules/)[0-9]+", lambda n: str(numbers[int(n[0])]), problem.where
                )
                self.problems.append(self.document.problem(where, problem.message, problem.fix))
            return ()

    def _policy(self, given: _Policy | None, outer: Policy, pointer: str) -> Policy:
        policy = Policy(**{name: getattr(given, name) for name in _POLICY}) if given else Policy()
        try:
            if policy != Policy():
                EffectivePolicy.of(policy, outer)
        except ValueError as error:
            self.problems.append(self.document.problem(pointer, str(error)))
            return Policy()
        return policy

    def _take_id(self, case_id: str, pointer: str) -> None:
        first = self._places.setdefault(case_id, pointer)
        if first != pointer:
            self.problems.append(self.document.problem(f"{pointer}/id", f"the id {case_id!r} is that of {first}"))

    def _warn(self, pointer: str, message: str) -> None:
        self.warnings.append(f"{self.document.place(pointer)}: {message}")


def _list(raw: object, name: str) -> Sequence[object]:
    found = raw.get(name) if isinstance(raw, Mapping) else None
    return found if isinstance(found, list) else ()


# ---- several files ---------------------------------------------------------------------------------------------------


def files_below(paths: Iterable[Path]) -> list[Path]:
    """The files that `load_all` reads."""
    return [file for path in paths for file in _files(path)]


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    visible = (file for file in path.rglob("*") if not any(p.startswith(".") for p in file.relative_to(path).parts))
    found = sorted(file for file in visible if file.suffix.lower() in SUFFIXES and file.is_file())
    if not found:
        raise InputError(
            "there is no scenario in this folder", where=str(path), fix=f"they end in {', '.join(SUFFIXES)}"
        )
    return found


def _distinct(loaded: Sequence[LoadedScenario]) -> list[LoadedScenario]:
    times = Counter(case.id for one in loaded for case in one.scenario.cases)
    distinct = []
    for one in loaded:
        name = one.scenario.name
        cases = [
            replace(case, id=full_name(name, case.id)) if times[case.id] > 1 else case for case in one.scenario.cases
        ]
        distinct.append(replace(one, scenario=replace(one.scenario, cases=tuple(cases))))
    still = Counter(case.id for one in distinct for case in one.scenario.cases)
    full_names = Counter(full_name(one.scenario.name, case.id) for one in distinct for case in one.scenario.cases)
    if doubled := [case_id for case_id, n in (still | full_names).items() if n > 1]:
        shown = ", ".join(map(repr, doubled[:3]))
        raise InputError(
            f"{len(doubled)} case ids are used by two scenarios of one name: {shown}", fix="name the scenarios apart"
        )
    return distinct


# ---- writing ---------------------------------------------------------------------------------------------------------

_POLICY = tuple(f.name for f in fields(Policy))
_FIRST = ("id", "type", "name", "description", "tags", "messages", *_POLICY)


def _written(value: Any) -> Any:
    """What stands in a file for a part of a scenario; what is as by default is left out."""
    match value:
        case Policy() | Scenario() | Case() | RuleSpec() | Expectation():
            members: dict[str, Any] = {}
            for f in fields(value):
                member = getattr(value, f.name)
                if isinstance(member, Policy):
                    members |= _written(member)
                elif member != (f.default if f.default_factory is MISSING else f.default_factory()):
                    members[f.name] = _written(member)
            return {name: members[name] for name in (*_FIRST, *members) if name in members}
        case Fraction():
            return _number(value)
        case StrEnum():
            return value.value
        case tuple():
            return [_written(part) for part in value]
        case _:
            return value


def _number(value: Fraction) -> int | float | str:
    """A number that reads back to the same fraction, or text that does."""
    try:
        short = int(value) if value.denominator == 1 else float(value)
    except OverflowError:
        return str(value)
    return short if exact(short) == value and abs(short) < 2**53 else str(value)
