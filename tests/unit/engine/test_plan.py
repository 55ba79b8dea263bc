"""What is decided before a run starts."""

import re

from hypothesis import given
from hypothesis import strategies as st

from agenteval.engine.plan import conversation_id, sample
from tests.fakes.records import key

SECRET = b"s" * 32
ids = st.lists(st.text(max_size=5), unique=True, max_size=30)


@given(ids, st.integers(0, 40), st.integers())
def test_a_sample_has_its_size_keeps_the_order_and_grows_by_adding(case_ids: list[str], size: int, seed: int) -> None:
    chosen = sample(case_ids, size, seed)
    assert len(chosen) == min(size, len(case_ids))
    assert chosen == sorted(set(chosen))
    assert set(chosen) <= set(sample(case_ids, size + 1, seed))


@given(ids, st.data())
def test_a_sample_does_not_depend_on_the_order_of_the_cases(case_ids: list[str], data: st.DataObject) -> None:
    shuffled = data.draw(st.permutations(case_ids))
    assert {case_ids[i] for i in sample(case_ids, 5, 7)} == {shuffled[i] for i in sample(shuffled, 5, 7)}


def test_samples_are_the_same_on_every_machine_and_differ_by_seed() -> None:
    case_ids = [f"case-{n}" for n in range(1000)]
    assert sample(case_ids, 5, 7) == [482, 574, 681, 720, 909]
    assert sample(case_ids, 5, 8) != sample(case_ids, 5, 7)


def test_each_attempt_has_its_own_conversation() -> None:
    keys = [key(n, repeat=r, attempt=a, run_id=run) for n in (0, 1) for r in (1, 2) for a in (1, 2) for run in "ab"]
    made = {conversation_id(SECRET, one) for one in keys}
    assert len(made) == len(keys)
    assert all(re.fullmatch("[0-9a-f]{32}", one) for one in made)
    assert conversation_id(b"t" * 32, keys[0]) not in made, "not to be guessed without the secret"
    assert conversation_id(SECRET, keys[0]) in made
