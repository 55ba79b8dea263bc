"""What the judge is asked about a labelled dialog, as the rules of a case, and what the results say of each item.

A label is never part of a rule, except an expected value and the expected intents, which the product itself keeps from
every prompt.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from agenteval.domain.outcome import ONE, ResultStatus, RuleResult, SuccessLevel
from agenteval.domain.scenario import RuleSpec
from agenteval.engine.evaluate import Evaluation
from benchmarks.judge_quality.gold import Measure, Row, Slot

TYPES = {"number", "date", "time", "phone", "email"}
"""Types of slots that the product knows, too; all others are text."""
NO_INTENT = "-"


class Verdict(NamedTuple):
    """What the judge says: yes or no, the intent by name, None when it is not decided. `why`: the product's detail."""

    given: bool | str | None
    why: Mapping[str, Any]


Verdicts: TypeAlias = Iterator[tuple[tuple[Measure, str], Verdict]]


class Part(NamedTuple):
    """Questions that are put together. A later part finds the answers to what an earlier one has asked."""

    rules: Callable[[Row], list[RuleSpec]]
    verdicts: Callable[[Row, Evaluation], Verdicts]


def _blind_rules(row: Row) -> list[RuleSpec]:
    """The rules that a case with these items would have; nothing is expected but the intent that was drawn."""
    rules = []
    if row.has_intents:
        rules.append(_intents(row, row.drawn, label=Measure.INTENTS))
    if row.slots:
        slots = [_slot(slot) for slot in row.slots]
        rules.append(_completion(Measure.SLOTS, mode="slot", required_slots=slots, uptake="stated"))
    if row.steps:
        rules.append(_completion(Measure.STEPS, mode="step", required_steps=_steps(row), order="none"))
    if row.complete is not None:
        rules.append(RuleSpec("conversation_completeness", label=Measure.COMPLETENESS))
    return rules


def _blind_verdicts(row: Row, evaluation: Evaluation) -> Verdicts:
    for result in evaluation.results:
        match Measure(result.label):
            case Measure.INTENTS:
                yield from _of_intents(row, result)
            case Measure.STEPS:
                yield from _of_steps(result)
            case Measure.COMPLETENESS:
                yield (Measure.COMPLETENESS, ""), Verdict(_complete(result), result.detail)
            case measure:
                yield from _of_slots(measure, result)


def _expected_rules(row: Row) -> list[RuleSpec]:
    slots = [{**_slot(slot), "expected_value": slot.expected} for slot in row.slots if slot.expected is not None]
    if not slots:
        return []
    return [_completion(Measure.SLOTS_EXPECTED, mode="slot", required_slots=slots, uptake="stated")]


def _expected_verdicts(row: Row, evaluation: Evaluation) -> Verdicts:
    [result] = evaluation.results
    return _of_slots(Measure.SLOTS_EXPECTED, result)


def _whole_rules(row: Row) -> list[RuleSpec]:
    """All three layers with the default policy: the intents, the steps in any order, and all that the user wanted.
    Slots are left out, for some of those that are labelled serve no task of the dialog."""
    if row.success is None:
        return []
    rules = [_intents(row, list(row.intents))] if row.has_intents else []
    rules += [_completion("", mode="step", required_steps=_steps(row), order="none")] if row.steps else []
    return [*rules, RuleSpec("conversation_completeness")]


def _whole_verdicts(row: Row, evaluation: Evaluation) -> Verdicts:
    outcome = evaluation.outcome
    low, high = outcome.level_bounds or (outcome.success_level, outcome.success_level)
    success = low is SuccessLevel.SUCCESS if low is high or high is not SuccessLevel.SUCCESS else None
    why = {"low": low, "high": high, "rules": [result.reason for result in evaluation.results]}
    yield (Measure.SUCCESS, ""), Verdict(None if low is None else success, why)


PARTS: Sequence[Part] = (
    Part(_blind_rules, _blind_verdicts),
    Part(_expected_rules, _expected_verdicts),
    Part(_whole_rules, _whole_verdicts),
)


# ---- rules -----------------------------------------------------------------------------------------------------------


def _intents(row: Row, expected: str | list[str], label: str = "") -> RuleSpec:
    params = {"expected_intent": expected, "intent_taxonomy": row.taxonomy}
    return RuleSpec("intent_classification", params, label=label)


def _completion(label: str, **params: Any) -> RuleSpec:
    return RuleSpec("task_completion", params, label=label)


def _slot(slot: Slot) -> dict[str, Any]:
    kind = slot.type if slot.type in TYPES else "text"
    return {"name": slot.name, "description": slot.description, "type": kind}


def _steps(row: Row) -> list[dict[str, str]]:
    return [{"name": step.name, "description": step.description} for step in row.steps]


# ---- results ---------------------------------------------------------------------------------------------------------


def _of_slots(measure: Measure, result: RuleResult) -> Verdicts:
    for name, slot in result.detail.get("slots", {}).items():
        yield (measure, name), Verdict(slot["stated"], slot)


def _of_steps(result: RuleResult) -> Verdicts:
    """Whether the agent did it; not whether that earns credit."""
    for name, step in result.detail.get("steps", {}).items():
        done = {"done": True, "not_done": False, "claim_contradicted": False}.get(step["status"])
        yield (Measure.STEPS, name), Verdict(done, step)


def _of_intents(row: Row, result: RuleResult) -> Verdicts:
    """The intent that the agent acted on last, and whether the one that was drawn counts as acted on."""
    verdict, acted_on = result.detail.get("verdict"), result.detail.get("acted_on", ())
    final = next((act["intent"] for act in acted_on), NO_INTENT)
    yield (Measure.INTENTS, ""), Verdict(final if verdict else None, result.detail)
    yield (Measure.EXPECTED_INTENT, row.drawn), Verdict(verdict == "correct" if verdict else None, result.detail)


def _complete(result: RuleResult) -> bool | None:
    """None also where the judge finds that nothing was asked for."""
    low, high = result.bounds
    if result.status is ResultStatus.NOT_APPLICABLE or (low < ONE and high == ONE):
        return None
    return low == ONE
