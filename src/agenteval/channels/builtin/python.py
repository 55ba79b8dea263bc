"""An agent that is a Python function, async or not.

    def reply(message: str, session: Session) -> str: ...

It returns the reply (text, or any JSON), or `{"reply": ..., "tool_calls": [{"name", "arguments", "result", "ok"}]}`.
"""

import asyncio
import contextvars
import importlib
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar

from agenteval.channels import ChannelFactory, register_channel
from agenteval.channels.replies import agent_reply, as_messages
from agenteval.domain.errors import TargetError
from agenteval.domain.ports import AgentReply
from agenteval.domain.target import Target
from agenteval.net.guard import Guard

MAX_HANGING = 32
"""Calls of one agent that were given up and never came back; after so many it is called no more."""


@dataclass(slots=True)
class Session:
    """What the function may know of the dialog. `history`: the turns before this one as chat messages. `state` is the
    function's own, kept from turn to turn."""

    id: str
    history: list[dict[str, str]] = field(default_factory=list)
    state: dict[str, Any] = field(default_factory=dict)


@register_channel
@dataclass(frozen=True, slots=True)
class Python(ChannelFactory):
    """`callable`: "package.module:function", or "path/to/agent.py:function" from the working directory."""

    name: ClassVar[str] = "python"

    callable: str

    def __post_init__(self) -> None:
        module, _, function = self.callable.rpartition(":")
        if not module or not function:
            raise ValueError('callable must be "package.module:function" or "path/to/agent.py:function"')

    def create(self, target: Target, guard: Guard) -> "PythonChannel":
        return PythonChannel(self.callable, target.max_concurrency + MAX_HANGING)


class PythonChannel:
    """`max_threads`: calls that are waited for, and those that were given up but never came back."""

    def __init__(self, location: str, max_threads: int) -> None:
        self._location = location
        self._max_threads = max_threads
        self._threads: set[Future[Any]] = set()

    async def check(self) -> None:
        _ = self.function

    def open(self, conversation_id: str, case_id: str = "") -> "PythonConversation":
        return PythonConversation(self, Session(conversation_id))

    async def close(self) -> None:
        pass

    @cached_property
    def function(self) -> Callable[[str, Session], Any]:
        """Raises TargetError when it cannot be imported or called."""
        module, _, name = self._location.rpartition(":")
        try:
            found = _imported(module)
            for part in name.split("."):
                found = getattr(found, part)
            inspect.signature(found).bind("message", "session")
        except (Exception, SystemExit) as error:
            raise TargetError(
                f"{type(error).__name__}: {error}",
                where=self._location,
                fix="it must be importable from the working directory and take (message, session)",
            ) from error
        return found  # type: ignore[no-any-return]  # it is the user's; the signature was tried

    async def in_thread(self, message: str, session: Session) -> Any:
        """Like asyncio.to_thread, in a daemon thread of its own: a call that never returns holds up neither other calls
        nor the end of the program."""
        if len(self._threads) >= self._max_threads:
            raise TargetError(
                f"{len(self._threads)} earlier calls of the agent have not returned", where=self._location
            )
        done: Future[Any] = Future()
        done.set_running_or_notify_cancel()
        self._threads.add(done)
        done.add_done_callback(self._threads.discard)
        context = contextvars.copy_context()
        function = self.function

        def call() -> None:
            try:
                done.set_result(context.run(function, message, session))
            except BaseException as error:  # noqa: BLE001 - whatever it is, it is the agent's answer
                done.set_exception(_failure(error))

        Thread(target=call, name=f"agent {session.id}", daemon=True).start()
        return await asyncio.wrap_future(done)


class PythonConversation:
    def __init__(self, channel: PythonChannel, session: Session) -> None:
        self._channel = channel
        self._session = session

    async def send(self, message: str) -> AgentReply:
        function = self._channel.function
        try:
            if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__):
                answer = function(message, self._session)
            else:
                answer = await self._channel.in_thread(message, self._session)
            reply = agent_reply(await answer if inspect.isawaitable(answer) else answer)
        except TargetError:
            raise
        except (Exception, SystemExit) as error:
            raise _failure(error) from error
        self._session.history += as_messages(message, reply.reply)
        return reply

    async def close(self) -> None:
        pass


def _failure(error: BaseException) -> TargetError:
    frames = traceback.extract_tb(error.__traceback__)
    where = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return TargetError(f"{type(error).__name__}: {error}", where=where, delivered=True)


def _imported(module: str) -> Any:
    """A module by name or by file; what stands beside it can be imported too, as if it was started by itself."""
    file = Path(module).resolve() if module.endswith(".py") else None
    folder = str(file.parent if file else Path.cwd())
    if folder not in sys.path:
        sys.path.append(folder)
    if file is None:
        return importlib.import_module(module)
    name = f"agenteval target {file}"  # two targets may both be called agent.py
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"no Python file at {file}")
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[name] = loaded
    spec.loader.exec_module(loaded)
    return loaded
