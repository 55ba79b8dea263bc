"""Bounds against the search of every world: the rate must be able to reach both ends, and nothing beyond."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import chain, combinations, product
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenteval.rules.completion import bounds as module
from agenteval.rules.completion.bounds import (
    Bounds,
    Formula,
    SlotState,
    StepState,
    bounds,
    counting_turns,
    followed,
    slot_rate,
    step_rate,
)

TURNS = (0, 1, 2)
EVIDENCE = [frozenset(turns) for turns in chain.from_iterable(combinations(TURNS, n) for n in range(len(TURNS) + 1))]


def worlds(slots: Sequence[SlotState], steps: Sequence[StepState]) -> Iterator[tuple[list[SlotState], list[StepState]]]:
    for settled in product(*(_slot_worlds(slot) for slot in slots)):
        for shown in product(*(_step_worlds(step) for step in followed(steps, settled))):
            yield list(settled), list(shown)


def _slot_worlds(slot: SlotState) -> list[SlotState]:
    if slot.left or slot.filled is not None:
        return [slot]
    return [
        *(replace(slot, filled=True, turn=turn) for turn in TURNS),
        replace(slot, filled=False),
        replace(slot, left=True),
    ]


def _step_worlds(step: StepState) -> list[StepState]:
    applies = (True, False) if step.applies is None else (step.applies,)
    turns = EVIDENCE if step.turns is None else [step.turns]
    return [replace(step, applies=a, turns=t) for a, t in product(applies, turns)]


def brute_force(slots: Sequence[SlotState], steps: Sequence[StepState], formula: Formula) -> Bounds:
    rates = []
    failed: list[set[str]] = []
    for settled, shown in worlds(slots, steps):
        rates.append(formula.rate(slot_rate(settled), step_rate(shown, ordered=formula.ordered)))
        counted = counting_turns(shown)
        failed.append(
            {f"slot:{s.name}" for s in settled if s.critical and not s.left and not s.filled}
            | {f"step:{s.name}" for s in shown if s.critical and s.applies and not counted[s.name]}
        )
    known = [rate for rate in rates if rate is not None]
    items = [f"slot:{s.name}" for s in slots] + [f"step:{s.name}" for s in steps]
    return Bounds(
        min(known, default=None),
        max(known, default=None),
        bool(known) and None in rates,
        tuple(item for item in items if all(item in world for world in failed)),
        tuple(item for item in items if 0 < sum(item in world for world in failed) < len(failed)),
    )


slot_states = st.builds(
    SlotState,
    name=st.just(""),
    weight=st.sampled_from([Fraction(1), Fraction(3, 2)]),
    required=st.sampled_from([True, True, False]),
    critical=st.booleans(),
    filled=st.sampled_from([True, False, None, None]),
    left=st.sampled_from([False, False, False, True]),
    turn=st.sampled_from(TURNS),
)
step_states = st.builds(
    StepState,
    name=st.just(""),
    required=st.sampled_from([True, True, True, False]),
    critical=st.booleans(),
    applies=st.sampled_from([True, True, False, None, None]),
    turns=st.sampled_from([None, *EVIDENCE]),
)


@st.composite
def problems(draw: st.DrawFn) -> tuple[list[SlotState], list[StepState], Formula]:
    slots = [
        replace(slot, name=f"s{i}", turn=slot.turn if slot.filled else None)
        for i, slot in enumerate(draw(st.lists(slot_states, max_size=2)))
    ]
    steps: list[StepState] = []
    for i, step in enumerate(draw(st.lists(step_states, max_size=4 - len(slots)))):
        before = draw(st.sets(st.integers(0, i - 1), max_size=2)) if i else set()
        slot = draw(st.sampled_from(["", *(s.name for s in slots)]))
        steps.append(
            replace(
                step,
                name=f"t{i}",
                depends_on=tuple(f"t{j}" for j in sorted(before)),
                slot=slot,
                turns=None if slot else step.turns,
            )
        )
    order = draw(st.permutations(steps))
    weights = st.sampled_from([Fraction(1, 2), Fraction(2, 5), Fraction(3)])
    return slots, order, Formula(draw(weights), draw(weights), ordered=draw(st.booleans()))


@given(problems())
def test_bounds_are_the_extremes_of_all_worlds(problem: tuple[list[SlotState], list[StepState], Formula]) -> None:
    found = bounds(*problem)
    expected = brute_force(*problem)
    assert (found.low, found.high, found.may_leave) == (expected.low, expected.high, expected.may_leave)
    assert sorted(found.vetoes) == sorted(expected.vetoes)
    assert sorted(found.open_vetoes) == sorted(expected.open_vetoes)


@given(problems())
def test_relaxed_bounds_are_never_too_narrow(problem: tuple[list[SlotState], list[StepState], Formula]) -> None:
    expected = brute_force(*problem)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MAX_TRIED", 0)
        found = bounds(*problem)
    if expected.low is None or expected.high is None:
        assert found.low is found.high is None
    else:
        assert found.low is not None
        assert found.high is not None
        assert found.low <= expected.low
        assert found.high >= expected.high
        if not problem[2].ordered and not any(step.depends_on for step in problem[1]):
            assert (found.low, found.high) == (expected.low, expected.high)


def test_an_unscored_slot_may_be_filled_or_not() -> None:
    slots = [SlotState("a", filled=True, turn=0), SlotState("b"), SlotState("c", filled=False)]
    found = bounds(slots, [], Formula())
    assert (found.low, found.high, found.may_leave) == (Fraction(1, 3), Fraction(2, 3), False)


def test_slots_that_may_all_be_declined_may_leave() -> None:
    assert bounds([SlotState("a"), SlotState("b", left=True)], [], Formula()).may_leave


def test_a_condition_that_is_not_judged_takes_the_credit_along() -> None:
    # b done: 2 of 3 if its condition holds, 1 of 2 if not.
    steps = [
        StepState("a", turns=frozenset({0})),
        StepState("b", turns=frozenset({1}), applies=None),
        StepState("c", turns=frozenset()),
    ]
    found = bounds([], steps, Formula())
    assert (found.low, found.high) == (Fraction(1, 2), Fraction(2, 3))


def test_40_unknown_items_take_no_time() -> None:
    slots = [SlotState(f"s{i}") for i in range(20)]
    steps = [
        StepState(
            f"t{i}",
            applies=None,
            turns=None if i % 2 else frozenset({(7 * i) % 11, (5 * i) % 13}),
            depends_on=(f"t{i - 3}",) if i > 2 else (),
        )
        for i in range(20)
    ]
    before = process_time()
    found = bounds(slots, steps, Formula(Fraction(2, 5), Fraction(3, 5)))
    assert process_time() - before < 1
    assert found == Bounds(Fraction(0), Fraction(1), True, (), ())
