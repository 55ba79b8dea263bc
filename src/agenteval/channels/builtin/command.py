"""An agent that is a program: one process per dialog, which reads and writes lines of JSON.

    stdin    {"conversation_id": "...", "turn_index": 0, "message": "..."}
    stdout   {"reply": ..., "tool_calls": [{"name", "arguments", "result", "ok"}]}

It writes exactly one line for each message; blank ones are skipped, and the last one may lack its line break. If it has
written more by the time of the next message, that turn is its error. stderr is the program's own; its last lines are
quoted when it dies. At the end of the dialog stdin is closed, and after half a second the process group is killed.
"""

import asyncio
import os
import shlex
import shutil
import signal
import sys
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, cast

import orjson

from agenteval.channels import ChannelFactory, register_channel
from agenteval.channels.exchange import REPLY_CAP_BYTES
from agenteval.channels.replies import agent_reply, parse_json
from agenteval.domain.errors import TargetError, TargetProtocolError
from agenteval.domain.ports import AgentReply
from agenteval.domain.target import Target
from agenteval.net.guard import Guard
from agenteval.net.redact import Redactor

_LOOKED_AT_BYTES = 8 * 1024
_LAST_WORDS = 1_000
_SHOWN = 200
_GRACE_S = 0.5
_FIX = "stdout is for replies, one line for each message; stderr is for the rest"


@register_channel
@dataclass(frozen=True, slots=True)
class Command(ChannelFactory):
    """`command`: the program and its arguments, as a list or as one line (split as a shell does, run without one).
    `cwd`: its working directory, by default that of agenteval; the environment is inherited."""

    name: ClassVar[str] = "command"

    command: str | tuple[str, ...]
    cwd: str | None = None

    def __post_init__(self) -> None:
        if not self.arguments:
            raise ValueError("command is empty")

    @property
    def arguments(self) -> tuple[str, ...]:
        return tuple(shlex.split(self.command)) if isinstance(self.command, str) else self.command

    def create(self, target: Target, guard: Guard) -> "CommandChannel":
        return CommandChannel(self.arguments, self.cwd, Redactor(target.secrets))


class CommandChannel:
    """`hide`: secrets are taken out of what a program wrote before it is cut, as the rest of one would still be one."""

    def __init__(self, arguments: tuple[str, ...], cwd: str | None, hide: Redactor) -> None:
        self._arguments = arguments
        self._cwd = cwd
        self._hide = hide

    async def check(self) -> None:
        _find(self._arguments[0], Path(self._cwd or "."))

    def open(self, conversation_id: str, case_id: str = "") -> "CommandConversation":
        return CommandConversation(self._arguments, self._cwd, conversation_id, self._hide)

    async def close(self) -> None:
        pass


class CommandConversation:
    def __init__(self, arguments: tuple[str, ...], cwd: str | None, conversation_id: str, hide: Redactor) -> None:
        self._arguments = arguments
        self._cwd = cwd
        self._id = conversation_id
        self._hide = hide
        self._turn_index = 0
        self._program: _Program | None = None

    async def send(self, message: str) -> AgentReply:
        if self._program is None:
            self._program = await self._start()
        request = {"conversation_id": self._id, "turn_index": self._turn_index, "message": message}
        try:
            line = await self._program.ask(orjson.dumps(request) + b"\n")
        except asyncio.CancelledError:
            self._program.kill()
            raise
        self._turn_index += 1
        return _reply(line, self._hide)

    async def close(self) -> None:
        if self._program is not None:
            await self._program.end()

    async def _start(self) -> "_Program":
        try:
            _, program = await asyncio.get_running_loop().subprocess_exec(
                partial(_Program, self._hide), *self._arguments, cwd=self._cwd, start_new_session=True
            )
        except (OSError, ValueError) as error:
            raise TargetError(f"cannot start {self._arguments[0]!r}: {error}") from error
        return program


class _Program(asyncio.SubprocessProtocol):
    """A running process and its three pipes. Reading stderr all the time keeps it from blocking there."""

    def __init__(self, hide: Redactor) -> None:
        self._hide = hide
        loop = asyncio.get_running_loop()
        self._lines = asyncio.StreamReader(limit=REPLY_CAP_BYTES, loop=loop)
        self._unread_bytes = 0
        self._stderr = b""
        self._gone: asyncio.Future[None] = loop.create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.SubprocessTransport", transport)
        self._lines.set_transport(cast("asyncio.Transport", self._transport.get_pipe_transport(1)))

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 1:
            self._lines.feed_data(data)
            self._unread_bytes += len(data)
        else:
            self._stderr = (self._stderr + data)[-_LOOKED_AT_BYTES:]

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd == 1:
            self._lines.feed_eof()

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport.close()
        if not self._gone.done():
            self._gone.set_result(None)

    async def ask(self, line: bytes) -> bytes:
        """The line that the program answers with. Raises TargetError when it ends instead, writes without end, or wrote
        more than its answer to the line before: nobody could tell what belongs to what then."""
        if self._unread_bytes and (more := await self._read(self._lines.read(self._unread_bytes))).strip():
            raise TargetProtocolError(
                f"the program wrote more than one line for the message before: {_beginning(more, self._hide)}", fix=_FIX
            )
        stdin = cast("asyncio.WriteTransport | None", self._transport.get_pipe_transport(0))
        if stdin and not stdin.is_closing():
            stdin.write(line)
        try:
            while not (answer := await self._read(self._lines.readuntil())).strip():
                pass
        except asyncio.LimitOverrunError as error:
            self.kill()
            raise TargetProtocolError(f"the program wrote a line of more than {REPLY_CAP_BYTES} bytes") from error
        except asyncio.IncompleteReadError as error:
            await self.end()
            self._unread_bytes = 0
            if _is_json(error.partial):
                return error.partial
            raise TargetError(self._last_words(), delivered=True) from error
        return answer

    async def _read(self, reading: Coroutine[Any, Any, bytes]) -> bytes:
        read = await reading
        self._unread_bytes -= len(read)
        return read

    async def end(self) -> None:
        """Close stdin, give the program a moment to end by itself, then kill it with all that it started."""
        self._close_pipes(0)
        try:
            await asyncio.wait([self._gone], timeout=_GRACE_S)
        finally:
            self.kill()
            self._close_pipes(1, 2)  # nobody reads the rest of what it wrote
        await asyncio.shield(self._gone)

    def kill(self) -> None:
        with suppress(ProcessLookupError, PermissionError):
            if sys.platform == "win32":
                self._transport.kill()
            else:
                os.killpg(self._transport.get_pid(), signal.SIGKILL)

    def _close_pipes(self, *fds: int) -> None:
        for pipe in map(self._transport.get_pipe_transport, fds):
            if pipe:
                pipe.close()

    def _last_words(self) -> str:
        said = self._hide(self._stderr.decode(errors="replace")).strip()
        said = said if len(said) <= _LAST_WORDS else f"…{said[-_LAST_WORDS:]}"
        code = self._transport.get_returncode()
        return f"the program ended with code {code} instead of answering" + (f"; stderr: {said}" if said else "")


def _find(program: str, folder: Path) -> None:
    """Raises TargetError when `program` cannot be started in `folder`; a path counts from there, a name from PATH."""
    if not folder.is_dir():
        raise TargetError(f"the working directory {str(folder)!r} does not exist")
    if shutil.which(program if Path(program).name == program else (folder / program).resolve()) is None:
        raise TargetError(f"cannot find the program {program!r}", fix="give its path, or add its folder to PATH")


def _reply(line: bytes, hide: Redactor) -> AgentReply:
    try:
        answer = parse_json(line)
    except ValueError as error:
        raise TargetProtocolError(
            f"the program wrote a line that is no JSON: {_beginning(line, hide)}",
            fix=_FIX,
        ) from error
    if not isinstance(answer, Mapping) or "reply" not in answer:
        raise TargetProtocolError(f'the program wrote no {{"reply": ...}} but {_beginning(line, hide)}')
    return agent_reply(answer)


def _is_json(line: bytes) -> bool:
    try:
        parse_json(line)
    except (ValueError, TargetProtocolError):
        return False
    return True


def _beginning(line: bytes, hide: Redactor) -> str:
    return hide(line[:_LOOKED_AT_BYTES].decode(errors="replace")).strip()[:_SHOWN]
