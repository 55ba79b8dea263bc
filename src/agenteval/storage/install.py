"""What belongs to this database alone: the secret that fences and conversation ids are derived from."""

import secrets
from collections.abc import Callable
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.dialects.sqlite import insert

from agenteval.storage.codec import time_text
from agenteval.storage.store import Store
from agenteval.storage.tables import INSTALL

SECRET_BYTES = 32


async def secret(store: Store, now: datetime, new: Callable[[int], bytes] = secrets.token_bytes) -> bytes:
    """The same 32 bytes always. Made when first asked for; of several processes that ask at once, one makes it."""
    query = select(INSTALL.c.secret)
    async with store.read() as connection:
        if found := await connection.scalar(query):
            return bytes(found)
    row = {"id": 1, "secret": new(SECRET_BYTES), "created_at": time_text(now)}
    async with store.write() as connection:
        await connection.execute(insert(INSTALL).values(row).on_conflict_do_nothing())
        return bytes(await connection.scalar(query) or b"")
