"""Chains of steps, and what their prerequisites let count."""

from itertools import combinations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenteval.rules.completion.order import counting, longest_chain


@pytest.mark.parametrize(
    ("turns", "chain"),
    [
        ((2, 0, 1, 3), {1: 0, 2: 1, 3: 3}),
        ((3, 2, 1, 0), {0: 3}),
        ((0, 0, 1, 2), {0: 0, 1: 0, 2: 1, 3: 2}),
        ((5, 1, 6), {0: 5, 2: 6}),
        ((), {}),
    ],
)
def test_chains_of_single_turns(turns: tuple[int, ...], chain: dict[int, int]) -> None:
    assert longest_chain([{turn} for turn in turns]) == chain


def test_any_evidence_turn_may_serve() -> None:
    assert longest_chain([{2, 4}, {0, 3}, set(), {3, 9}]) == {0: 2, 1: 3, 3: 3}


@given(st.lists(st.frozensets(st.integers(0, 4), max_size=3), max_size=6))
def test_the_chain_is_the_longest_and_the_first_of_them(options: list[frozenset[int]]) -> None:
    def possible(chosen: tuple[int, ...]) -> bool:
        return any(list(turns) == sorted(turns) for turns in product(*(options[i] for i in chosen)))

    every = (c for n in range(len(options), -1, -1) for c in combinations(range(len(options)), n))
    expected = next(chosen for chosen in every if possible(chosen))
    chain = longest_chain(options)
    assert tuple(chain) == expected
    assert list(chain.values()) == sorted(chain.values())
    assert all(turn in options[i] for i, turn in chain.items())


def turns(**steps: set[int]) -> dict[str, frozenset[int]]:
    return {name: frozenset(found) for name, found in steps.items()}


def test_evidence_counts_from_the_first_turn_of_its_prerequisites_on() -> None:
    shown = turns(pay={1, 4}, verify={2, 3}, login={2})
    assert counting(shown, {"pay": ["verify"], "verify": ["login"]}) == turns(pay={4}, verify={2, 3}, login={2})


def test_without_a_counting_prerequisite_nothing_counts() -> None:
    assert counting(turns(pay={4}, verify={3}, login=set()), {"pay": ["verify"], "verify": ["login"]})["pay"] == set()


def test_a_prerequisite_that_left_is_waived() -> None:
    assert counting(turns(pay={0}), {"pay": ["verify"]}) == turns(pay={0})
