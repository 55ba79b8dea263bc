"""The command line: `agenteval COMMAND`, one module for each command, loaded when it is called.

Exit codes: 0 done, whatever the scores; 1 a demand (`--min-pass-rate`, ...) is not met; 2 the input or the
configuration is bad; 3 a run, a judgement or a report could not be completed; 128 and its number for the signal that
stopped it, 130 for Ctrl-C.
"""

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from io import TextIOWrapper
from keyword import iskeyword
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from agenteval import __version__
from agenteval.cli.invocation import BAD_INPUT, NOBODY_READS, Invocation

COMMANDS = {
    "demo": "Evaluate two bundled agents, a good one and a faulty one; no key is needed.",
    "init": "Write a scenario, a target and an agent to begin with.",
    "run": "Evaluate an agent: hold the dialogs of scenarios with it and judge them.",
    "evaluate": "Judge recorded dialogs by one rule; no agent is needed.",
    "report": "Show what came of a run.",
    "runs": "List the newest runs.",
    "rescore": "Judge a run again from its stored answers, with other thresholds or parameters.",
    "review": "Confirm or overrule what was judged, on the terminal or by a file.",
    "compare": "Compare two runs case by case.",
    "trend": "Show how the runs of a target came out, one after the other.",
    "export": "Write a whole run into a file, for another database.",
    "import": "Take a run from such a file into this database.",
    "validate": "Check scenarios without running anything.",
    "rules": "List the rules, or describe one.",
    "schema": "Print the JSON Schema of a scenario, a target, a rule or a channel.",
    "doctor": "Check settings, database, models and plug-ins.",
}
DEBUG = "--debug"


class Commands(TyperGroup):
    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return load(cmd_name) if cmd_name in COMMANDS else None

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """From the table, so that `--help` loads no command."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def load(name: str) -> Any:
    """The command that the function `name` of the module `agenteval.cli.<name>` is; a keyword has a `_` behind it."""
    app = _typer(add_completion=False)
    word = f"{name}_" if iskeyword(name) else name
    app.command(name)(getattr(import_module(f"{__name__}.{word}"), word))
    return get_command(app)


def _typer(**settings: Any) -> typer.Typer:
    """Plain help: rich takes longer to load than everything else here."""
    return typer.Typer(rich_markup_mode=None, context_settings={"help_option_names": ["-h", "--help"]}, **settings)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"agenteval {__version__}")
        raise typer.Exit


def agenteval(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    debug: Annotated[bool, typer.Option(DEBUG, help="Show the traceback of an error; may stand anywhere.")] = False,
) -> None:
    """Evaluate conversational agents: whether they understood, how much of the task they completed, and whether they
    succeeded, with evidence."""


def group() -> Any:
    """The whole command line."""
    app = _typer(cls=Commands, no_args_is_help=True)
    app.callback()(agenteval)
    return get_command(app)


def main(args: Sequence[str] | None = None) -> None:
    """Ends by SystemExit, always."""
    arguments = list(sys.argv[1:] if args is None else args)
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # no result is lost for a character that cannot be shown
    invocation = Invocation(debug=DEBUG in arguments)
    if "stdout" in _opened():
        invocation.note("error: stdout is closed (send it to a file, or to /dev/null)")
        sys.exit(BAD_INPUT)
    try:
        try:
            group().main([word for word in arguments if word != DEBUG], prog_name="agenteval", obj=invocation)
        finally:
            sys.stdout.flush()
    except SystemExit as ended:
        if isinstance(ended.__context__, BrokenPipeError):  # click ends with 1 then
            sys.exit(NOBODY_READS)
        raise
    except Exception as error:  # noqa: BLE001 - the last place that can say what happened
        sys.exit(invocation.failed(error))


def _opened() -> list[str]:
    """Open the standard streams that are closed: what is opened next would be taken for them. Returns their names."""
    closed = [name for name in ("stdin", "stdout", "stderr") if getattr(sys, name) is None]
    for name in closed:
        setattr(sys, name, Path(os.devnull).open("r" if name == "stdin" else "w"))  # noqa: SIM115 - for good
    return closed
