"""Which objects exist at run time."""

import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from agenteval.domain.ports import Clock
from agenteval.models import ModelContext
from agenteval.models.batch_file import BatchFile
from agenteval.models.roles import build
from agenteval.net.clock import SystemClock
from agenteval.net.guard import Guard
from agenteval.net.session import Sessions
from agenteval.services.evaluations import Evaluations
from agenteval.services.judging import Judging
from agenteval.services.rescore import Rescores
from agenteval.services.reviews import Reviews
from agenteval.services.runs import Runs
from agenteval.settings import Settings
from agenteval.storage import install
from agenteval.storage.capabilities import StoredCapabilities
from agenteval.storage.memo import DurableMemo
from agenteval.storage.store import Store

JUDGED_BY_CODE = 4
"""Dialogs judged at once when there is no model to wait for."""


@dataclass(frozen=True, slots=True)
class App:
    """`batch` is the judge when its requests go into a file."""

    settings: Settings
    clock: Clock
    store: Store
    judging: Judging
    runs: Runs
    rescores: Rescores
    reviews: Reviews
    evaluations: Evaluations
    batch: BatchFile | None = None


@asynccontextmanager
async def app(
    settings: Settings, write: Callable[[bytes], object] | None = None, *, create: bool = True
) -> AsyncIterator[App]:
    """Everything wired; closed again at the end. With `write` it gets the judge's requests, and none is sent. Raises
    NotFound when there is no database and none is to be created."""
    clock = SystemClock()
    store = await Store.open(settings.database_url, create=create)
    try:
        guard = Guard.of(settings.allowed_targets)
        async with Sessions(guard) as sessions:
            capabilities = StoredCapabilities(store)
            models = build(settings, ModelContext(sessions, clock, capabilities))
            batch = None
            if write and settings.judge:
                batch = BatchFile(settings.judge, capabilities, DurableMemo(store, clock), write)
                models = replace(models, judge=batch)
            judging = Judging(
                models,
                await install.secret(store, clock.now()),
                concurrency=settings.judge.max_concurrency if settings.judge else JUDGED_BY_CODE,
                clock=clock,
            )
            try:
                runs = Runs(store, clock, guard, judging, new_id)
                rescores = Rescores(store, clock, judging, new_id)
                reviews = Reviews(store, clock, new_id)
                evaluations = Evaluations(store, clock, judging)
                yield App(settings, clock, store, judging, runs, rescores, reviews, evaluations, batch)
            finally:
                await models.close()
    finally:
        await store.aclose()


def new_id() -> str:
    """Short enough to type, and not to be guessed."""
    return secrets.token_hex(5)
