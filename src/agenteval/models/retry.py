"""Calls to models are repeated when the same call may succeed later.

The waits are exponential with full jitter: uniform between 0 and a bound that doubles (Brooker, "Exponential Backoff
And Jitter", AWS 2015). What a provider asks for goes first. A rate limit holds all calls of its provider, not just one.
"""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from math import inf
from random import Random
from typing import TypeVar

from agenteval.domain.errors import ModelError, ModelRateLimited
from agenteval.domain.ports import Clock

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Retry:
    """At most `attempts` in all, and none is decided on that would begin later than `deadline_s` after the first.

    Time spent waiting for the first turn does not count: when a provider's limits make a thousand calls queue, the last
    one has as many attempts as the first. Each wait for a turn ends, as every call before it does.
    """

    deadline_s: float
    attempts: int = 6
    first_s: float = 0.5
    longest_s: float = 20.0

    async def run(
        self,
        attempt: Callable[[], Awaitable[T]],
        *,
        turn: Callable[[], AbstractAsyncContextManager[None]],
        clock: Clock,
        random: Random,
        pause: Callable[[float], None],
    ) -> T:
        """`turn` is waited for and held in each attempt. Raises the last ModelError, at once when repeating is of no
        use."""
        ends_s = inf
        failed = 0
        while True:
            try:
                async with turn():
                    ends_s = min(ends_s, clock.monotonic_s() + self.deadline_s)
                    return await attempt()
            except ModelError as error:
                failed += 1
                wait_s = random.uniform(0, min(self.longest_s, self.first_s * 2 ** (failed - 1)))
                asked_s = error.retry_after_s or 0.0
                late = clock.monotonic_s() + asked_s + wait_s > ends_s
                if not error.retryable or failed == self.attempts or late:
                    raise
                if isinstance(error, ModelRateLimited) and (asked_s or failed > 1):
                    pause(asked_s or wait_s)  # one refusal without a time may be chance, and the others are not held up
            # The jitter after what was asked for keeps a hundred calls from coming back in the same instant.
            await clock.sleep(asked_s + wait_s)
