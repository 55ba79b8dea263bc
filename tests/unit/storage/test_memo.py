"""What is remembered across runs."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from sqlalchemy.ext.asyncio import AsyncConnection

from agenteval.storage.capabilities import StoredCapabilities
from agenteval.storage.memo import StoredMemo
from agenteval.storage.store import Store
from agenteval.storage.writer import Writer
from tests.fakes.clock import FakeClock


async def test_what_was_put_is_there_in_the_next_run(store: Store) -> None:
    async with Writer(store) as writer:
        memo = StoredMemo(store, writer, FakeClock())
        await memo.put({"a": {"值": "四位"}, "b": None})
        await memo.put({"a": {"值": "五位"}})
    async with Writer(store) as writer:
        memo = StoredMemo(store, writer, FakeClock())
        assert await memo.get(["a", "b", "c"]) == {"a": {"值": "五位"}, "b": None}
        assert await memo.get([]) == {}


class CountedStore(Store):
    reads = 0

    @asynccontextmanager
    async def read(self) -> AsyncIterator[AsyncConnection]:
        type(self).reads += 1
        async with super().read() as connection:
            yield connection


async def test_those_who_ask_at_the_same_time_are_answered_by_one_query(store: Store) -> None:
    counted = await CountedStore.open(store.path)
    async with Writer(counted) as writer:
        memo = StoredMemo(counted, writer, FakeClock())
        await memo.put({str(n): n for n in range(100)})
    CountedStore.reads = 0
    found = await asyncio.gather(*(memo.get([str(n), "other"]) for n in range(100)))
    await counted.aclose()
    assert found == [{str(n): n} for n in range(100)]
    assert CountedStore.reads <= 2


async def test_others_are_answered_when_the_one_who_reads_for_all_is_cancelled(store: Store) -> None:
    async with Writer(store) as writer:
        memo = StoredMemo(store, writer, FakeClock())
        await memo.put({"a": 1})
    first, second = (asyncio.create_task(memo.get(["a"])) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    async with asyncio.timeout(5):
        assert await second == {"a": 1}
    with pytest.raises(asyncio.CancelledError):
        await first


async def test_how_a_model_is_asked_is_found_out_once(store: Store) -> None:
    known = StoredCapabilities(store)
    assert await known.get("https://api.example/v1", "m") is None
    await known.put("https://api.example/v1", "m", "tool")
    await known.put("https://api.example/v1", "m", "prompt")
    assert await known.get("https://api.example/v1", "m") == "prompt"
    assert await known.get("https://api.example/v1", "other") is None
