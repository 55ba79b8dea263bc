"""The one writer of a run: rows of many attempts share a transaction, and whoever waits shares its commit."""

import asyncio
from contextlib import suppress
from types import TracebackType
from typing import Self

from agenteval.domain.errors import StorageError
from agenteval.storage.batch import write_batch
from agenteval.storage.store import Store

_MOMENT_S = 0.001
"""Halves the transactions of a few dialogs with an agent that answers at once (measured; a commit takes longer)."""


class Writer:
    """The sink of a run, an async context manager; leaving it writes what is left.

    A batch is written when it has `batch_rows`, when its first row is `delay_s` old, or at once when somebody waits for
    it: a moment later, so that those who were waiting for the batch before are in it too. Two batches may stand in
    memory; then `put` waits. After a write has failed every call raises its StorageError.
    """

    def __init__(self, store: Store, *, batch_rows: int = 500, delay_s: float = 1.0) -> None:
        self._store = store
        self._batch_rows = batch_rows
        self._delay_s = delay_s
        self._rows: list[tuple[object, asyncio.Future[None] | None]] = []
        self._closing = False
        self._error: StorageError | None = None
        self._some = asyncio.Event()
        self._due = asyncio.Event()
        self._room = asyncio.Event()

    async def put(self, row: object) -> None:
        await self._add(row, None)

    async def commit(self, row: object) -> None:
        stored = asyncio.get_running_loop().create_future()
        await self._add(row, stored)
        await stored

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._write_batches())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing = True
        self._signal()
        await self._task
        if error is None and self._error is not None:
            raise self._error

    async def _add(self, row: object, stored: asyncio.Future[None] | None) -> None:
        while self._error is None and len(self._rows) >= 2 * self._batch_rows:
            self._room.clear()
            await self._room.wait()
        if self._error is not None:
            raise self._error
        self._rows.append((row, stored))
        self._signal()

    def _signal(self) -> None:
        if self._rows or self._closing:
            self._some.set()
        if self._closing or len(self._rows) >= self._batch_rows or (self._rows and self._rows[-1][1]):
            self._due.set()

    async def _write_batches(self) -> None:
        while self._error is None and (self._rows or not self._closing):
            await self._some.wait()
            with suppress(TimeoutError):
                async with asyncio.timeout(self._delay_s):
                    await self._due.wait()
            await asyncio.sleep(_MOMENT_S)
            batch, self._rows = self._rows[: self._batch_rows], self._rows[self._batch_rows :]
            self._some.clear()
            self._due.clear()
            self._room.set()
            if any(stored for _, stored in self._rows):
                self._due.set()
            self._signal()
            await self._write(batch)

    async def _write(self, batch: list[tuple[object, asyncio.Future[None] | None]]) -> None:
        try:
            rows = [row for row, _ in batch]
            await self._store.write_aside(lambda connection: write_batch(connection, rows))
        except Exception as error:  # noqa: BLE001 - raised in every caller
            self._error = error if isinstance(error, StorageError) else StorageError(f"{type(error).__name__}: {error}")
            batch += self._rows
            self._rows = []
            self._room.set()
        for _, stored in batch:
            if stored is None or stored.done():
                continue
            if self._error is None:
                stored.set_result(None)
            else:
                stored.set_exception(self._error)
