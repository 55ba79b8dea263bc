"""The sentences of the specification of numbers: docs/explanation/judgement.md, parts 1 to 3 and 5. And whether the
tests that are said to show one of them are there."""

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "explanation" / "judgement.md"
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


_DATA = {
    "tests/golden/test_golden.py": "tests/golden",
    "tests/unit/judge/test_faulty_answers.py": "tests/cases/judge_answers.yaml",
    "tests/unit/judge/test_injection.py": "tests/cases/injections.yaml",
    "tests/unit/judge/test_parse.py": "tests/cases/judge_text.yaml",
}
"""Where the ids in brackets come from."""
_ENTRY = re.compile(r"^- (?:\{)?id: ([\w]+)", re.MULTILINE)


def missing_tests(named: Iterable[str]) -> list[str]:
    """Those of the tests, `path::name` or `path::name[id]`, that there are not."""
    return sorted({test for test in named if not _exists(*re.split(r"::|\[|\]", test))})


def _exists(path: str, name: str, id_: str = "", _end: str = "") -> bool:
    return name in _functions(path) and (not id_ or id_ in _ids(_DATA[path]))


@cache
def _functions(path: str) -> set[str]:
    if not (ROOT / path).is_file():
        return set()
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


@cache
def _ids(path: str) -> set[str]:
    files = (ROOT / path).glob("*.yaml") if (ROOT / path).is_dir() else [ROOT / path]
    return {id_ for file in files for id_ in _ENTRY.findall(file.read_text(encoding="utf-8"))}
