"""A rule's prompt: the Markdown file beside the rule, and the examples its author gives."""

from collections.abc import Sequence
from functools import cache
from importlib.resources import files


@cache
def prompt(rule: str) -> str:
    """The text of `builtin/<rule>.md`."""
    return files("agenteval.rules").joinpath(f"builtin/{rule}.md").read_text("utf-8").strip()


def with_examples(guide: str, examples: Sequence[str]) -> str:
    """`guide` with the author's few-shot examples below it, each a text that shows a case and its verdict."""
    return "\n".join([guide, "Examples:", *(f"- {example}" for example in examples)]) if examples else guide
