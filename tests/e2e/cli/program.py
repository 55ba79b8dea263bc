"""The program in a process of its own, in a folder of its own."""

import asyncio
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

# Whoever started the tests may ignore SIGHUP (nohup), and children would inherit that.
START = "import signal; signal.signal(signal.SIGHUP, signal.SIG_DFL); from agenteval.cli import main; main()"


@dataclass(frozen=True)
class Ended:
    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        return self.out.decode()

    @property
    def json(self) -> Any:
        return orjson.loads(self.out)


@dataclass(frozen=True)
class Program:
    folder: Path
    environ: Mapping[str, str] = field(default_factory=dict)

    async def start(self, *arguments: str, **environ: str) -> asyncio.subprocess.Process:
        ours = {name: value for name, value in os.environ.items() if not name.startswith(("AGENTEVAL_", "COLUMNS"))}
        pipe = asyncio.subprocess.PIPE
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", START, *arguments),
            cwd=self.folder,
            env=ours | dict(self.environ) | environ,
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
        )

    async def __call__(self, *arguments: str, **environ: str) -> Ended:
        return await ended(await self.start(*arguments, **environ))

    def write(self, name: str, content: object) -> str:
        """A JSON file; returns its name."""
        (self.folder / name).write_bytes(orjson.dumps(content))
        return name


async def ended(process: asyncio.subprocess.Process, stdin: bytes = b"") -> Ended:
    out, err = await process.communicate(stdin)
    assert process.returncode is not None
    return Ended(process.returncode, out, err.decode())


async def shell(program: Program, command: str) -> Ended:
    """`agenteval` in a shell command stands for the program."""
    process = await asyncio.create_subprocess_exec(
        *("sh", "-c", f"agenteval() {{ '{sys.executable}' -c '{START}' \"$@\"; }}; {command}"),
        cwd=program.folder,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    return await ended(process)


async def until(condition: Callable[[], object]) -> None:
    while not condition():  # noqa: ASYNC110 - what is waited for happens in another process
        await asyncio.sleep(0.01)


def scenario(*cases: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    return {"name": "订餐", "cases": list(cases), **more}


def says(*messages: str, rules: list[Any] | None = None, **more: Any) -> dict[str, Any]:
    """A case; without rules each reply must hold the message, which an echo does."""
    default = [{"type": "keyword_match", "params": {"all_of": [messages[-1]]}}]
    return {"messages": list(messages), "eval_rules": default if rules is None else rules, **more}
