"""From the outcomes of the items to the completion rate: statuses in view of each other, counts, bounds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from agenteval.domain.questions import Cause
from agenteval.rules.completion.bounds import (
    Bounds,
    Formula,
    SlotState,
    StepState,
    bounds,
    counting_turns,
    credited,
    followed,
    slot_rate,
)
from agenteval.rules.completion.forms import SlotVerdict, StepVerdict
from agenteval.rules.completion.items import Order, Uptake
from agenteval.rules.completion.slots import SlotOutcome
from agenteval.rules.completion.steps import StepOutcome, StepStatus


@dataclass(frozen=True, slots=True)
class Placed:
    """A step among the others: `turn` is where it earns its credit, else where it was first shown."""

    outcome: StepOutcome
    status: StepStatus
    turn: int | None
    out_of_order: bool = False


@dataclass(frozen=True, slots=True)
class Count:
    """How many of the required items of a list that have not left are done for certain; `rate` None when the list has
    nothing left in the count."""

    done: int
    of: int
    rate: Fraction | None

    def __str__(self) -> str:
        return f"{self.done}/{self.of}"


@dataclass(frozen=True, slots=True)
class Completion:
    uptake: Uptake
    slots: tuple[SlotOutcome, ...]
    steps: tuple[Placed, ...]
    slot_count: Count
    step_count: Count
    bounds: Bounds

    @property
    def cause(self) -> Cause:
        """Why it is not measured: the first unscored required item's cause."""
        slots = [slot.cause for slot in self.slots if not slot.slot.optional and slot.levels[self.uptake] is None]
        steps = [p.outcome.cause for p in self.steps if not p.outcome.step.optional]
        return next((cause for cause in (*slots, *steps) if cause is not None), Cause.NEEDS_JUDGE)


def complete(
    slots: Sequence[SlotOutcome], steps: Sequence[StepOutcome], formula: Formula, order: Order, uptake: Uptake
) -> Completion:
    slot_states = [_slot_state(slot, uptake) for slot in slots]
    step_states = [_step_state(step) for step in steps]
    placed = _place(steps, slot_states, step_states, order)
    counted = [slot for slot in slot_states if slot.required and not slot.left]
    required = [p for p in placed if not p.outcome.step.optional and p.status is not StepStatus.LEFT]
    done = sum(1 for p in required if p.status is StepStatus.DONE)
    unscored = any(p.status is StepStatus.UNSCORED for p in required)
    return Completion(
        uptake,
        tuple(slots),
        placed,
        Count(
            sum(1 for slot in counted if slot.filled),
            len(counted),
            None if any(slot.filled is None for slot in counted) else slot_rate(slot_states),
        ),
        Count(done, len(required), Fraction(done, len(required)) if required and not unscored else None),
        bounds(slot_states, step_states, formula),
    )


def _slot_state(outcome: SlotOutcome, uptake: Uptake) -> SlotState:
    slot = outcome.slot
    return SlotState(
        slot.name,
        slot.weight,
        not slot.optional,
        slot.critical,
        outcome.levels[uptake],
        outcome.verdict is SlotVerdict.DECLINED,
        outcome.turn,
    )


def _step_state(outcome: StepOutcome) -> StepState:
    step = outcome.step
    return StepState(
        step.name,
        not step.optional,
        step.critical,
        outcome.applies,
        outcome.turns,
        step.depends_on,
        step.satisfied_by_slot,
    )


def _place(
    steps: Sequence[StepOutcome], slots: Sequence[SlotState], states: Sequence[StepState], order: Order
) -> tuple[Placed, ...]:
    """Nobody is accused for what is unknown: an unknown prerequisite is met, and an unknown step is in nobody's way."""
    known = followed(states, slots)
    met = frozenset([0])
    settled = [
        replace(state, applies=state.applies is True, turns=state.turns if state.turns is not None else met)
        for state in known
    ]
    in_sight = [
        replace(state, required=state.required and before.turns is not None)
        for state, before in zip(settled, known, strict=True)
    ]
    counted = counting_turns(in_sight)
    chain = credited(in_sight, ordered=order is not Order.NONE)
    return tuple(_placed(outcome, state, counted, chain, order) for outcome, state in zip(steps, known, strict=True))


def _placed(
    outcome: StepOutcome,
    state: StepState,
    counted: Mapping[str, frozenset[int]],
    chain: Mapping[str, int],
    order: Order,
) -> Placed:
    first = min(state.turns, default=None) if state.turns else None
    if state.applies is False:
        return Placed(outcome, StepStatus.LEFT, first)
    if state.applies is None or state.turns is None:
        return Placed(outcome, StepStatus.UNSCORED, first)
    if not state.turns:
        contradicted = outcome.verdict is StepVerdict.CLAIM_CONTRADICTED
        return Placed(outcome, StepStatus.CLAIM_CONTRADICTED if contradicted else StepStatus.NOT_DONE, None)
    counting = counted[state.name]
    if not counting:
        return Placed(outcome, StepStatus.DONE_WITHOUT_PREREQUISITE, first)
    if state.name in chain or not state.required:
        return Placed(outcome, StepStatus.DONE, chain.get(state.name, min(counting)))
    status = StepStatus.OUT_OF_ORDER if order is Order.SEQUENCE else StepStatus.DONE
    return Placed(outcome, status, min(counting), out_of_order=True)
