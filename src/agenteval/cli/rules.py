"""`agenteval rules`"""

from inspect import cleandoc
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agenteval.cli.invocation import Invocation

if TYPE_CHECKING:
    from agenteval.rules import EvalRule


def rules(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="RULE", help="Describe this one.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the rules, or describe one with its parameters."""
    from agenteval.cli import output
    from agenteval.domain.errors import ConfigError, InputError
    from agenteval.rules import RULES

    invocation: Invocation = context.obj
    try:
        found = [RULES.get(name)] if name else RULES.all()
    except ConfigError as error:
        raise InputError(error.message, fix=error.fix) from error
    members = [_members(rule) for rule in found]
    if as_json:
        output.json(members[0] if name else members)
    elif name:
        output.people(*_described(members[0]))
    else:
        rows = [
            [m["name"], m["version"], m["layer"] or "-", m["decided_by"], ", ".join(m["required"])] for m in members
        ]
        output.table(rows, ("RULE", "VERSION", "LAYER", "DECIDED BY", "REQUIRED PARAMETERS"))
    if not name:
        invocation.note(*(f"warning: {problem}" for problem in RULES.problems))


def _members(rule: "type[EvalRule]") -> dict[str, Any]:
    from agenteval.plugins import parameters_schema

    schema = parameters_schema(rule)
    return {
        "name": rule.name,
        "version": rule.version,
        "layer": rule.layer,
        "hard": rule.hard,
        "decided_by": ", ".join(["code", *(f"{role} model" for role in sorted(rule.roles))]),
        "description": cleandoc(rule.__doc__ or ""),
        "required": schema.get("required", []),
        "parameters": schema,
    }


def _described(rule: dict[str, Any]) -> list[str]:
    from agenteval.cli.parameters import parameters

    return [
        f"{rule['name']}, version {rule['version']}",
        f"layer: {rule['layer'] or 'none'}; hard: {'yes' if rule['hard'] else 'no'}; decided by: {rule['decided_by']}",
        "",
        rule["description"],
        "",
        *(f"  {name}: {type_}; {default}" for name, type_, default in parameters(rule["parameters"])),
        "",
        f"The JSON Schema of its parameters: agenteval schema {rule['name']}",
    ]
