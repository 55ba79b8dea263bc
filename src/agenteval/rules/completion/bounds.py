"""The completion rate, and its exact extremes over everything that is unknown.

Unknown may be: whether a slot is filled (filled, not filled, or declined and so out of the count), when a step was
shown (at no turn or at any turns), and whether a step's condition holds (if not, it is out of the count). These worlds
are too many to be searched. Instead:

- *Lowest*: an unknown slot is not filled, an unknown step is not done, and both stay: every other choice only adds to
  what is credited, shrinks the count or waives a prerequisite. Open remains which of the steps that were done although
  their condition is not judged leave: one that leaves takes its credit along, but one that stays uncredited costs more.
- *Highest*: an unknown slot is filled, an unknown step is done at every turn, which fits into any chain; a step that
  was not done leaves if it can. Open are again the steps that were done, and unknown ones with prerequisites: they may
  be worth less in the count than out of it.

What remains open is tried out, up to MAX_TRIED items. Beyond that the bounds are proven ones (`_relaxed_low` and
`_relaxed_high`): never too narrow, and still exact for steps without order and prerequisites.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product

from agenteval.rules.completion.order import counting, longest_chain

MAX_TRIED = 8
ZERO = Fraction(0)


@dataclass(frozen=True, slots=True)
class SlotState:
    """`filled` None: unknown. `left`: declined, out of the count. `turn`: of its last quote, when filled."""

    name: str
    weight: Fraction = Fraction(1)
    required: bool = True
    critical: bool = False
    filled: bool | None = None
    left: bool = False
    turn: int | None = None


@dataclass(frozen=True, slots=True)
class StepState:
    """`turns`: where it was shown, None when unknown. `applies` None: its condition is not judged. `slot`: the name of
    the slot that satisfies it, whose state then stands for `turns`."""

    name: str
    required: bool = True
    critical: bool = False
    applies: bool | None = True
    turns: frozenset[int] | None = None
    depends_on: tuple[str, ...] = ()
    slot: str = ""


@dataclass(frozen=True, slots=True)
class Formula:
    """How the two lists make one rate; a list without anything in the count drops its weight."""

    slot_weight: Fraction = Fraction(1)
    step_weight: Fraction = Fraction(1)
    ordered: bool = True

    def rate(self, slot_rate: Fraction | None, step_rate: Fraction | None) -> Fraction | None:
        parts = [(self.slot_weight, slot_rate), (self.step_weight, step_rate)]
        present = [(weight, rate) for weight, rate in parts if rate is not None]
        if not present:
            return None
        return sum((w * r for w, r in present), ZERO) / sum((w for w, _ in present), ZERO)


@dataclass(frozen=True, slots=True)
class Bounds:
    """`low` and `high` are None when nothing is left in the count. Vetoes name items as questions do: `slot:phone`."""

    low: Fraction | None
    high: Fraction | None
    may_leave: bool
    vetoes: tuple[str, ...]
    open_vetoes: tuple[str, ...]


def bounds(slots: Sequence[SlotState], steps: Sequence[StepState], formula: Formula) -> Bounds:
    certain, open_ = _vetoes(slots, steps)
    leaves = [slot.left for slot in slots if slot.required] + [_left(step, slots) for step in steps if step.required]
    if all(leaves):
        return Bounds(None, None, False, certain, open_)
    low = _low(slots, steps, formula)
    high = _high(slots, steps, formula, low)
    can_leave = [slot.left or slot.filled is None for slot in slots if slot.required]
    can_leave += [_can_leave(step, slots) for step in steps if step.required]
    return Bounds(low, high, all(can_leave), certain, open_)


# ---- one world: nothing unknown --------------------------------------------------------------------------------------


def slot_rate(slots: Iterable[SlotState]) -> Fraction | None:
    counted = [slot for slot in slots if slot.required and not slot.left]
    if not counted:
        return None
    return sum((s.weight for s in counted if s.filled), ZERO) / sum((s.weight for s in counted), ZERO)


def counting_turns(steps: Iterable[StepState]) -> dict[str, frozenset[int]]:
    """Of every step in the count the turns at which it was shown with its prerequisites met."""
    present = [step for step in steps if step.applies]
    return counting({s.name: s.turns or frozenset() for s in present}, {s.name: s.depends_on for s in present})


def credited(steps: Sequence[StepState], *, ordered: bool) -> dict[str, int]:
    """The required steps that earn their credit, each with the turn that serves."""
    counted = counting_turns(steps)
    required = [step.name for step in steps if step.required and step.applies]
    if ordered:
        return {required[i]: turn for i, turn in longest_chain([counted[name] for name in required]).items()}
    return {name: min(counted[name]) for name in required if counted[name]}


def step_rate(steps: Sequence[StepState], *, ordered: bool) -> Fraction | None:
    required = sum(1 for step in steps if step.required and step.applies)
    return Fraction(len(credited(steps, ordered=ordered)), required) if required else None


def followed(steps: Iterable[StepState], slots: Iterable[SlotState]) -> list[StepState]:
    """Steps that a slot satisfies take over what is known of that slot."""
    by_name = {slot.name: slot for slot in slots}
    return [_follow(step, by_name[step.slot]) if step.slot else step for step in steps]


def _follow(step: StepState, slot: SlotState) -> StepState:
    if slot.left:
        return replace(step, applies=False)
    if slot.filled is None or (slot.filled and slot.turn is None):
        return replace(step, turns=None)
    return replace(step, turns=frozenset([slot.turn] if slot.filled and slot.turn is not None else ()))


# ---- the worst and the best world ------------------------------------------------------------------------------------


def _low(slots: Sequence[SlotState], steps: Sequence[StepState], formula: Formula) -> Fraction:
    worst_slots = [replace(slot, filled=bool(slot.filled)) for slot in slots]
    worst = [replace(step, turns=step.turns or frozenset()) for step in followed(steps, worst_slots)]
    open_ = [step.name for step in worst if step.applies is None and step.turns]
    rate = slot_rate(worst_slots)
    if len(open_) > MAX_TRIED:
        return _relaxed_low(rate, _staying(worst), open_, formula)
    rates = (
        formula.rate(rate, step_rate(_staying(_without(worst, gone)), ordered=formula.ordered))
        for gone in _subsets(open_)
    )
    return min(rate for rate in rates if rate is not None)


def _high(slots: Sequence[SlotState], steps: Sequence[StepState], formula: Formula, low: Fraction) -> Fraction:
    known = (slot.turn for slot in slots if slot.turn is not None)
    everywhere = frozenset([0, *known, *(turn for step in steps for turn in step.turns or ())])
    open_slots = {
        step.slot
        for step in steps
        if step.depends_on
        for slot in slots
        if slot.name == step.slot and slot.filled is None
    }
    best_slots = [replace(slot, filled=slot.filled is not False) for slot in slots]
    followers = followed(steps, slots)
    best = [
        replace(step, applies=False)
        if step.applies is None and step.turns == frozenset()
        else replace(step, turns=everywhere if step.turns is None else step.turns)
        for step in followers
    ]
    open_ = [
        step.name
        for step, before in zip(best, followers, strict=True)
        if step.applies is None and (before.turns or step.depends_on)
    ]
    if len(open_) + len(open_slots) > MAX_TRIED:
        gone = [*open_, *(step.name for step in steps if step.slot in open_slots)]
        relaxed = _relaxed_high(slot_rate(best_slots), _staying(best), gone, formula)
        return low if relaxed is None else relaxed
    rates: list[Fraction | None] = []
    for declined in _subsets(sorted(open_slots)):
        slots_rate = slot_rate(replace(slot, left=slot.left or slot.name in declined) for slot in best_slots)
        remaining = _without(best, {step.name for step in steps if step.slot in declined})
        rates += [
            formula.rate(slots_rate, step_rate(_staying(_without(remaining, gone)), ordered=formula.ordered))
            for gone in _subsets(open_)
        ]
    return max((rate for rate in rates if rate is not None), default=low)


def _relaxed_low(
    slots_rate: Fraction | None, steps: Sequence[StepState], open_: Sequence[str], formula: Formula
) -> Fraction:
    """With k open steps gone, at least what the rest earns beside all of them, and at least all credits but k."""
    required = [step for step in steps if step.required and step.applies]
    open_names = set(open_) & {step.name for step in required}
    settled = [replace(step, required=step.required and step.name not in open_names) for step in steps]
    rest = len(credited(settled, ordered=formula.ordered))
    together = len(credited(steps, ordered=formula.ordered))
    rates = [
        formula.rate(slots_rate, Fraction(max(rest, together - k), len(required) - k) if k < len(required) else None)
        for k in range(len(open_names) + 1)
    ]
    return min(rate for rate in rates if rate is not None)


def _relaxed_high(
    slots_rate: Fraction | None, steps: Sequence[StepState], open_: Sequence[str], formula: Formula
) -> Fraction | None:
    """At best what stays anyway earns what it earns with all open steps waived, and each open one its credit."""
    fixed = _without(steps, set(open_))
    open_required = sum(1 for step in steps if step.required and step.applies and step.name in open_)
    count = open_required + sum(1 for step in fixed if step.required and step.applies)
    earned = open_required + len(credited(fixed, ordered=formula.ordered))
    return formula.rate(slots_rate, Fraction(earned, count) if count else None)


def _subsets(names: Sequence[str]) -> Iterator[frozenset[str]]:
    for chosen in product((False, True), repeat=len(names)):
        yield frozenset(name for name, gone in zip(names, chosen, strict=True) if gone)


def _without(steps: Iterable[StepState], gone: Iterable[str]) -> list[StepState]:
    gone = set(gone)
    return [replace(step, applies=False) if step.name in gone else step for step in steps]


def _staying(steps: Iterable[StepState]) -> list[StepState]:
    return [replace(step, applies=step.applies is not False) for step in steps]


# ---- leaving and failing ---------------------------------------------------------------------------------------------


def _left(step: StepState, slots: Iterable[SlotState]) -> bool:
    return step.applies is False or any(slot.left for slot in slots if slot.name == step.slot)


def _can_leave(step: StepState, slots: Iterable[SlotState]) -> bool:
    return (
        _left(step, slots)
        or step.applies is None
        or any(slot.filled is None for slot in slots if slot.name == step.slot)
    )


def _vetoes(slots: Sequence[SlotState], steps: Sequence[StepState]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Critical items that fail in every world, and those that fail in some. A step fails least when all that it depends
    on has left if it can, and was done everywhere otherwise; it fails most when nothing unknown was done."""
    critical = [slot for slot in slots if slot.critical and not slot.left]
    certain = [f"slot:{slot.name}" for slot in critical if slot.filled is False]
    open_ = [f"slot:{slot.name}" for slot in critical if slot.filled is None]
    if not any(step.critical for step in steps):
        return tuple(certain), tuple(open_)
    best = _fewest_failures(slots, steps)
    worst_slots = [replace(slot, filled=bool(slot.filled)) for slot in slots]
    worst = counting_turns(_staying(followed(steps, worst_slots)))
    for step in steps:
        if not step.critical or _left(step, slots) or worst[step.name]:
            continue
        fails_always = not _can_leave(step, slots) and not best[step.name]
        (certain if fails_always else open_).append(f"step:{step.name}")
    return tuple(certain), tuple(open_)


def _fewest_failures(slots: Sequence[SlotState], steps: Sequence[StepState]) -> Mapping[str, frozenset[int]]:
    known = [turn for step in followed(steps, slots) for turn in step.turns or ()]
    return counting_turns(
        replace(
            step,
            applies=not _can_leave(step, slots),
            turns=frozenset([0, *known]) if step.turns is None else step.turns,
        )
        for step in followed(steps, slots)
    )
