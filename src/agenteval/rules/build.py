"""From a scenario's rule specifications to rules: parameters checked, expectations made explicit, labels unique."""

from collections import Counter
from dataclasses import dataclass, fields

from agenteval.domain.errors import InputError
from agenteval.domain.scenario import Case, Expectation, Layer, RuleSpec
from agenteval.rules import RULES, EvalRule


@dataclass(frozen=True, slots=True)
class BoundRule:
    """A rule in its place in a case: what the scenario decides about it."""

    rule: EvalRule
    spec: RuleSpec
    label: str
    layer: Layer | None
    hard: bool
    implicit: bool = False


def bind(case: Case, where: str = "") -> tuple[BoundRule, ...]:
    """All rules of a case, the explicit ones first. Raises InputError listing every rule that cannot be built, by its
    JSON pointer below `where`."""
    bound: list[BoundRule] = []
    problems: list[InputError] = []
    given = Counter(spec.label for spec in case.eval_rules if spec.label)
    taken = set(given)
    specs = [(f"{where}/eval_rules/{i}", spec, False) for i, spec in enumerate(case.eval_rules)]
    specs += [(f"{where}/expectation/{name}", spec, True) for name, spec in implicit(case.expectation)]
    for pointer, spec, is_implicit in specs:
        try:
            rule = build(spec, pointer)
        except InputError as error:
            problems.extend(error.problems or [error])
            continue
        if given[spec.label] > 1:
            problems.append(InputError(f"label {spec.label!r} is used twice in this case", where=f"{pointer}/label"))
        label = spec.label or _unique(spec.type, taken)
        taken.add(label)
        bound.append(
            BoundRule(
                rule=rule,
                spec=spec,
                label=label,
                layer=_layer(rule, spec),
                hard=is_implicit or (rule.hard if spec.hard is None else spec.hard),
                implicit=is_implicit,
            )
        )
    if problems:
        raise InputError.all(problems)
    return tuple(bound)


class BoundRules:
    """The rules of cases, bound once for all cases that have the same."""

    _MOST = 1_000

    def __init__(self) -> None:
        self._bound: dict[str, tuple[BoundRule, ...]] = {}
        self._last: tuple[Case, tuple[BoundRule, ...]] | None = None

    def of(self, case: Case) -> tuple[BoundRule, ...]:
        if self._last:
            last, rules = self._last
            if case.eval_rules is last.eval_rules and case.expectation is last.expectation:
                return rules
        key = repr((case.eval_rules, case.expectation))
        if key not in self._bound:
            if len(self._bound) >= self._MOST:
                self._bound.clear()
            self._bound[key] = bind(case)
        self._last = case, self._bound[key]
        return self._bound[key]


def build(spec: RuleSpec, where: str = "") -> EvalRule:
    """One rule from its specification. Raises InputError by JSON pointers below `where`."""
    return RULES.build(spec.type, spec.params, name_at=f"{where}/type", params_at=f"{where}/params")


def implicit(expectation: Expectation | None) -> list[tuple[str, RuleSpec]]:
    """The rules that a case's plain expectations stand for, by the field they come from."""
    if expectation is None:
        return []
    as_rule = {
        "keywords_all": ("keyword_match", "all_of"),
        "keywords_any": ("keyword_match", "any_of"),
        "keywords_none": ("keyword_match", "none_of"),
        "max_latency_ms": ("response_time", "threshold_ms"),
        "json_schema": ("json_schema", "schema"),
        "reference": ("semantic_similarity", "reference"),
    }
    return [
        (f.name, RuleSpec(type=as_rule[f.name][0], params={as_rule[f.name][1]: value}, label=f"expectation.{f.name}"))
        for f in fields(expectation)
        if (value := getattr(expectation, f.name)) is not None
    ]


def _layer(rule: EvalRule, spec: RuleSpec) -> Layer | None:
    layer = rule.layer if spec.layer is None else spec.layer
    return None if layer is Layer.NONE else layer


def _unique(label: str, taken: set[str]) -> str:
    candidate, n = label, 1
    while candidate in taken:
        n += 1
        candidate = f"{label}-{n}"
    return candidate
