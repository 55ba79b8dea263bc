"""`agenteval init`"""

from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from agenteval.cli.invocation import Invocation
from agenteval.domain.text import Language

TEMPLATES = {"scenario.yaml": "scenario.{}.yaml", "target.yaml": "target.{}.yaml", "agent.py": "agent.{}.txt"}


def init(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where to; it is made.")] = Path(),
    lang: Annotated[Language, typer.Option(help="Language of the files.")] = "en",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Write a scenario, a target and an agent to begin with. They can be run as they are; nothing is overwritten."""
    from agenteval.cli import output
    from agenteval.domain.errors import InputError

    invocation: Invocation = context.obj
    paths = [folder / name for name in TEMPLATES]
    if there := [str(path) for path in paths if path.exists()]:
        raise InputError(f"there is already {', '.join(there)}", fix="name another folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path in paths:
            path.write_text(_template(path, lang), encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", where=str(folder)) from error
    scenario, target, _ = paths
    if as_json:
        output.json({"files": [str(path) for path in paths]})
    else:
        output.people(*map(str, paths))
    invocation.note(f"edit them, then: agenteval run {scenario} --target {target}")


def _template(path: Path, lang: str) -> str:
    """Paths in it count from the working directory, as they do in every target."""
    template = files("agenteval.cli").joinpath("templates", TEMPLATES[path.name].format(lang))
    text = template.read_text(encoding="utf-8")
    for name in TEMPLATES:
        text = text.replace(f" {name}", f" {path.with_name(name).as_posix()}")
    return text
