"""Time that passes only when somebody sleeps."""

import asyncio
from datetime import UTC, datetime, timedelta

START = datetime(2024, 1, 15, 8, tzinfo=UTC)


class FakeClock:
    """`slept` is every wait, in order, seconds. Who sleeps at the same time sleeps side by side."""

    def __init__(self) -> None:
        self.passed_s = 0.0
        self.slept: list[float] = []

    def now(self) -> datetime:
        return START + timedelta(seconds=self.passed_s)

    def monotonic_s(self) -> float:
        return self.passed_s

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        wakes_at_s = self.passed_s + seconds
        await asyncio.sleep(0)
        self.passed_s = max(self.passed_s, wakes_at_s)
