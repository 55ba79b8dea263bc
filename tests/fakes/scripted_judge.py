"""A judge on the wire: the project's own client and model judge against a scripted server.

    async with scripted_judge({"name": {...}, "phone": [{...}, {...}]}) as judge:
        said = await judge.answer(dialog, questions)

A script gives for each task, found by a word of its text, the raw answer; `Again` gives one for each time it is asked.
"""

import re
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any, TypeAlias

from agenteval.domain.ports import Role
from agenteval.judge.model_judge import ModelJudge
from agenteval.models import ModelContext
from agenteval.models.builtin.openai_compatible import Chat
from agenteval.net.guard import Guard
from agenteval.net.session import Sessions
from agenteval.settings import ModelSettings
from tests.fakes.clock import FakeClock
from tests.fakes.scripted_model import Answer, Request, ScriptedModel

SECRET = b"0123456789abcdef0123456789abcdef"
_TASK = re.compile(r"^(q\d+(?:_\w+)*): (.*(?:\n  .*)*)", re.MULTILINE)

Raw: TypeAlias = Any


class Again(list[Raw]):
    """What is said the first time, the second, ..."""


@dataclass
class Script:
    """Answers tasks by the first key that stands in their text. Tasks without one are left out of the answer."""

    answers: Mapping[str, Raw]
    times: Counter[str] = field(default_factory=Counter)

    def __call__(self, request: Request) -> dict[str, Raw]:
        return {id_: self._answer(text) for id_, text in tasks(request).items() if self._key(text) is not None}

    def _key(self, text: str) -> str | None:
        return next((key for key in self.answers if key in text), None)

    def _answer(self, text: str) -> Raw:
        key = self._key(text)
        assert key is not None
        answer = self.answers[key]
        if isinstance(answer, Again):
            answer = answer[min(self.times[key], len(answer) - 1)]
        self.times[key] += 1
        return answer


def tasks(request: Request) -> dict[str, str]:
    """The tasks of a judge request, by their keys."""
    return dict(_TASK.findall(system_prompt(request)))


def system_prompt(request: Request) -> str:
    return str(request["messages"][0]["content"])


def transcript(request: Request) -> str:
    return str(request["messages"][1]["content"])


class MemoryCapabilities:
    def __init__(self) -> None:
        self._modes: dict[tuple[str, str], str] = {}

    async def get(self, base_url: str, model: str) -> str | None:
        return self._modes.get((base_url, model))

    async def put(self, base_url: str, model: str, mode: str) -> None:
        self._modes[base_url, model] = mode


@dataclass
class ScriptedJudge:
    judge: ModelJudge
    server: ScriptedModel
    clock: FakeClock

    @property
    def requests(self) -> list[Request]:
        return [asked.json for asked in self.server.requests]


@asynccontextmanager
async def scripted_judge(
    script: Mapping[str, Raw] | Callable[[Request], Answer], **settings: Any
) -> AsyncIterator[ScriptedJudge]:
    answer = Script(script) if isinstance(script, Mapping) else script
    async with ScriptedModel(answer) as server, Sessions(Guard()) as sessions:
        config = ModelSettings(base_url=server.base_url, model="judge-1", **settings)
        clock = FakeClock()
        context = ModelContext(sessions, clock, MemoryCapabilities(), Random(0))
        yield ScriptedJudge(ModelJudge(Chat(Role.JUDGE, config, context), SECRET, clock), server, clock)
