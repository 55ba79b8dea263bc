"""`agenteval schema`"""

from typing import Annotated, Any

import typer


def schema(
    name: Annotated[str, typer.Argument(metavar="scenario|target|report|RULE|CHANNEL", help="What to describe.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, as always.")] = False,
) -> None:
    """Print a JSON Schema: of scenario files, target files, JSON reports, or the parameters of one rule or channel."""
    from agenteval.channels import CHANNELS
    from agenteval.cli import output
    from agenteval.datasets import scenarios, targets
    from agenteval.domain.errors import InputError
    from agenteval.domain.near import did_you_mean
    from agenteval.plugins import parameters_schema
    from agenteval.reporting import json_report
    from agenteval.rules import RULES

    if name == "report":
        output.machines(json_report.schema())
        return
    found: dict[str, Any]
    if name == "scenario":
        found = scenarios.schema({rule.name: parameters_schema(rule) for rule in RULES.all()})
    elif name == "target":
        found = targets.schema({channel.name: parameters_schema(channel) for channel in CHANNELS.all()})
    elif name in RULES.names:
        found = parameters_schema(RULES.get(name))
    elif name in CHANNELS.names:
        found = targets.as_in_files(name, parameters_schema(CHANNELS.get(name)))
    else:
        known = ["scenario", "target", "report", *RULES.names, *CHANNELS.names]
        raise InputError(f"there is no schema of {name!r}", fix=did_you_mean(name, known))
    output.json(found)
