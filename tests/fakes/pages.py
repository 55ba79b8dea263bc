"""The examples in the documentation: its fenced blocks.

`yaml repair.yaml` after the fence makes it the file repair.yaml; `invalid` after that, an example of what is refused.
`console` holds commands, each after `$ `, and what they print; a line `...` stands for what was left out.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]

_BLOCK = re.compile(r"^```(\w+)(?: (\S+))?( invalid)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"^\$ (.*(?:\\\n.*)*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
LEFT_OUT = {"", "..."}


class Block(NamedTuple):
    language: str
    file: str
    invalid: str
    text: str


class Command(NamedTuple):
    line: str
    shown: tuple[str, ...]


def blocks(page: Path) -> list[Block]:
    return [Block(*match) for match in _BLOCK.findall(page.read_text(encoding="utf-8"))]


def commands(block: Block) -> Iterator[Command]:
    for line, shown in _COMMAND.findall(block.text):
        yield Command(line.replace("\\\n", " "), tuple(text for text in shown.splitlines() if text not in LEFT_OUT))


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()
