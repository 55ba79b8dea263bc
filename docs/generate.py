"""Writes docs/reference from the code; with --check it writes nothing and fails when a page is out of date."""

import sys
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from inspect import cleandoc
from pathlib import Path
from typing import Any

import orjson

import agenteval.domain.errors
from agenteval.domain.errors import AgentEvalError
from agenteval.domain.questions import Cause
from agenteval.rules import RULES
from agenteval.rules.build import parameters_schema

REFERENCE = Path(__file__).parent / "reference"

CAUSES: Mapping[Cause, tuple[str, str]] = {
    Cause.NEEDS_JUDGE: (
        "Code could not decide it and no model is set for the role.",
        "Set `AGENTEVAL_JUDGE_BASE_URL`.",
    ),
    Cause.UNPARSABLE: (
        "The judge's text holds no answer, or more than one, also after asking again.",
        "Read the call.",
    ),
    Cause.SCHEMA: ("The answer is not of the form asked for, also after asking again.", "Read the call."),
    Cause.EVIDENCE: ("The quote given for the verdict is nowhere in the dialog.", "Look at the turn, or review it."),
    Cause.TIE: ("The votes are even.", "Review it, or change `samples`."),
    Cause.MODEL_ERROR: (
        "The model could not be reached, refused, or ran out of time.",
        "`agenteval run --resume last`.",
    ),
    Cause.TOO_LONG: ("The dialog fits no window of the model, or its parts cannot be merged.", "Use a larger context."),
    Cause.PENDING: ("The question waits in a batch file.", "Resume the run with its answers."),
    Cause.RULE_ERROR: (
        "The rule itself broke: a fault of the rule, not of the agent.",
        "Report it to the rule's author.",
    ),
}


def errors() -> Iterator[str]:
    yield "# Errors\n"
    yield "A message says what is wrong, where, and what to do; the code is stable and meant for machines.\n"
    yield f"```text\n{cleandoc(agenteval.domain.errors.__doc__ or '')}\n```\n"
    yield "| code | error | the same attempt may succeed later |"
    yield "|---|---|---|"
    yield from error_rows(AgentEvalError)


def error_rows(parent: type[AgentEvalError]) -> Iterator[str]:
    for error in parent.__subclasses__():
        yield f"| `{error.code}` | {error.__name__} | {'yes' if error.retryable else 'no'} |"
        yield from error_rows(error)


def causes() -> Iterator[str]:
    yield "# Causes: why a score is null\n"
    yield "What was not measured is null and names its cause; it is never a 0 or a 1.\n"
    yield "| cause | meaning | what to do |"
    yield "|---|---|---|"
    for cause in Cause:
        meaning, advice = CAUSES[cause]
        yield f"| `{cause}` | {meaning} | {advice} |"


def rules() -> Iterator[str]:
    yield "# Rules\n"
    yield "The built-in rules and their parameters. A scenario may override `layer`, `hard` and `weight` for each.\n"
    for rule in RULES.all():
        if not rule.__module__.startswith("agenteval."):
            continue  # a plug-in that happens to be installed here
        yield f"## {rule.name}\n"
        yield cleandoc(rule.__doc__ or "") + "\n"
        yield f"Version {rule.version}; layer: {rule.layer or 'none'}; hard: {'yes' if rule.hard else 'no'}.\n"
        yield from parameters(parameters_schema(rule))


def parameters(schema: Mapping[str, Any]) -> Iterator[str]:
    required = schema.get("required", ())
    yield "| parameter | type | default |"
    yield "|---|---|---|"
    for name, prop in schema.get("properties", {}).items():
        default = "required" if name in required else f"`{default_text(prop)}`"
        yield f"| `{name}` | {cell(type_name(prop))} | {cell(default)} |"
    yield ""


def default_text(prop: Mapping[str, Any]) -> str:
    default = prop.get("default")
    if prop.get("type") == "number" and isinstance(default, str):  # pydantic writes a fraction's default as "4/5"
        default = float(Fraction(default))
    return orjson.dumps(default).decode()


def type_name(prop: Mapping[str, Any]) -> str:
    """A JSON Schema in a few words."""
    if "$ref" in prop:
        return str(prop["$ref"]).rpartition("/")[2]
    if "enum" in prop or "const" in prop:
        return " | ".join(f"`{choice}`" for choice in prop.get("enum", [prop.get("const")]))
    if "anyOf" in prop:
        return " | ".join(type_name(option) for option in prop["anyOf"])
    if prop.get("type") == "array":
        return f"list of {type_name(prop.get('items', {}))}"
    if isinstance(prop.get("additionalProperties"), dict):
        return f"mapping to {type_name(prop['additionalProperties'])}"
    bounds = [f"{sign} {prop[key]}" for key, sign in BOUNDS.items() if key in prop]
    return " ".join([str(prop.get("type", "anything")), *bounds])


BOUNDS = {"minimum": ">=", "exclusiveMinimum": ">", "maximum": "<=", "exclusiveMaximum": "<"}


def cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


PAGES: Mapping[str, Callable[[], Iterator[str]]] = {"errors.md": errors, "causes.md": causes, "rules.md": rules}


def main(*, check: bool) -> str | None:
    """Writes the pages, or with `check` names those that differ from what would be written."""
    stale = []
    for name, page in PAGES.items():
        path = REFERENCE / name
        text = "\n".join(page()).rstrip("\n") + "\n"
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(f"docs/reference/{name}")
        if not check:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
    return f"out of date, run make docs: {', '.join(stale)}" if check and stale else None


if __name__ == "__main__":
    sys.exit(main(check="--check" in sys.argv[1:]))
