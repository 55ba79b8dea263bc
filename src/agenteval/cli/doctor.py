"""`agenteval doctor`"""

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agenteval.cli.invocation import BAD_INPUT, NOT_COMPLETED, Invocation
from agenteval.cli.loop import run_async

if TYPE_CHECKING:
    from agenteval.bootstrap import App
    from agenteval.settings import Settings

Section = dict[str, Any]


def doctor(
    context: typer.Context, as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False
) -> None:
    """Check settings, database, models and plug-ins. The models that are set are called, once each."""
    from agenteval.cli import output
    from agenteval.domain.errors import AgentEvalError, ConfigError

    invocation: Invocation = context.obj
    code = 0
    problems: list[str] = []
    sections: dict[str, Section] = {"plug-ins": _plugins(problems), "terminal": _terminal()}
    try:
        settings = invocation.settings()
        sections = {"settings": _settings(settings)} | sections
        sections |= run_async(_opened(settings, problems))
    except ConfigError as error:
        code = BAD_INPUT
        problems += str(error).splitlines()
    except AgentEvalError as error:
        problems.append(str(error))
    if as_json:
        output.json({**sections, "problems": [invocation.safe(problem) for problem in problems]})
    else:
        for name, section in sections.items():
            output.people(name, *(f"  {key}: {value}" for key, value in section.items()))
        invocation.note(*(f"problem: {problem}" for problem in problems))
    raise typer.Exit(code or (NOT_COMPLETED if problems else 0))


def _settings(settings: "Settings") -> Section:
    """What is given, and by what; secrets only as such."""
    from agenteval.settings import sources, unknown

    values = settings.model_dump(mode="json")
    section: Section = {}
    for name, source in sources().items():
        value: Any = values
        for key in name.split("."):
            value = value[key]
        section[name] = f"{value} ({source})"
    section |= dict.fromkeys(unknown(), "is no setting")
    section.setdefault("database_url", f"{settings.database_url} (default)")
    return section


async def _opened(settings: "Settings", problems: list[str]) -> dict[str, Section]:
    from agenteval.bootstrap import app
    from agenteval.storage.migrations import HEAD

    async with app(settings) as wired:
        database = {"path": str(wired.store.path), "bytes": wired.store.path.stat().st_size, "schema": HEAD}
        return {"database": database, "models": await _models(wired, problems)}


async def _models(wired: "App", problems: list[str]) -> Section:
    from agenteval.domain.errors import ModelError
    from agenteval.domain.ports import Role
    from agenteval.judge.local import local_scorer
    from agenteval.storage.capabilities import StoredCapabilities

    section: Section = {}
    for role in Role:
        model, settings = wired.judging.models.by_role.get(role), wired.settings.model(role)
        if model is None or settings is None:
            section[role] = "not set"
            continue
        try:
            await model.check()
        except ModelError as error:
            section[role] = f"{model.id}: failed"
            problems.append(str(error))
            continue
        found = await StoredCapabilities(wired.store).get(settings.base_url, settings.model)
        mode = settings.structured if settings.structured != "auto" else found
        section[role] = f"{model.id}: ok" + (f", structured output: {mode}" if role is Role.JUDGE else "")
    return section | {"local scorer": local_scorer().name}


def _plugins(problems: list[str]) -> Section:
    from agenteval.channels import CHANNELS
    from agenteval.models import MODELS
    from agenteval.rules import RULES

    section: Section = {}
    for kind, found, broken in (
        ("rules", RULES.all(), RULES.problems),
        ("channels", CHANNELS.all(), CHANNELS.problems),
        ("models", MODELS.all(), MODELS.problems),
    ):
        section[kind] = ", ".join(plugin.name for plugin in found)
        problems += [f"plug-in {problem}" for problem in broken]
    return section


def _terminal() -> Section:
    import shutil

    size = shutil.get_terminal_size()
    return {"encoding": sys.stdout.encoding, "is a terminal": sys.stdout.isatty(), "columns": size.columns}
