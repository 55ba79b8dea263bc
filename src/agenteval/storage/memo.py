"""Judged answers remembered across runs."""

import asyncio
from collections.abc import Collection, Mapping, Sequence

from sqlalchemy import select

from agenteval.domain.json_value import Json
from agenteval.domain.ports import Clock, Sink
from agenteval.storage.batch import GIVEN_KEYS, Remembered, write_batch
from agenteval.storage.codec import dumps, parsed
from agenteval.storage.store import Store
from agenteval.storage.tables import MEMO


class _Ask:
    def __init__(self, keys: Sequence[str]) -> None:
        self.keys = keys
        self.found: Mapping[str, Json] | None = None


class StoredMemo:
    """The memo in a database. It reads for all who ask at the same time at once, and writes through the run's sink."""

    def __init__(self, store: Store, sink: Sink, clock: Clock) -> None:
        self._store = store
        self._sink = sink
        self._clock = clock
        self._asked: set[_Ask] = set()
        self._reading = asyncio.Lock()

    async def get(self, keys: Sequence[str]) -> Mapping[str, Json]:
        ask = _Ask(keys)
        self._asked.add(ask)
        try:
            async with self._reading:
                if ask.found is None:  # else the one before us has read for us
                    await self._read_for_all()
        finally:
            self._asked.discard(ask)
        return ask.found or {}

    async def put(self, answers: Mapping[str, object]) -> None:
        at = self._clock.now()
        for key, answer in answers.items():
            await self._sink.put(Remembered(key, answer, at))

    async def _read_for_all(self) -> None:
        asks = [ask for ask in self._asked if ask.found is None]
        keys = {key for ask in asks for key in ask.keys}
        answers = await _read(self._store, keys)
        for ask in asks:
            ask.found = {key: answers[key] for key in ask.keys if key in answers}


class DurableMemo:
    """One outside of runs: what was put is written, and can be read, when `put` returns."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def get(self, keys: Sequence[str]) -> Mapping[str, Json]:
        return await _read(self._store, keys)

    async def put(self, answers: Mapping[str, object]) -> None:
        at = self._clock.now()
        rows = [Remembered(key, answer, at) for key, answer in answers.items()]
        if rows:
            await self._store.write_aside(lambda connection: write_batch(connection, rows))


_KNOWN = select(MEMO.c.key, MEMO.c.answer).where(MEMO.c.key.in_(GIVEN_KEYS))


async def _read(store: Store, keys: Collection[str]) -> dict[str, Json]:
    async with store.read() as connection:
        rows = await connection.execute(_KNOWN, {"keys": dumps(list(keys))})
        return {key: parsed(answer) for key, answer in rows}
