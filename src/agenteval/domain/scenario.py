"""What is tested: a scenario is a list of cases, a case is the user's messages and what is expected of the agent."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
from typing import Any

from agenteval.domain.json_value import Json
from agenteval.domain.quick_init import quick_init


class CaseType(StrEnum):
    SINGLE_TURN = "single_turn"
    MULTI_TURN = "multi_turn"


class RuleLogic(StrEnum):
    """How a case's explicit rules are combined: all pass, any passes, or the weighted mean reaches the threshold."""

    ALL = "all"
    ANY = "any"
    WEIGHTED = "weighted"


class VerdictPolicy(StrEnum):
    """What decides L3: the layers with a failed rule logic as a defect; the layers with it as a failure; it alone."""

    LAYERED = "layered"
    STRICT = "strict"
    RULES = "rules"


class Layer(StrEnum):
    """`NONE` takes a rule out of its default layer."""

    L1 = "L1"
    L2 = "L2"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Policy:
    """How a case is decided. A field left None is inherited: case, then scenario, then campaign, then the default."""

    rule_logic: RuleLogic | None = None
    rule_pass_threshold: Fraction | None = None
    verdict_policy: VerdictPolicy | None = None
    success_threshold: Fraction | None = None
    partial_threshold: Fraction | None = None

    def over(self, outer: "Policy") -> "Policy":
        """This policy, with what it leaves open taken from `outer`."""
        open_fields = [f.name for f in fields(self) if getattr(self, f.name) is None]
        return replace(self, **{name: getattr(outer, name) for name in open_fields})


DEFAULT_POLICY = Policy(
    rule_logic=RuleLogic.ALL,
    rule_pass_threshold=Fraction(7, 10),
    verdict_policy=VerdictPolicy.LAYERED,
    success_threshold=Fraction(8, 10),
    partial_threshold=Fraction(5, 10),
)


@dataclass(frozen=True, slots=True)
class EffectivePolicy:
    """A policy with nothing open; 0 < partial <= success <= 1 (ValueError otherwise)."""

    rule_logic: RuleLogic
    rule_pass_threshold: Fraction
    verdict_policy: VerdictPolicy
    success_threshold: Fraction
    partial_threshold: Fraction

    def __post_init__(self) -> None:
        if not 0 < self.partial_threshold <= self.success_threshold <= 1:
            raise ValueError(
                "thresholds must satisfy 0 < partial_threshold <= success_threshold <= 1, "
                f"not {float(self.partial_threshold):g} and {float(self.success_threshold):g}"
            )
        if not 0 <= self.rule_pass_threshold <= 1:
            raise ValueError(f"rule_pass_threshold must be within 0..1, not {float(self.rule_pass_threshold):g}")

    @classmethod
    @lru_cache(maxsize=1024)  # the cases of a run share a few
    def of(cls, *policies: Policy) -> "EffectivePolicy":
        """The nearest wins: `of(case, scenario, campaign)`."""
        merged = Policy()
        for policy in (*policies, DEFAULT_POLICY):
            merged = merged.over(policy)
        return cls(**{f.name: getattr(merged, f.name) for f in fields(Policy)})


@dataclass(frozen=True, slots=True)
class Expectation:
    """Plain expectations; each field that is set becomes one implicit, hard rule of the same kind."""

    keywords_all: tuple[str, ...] | None = None
    keywords_any: tuple[str, ...] | None = None
    keywords_none: tuple[str, ...] | None = None
    max_latency_ms: Fraction | None = None
    json_schema: Mapping[str, Json] | None = None
    reference: str | None = None


@dataclass(frozen=True, slots=True)
class RuleSpec:
    """A rule as a scenario names it. `layer` None keeps the rule's own layer; `hard` None the rule's own default."""

    type: str
    params: Mapping[str, Any] = field(default_factory=dict)
    weight: Fraction = Fraction(1)
    label: str = ""
    layer: Layer | None = None
    hard: bool | None = None


@quick_init
@dataclass(frozen=True, slots=True)
class Case:
    """One dialog to hold: `messages` are sent in order, whatever the agent answers."""

    id: str
    messages: tuple[str, ...]
    eval_rules: tuple[RuleSpec, ...] = ()
    expectation: Expectation | None = None
    policy: Policy = Policy()
    name: str = ""
    description: str = ""
    tags: tuple[str, ...] = ()
    type: CaseType | None = None

    @property
    def kind(self) -> CaseType:
        return self.type or (CaseType.SINGLE_TURN if len(self.messages) == 1 else CaseType.MULTI_TURN)


def full_name(scenario: str, case_id: str) -> str:
    """`<scenario>/<id>`: the case's name whatever else runs beside its scenario."""
    return case_id if case_id.startswith(f"{scenario}/") else f"{scenario}/{case_id}"


@dataclass(frozen=True, slots=True)
class Scenario:
    name: str
    cases: tuple[Case, ...]
    description: str = ""
    tags: tuple[str, ...] = ()
    policy: Policy = Policy()
