from collections.abc import AsyncIterator, Callable
from random import Random
from typing import Any, TypeAlias

import pytest

from agenteval.domain.ports import ChatModel
from agenteval.models import ModelContext
from agenteval.models.roles import build
from agenteval.net.guard import Guard
from agenteval.net.session import Sessions
from agenteval.settings import ModelSettings, Settings
from tests.fakes.clock import FakeClock
from tests.fakes.scripted_model import ScriptedModel


class Remembered(dict[tuple[str, str], str]):
    """Capabilities in a dict."""

    async def get(self, base_url: str, model: str) -> str | None:  # type: ignore[override]
        return dict.get(self, (base_url, model))

    async def put(self, base_url: str, model: str, mode: str) -> None:
        self[base_url, model] = mode


Judge: TypeAlias = Callable[..., ChatModel]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def capabilities() -> Remembered:
    return Remembered()


@pytest.fixture
async def context(clock: FakeClock, capabilities: Remembered) -> AsyncIterator[ModelContext]:
    async with Sessions(Guard()) as sessions:
        yield ModelContext(sessions, clock, capabilities, Random(1))


@pytest.fixture
def judge(context: ModelContext) -> Judge:
    """The judge model at a server, with more settings by name."""

    def made(server: ScriptedModel | str, **more: Any) -> ChatModel:
        base_url = server if isinstance(server, str) else server.base_url
        settings = ModelSettings.model_validate({"base_url": base_url, "model": "judge-1", **more})
        model = build(Settings(judge=settings), context).judge
        assert model is not None
        return model

    return made
