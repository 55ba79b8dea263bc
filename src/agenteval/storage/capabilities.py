"""What was found out about models, remembered across runs."""

from sqlalchemy import select
from sqlalchemy.dialects.sqlite import insert

from agenteval.storage.store import Store
from agenteval.storage.tables import CAPABILITIES


class StoredCapabilities:
    """The way of structured output that works, by server and model."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def get(self, base_url: str, model: str) -> str | None:
        of_model = (CAPABILITIES.c.base_url == base_url) & (CAPABILITIES.c.model == model)
        async with self._store.read() as connection:
            mode: str | None = await connection.scalar(select(CAPABILITIES.c.mode).where(of_model))
        return mode

    async def put(self, base_url: str, model: str, mode: str) -> None:
        row = insert(CAPABILITIES).values(base_url=base_url, model=model, mode=mode)
        newest = row.on_conflict_do_update(index_elements=["base_url", "model"], set_={"mode": mode})
        async with self._store.write() as connection:
            await connection.execute(newest)
