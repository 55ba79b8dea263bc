"""Which objects exist at run time."""

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from agenteval.domain.ports import Clock
from agenteval.models import ModelContext
from agenteval.models.roles import build
from agenteval.net.clock import SystemClock
from agenteval.net.guard import Guard
from agenteval.net.session import Sessions
from agenteval.services.evaluations import Evaluations
from agenteval.services.judging import Judging
from agenteval.services.rescore import Rescores
from agenteval.services.runs import Runs
from agenteval.settings import Settings
from agenteval.storage import install
from agenteval.storage.capabilities import StoredCapabilities
from agenteval.storage.store import Store

JUDGED_BY_CODE = 4
"""Dialogs judged at once when there is no model to wait for."""


@dataclass(frozen=True, slots=True)
class App:
    settings: Settings
    clock: Clock
    store: Store
    judging: Judging
    runs: Runs
    rescores: Rescores
    evaluations: Evaluations


@asynccontextmanager
async def app(settings: Settings) -> AsyncIterator[App]:
    """Everything wired; closed again at the end."""
    clock = SystemClock()
    store = await Store.open(settings.database_url)
    try:
        guard = Guard.of(settings.allowed_targets)
        async with Sessions(guard) as sessions:
            models = build(settings, ModelContext(sessions, clock, StoredCapabilities(store)))
            judging = Judging(
                models,
                await install.secret(store, clock.now()),
                concurrency=settings.judge.max_concurrency if settings.judge else JUDGED_BY_CODE,
            )
            try:
                runs = Runs(store, clock, guard, judging, new_id)
                rescores = Rescores(store, clock, judging, new_id)
                yield App(settings, clock, store, judging, runs, rescores, Evaluations(store, clock, judging))
            finally:
                await models.close()
    finally:
        await store.aclose()


def new_id() -> str:
    """Short enough to type, and not to be guessed."""
    return secrets.token_hex(5)
