"""A run checks, before its first message, the models that its rules name."""

from pathlib import Path

from agenteval.domain.ports import Role
from agenteval.rules import RULES

BUILTIN = Path(__file__).parents[3] / "src" / "agenteval" / "rules" / "builtin"


def test_a_rule_with_a_prompt_names_the_judge() -> None:
    prompted = {path.stem for path in BUILTIN.glob("*.md")}
    assert prompted
    assert prompted == {path.stem for path in BUILTIN.glob("[a-z]*.py") if Role.JUDGE in RULES.get(path.stem).roles}


def test_the_other_models_are_named_too() -> None:
    assert RULES.get("semantic_similarity").roles == {Role.EMBEDDING}
    assert RULES.get("safety").roles == {Role.MODERATION}
