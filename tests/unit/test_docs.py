"""The pages hold together: links lead somewhere, and a schema is described in words."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from agenteval.cli.parameters import default_text, type_name

ROOT = Path(__file__).parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_within_the_project_leads_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\((?!\w+:)([^)#\s]+)", page.read_text(encoding="utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "string"}, "string"),
        ({}, "anything"),
        ({"type": "number", "minimum": 0, "maximum": 1}, "number >= 0 <= 1"),
        ({"enum": ["last_turn", "full_dialog"]}, "`last_turn` | `full_dialog`"),
        ({"const": "any"}, "`any`"),
        ({"anyOf": [{"type": "integer", "exclusiveMinimum": 0}, {"type": "null"}]}, "integer > 0 | null"),
        ({"type": "array", "items": {"$ref": "#/$defs/Slot"}}, "list of Slot"),
        ({"type": "object", "additionalProperties": {"type": "string"}}, "mapping to string"),
    ],
)
def test_a_parameter_type_is_told_in_words(schema: Mapping[str, Any], words: str) -> None:
    assert type_name(schema) == words


def test_an_exact_default_is_told_as_people_write_it() -> None:
    assert default_text({"type": "number", "default": "4/5"}) == "0.8"
    assert default_text({"type": "string", "default": "4/5"}) == '"4/5"'
    assert default_text({"default": ["预约", "维修"]}) == '["预约","维修"]'
