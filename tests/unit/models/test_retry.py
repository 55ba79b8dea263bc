from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenteval.domain.errors import (
    ContextTooLong,
    ModelAuthError,
    ModelError,
    ModelRateLimited,
    ModelRefused,
    ModelTimeout,
    ModelUnavailable,
)
from agenteval.models.retry import Retry
from tests.fakes.clock import FakeClock


class Provider:
    """Fails with each of `failures`, then answers; an attempt takes `takes_s` after `queues_s` of waiting."""

    def __init__(self, failures: list[ModelError], takes_s: float = 0.0, queues_s: float = 0.0) -> None:
        self.failures: Iterator[ModelError] = iter(failures)
        self.clock = FakeClock()
        self.takes_s = takes_s
        self.queues_s = queues_s
        self.attempts = 0
        self.pauses: list[float] = []

    async def attempt(self) -> str:
        self.attempts += 1
        self.clock.passed_s += self.takes_s
        if error := next(self.failures, None):
            raise error
        return "answer"

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        self.clock.passed_s += self.queues_s
        yield

    async def ask(self, retry: Retry, seed: int = 1) -> str:
        return await retry.run(
            self.attempt, turn=self.turn, clock=self.clock, random=Random(seed), pause=self.pauses.append
        )


async def test_what_may_pass_is_repeated() -> None:
    provider = Provider([ModelUnavailable("503"), ModelTimeout("slow"), ModelRateLimited("429")])
    assert await provider.ask(Retry(deadline_s=180)) == "answer"
    assert provider.attempts == 4


@pytest.mark.parametrize("error", [ModelAuthError, ModelRefused, ContextTooLong, ModelError])
async def test_what_will_not_pass_is_not_repeated(error: type[ModelError]) -> None:
    provider = Provider([error("no")])
    with pytest.raises(error):
        await provider.ask(Retry(deadline_s=180))
    assert (provider.attempts, provider.clock.slept) == (1, [])


async def test_attempts_are_bounded() -> None:
    provider = Provider([ModelUnavailable(str(i)) for i in range(99)])
    with pytest.raises(ModelUnavailable, match="2"):
        await provider.ask(Retry(deadline_s=1e9, attempts=3))
    assert provider.attempts == 3


async def test_no_attempt_begins_after_the_deadline() -> None:
    provider = Provider([ModelTimeout("hangs")] * 99, takes_s=60)
    with pytest.raises(ModelTimeout):
        await provider.ask(Retry(deadline_s=180))
    assert provider.attempts == 3


async def test_who_waited_long_for_a_turn_is_repeated_as_well() -> None:
    provider = Provider([ModelUnavailable("503")], queues_s=1000)
    assert await provider.ask(Retry(deadline_s=180)) == "answer"


async def test_later_turns_count() -> None:
    provider = Provider([ModelUnavailable("503")] * 99, queues_s=1000)
    with pytest.raises(ModelUnavailable):
        await provider.ask(Retry(deadline_s=180))
    assert provider.attempts == 2


async def test_a_wait_beyond_the_deadline_is_not_begun() -> None:
    provider = Provider([ModelRateLimited("daily quota", retry_after_s=3600)])
    with pytest.raises(ModelRateLimited) as caught:
        await provider.ask(Retry(deadline_s=180))
    assert caught.value.retry_after_s == 3600
    assert (provider.clock.slept, provider.pauses) == ([], [])


async def test_the_provider_s_own_wait_is_kept_and_holds_all_its_calls() -> None:
    provider = Provider([ModelRateLimited("429", retry_after_s=30)])
    await provider.ask(Retry(deadline_s=180))
    assert provider.pauses == [30]
    assert 30 <= provider.clock.slept[0] <= 30.5


async def test_a_rate_limit_without_a_time_holds_the_provider_from_its_second_refusal_on() -> None:
    once, twice = Provider([ModelRateLimited("429")]), Provider([ModelRateLimited("429")] * 2)
    for provider in (once, twice):
        await provider.ask(Retry(deadline_s=180))
    assert (once.pauses, twice.pauses) == ([], twice.clock.slept[1:])


async def test_an_outage_s_own_wait_is_kept_and_holds_this_call_only() -> None:
    provider = Provider([ModelUnavailable("503", retry_after_s=7)])
    await provider.ask(Retry(deadline_s=180))
    assert provider.pauses == []
    assert 7 <= provider.clock.slept[0] <= 7.5


@given(st.integers(0, 2**32), st.integers(2, 12))
async def test_waits_are_random_below_a_bound_that_doubles_to_its_limit(seed: int, attempts: int) -> None:
    provider = Provider([ModelUnavailable("503")] * (attempts - 1))
    await provider.ask(Retry(deadline_s=1e9, attempts=attempts, first_s=0.5, longest_s=20), seed)
    assert len(provider.clock.slept) == attempts - 1
    for failed, slept in enumerate(provider.clock.slept):
        assert 0 <= slept <= min(20, 0.5 * 2**failed)
