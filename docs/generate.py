"""Writes docs/reference from the code; with --check it writes nothing and fails when a page is out of date."""

import sys
from collections.abc import Callable, Iterator, Mapping
from inspect import cleandoc
from pathlib import Path
from typing import Any

import agenteval.domain.errors
from agenteval import cli
from agenteval.cli.parameters import parameters
from agenteval.domain.errors import AgentEvalError
from agenteval.domain.questions import Cause
from agenteval.plugins import parameters_schema
from agenteval.rules import RULES

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
        yield from parameter_rows(parameters_schema(rule))


def parameter_rows(schema: Mapping[str, Any]) -> Iterator[str]:
    yield "| parameter | type | default |"
    yield "|---|---|---|"
    for name, type_, default in parameters(schema):
        shown = default if default == "required" else f"`{default}`"
        yield f"| `{name}` | {cell(type_)} | {cell(shown)} |"
    yield ""


def commands() -> Iterator[str]:
    yield "# Command line\n"
    yield "What `agenteval --help` and `agenteval COMMAND --help` say.\n"
    yield "| exit code | meaning |"
    yield "|---|---|"
    yield from (f"| {code} | {meaning} |" for code, meaning in EXIT_CODES.items())
    yield ""
    yield from help_of(cli.group(), None)
    for name in cli.COMMANDS:
        yield f"## agenteval {name}\n"
        yield from help_of(cli.load(name), name)


def help_of(command: Any, name: str | None) -> Iterator[str]:
    context = command.make_context(f"agenteval {name}" if name else "agenteval", [], resilient_parsing=True)
    context.terminal_width = HELP_COLUMNS
    yield f"```text\n{command.get_help(context).rstrip()}\n```\n"


HELP_COLUMNS = 100

EXIT_CODES = {
    0: "Done, whatever the scores.",
    2: "The input or the configuration is bad; nothing was begun.",
    3: "A run or a judgement could not be completed.",
    130: "Stopped by Ctrl-C.",
}


def cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


PAGES: Mapping[str, Callable[[], Iterator[str]]] = {
    "errors.md": errors,
    "causes.md": causes,
    "rules.md": rules,
    "cli.md": commands,
}


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
