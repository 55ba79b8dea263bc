"""An agent that is a Python function, async or not.

    def reply(message: str, session: Session) -> str: ...

It returns the reply (text, or any JSON), or `{"reply": ..., "tool_calls": [{"name", "arguments", "result", "ok"}]}`.
Functions run in threads, one for each message. Coroutines share an event loop of their own: one that blocks it holds up
the agent's other dialogs, as on a server. What an agent prints goes to stderr.
"""

import asyncio
import contextvars
import importlib
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from threading import Thread, current_thread, main_thread
from typing import Any, ClassVar, TextIO, cast

from agenteval.channels import ChannelFactory, register_channel
from agenteval.channels.exchange import described
from agenteval.channels.replies import agent_reply, as_messages
from agenteval.domain.errors import TargetError
from agenteval.domain.ports import AgentReply
from agenteval.domain.target import Target
from agenteval.net.guard import Guard

MAX_HANGING = 32
"""Calls of one agent that were given up and never came back; after so many it is called no more."""

_GRACE_S = 0.3


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
    """`max_calls`: those that are waited for, and those that were given up but never came back."""

    def __init__(self, location: str, max_calls: int) -> None:
        self._location = location
        self._max_calls = max_calls
        self._calls: set[Future[Any]] = set()
        self._loops: list[_Loop] = []

    async def check(self) -> None:
        _ = self.function

    def open(self, conversation_id: str, case_id: str = "") -> "PythonConversation":
        return PythonConversation(self, Session(conversation_id))

    async def close(self) -> None:
        """Coroutines that still run are cancelled, and have a moment to clean up."""
        for loop in self._loops:
            loop.end()
        if self._loops:
            await asyncio.to_thread(self._loops[-1].join, _GRACE_S)
        self._loops.clear()

    @cached_property
    def function(self) -> Callable[[str, Session], Any]:
        """Raises TargetError when it cannot be imported or called."""
        module, _, name = self._location.rpartition(":")
        _divide_stdout()
        try:
            with redirect_stdout(sys.stderr):
                found = _imported(module)
                for part in name.split("."):
                    if not hasattr(found, part):
                        raise AttributeError(f"{module} has no {part!r}")
                    found = getattr(found, part)
                inspect.signature(found).bind("message", "session")
        except (Exception, SystemExit) as error:
            raise TargetError(
                described(error),
                where=self._location,
                fix="it must be importable from the working directory and take (message, session)",
            ) from error
        return found  # type: ignore[no-any-return]  # it is the user's; the signature was tried

    async def call(self, message: str, session: Session) -> Any:
        """What the function returns. Raises TargetError."""
        function = self.function
        if len(self._calls) >= self._max_calls:
            raise TargetError(f"{len(self._calls)} earlier calls of the agent have not returned", where=self._location)
        if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__):
            answer = function(message, session)
        else:
            answer = await self._in_thread(function, message, session)
        return await self._in_loop(answer) if inspect.isawaitable(answer) else answer

    async def _in_thread(self, function: Callable[[str, Session], Any], message: str, session: Session) -> Any:
        """Like asyncio.to_thread, in a daemon thread of its own: a call that never returns holds up neither other calls
        nor the end of the program."""
        done = self._begun()
        context = contextvars.copy_context()

        def call() -> None:
            try:
                done.set_result(context.run(function, message, session))
            except BaseException as error:  # noqa: BLE001 - whatever it is, it is the agent's answer
                done.set_exception(_failure(error))

        Thread(target=call, name=f"agent {session.id}", daemon=True).start()
        return await asyncio.wrap_future(done)

    async def _in_loop(self, answer: Awaitable[Any]) -> Any:
        """In the agent's own loop, so that what blocks there, cancels itself or cannot be cancelled stops no run. All
        calls share it, for an agent's clients and locks belong to one loop; but a loop that is blocked when a call is
        given up gets no more calls."""
        if not self._loops or self._loops[-1].blocked:
            self._loops.append(_Loop())
        loop = self._loops[-1]
        done = self._begun()

        async def call() -> None:
            try:
                done.set_result(await answer)
            except BaseException as error:  # noqa: BLE001 - as above
                done.set_exception(_failure(error))

        running = loop.start_soon(call())
        try:
            return await asyncio.wrap_future(done)
        except asyncio.CancelledError:
            running.cancel()
            await loop.look()
            raise

    def _begun(self) -> Future[Any]:
        """Counts as a call until it is done, whether somebody still waits for it or not."""
        done: Future[Any] = Future()
        done.set_running_or_notify_cancel()
        self._calls.add(done)
        done.add_done_callback(self._calls.discard)
        return done


class PythonConversation:
    def __init__(self, channel: PythonChannel, session: Session) -> None:
        self._channel = channel
        self._session = session

    async def send(self, message: str) -> AgentReply:
        try:
            reply = agent_reply(await self._channel.call(message, self._session))
            self._session.history += as_messages(message, reply.reply)
        except TargetError:
            raise
        except (Exception, SystemExit) as error:
            raise _failure(error) from error
        return reply

    async def close(self) -> None:
        pass


class _Loop(Thread):
    """An event loop in a daemon thread. `blocked`: as it was last looked at."""

    def __init__(self) -> None:
        super().__init__(name="agent's event loop", daemon=True)
        self._loop = asyncio.new_event_loop()
        self._ended = False
        self.blocked = False
        self.start()

    def run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop):
            while not self._ended:
                with suppress(SystemExit, KeyboardInterrupt):  # of a task that the agent made
                    self._loop.run_forever()

    def start_soon(self, coroutine: Coroutine[Any, Any, None]) -> Future[None]:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    async def look(self) -> None:
        """Find out whether it is blocked."""
        sign: Future[None] = Future()
        sign.set_running_or_notify_cancel()
        with suppress(RuntimeError):  # it has ended
            self._loop.call_soon_threadsafe(sign.set_result, None)
        waiting = asyncio.wrap_future(sign)
        await asyncio.wait([waiting], timeout=_GRACE_S)
        self.blocked = not sign.done()
        waiting.cancel()

    def end(self) -> None:
        self._ended = True
        self._loop.call_soon_threadsafe(self._loop.stop)


class _DividedStdout:
    """stdout for the main thread, stderr for all others. Results of ours go to stdout, from the main thread; the agent
    runs in others, prints whatever it likes, and may do so long after it was given up."""

    def __init__(self, ours: TextIO) -> None:
        self._ours = ours

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ours if current_thread() is main_thread() else sys.stderr, name)


def _divide_stdout() -> None:
    if not isinstance(sys.stdout, _DividedStdout):
        sys.stdout = cast("TextIO", _DividedStdout(sys.stdout))


def _failure(error: BaseException) -> TargetError:
    frames = traceback.extract_tb(error.__traceback__)
    where = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return TargetError(described(error), where=where, delivered=True)


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
