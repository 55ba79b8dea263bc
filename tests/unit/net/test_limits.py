import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenteval.net.limits import Bucket, Limits
from tests.fakes.clock import FakeClock


async def started_at_s(limits: Limits, clock: FakeClock, count: int, tokens: int = 0) -> list[float]:
    times = []
    for _ in range(count):
        async with limits.slot(tokens):
            times.append(clock.passed_s)
    return times


async def test_without_limits_nobody_waits() -> None:
    clock = FakeClock()
    assert await started_at_s(Limits(clock), clock, 100) == [0.0] * 100


async def test_sixty_per_minute_is_one_each_second() -> None:
    clock = FakeClock()
    times = await started_at_s(Limits(clock, requests_per_minute=60), clock, 5)
    assert times == pytest.approx([0, 1, 2, 3, 4])


async def test_a_second_s_worth_may_go_at_once() -> None:
    clock = FakeClock()
    times = await started_at_s(Limits(clock, requests_per_minute=600), clock, 12)
    assert times == pytest.approx([0.0] * 10 + [0.1, 0.2])


async def test_a_request_larger_than_the_minute_s_tokens_is_sent_and_then_paid_for() -> None:
    clock = FakeClock()
    times = await started_at_s(Limits(clock, tokens_per_minute=1000), clock, 2, tokens=2000)
    assert times == pytest.approx([0, 119], abs=0.1)


async def test_tokens_are_corrected_by_what_was_used() -> None:
    clock = FakeClock()
    limits = Limits(clock, tokens_per_minute=60_000)
    async with limits.slot(60_000):
        limits.settle(estimated=60_000, used=6_000)
    assert (await started_at_s(limits, clock, 1)) == pytest.approx([5], abs=0.1)


async def test_no_more_at_once_than_allowed() -> None:
    limits = Limits(FakeClock(), max_concurrency=3)
    running = most = 0

    async def call() -> None:
        nonlocal running, most
        async with limits.slot():
            running += 1
            most = max(most, running)
            await asyncio.sleep(0)
            running -= 1

    await asyncio.gather(*(call() for _ in range(20)))
    assert most == 3


async def test_a_place_is_free_again_after_an_error() -> None:
    limits = Limits(FakeClock(), max_concurrency=1)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            async with limits.slot():
                raise ZeroDivisionError


async def test_a_pause_holds_every_request_of_this_provider_and_no_other() -> None:
    clock = FakeClock()
    paused, other = Limits(clock), Limits(clock)
    paused.pause(30)
    paused.pause(10)
    assert await started_at_s(other, clock, 1) == [0]
    assert await started_at_s(paused, clock, 2) == [30, 30]


@given(st.floats(1, 10_000), st.lists(st.tuples(st.floats(0, 5), st.integers(1, 50)), min_size=1, max_size=60))
def test_no_minute_sees_more_than_its_rate_and_one_second_s_worth(
    per_minute: float, asked: list[tuple[float, int]]
) -> None:
    bucket, now_s, taken = Bucket(per_minute), 0.0, []
    for gap_s, units in asked:
        now_s += gap_s
        taken.append((now_s + bucket.take(units, now_s), units))
    assert [at for at, _ in taken] == sorted(at for at, _ in taken)
    largest = max(units for _, units in taken)
    for start_s, _ in taken:
        used = sum(units for at, units in taken if start_s <= at < start_s + 60)
        assert used <= per_minute + max(1, per_minute / 60) + largest + 1e-6
