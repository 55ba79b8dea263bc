"""Structured output in whatever way a model's server accepts: json_schema, else a tool call, else a prompt.

What is refused by name is left out from then on: one step down the ladder, or an optional parameter. That is found out
once for each server and model and remembered. An answer that ignores the schema is no refusal: the judge deals with it.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeVar

from agenteval.domain.errors import ModelError
from agenteval.domain.ports import Capabilities
from agenteval.settings import ModelSettings

T = TypeVar("T")


class Structured(StrEnum):
    """From the top of the ladder to its foot."""

    JSON_SCHEMA = "json_schema"
    TOOL = "tool"
    PROMPTED = "prompted"


STEPS = {
    Structured.JSON_SCHEMA: re.compile(
        r"response_?format|json_?(schema|object)|structured.?outputs?|\bschemas?\b|\bstrict\b|guided|grammar",
        re.IGNORECASE,
    ),
    Structured.TOOL: re.compile(r"\btools?\b|tool_|function", re.IGNORECASE),
}
OPTIONAL = {
    "temperature": re.compile(r"\btemperature\b", re.IGNORECASE),
    "seed": re.compile(r"\bseed\b", re.IGNORECASE),
    "max_tokens": re.compile(r"\bmax_tokens\b", re.IGNORECASE),
}


class ParameterRefused(ModelError):
    """The server refused the request as it was written; `complaint` is its own words."""

    def __init__(self, message: str, *, complaint: str, where: str = "", fix: str = "") -> None:
        super().__init__(message, where=where, fix=fix)
        self.complaint = complaint


@dataclass(frozen=True, slots=True)
class Mode:
    """How requests are written. `without`: optional parameters that are left out; for `max_tokens` that means its newer
    name `max_completion_tokens`. As text: `tool`, `json_schema -seed -temperature`."""

    structured: Structured = Structured.JSON_SCHEMA
    without: frozenset[str] = frozenset()

    def __str__(self) -> str:
        return " ".join([self.structured, *(f"-{name}" for name in sorted(self.without))])

    @classmethod
    def parse(cls, text: str) -> "Mode":
        structured, *without = text.split()
        return cls(Structured(structured), frozenset(name.removeprefix("-") for name in without))

    def after(self, complaint: str, *, fixed: bool) -> "Mode | None":
        """The mode to try next: without what the complaint names first. None when it names nothing that can be left
        out. `fixed`: stay on this step."""
        options: list[tuple[int, Mode]] = []
        for name in OPTIONAL.keys() - self.without:
            if named := OPTIONAL[name].search(complaint):
                options.append((named.start(), replace(self, without=self.without | {name})))
        if not fixed and self.structured in STEPS and (named := STEPS[self.structured].search(complaint)):
            lower = list(Structured)[list(Structured).index(self.structured) + 1]
            options.append((named.start(), replace(self, structured=lower)))
        return min(options, key=lambda option: option[0])[1] if options else None


async def recalled(settings: ModelSettings, memory: Capabilities) -> Mode:
    """The mode that was set or found out, for whoever makes no call; else the top of the ladder."""
    if settings.structured != "auto":
        return Mode(Structured(settings.structured))
    return await _known(settings, memory) or Mode()


async def _known(settings: ModelSettings, memory: Capabilities) -> Mode | None:
    known = await memory.get(settings.base_url, settings.model)
    with suppress(ValueError):  # in the words of another version
        return Mode.parse(known) if known else None
    return None


class Ladder:
    """One model's mode. The first call finds it out while the others wait; each later one may still learn."""

    def __init__(self, settings: ModelSettings, memory: Capabilities) -> None:
        self._settings = settings
        self._memory = memory
        self._fixed = settings.structured != "auto"
        self._mode = Mode(Structured(settings.structured)) if self._fixed else Mode()
        self._remembered: Mode | None = None
        self._first = asyncio.Lock()
        self._tried = False

    async def run(self, attempt: Callable[[Mode], Awaitable[T]]) -> T:
        """The result of `attempt` in the first mode that is not refused."""
        if not self._tried:
            async with self._first:
                if not self._tried:
                    try:
                        await self._recall()
                        return await self._descend(attempt)
                    finally:
                        self._tried = True
        return await self._descend(attempt)

    async def _descend(self, attempt: Callable[[Mode], Awaitable[T]]) -> T:
        mode = self._mode
        while True:
            try:
                result = await attempt(mode)
            except ParameterRefused as refusal:
                lower = mode.after(refusal.complaint, fixed=self._fixed)
                if lower is None:
                    raise
                mode = lower
            else:
                if mode != self._remembered:
                    await self._remember(mode)
                return result

    async def _recall(self) -> None:
        if not self._fixed and (known := await _known(self._settings, self._memory)):
            self._mode = self._remembered = known

    async def _remember(self, mode: Mode) -> None:
        self._mode = self._remembered = mode
        if not self._fixed:
            await self._memory.put(self._settings.base_url, self._settings.model, str(mode))
