"""Writes docs/reference from the code; with --check it writes nothing and fails when a page is out of date."""

import sys
from collections.abc import Callable, Iterator, Mapping
from inspect import cleandoc
from pathlib import Path
from typing import Any

import agenteval.domain.errors
from agenteval import cli
from agenteval.channels import CHANNELS
from agenteval.cli.parameters import parameters
from agenteval.datasets import scenarios, targets
from agenteval.domain.errors import AgentEvalError
from agenteval.domain.ports import Role
from agenteval.domain.questions import Cause
from agenteval.plugins import parameters_schema
from agenteval.rules import RULES
from agenteval.settings import FILE, PREFIX, ModelSettings, Settings

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
        "The model could not be reached, refused, or ran out of time; the run ends with 3.",
        "`agenteval run --resume last` judges the stored dialog again.",
    ),
    Cause.TOO_LONG: ("The dialog fits no window of the model, or its parts cannot be merged.", "Use a larger context."),
    Cause.PENDING: (
        "The judge has not answered the question in a batch file.",
        "Resume the run with the answers; of a run that is complete, start a new one.",
    ),
    Cause.RULE_ERROR: (
        "The rule itself broke: a fault of the rule, not of the agent.",
        "Report it to the rule's author.",
    ),
    Cause.TIME_LIMIT: (
        "The case's time was up before code had looked at everything; what it had decided is kept.",
        "`agenteval rescore last` looks at the stored dialog again, without a limit; or give more `--case-timeout`.",
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
    for rule in built_in(RULES.all()):
        yield f"## {rule.name}\n"
        yield cleandoc(rule.__doc__ or "") + "\n"
        yield f"Version {rule.version}; layer: {rule.layer or 'none'}; hard: {'yes' if rule.hard else 'no'}.\n"
        yield from plugin_rows(parameters_schema(rule))


def channels() -> Iterator[str]:
    yield "# Targets and channels\n"
    yield "A target says which agent is evaluated, and how it is talked to: a YAML or JSON file, or a short form.\n"
    yield "```text"
    yield from cleandoc(targets.__doc__ or "").splitlines()[2:]
    yield "```\n"
    yield "[Connect an agent](../how-to/connect-an-agent.md) has an example of each.\n"
    found = built_in(CHANNELS.all())
    yield "## Target\n"
    yield from field_rows(targets.schema({channel.name: parameters_schema(channel) for channel in found}))
    for channel in found:
        yield f"## {channel.name}\n"
        yield cleandoc(sys.modules[channel.__module__].__doc__ or "") + "\n"
        yield cleandoc(channel.__doc__ or "") + "\n"
        yield from plugin_rows(targets.as_in_files(channel.name, parameters_schema(channel)))


def built_in(plugins: list[Any]) -> list[Any]:
    """Without plug-ins that happen to be installed here."""
    return [plugin for plugin in plugins if plugin.__module__.startswith("agenteval.")]


def plugin_rows(schema: Mapping[str, Any]) -> Iterator[str]:
    """The parameters, then those of their parts."""
    yield from parameter_rows(schema)
    definitions = schema.get("$defs", {})
    for name, part in definitions.items():
        if "properties" in part:
            yield f"### {name}\n"
            yield part.get("description", "") + "\n"
            yield from parameter_rows(part | {"$defs": definitions})


def parameter_rows(schema: Mapping[str, Any]) -> Iterator[str]:
    yield "| parameter | type | default |"
    yield "|---|---|---|"
    for name, type_, default in parameters(schema):
        shown = default if default == "required" else f"`{default}`"
        yield f"| `{name}` | {cell(type_)} | {cell(shown)} |"
    yield ""


def scenario() -> Iterator[str]:
    yield "# Scenario files\n"
    yield (
        "A scenario is a YAML or JSON file. `agenteval validate` checks it; `agenteval schema scenario` prints its "
        "JSON Schema, which editors use too. A field that is not listed here is refused. Numbers stay exact: `0.7` is "
        'seven tenths, `"1/3"` a third.\n'
    )
    whole = scenarios.schema({rule.name: {} for rule in built_in(RULES.all())})
    case = whole["properties"]["cases"]["items"]
    expectation = case["properties"]["expectation"]["anyOf"][0]
    shared = [name for name in whole["properties"] if name in case["properties"] and name not in ("name", *_TEXTS)]
    definitions = {"$defs": whole["$defs"]}
    for title, part in {
        "Scenario": without(whole, shared),
        "Case": without(case, shared) | definitions,
        "Rule": case["properties"]["eval_rules"]["items"] | definitions,
        "Expectation": expectation | definitions,
    }.items():
        yield f"## {title}\n"
        yield part["description"] + "\n"
        yield from field_rows(part)
    yield "## Policy\n"
    yield "Fields of scenarios and of cases. The case's own value goes first, then the scenario's, then the run's.\n"
    yield from field_rows(without(whole, [name for name in whole["properties"] if name not in shared]))
    yield "What the rules take as `params` is in [rules](rules.md); what follows from a policy, in"
    yield "[judgement](../explanation/judgement.md#3-the-case-l1-l2-l3)."


_TEXTS = ("description", "tags")


def without(schema: Mapping[str, Any], names: list[str]) -> dict[str, Any]:
    return {**schema, "properties": {name: prop for name, prop in schema["properties"].items() if name not in names}}


def field_rows(schema: Mapping[str, Any]) -> Iterator[str]:
    """Fields of a file. What is empty by default may be left out, which needs no words."""
    yield "| field | type | default | meaning |"
    yield "|---|---|---|---|"
    for name, type_, default in parameters(schema):
        kind = type_.removesuffix(" | null")
        shown = default if default == "required" else "" if default in ("null", '""', "[]", "{}") else f"`{default}`"
        yield f"| `{name}` | {cell(kind)} | {cell(shown)} | {cell(schema['properties'][name].get('description', ''))} |"
    yield ""


def settings() -> Iterator[str]:
    yield "# Settings\n"
    yield (
        f"Every setting is an environment variable, or a key in `{FILE}` in the working directory (`{PREFIX}CONFIG` "
        "names another file). The variable goes first; an empty one counts as not set. `agenteval doctor` shows what "
        "is set, and by what. How to set up a model: [use a judge model](../how-to/use-a-judge-model.md).\n"
    )
    own = Settings.model_json_schema()
    yield from variable_rows(without(own, list(Role)), PREFIX, "")
    yield "## Models\n"
    yield (
        "One table for each of three roles; a role without a base URL and a model has no model. `JUDGE` stands for the "
        "role in these names, `[judge]` for its table in the file.\n"
    )
    yield "| role | variables | table | what it is for |"
    yield "|---|---|---|---|"
    for role in Role:
        about = own["properties"][role]["description"]
        yield f"| {role.upper()} | `{PREFIX}{role.upper()}_...` | `[{role}]` | {cell(about)} |"
    yield ""
    yield from variable_rows(ModelSettings.model_json_schema(), f"{PREFIX}{Role.JUDGE.upper()}_", f"{Role.JUDGE}.")
    yield "```toml"
    yield f"# {FILE}; keys are better kept in the environment"
    yield '[judge]\nbase_url = "https://api.example.com/v1"\nmodel = "judge-1"\ninput_price = 0.15\noutput_price = 0.60'
    yield "```"


def variable_rows(schema: Mapping[str, Any], prefix: str, key: str) -> Iterator[str]:
    yield "| variable | key | type | default | meaning |"
    yield "|---|---|---|---|---|"
    for name, row in zip(schema["properties"], list(field_rows(schema))[2:], strict=False):
        yield row.replace(f"| `{name}` |", f"| `{prefix}{name.upper()}` | `{key}{name}` |", 1)
    yield ""


def commands() -> Iterator[str]:
    yield "# Command line\n"
    yield "What `agenteval --help` and `agenteval COMMAND --help` say. How they end: [exit codes](exit-codes.md).\n"
    yield from help_of(cli.group(), None)
    for name in cli.COMMANDS:
        yield f"## agenteval {name}\n"
        yield from help_of(cli.load(name), name)


def help_of(command: Any, name: str | None) -> Iterator[str]:
    context = command.make_context(f"agenteval {name}" if name else "agenteval", [], resilient_parsing=True)
    context.terminal_width = HELP_COLUMNS
    yield f"```text\n{command.get_help(context).rstrip()}\n```\n"


HELP_COLUMNS = 100


def exit_codes() -> Iterator[str]:
    yield "# Exit codes\n"
    yield "| exit code | meaning | for example |"
    yield "|---|---|---|"
    yield from (f"| {code} | {meaning} | {example} |" for code, (meaning, example) in EXIT_CODES.items())
    yield ""
    yield (
        "Scores alone decide no exit code: `agenteval run` ends with 0 also when the agent fails every case. "
        "Results go to stdout, everything else to stderr."
    )


EXIT_CODES = {
    0: ("Done, whatever the scores.", "a run completed, also without a judge model for rules that need one"),
    1: (
        "A demand on the run is not met; the run is stored, the reports are written.",
        "`--min-pass-rate 0.9`; `agenteval demo`: a planted fault is not in the report",
    ),
    2: (
        "The input or the configuration is bad; nothing was begun.",
        "a field, a file, a threshold, a setting, an option; the message names the place",
    ),
    3: (
        "A run, a judgement or a report could not be completed.",
        "no way to the agent; the judge refuses the key, or failed at a dialog; a run to be gated has not ended",
    ),
    129: ("Stopped by SIGHUP: the terminal was closed.", "what was done is kept: `agenteval run --resume last`"),
    130: ("Stopped by Ctrl-C (SIGINT).", "the same"),
    141: ("Nobody reads the output any more, as if by SIGPIPE.", "`agenteval report \\| head -1`; the run is stored"),
    143: ("Stopped by SIGTERM.", "what was done is kept: `agenteval run --resume last`"),
}


def cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


PAGES: Mapping[str, Callable[[], Iterator[str]]] = {
    "errors.md": errors,
    "causes.md": causes,
    "rules.md": rules,
    "channels.md": channels,
    "scenario.md": scenario,
    "settings.md": settings,
    "cli.md": commands,
    "exit-codes.md": exit_codes,
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
