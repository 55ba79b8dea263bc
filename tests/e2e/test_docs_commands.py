"""The commands of the documentation, one after the other as a reader types them, print what the pages show."""

import re
import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agenteval.cli import demo
from tests.fakes.pages import PAGES, ROOT, blocks, commands, name_of
from tests.unit.cli.conftest import Call

WITH_COMMANDS = [page for page in PAGES if any(block.language == "console" for block in blocks(page))]
MODEL = "https://api.example.com"
JUDGE = ROOT / "tests" / "fakes" / "docs_judge.py"
CHANGING = {
    r"\b[0-9a-f]{10}\b": "RUN",
    r"\d{4}-\d\d-\d\d \d\d:\d\d": "TIME",
    r"[\d.]+ ms": "N ms",
    r"\d+ s$": "N s",
}
"""What differs from one time to the next: ids, times, durations."""


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=name_of)
def test_the_commands_of_a_page_print_what_it_shows(page: Path, reader: "Reader") -> None:
    for block in blocks(page):
        if block.file:
            Path(block.file).write_text(reader.here(block.text), encoding="utf-8")
        if block.language == "console":
            for line, shown in commands(block):
                printed = reader.types(line)
                lines = {steady(text) for text in printed.splitlines()}
                missing = [text for text in shown if steady(reader.here(text)) not in lines]
                assert missing == [], f"{line} printed:\n{printed}"


def steady(line: str) -> str:
    line = " ".join(line.split())
    for changing, stand_in in CHANGING.items():
        line = re.sub(changing, stand_in, line)
    return line


@dataclass
class Reader:
    """`places`: what stands in the pages for servers, and where they are here."""

    call: Call
    environment: pytest.MonkeyPatch
    servers: ExitStack
    places: dict[str, str] = field(default_factory=dict)
    last_code: int = 0

    def here(self, text: str) -> str:
        for place, real in self.places.items():
            text = text.replace(place, real)
        return text

    def types(self, line: str) -> str:
        match shlex.split(self.here(line), comments=True):
            case ["agenteval", *arguments]:
                code, out, err = self.call(*arguments)
                self.last_code = code
                return err + out
            case ["make", "demo"]:
                return self.types("agenteval demo")
            case ["echo", "$?"]:
                return str(self.last_code)
            case ["export", setting]:
                name, _, value = setting.partition("=")
                if value.startswith(MODEL):
                    port = self.servers.enter_context(
                        serving("tests.fakes.scripted_model", "{}", "--script", f"{JUDGE}")
                    )
                    self.places[MODEL] = f"http://127.0.0.1:{port}"
                self.environment.setenv(name, self.here(value))
                return ""
            case ["python", "-m", "agenteval.demo.agents", "--port", port, *options]:
                self.places[port] = self.servers.enter_context(
                    serving("agenteval.demo.agents", "--port", "{}", *options)
                )
                return ""
            case _:
                raise AssertionError(f"who runs this? {line}")


@pytest.fixture
def reader(call: Call, monkeypatch: pytest.MonkeyPatch) -> Iterator[Reader]:
    monkeypatch.setattr(demo, "_language", lambda: "en")
    with ExitStack() as servers:
        yield Reader(call, monkeypatch, servers)


@contextmanager
def serving(module: str, *arguments: str) -> Iterator[str]:
    """A server in a process of its own, at a free port: `{}` among its arguments."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    told = [argument.format(port) for argument in arguments]
    with subprocess.Popen([sys.executable, "-m", module, *told], cwd=ROOT, stdout=subprocess.DEVNULL) as process:
        try:
            while process.poll() is None:
                with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                    break
                time.sleep(0.02)
            yield str(port)
        finally:
            process.kill()
