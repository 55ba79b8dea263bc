"""The sentences of the specification of numbers: docs/explanation/judgement.md, parts 1 to 3 and 5."""

import re
from collections.abc import Iterator
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "judgement.md"
PARTS = ("1", "2", "2.1", "2.2", "2.3", "3", "5")

_HEADING = re.compile(r"^##+ (\d(?:\.\d)?)\b.*\n", re.MULTILINE)
_RULER = re.compile(r"\|[\s:|-]+\|")
_ITEM = re.compile(r"(?:- |\d\. |\| )")
_END = re.compile(r"(?<=[.;])(?<!e\.g\.)\s+")


def sentences(page: str) -> dict[str, list[str]]:
    """Of every part the sentences, and what semicolons part within them, of its paragraphs, bullets and table rows."""
    _, *rest = _HEADING.split(page)
    parts = dict(zip(rest[::2], rest[1::2], strict=True))
    return {part: [said for block in _blocks(parts[part]) for said in _END.split(block)] for part in PARTS}


def _blocks(part: str) -> Iterator[str]:
    for paragraph in re.split(r"\n\s*\n", part.strip()):
        lines: list[str] = []
        for line in paragraph.splitlines():
            if _RULER.fullmatch(line):  # the line before it was the table's head
                lines.clear()
                continue
            if (item := _ITEM.match(line)) and lines:
                yield " ".join(lines)
                lines.clear()
            lines.append(line[item.end() if item else 0 :].strip())
        if lines:
            yield " ".join(lines)
