"""The house rules that no linter knows: who may call what, and who may import which package.

Each rule is a row of a table, each exception names its reason, and each rule must catch its own example.
"""

import ast
import graphlib
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import grimp
import pytest

SRC = Path(__file__).parents[2] / "src" / "agenteval"


@dataclass(frozen=True)
class Ban:
    """Uses that only `allowed` paths (a file, or a folder ending in /) may contain, each with its reason.

    A pattern is a dotted name with imports resolved, whatever they were renamed to; `?` stands for any other object.
    """

    name: str
    patterns: tuple[str, ...]
    allowed: Mapping[str, str]
    instead: str
    example: str


BANS = (
    Ban(
        name="one place evaluates rules",
        patterns=("?.evaluate",),
        allowed={
            "engine/evaluate.py": "the one loop in which rules meet the panel",
            "rules/contract.py": "the checks that tests run over a single rule",
        },
        instead="call engine.evaluate",
        example="result = rule.evaluate(case, dialog, answers)",
    ),
    Ban(
        name="one place talks to agents",
        patterns=("?.send",),
        allowed={"channels/exchange.py": "the one place where a target's failure becomes data"},
        instead="call channels.exchange",
        example="reply = await self.conversation.send(message)",
    ),
    Ban(
        name="few places start tasks",
        patterns=("asyncio.gather", "asyncio.ensure_future", "asyncio.TaskGroup", "*.create_task"),
        allowed={
            "engine/": "workers, and conversation overlapped with judging",
            "judge/": "the calls of one case",
            "storage/writer.py": "the one writer of a run, which must write although nobody calls it",
            "worker/": "shards and schedules",
            "api/sse.py": "one task for each open event stream",
        },
        instead="be called from a task of engine, judge or worker",
        example="from asyncio import TaskGroup as TG\nasync with TG() as tasks:\n    tasks.create_task(work())",
    ),
    Ban(
        name="one parser of judge text",
        patterns=("json.load", "json.loads", "json.JSONDecoder", "orjson.loads"),
        allowed={
            "judge/parse.py": "the parser of judge text",
            "rules/builtin/json_schema.py": "the reply under test, whose form is what the rule judges",
            "net/session.py": "bodies of replies: the envelope around a text, never the text itself",
            "models/batch_file.py": "requests and answers of a batch, one JSON object a line",
            "channels/replies.py": "what an agent's server or program sent",
            "domain/tool_success.py": "a tool's result that is JSON in a text",
            "datasets/": "files of scenarios and dialogs",
            "storage/": "columns that hold JSON",
            "cli/": "files and streams named on the command line",
        },
        instead="judge text goes through judge.parse, other JSON is read at the edges",
        example="from orjson import loads as read\nread(text)",
    ),
    Ban(
        name="JSON is never escaped",
        patterns=("json.dump", "json.dumps", "json.JSONEncoder"),
        allowed={},
        instead="orjson.dumps: \\u escapes double the tokens of Chinese",
        example="import json as j\nj.dumps(dialog, ensure_ascii=True)",
    ),
    Ban(
        name="one reader of the environment",
        patterns=("os.environ*", "os.getenv*"),
        allowed={"settings.py": "the only reader of the environment"},
        instead="take it from Settings",
        example="from os import environ\nkey = environ['AGENTEVAL_JUDGE_API_KEY']",
    ),
    Ban(
        name="one normaliser of text",
        patterns=("unicodedata.normalize",),
        allowed={"domain/text.py": "fold and quote_form, the two named forms"},
        instead="domain.text.fold or quote_form",
        example="import unicodedata\nunicodedata.normalize('NFKC', text)",
    ),
    Ban(
        name="one clock",
        patterns=(
            "time.time",
            "time.time_ns",
            "datetime.datetime.now",
            "datetime.datetime.utcnow",
            "datetime.datetime.today",
            "datetime.date.today",
        ),
        allowed={"net/clock.py": "the system clock, handed to everything else as a Clock"},
        instead="take a Clock",
        example="from datetime import UTC, datetime as dt\nstarted_at = dt.now(UTC)",
    ),
)

# Who may import each third-party package; one that is not here may be imported by nobody.
IMPORTERS: Mapping[str, tuple[str, ...]] = {
    "aiohttp": ("agenteval.net", "agenteval.channels.builtin", "agenteval.demo"),
    "aiosqlite": ("agenteval.storage",),
    "alembic": ("agenteval.storage",),
    "annotated_types": ("agenteval.rules",),
    "jsonschema_rs": ("agenteval.judge", "agenteval.rules.builtin", "agenteval.datasets"),
    "orjson": ("agenteval",),
    "pydantic": (
        "agenteval.settings",
        "agenteval.plugins",
        "agenteval.datasets",
        "agenteval.models",
        "agenteval.channels",
        "agenteval.rules",
    ),
    "pytest": ("agenteval.pytest_plugin",),
    "re2": ("agenteval.domain", "agenteval.rules", "agenteval.datasets"),
    "rich": ("agenteval.cli", "agenteval.reporting"),
    "sqlalchemy": ("agenteval.storage",),
    "typer": ("agenteval.cli",),
    "uvloop": ("agenteval.cli", "agenteval.bootstrap", "agenteval.demo"),
    "yaml": ("agenteval.datasets", "agenteval.settings"),
}


def names_used(source: str) -> Iterator[tuple[int, str]]:
    """Line and dotted name of everything that `source` refers to; `?` stands for what is no import."""
    tree = ast.parse(source)
    imported: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                root = alias.name.partition(".")[0]
                imported |= {alias.asname: alias.name} if alias.asname else {root: root}
        elif isinstance(node, ast.ImportFrom):
            imported |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}

    def dotted(node: ast.expr) -> str:
        if isinstance(node, ast.Name):
            return imported.get(node.id, "?")
        if isinstance(node, ast.Attribute):
            base = dotted(node.value)
            return f"{'?' if base.startswith('?') else base}.{node.attr}"
        return "?"

    for node in ast.walk(tree):
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
            yield node.lineno, dotted(node)


def breaches(ban: Ban, source: str) -> list[str]:
    return [
        f"{line}: {name}"
        for line, name in names_used(source)
        if any(fnmatch(name, pattern.replace("?", "[?]")) for pattern in ban.patterns)
    ]


def covers(allowed: str, path: str) -> bool:
    return path.startswith(allowed) if allowed.endswith("/") else path == allowed


@cache
def sources() -> Mapping[str, str]:
    return {path.relative_to(SRC).as_posix(): path.read_text(encoding="utf-8") for path in sorted(SRC.rglob("*.py"))}


@cache
def import_graph() -> grimp.ImportGraph:
    return grimp.build_graph("agenteval", include_external_packages=True, cache_dir=None)


def is_ours(module: str) -> bool:
    return module.partition(".")[0] == "agenteval"


@pytest.mark.parametrize("ban", BANS, ids=lambda ban: ban.name)
def test_only_the_named_places_use_it(ban: Ban) -> None:
    found = [
        f"{path}:{breach}"
        for path, source in sources().items()
        if not any(covers(allowed, path) for allowed in ban.allowed)
        for breach in breaches(ban, source)
    ]
    assert not found, f"{ban.name}; instead: {ban.instead}"


@pytest.mark.parametrize("ban", BANS, ids=lambda ban: ban.name)
def test_each_ban_catches_its_example(ban: Ban) -> None:
    assert breaches(ban, ban.example)


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("one place evaluates rules", "from agenteval.engine import evaluate\nevaluate.evaluate(case, dialog)"),
        ("one place evaluates rules", "def evaluate(self) -> int: ..."),
        ("one clock", "from datetime import datetime\ndatetime.fromisoformat(text)"),
        ("one clock", "import time\ntime.monotonic()"),
        ("one parser of judge text", "import orjson\norjson.dumps(value)"),
    ],
)
def test_bans_let_through_what_they_do_not_mean(name: str, source: str) -> None:
    (ban,) = (ban for ban in BANS if ban.name == name)
    assert not breaches(ban, source)


def test_every_exception_that_is_a_file_is_still_needed() -> None:
    unused = [
        f"{ban.name}: {path}"
        for ban in BANS
        for path in ban.allowed
        if path in sources() and not breaches(ban, sources()[path])
    ]
    assert not unused


def test_no_module_takes_part_in_an_import_cycle() -> None:
    graph = import_graph()
    order = graphlib.TopologicalSorter(
        {module: graph.find_modules_directly_imported_by(module) for module in graph.modules if is_ours(module)}
    )
    order.prepare()  # raises CycleError, which names the cycle


def test_third_party_packages_stay_where_they_belong() -> None:
    graph = import_graph()
    third_party = graph.modules - {module for module in graph.modules if is_ours(module)} - sys.stdlib_module_names
    astray = [
        f"{importer} imports {package}"
        for package in sorted(third_party)
        for importer in sorted(graph.find_modules_that_directly_import(package))
        if not any(f"{importer}.".startswith(f"{home}.") for home in IMPORTERS.get(package, ()))
    ]
    assert not astray


def test_a_run_from_the_command_line_loads_no_server() -> None:
    """Nothing that `agenteval run` may load, down to the built-in plug-ins, brings in the packages of API or worker."""
    elsewhere = ("api/", "worker/", "storage/migrations/")
    modules = [
        ".".join(("agenteval", *Path(path).with_suffix("").parts)).removesuffix(".__init__")
        for path in sources()
        if not path.startswith(elsewhere) and Path(path).name != "__main__.py"
    ]
    script = (
        "import importlib, sys\n"
        f"for name in {modules!r}: importlib.import_module(name)\n"
        "print(*sorted({'dbos', 'fastapi', 'uvicorn'} & sys.modules.keys()))"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout.split()) == (0, []), ended.stderr
