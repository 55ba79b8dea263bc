"""The pages hold together: links lead somewhere, examples can be used, and a schema is described in words."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from agenteval.channels import CHANNELS
from agenteval.channels.build import factory
from agenteval.cli.parameters import default_text, parameters, type_name
from agenteval.datasets import scenarios, targets
from agenteval.plugins import parameters_schema
from agenteval.rules.build import bind
from agenteval.settings import load as load_settings
from tests.fakes.pages import PAGES, ROOT, Block, blocks, name_of

LINK = re.compile(r"\]\((?!\w+:)([^)#\s]*)#?([^)\s]*)\)")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_within_the_project_leads_somewhere(page: Path) -> None:
    for file, heading in LINK.findall(page.read_text(encoding="utf-8")):
        target = page.parent / file if file else page
        assert target.exists(), file
        assert not heading or heading in anchors(target), f"{file}#{heading}"


def anchors(page: Path) -> set[str]:
    """What stands after # in a link to a heading."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


EXAMPLES = [
    (page, block)
    for page in PAGES
    for block in blocks(page)
    if block.language in {"yaml", "toml"} and not block.invalid and "[project" not in block.text
]


@pytest.mark.parametrize(("page", "block"), EXAMPLES, ids=[f"{name_of(page)}:{block.file}" for page, block in EXAMPLES])
def test_every_example_is_a_scenario_a_list_of_rules_a_target_or_settings(
    page: Path, block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for other in blocks(page):
        if other.file:
            Path(other.file).write_text(other.text, encoding="utf-8")
    if block.language == "toml":
        Path("agenteval.toml").write_text(block.text, encoding="utf-8")
        assert load_settings({}).judge is not None
        return
    example = yaml.safe_load(block.text)
    if isinstance(example, list):
        rules = "\n".join(f"      {line}" for line in block.text.splitlines())
        scenarios.loads(f"name: x\ncases:\n  - messages: [x]\n    eval_rules:\n{rules}", "x", "yaml", bind)
    elif "cases" in example:
        scenarios.loads(block.text, block.file, "yaml", bind)
    else:
        targets.loads(block.text, block.file, factory, lambda name: f"value of {name}")


def test_the_readme_names_the_test_command() -> None:
    assert "make test" in (ROOT / "README.md").read_text(encoding="utf-8")


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
        ({"type": ["number", "string"], "exclusiveMinimum": 0}, "number > 0"),
    ],
)
def test_a_parameter_type_is_told_in_words(schema: Mapping[str, Any], words: str) -> None:
    assert type_name(schema) == words


def test_a_choice_that_is_defined_elsewhere_is_spelled_out() -> None:
    definitions = {"Mode": {"enum": ["slot", "step"]}, "Slot": {"type": "object"}}
    assert type_name({"$ref": "#/$defs/Mode"}, definitions) == "`slot` | `step`"
    assert type_name({"type": "array", "items": {"$ref": "#/$defs/Slot"}}, definitions) == "list of Slot"


def test_a_default_is_told_as_it_would_be_written_in_a_target() -> None:
    schema = parameters_schema(CHANNELS.get("http"))
    defaults = {name: default for name, _, default in parameters(schema)}
    assert defaults["request"] == '{"conversation_id":"{conversation_id}","message":"{message}"}'
    assert defaults["headers"] == "{}"
    assert {name: default for name, _, default in parameters(schema["$defs"]["ToolCalls"])}["name"] == '"name"'


def test_an_exact_default_is_told_as_people_write_it() -> None:
    assert default_text({"type": "number", "default": "4/5"}) == "0.8"
    assert default_text({"type": "string", "default": "4/5"}) == '"4/5"'
    assert default_text({"default": ["预约", "维修"]}) == '["预约","维修"]'
