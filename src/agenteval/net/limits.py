"""How much one provider is asked at once and per minute. A pause after a 429 holds this provider only."""

import asyncio
from types import TracebackType

from agenteval.domain.ports import Clock


class Bucket:
    """A token bucket as the generic cell rate algorithm (ITU-T I.371): `per_minute` units flow in evenly, one second's
    worth may be taken at once, and who asks earlier is served earlier."""

    def __init__(self, per_minute: float) -> None:
        self._unit_s = 60 / per_minute
        self._tolerance_s = max(0.0, 1 - self._unit_s)
        self._paid_until_s = float("-inf")

    def take(self, units: float, now_s: float) -> float:
        """Take `units` (negative: give back) and return the seconds to wait before using them."""
        wait_s = max(0.0, self._paid_until_s - now_s - self._tolerance_s)
        self._paid_until_s = max(self._paid_until_s, now_s) + units * self._unit_s
        return wait_s


class Limits:
    """Every request to a provider goes through `slot`; None means unlimited."""

    def __init__(
        self,
        clock: Clock,
        *,
        max_concurrency: int | None = None,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
    ) -> None:
        self._clock = clock
        self._places = asyncio.Semaphore(max_concurrency) if max_concurrency else None
        self._requests = Bucket(requests_per_minute) if requests_per_minute else None
        self._tokens = Bucket(tokens_per_minute) if tokens_per_minute else None
        self._paused_until_s = float("-inf")

    def slot(self, tokens: int = 0) -> "Slot":
        """Wait for a place and for the rates, then hold the place. `tokens` is the caller's estimate; see `settle`."""
        return Slot(self, tokens)

    async def enter(self, tokens: int) -> None:
        if self._places:
            await self._places.acquire()
        try:
            now_s = self._clock.monotonic_s()
            wait_s = max(
                self._requests.take(1, now_s) if self._requests else 0.0,
                self._tokens.take(tokens, now_s) if self._tokens else 0.0,
                self._paused_until_s - now_s,
            )
            while wait_s > 0:
                await self._clock.sleep(wait_s)
                wait_s = self._paused_until_s - self._clock.monotonic_s()
        except BaseException:
            self.leave()
            raise

    def leave(self) -> None:
        if self._places:
            self._places.release()

    def settle(self, estimated: int, used: int) -> None:
        """Correct an estimate by what a request really used."""
        if self._tokens:
            self._tokens.take(used - estimated, self._clock.monotonic_s())

    def pause(self, seconds: float) -> None:
        """Start no request for this long."""
        self._paused_until_s = max(self._paused_until_s, self._clock.monotonic_s() + seconds)


class Slot:
    """A place among the requests to a provider. A class, as each request needs one: a generator takes much longer."""

    def __init__(self, limits: Limits, tokens: int) -> None:
        self._limits = limits
        self._tokens = tokens

    async def __aenter__(self) -> None:
        await self._limits.enter(self._tokens)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._limits.leave()
