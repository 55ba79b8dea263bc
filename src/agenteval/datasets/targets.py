"""Target files, YAML or JSON, and the short forms of the command line: which agent is evaluated, and how to reach it.

    name: booking agent                         http://localhost:8000/chat     the http channel with its defaults
    channel: http                               python:my_agent.py:reply       a Python function
    params:                                     command:./agent.sh             a program
      url: http://localhost:8000/chat           replay:dialogs.jsonl           recorded dialogs, by case id
      headers: {Authorization: "Bearer ${TOKEN}"}

`${NAME}` in a text of `params` is the environment variable NAME, which is a secret from then on; `$${NAME}` is the text
`${NAME}`. A run keeps its target as it was written, so a secret that is written out is refused; so is every header but
plain ones such as Accept.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from agenteval.datasets import dialogs, files, json_text, schemas, yaml_text
from agenteval.datasets.document import Document, Problems
from agenteval.datasets.fields import Id, Strict, Text
from agenteval.domain.errors import InputError
from agenteval.domain.json_value import Json, below
from agenteval.domain.target import Target
from agenteval.domain.text import clean
from agenteval.net.guard import without_user
from agenteval.net.redact import Redactor

Check = Callable[[Target], object]
"""`channels.build.factory`: raises InputError with JSON pointers when the channel cannot be built."""
Variable = Callable[[str], str | None]
"""An environment variable, None when it is not set."""

_SHORT = {"http": "url", "https": "url", "python": "callable", "command": "command", "replay": "dialogs"}
_SECRET = re.compile(
    r"(api|access|private)[-_]?key|token|secret|passw|credential|authorization|(?<![a-z])auth(?![a-z])|cookie",
    re.IGNORECASE,
)
_HARMLESS_HEADER = re.compile(
    r"accept.*|cache-control|content-.*|origin|referer|user-agent|x-request-.*", re.IGNORECASE
)
_SECRET_IN_URL = re.compile(rf"[?&][^=&]*({_SECRET.pattern})[^=&]*=[^&${{]", re.IGNORECASE)
_VARIABLE = re.compile(r"(?P<literal>\$)?\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)\}")


def load(given: str, check: Check, variable: Variable) -> Target:
    """The target of a file or a short form. Raises InputError with every problem."""
    return _read(*_document(given), check, variable)


def loads(text: str, name: str, check: Check, variable: Variable) -> Target:
    """The target of a file's text: JSON when `name` ends in .json, else YAML. Its own name is by default the file's."""
    return _read(*_parsed(text, name), check, variable)


def source(given: str) -> dict[str, Any]:
    """The target as it was written: environment variables are names here, and no secrets. `reload` reads it."""
    document, default_name = _document(given)
    value = document.value if isinstance(document.value, Mapping) else {}
    return {**value, "name": value.get("name") or default_name}


def reload(source: Json, check: Check, variable: Variable) -> Target:
    """The target of a `source` that was kept. Raises InputError when it cannot be used any more."""
    return _read(Document("target", source, dict), "", check, variable)


def schema(channels: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of target files; `channels`: the schema of each channel's parameters."""
    whole = schemas.of(_Target, "AgentEval target", [_EXAMPLE])
    schemas.choose(whole, whole, "channel", {name: as_in_files(name, params) for name, params in channels.items()})
    return whole


_EXAMPLE = {
    "name": "booking agent",
    "channel": "http",
    "params": {"url": "http://localhost:8000/chat", "headers": {"Authorization": "Bearer ${AGENT_TOKEN}"}},
    "timeout_s": 30,
}


_DEFAULTS: dict[str, Any] = {f.name: f.default for f in fields(Target)}


class _Target(Strict):
    """The agent under evaluation, and how it is talked to."""

    name: Id | None = None
    """Default: the file's name."""
    channel: Text
    """The way to talk to it."""
    params: dict[str, Any] = Field(default_factory=dict)
    """Parameters of the channel. ${NAME} stands for an environment variable."""
    timeout_s: Annotated[float, Field(gt=0)] = _DEFAULTS["timeout_s"]
    """For one message, seconds."""
    max_concurrency: Annotated[int, Field(ge=1, le=1000)] = _DEFAULTS["max_concurrency"]
    """Messages on their way at one time."""
    messages_per_minute: Annotated[float, Field(gt=0)] | None = None
    """Default: no limit."""
    retries: Annotated[int, Field(ge=0)] = _DEFAULTS["retries"]
    """For what was not delivered."""


def _document(given: str) -> tuple[Document, str]:
    """What is given, and the name of a target that has none."""
    shown = without_user(given)
    kind, colon, rest = given.partition(":")
    if colon and kind in _SHORT and rest:
        is_url = kind in {"http", "https"}
        value: Json = {
            "name": shown.partition("?")[0] if is_url else given,
            "channel": "http" if is_url else kind,
            "params": {_SHORT[kind]: given if is_url else rest},
        }
        return Document(shown.partition("?")[0] if is_url else shown, value, dict).cleaned(), ""
    if given.endswith(".py"):
        raise InputError("is Python, no target file", where=given, fix=f"for a function in it: python:{given}:FUNCTION")
    try:
        data = files.read(Path(given))
    except InputError as error:
        forms = "a target is a file, http(s)://..., python:..., command:... or replay:..."
        raise InputError(error.message, where=shown, fix=forms) from error
    return _parsed(files.decode(data, given), given)


def _parsed(text: str, name: str) -> tuple[Document, str]:
    path = Path(name)
    parse = json_text.parse if path.suffix.lower() == ".json" else yaml_text.parse
    return parse(text, name), path.stem


def _read(document: Document, default_name: str, check: Check, variable: Variable) -> Target:
    if isinstance(document.value, Mapping) and "cases" in document.value and "channel" not in document.value:
        raise document.problem(
            "", "looks like a scenario file, no target", "a target has a channel, a scenario has cases"
        )
    problems = Problems()
    found = document.check(_Target, document.value, "", problems)
    if found is None:
        raise problems.error()
    written_out = _secrets(found.params, "/params")
    problems.extend(document.problem(pointer, _WRITTEN_OUT, _AS_VARIABLE) for pointer in written_out)
    filling = _Filling(document, variable)
    params = filling.filled(found.params, "/params")
    problems.extend(filling.problems)
    if problems:
        raise problems.error()
    if found.channel == "replay" and isinstance(file := params.get("dialogs"), str):
        params = {**params, "dialogs": dialogs.load(Path(file)).by_id}
    secrets = frozenset(filling.values)
    target = Target(**{**dict(found), "name": found.name or default_name, "params": params}, secrets=secrets)
    try:
        check(target)
    except InputError as error:
        hide = Redactor(secrets)
        problems.extend(document.problem(p.where, hide(p.message), p.fix) for p in error.problems or [error])
        raise problems.error() from None  # the cause shows the secrets
    return target


_WRITTEN_OUT = "a secret is written here, and runs keep their target"
_AS_VARIABLE = "put it into an environment variable, and write ${ITS_NAME} here"


def _secrets(value: Any, pointer: str, *, named: bool = False) -> Iterator[str]:
    """Where secrets are written out: texts without a placeholder in headers, but for the harmless ones, and under a
    name that says so; and in a URL's query."""
    if isinstance(value, str):
        if (named and value and "{" not in value) or _SECRET_IN_URL.search(value):
            yield pointer
    elif isinstance(value, Mapping):
        of_headers = pointer.endswith("/headers")
        for key, member in value.items():
            secret = not _HARMLESS_HEADER.fullmatch(str(key)) if of_headers else bool(_SECRET.search(str(key)))
            yield from _secrets(member, below(pointer, key), named=secret)
    elif isinstance(value, list):
        for i, member in enumerate(value):
            yield from _secrets(member, below(pointer, i), named=named)


@dataclass
class _Filling:
    """Fills environment variables into texts; `values` are those that were used."""

    document: Document
    variable: Variable
    values: set[str] = field(default_factory=set)
    problems: Problems = field(default_factory=Problems)

    def filled(self, value: Any, pointer: str) -> Any:
        if isinstance(value, str):
            return _VARIABLE.sub(lambda match: self._value(match, pointer), value)
        if isinstance(value, Mapping):
            return {key: self.filled(member, below(pointer, key)) for key, member in value.items()}
        if isinstance(value, list):
            return [self.filled(member, below(pointer, i)) for i, member in enumerate(value)]
        return value

    def _value(self, match: re.Match[str], pointer: str) -> str:
        if match["literal"]:
            return match[0][1:]
        value = self.variable(match["name"])
        if not value or clean(value) != value:
            message = f"the environment variable {match['name']} {'is no text in UTF-8' if value else 'is not set'}"
            self.problems.append(self.document.problem(pointer, message, f"$${{{match['name']}}} is the text itself"))
            return ""
        self.values.add(value)
        return value


def as_in_files(channel: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of a channel's parameters for those who write them: a target names the file of the recorded dialogs,
    which the channel is handed loaded."""
    if channel != "replay":
        return dict(params)
    return {**params, "properties": {**params["properties"], "dialogs": {"type": "string", "title": "File"}}}
