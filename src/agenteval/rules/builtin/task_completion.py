"""How much of its task an agent completed: the slots it collected and the steps it did. The parts are in
`agenteval.rules.completion`."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, cached_property, partial
from typing import Any, Literal

from agenteval.domain.exact import reaches
from agenteval.domain.outcome import RuleResult
from agenteval.domain.ports import Role
from agenteval.domain.questions import Answers, Ask, Question
from agenteval.domain.review import ReviewItem
from agenteval.domain.scenario import Case, Layer
from agenteval.domain.transcript import Dialog
from agenteval.rules import EvalRule, register_rule
from agenteval.rules.completion import slots as slot_rules
from agenteval.rules.completion import steps as step_rules
from agenteval.rules.completion.bounds import Formula
from agenteval.rules.completion.forms import (
    ConditionAnswer,
    ConfirmedSlotAnswer,
    SlotAnswer,
    StepAnswer,
    StepVerdict,
    ToolStepAnswer,
)
from agenteval.rules.completion.items import Mode, Order, Slot, Step, Uptake, check
from agenteval.rules.completion.report import detail, reason, silence_of, unknown
from agenteval.rules.completion.result import Completion, complete
from agenteval.rules.completion.warn import warnings
from agenteval.rules.params import Rate, Samples, Weight
from agenteval.rules.prompts import prompt, with_examples


@cache
def _guides() -> Mapping[str, str]:
    """The parts of the prompt file by their headings, so that a call carries only what it asks about."""
    parts = (part.partition("\n") for part in prompt("task_completion").split("## ") if part)
    return {heading.strip(): text.strip() for heading, _, text in parts}


@register_rule
@dataclass(frozen=True)
class TaskCompletion(EvalRule):
    """The share of the required slots that the agent collected and of the required steps that it did.

    Passes at `min_completion_rate`. `uptake` says how far a value must have come to count as collected.
    """

    name = "task_completion"
    version = "1"
    layer = Layer.L2
    roles = frozenset({Role.JUDGE})

    mode: Mode
    required_slots: tuple[Slot, ...] = ()
    required_steps: tuple[Step, ...] = ()
    slot_weight: Weight = Fraction(1, 2)
    step_weight: Weight = Fraction(1, 2)
    min_completion_rate: Rate = Fraction(4, 5)
    uptake: Uptake = Uptake.ACCEPTED
    order: Order = Order.SEQUENCE
    evaluation_scope: Literal["full_dialog"] = "full_dialog"
    samples: Samples = 1
    examples: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check(self.mode, self.required_slots, self.required_steps)

    @property
    def critical_items(self) -> tuple[str, ...]:
        items: tuple[Slot | Step, ...] = (*self.required_slots, *self.required_steps)
        return tuple(item.item for item in items if item.critical)

    @property
    def unknown(self) -> Mapping[str, Any]:
        return unknown(self.required_slots, self.required_steps)

    def ask(self, case: Case, dialog: Dialog, known: Answers) -> Iterable[Ask]:
        yield from self._slot_questions.values()
        yield from self._step_questions.values()
        if not dialog.silent:  # nothing is done then, whatever the conditions
            yield from self._conditions.values()

    def evaluate(self, case: Case, dialog: Dialog, answers: Answers) -> RuleResult:
        done = self._complete(dialog, answers)
        low, high = done.bounds.low, done.bounds.high
        why = reason(self.mode, done, dialog.language, silence=silence_of(dialog))
        facts = detail(self.mode, done)
        if low is None or high is None:
            return self.not_applicable(why, detail=facts)
        passed = reaches(low, high, self.min_completion_rate)
        spans = [span for slot in done.slots for span in slot.evidence]
        spans += [span for step in done.steps for span in (*step.outcome.evidence, *step.outcome.condition)]
        evidence = tuple(dict.fromkeys(spans))
        if low == high and not done.bounds.may_leave and not done.bounds.open_vetoes:
            return self.scored(
                low, passed=passed is True, reason=why, evidence=evidence, detail=facts, vetoes=done.bounds.vetoes
            )
        return self.failed_to_score(
            done.cause,
            why,
            low=low,
            high=high,
            passed=passed,
            may_leave=done.bounds.may_leave,
            evidence=evidence,
            detail=facts,
            vetoes=done.bounds.vetoes,
            open_vetoes=done.bounds.open_vetoes,
        )

    def warnings(self, case: Case) -> Iterator[str]:
        return warnings(case.messages, self.mode, self.required_slots, self.required_steps, self.order)

    def review_items(self, case: Case, dialog: Dialog, answers: Answers) -> Iterator[ReviewItem]:
        """The verdicts are those after code has checked the answers, and before a step is put in its order."""
        done = self._complete(dialog, answers)
        slots = {slot.slot.item: slot for slot in done.slots}
        steps = {placed.outcome.step.item: placed.outcome for placed in done.steps}
        for item in super().review_items(case, dialog, answers):
            if slot := slots.get(item.name):
                filled = slot.levels[self.uptake] if slot.verdict else None
                shown = (*slot.evidence, *([slot.quote] if slot.quote else []))
                yield replace(item, word=slot.verdict, good=filled, shown=shown)
            elif step := steps.get(item.name):
                is_done = None if step.verdict is None else step.verdict is StepVerdict.DONE
                yield replace(item, word=step.verdict, good=is_done, shown=step.evidence)
            else:
                yield item

    def _complete(self, dialog: Dialog, answers: Answers) -> Completion:
        slots = [
            slot_rules.conclude(slot, dialog, answers[self._slot_questions[slot.name]], others=self._others(slot))
            for slot in self.required_slots
        ]
        steps = [
            step_rules.conclude(
                step,
                dialog,
                answers[asked] if (asked := self._step_questions.get(step.name)) else None,
                answers[asked_when] if (asked_when := self._conditions.get(step.name)) and not dialog.silent else None,
            )
            for step in self.required_steps
        ]
        formula = Formula(self.slot_weight, self.step_weight, ordered=self.order is Order.SEQUENCE)
        return complete(slots, steps, formula, self.order, self.uptake)

    def _others(self, slot: Slot) -> tuple[Slot, ...]:
        return tuple(other for other in self.required_slots if other.name != slot.name)

    @cached_property
    def _slot_questions(self) -> Mapping[str, Question[SlotAnswer]]:
        guide = with_examples(_guides()["slots"], self.examples)
        form = ConfirmedSlotAnswer if self.uptake is Uptake.CONFIRMED else SlotAnswer
        return {
            slot.name: Question(
                item=slot.item,
                form=form,
                text=_text(slot),
                guide=guide,
                samples=self.samples,
                code=partial(slot_rules.by_code, slot, others=self._others(slot), uptake=self.uptake),
                variant=repr((slot, self._others(slot), self.uptake)),
            )
            for slot in self.required_slots
        }

    @cached_property
    def _step_questions(self) -> Mapping[str, Question[StepAnswer]]:
        guide = with_examples(_guides()["steps"], self.examples)
        return {
            step.name: Question(
                item=step.item,
                form=ToolStepAnswer if step.tool else StepAnswer,
                text=_text(step),
                guide=guide,
                samples=self.samples,
                code=partial(step_rules.by_code, step),
                variant=repr(step),
            )
            for step in self.required_steps
            if not step.satisfied_by_slot
        }

    @cached_property
    def _conditions(self) -> Mapping[str, Question[ConditionAnswer]]:
        return {
            step.name: Question(
                item=f"when:{step.name}",
                form=ConditionAnswer,
                text=step.when,
                guide=_guides()["conditions"],
                samples=self.samples,
            )
            for step in self.required_steps
            if step.when
        }


def _text(item: Slot | Step) -> str:
    """What a judge is told of an item; an expected value never."""
    text = f"{item.name}: {item.description}" if item.description else item.name
    if isinstance(item, Slot):
        text += f" (one of: {', '.join(item.values)})" if item.values else ""
        text += f" e.g. {'; '.join(item.examples)}" if item.examples else ""
    elif item.tool is not None:
        text += f" (tool: {item.tool.name})"
    return text
