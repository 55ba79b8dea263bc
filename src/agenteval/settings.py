"""The settings, and the only place that reads the environment and the configuration file.

The file is `agenteval.toml` in the working directory, or the one that AGENTEVAL_CONFIG names; the environment goes
first. A model's setting is `AGENTEVAL_JUDGE_BASE_URL` there and `base_url` under `[judge]` here, likewise for the roles
EMBEDDING and MODERATION. An empty variable counts as not set.
"""

import os
import re
import tomllib
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PositiveFloat,
    PositiveInt,
    SecretStr,
    ValidationError,
    WithJsonSchema,
)

from agenteval.domain.errors import ConfigError
from agenteval.domain.exact import exact
from agenteval.domain.faults import in_words
from agenteval.domain.near import did_you_mean, nearest
from agenteval.domain.ports import Role

FILE = "agenteval.toml"
PREFIX = "AGENTEVAL_"


ROLES: frozenset[str] = frozenset(Role)


def _base_url(value: str) -> str:
    if not re.fullmatch(r"https?://[^\s/?#@]+(/[^\s?#]*)?", value):
        raise ValueError("must be http:// or https://, a host and perhaps a path, without user, password or query")
    try:
        urlsplit(value).port  # noqa: B018 - reading it checks it
    except ValueError as error:
        raise ValueError(f"names no usable host and port: {error}") from error
    if value.endswith(("/chat/completions", "/embeddings", "/moderations")):
        raise ValueError("must stop before /chat/completions, /embeddings or /moderations, usually at /v1")
    return value.rstrip("/")


def _sendable(value: SecretStr) -> SecretStr:
    """HTTP headers carry visible ASCII; what is pasted brings quotes, newlines and full-width letters along."""
    text = value.get_secret_value()
    for character in text:
        if not "\x20" <= character <= "\x7e":
            raise ValueError(
                f"contains {character!r} (U+{ord(character):04X}), which no header can carry; paste it anew"
            )
    if not text or text != text.strip() or text[0] in "\"'" or text[-1] in "\"'":
        raise ValueError("is empty, or begins or ends with a space or a quotation mark; paste it anew")
    return value


def _pairs(value: Any) -> Any:
    """`Name=value,Other=value`, as in OTEL_EXPORTER_OTLP_HEADERS; a table in the file stays as it is."""
    if not isinstance(value, str):
        return value
    pairs = [pair.partition("=") for pair in value.split(",")]
    if not all(name.strip() and equals for name, equals, _ in pairs):
        raise ValueError("must be Name=value,Other=value")
    return {name.strip(): text.strip() for name, _, text in pairs}


def _listed(value: Any) -> Any:
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


HeaderName: TypeAlias = Annotated[str, Field(pattern=r"^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")]
HeaderValue: TypeAlias = Annotated[SecretStr, AfterValidator(_sendable)]
Price: TypeAlias = Annotated[
    Fraction, BeforeValidator(exact), Field(ge=0), WithJsonSchema({"type": "number", "minimum": 0})
]


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True, use_attribute_docstrings=True)


class ModelSettings(_Section):
    """How one model is reached and used."""

    model_config = ConfigDict(allow_inf_nan=False)

    base_url: Annotated[str, AfterValidator(_base_url)]
    """Where its API is: what stands before `/chat/completions`, usually up to `/v1`."""
    model: Annotated[str, Field(min_length=1)]
    """Its name, as the provider spells it."""
    api_key: Annotated[SecretStr, AfterValidator(_sendable)] | None = None
    """Sent as a bearer token; shown nowhere."""
    provider: str = "openai_compatible"
    """The plug-in that speaks to it."""
    context_tokens: PositiveInt = 32_768
    """What one request may hold, question and answer together; longer dialogs are judged in overlapping windows."""
    temperature: Annotated[float, Field(ge=0, le=2)] = 0.0
    """Left out by itself where a model refuses it."""
    seed: Annotated[int, Field(ge=0, le=2**32)] = 0
    """Added to the seed that dialog and sample give each request: another one judges anew. Left out by itself where a
    model refuses it."""
    max_tokens: PositiveInt | None = None
    """Tokens of one answer at most; without it the provider decides."""
    timeout_s: PositiveFloat = 60.0
    """For one attempt, seconds."""
    max_concurrency: Annotated[int, Field(ge=1, le=1000)] = 100
    """Requests on their way at one time."""
    requests_per_minute: Annotated[float, Field(ge=0.1)] | None = None
    """The provider's limit; without it there is none but what its answers ask for."""
    tokens_per_minute: Annotated[float, Field(ge=1)] | None = None
    """The provider's limit, questions and answers together."""
    input_price: Price | None = None
    """For a million tokens, in the currency of your choice. Without both prices the cost of a run is unknown."""
    output_price: Price | None = None
    """The same for what the model writes."""
    structured: Literal["auto", "json_schema", "tool", "prompted"] = "auto"
    """How answers are made to fit a schema; `auto` finds out what the provider accepts, and remembers it."""
    headers: Annotated[Mapping[HeaderName, HeaderValue], BeforeValidator(_pairs)] = {}
    """Sent with each request, as secrets: `Name=value,Other=value` in a variable, a table in the file."""


class Settings(_Section):
    """A role without a model is None."""

    database_url: str = ".agenteval/agenteval.db"
    """A path of an SQLite file, or its URL (`sqlite:///...`)."""
    allowed_targets: Annotated[tuple[str, ...], BeforeValidator(_listed)] = ()
    """Loopback and private addresses that a shared installation may talk to: hosts, addresses or networks, perhaps with
    a port, separated by commas. The command line may talk to all of them."""
    judge: ModelSettings | None = None
    """The model that judges what code cannot decide."""
    embedding: ModelSettings | None = None
    """The model that compares meanings for `semantic_similarity`."""
    moderation: ModelSettings | None = None
    """The model that flags replies for `safety`."""

    def model(self, role: Role) -> ModelSettings | None:
        found: ModelSettings | None = getattr(self, role.value)
        return found

    @property
    def secrets(self) -> tuple[str, ...]:
        """Every value that no output may show."""
        models = [model for role in Role if (model := self.model(role))]
        keys = [model.api_key for model in models if model.api_key]
        return tuple(key.get_secret_value() for key in [*keys, *(h for m in models for h in m.headers.values())])


def load(environ: Mapping[str, str] | None = None, directory: Path = Path(), *, batch: bool = False) -> Settings:
    """The settings from the environment over the file in `directory`. `batch`: the judge is a file, which needs no
    server. Raises ConfigError that names every variable, or file and key, that cannot be used, with what to do about
    it."""
    given = _given(environ, directory)
    if batch and isinstance(judge := given.values.get("judge", {}), dict):
        given.values["judge"] = _BATCH_JUDGE | judge
    try:
        return Settings.model_validate(given.values)
    except ValidationError as error:
        problems = [_problem(fault, given) for fault in error.errors(include_input=False, include_url=False)]
        raise ConfigError("\n".join(map(str, problems))) if problems[1:] else problems[0] from error


_BATCH_JUDGE = {"base_url": "http://batch.invalid/v1", "model": "judge"}


def sources(environ: Mapping[str, str] | None = None, directory: Path = Path()) -> dict[str, str]:
    """The variable or file that gives each setting that is given: `{"judge.model": "AGENTEVAL_JUDGE_MODEL"}`."""
    given = _given(environ, directory)
    found: dict[str, str] = {}
    for name, value in given.values.items():
        keys = [(name, key) for key in value] if isinstance(value, dict) else [(name,)]
        found |= {".".join(key): given.variables.get(key, str(given.path)) for key in keys}
    return found


def unknown(environ: Mapping[str, str] | None = None) -> dict[str, str | None]:
    """The variables that look like settings and are none, each with the setting that may be meant."""
    models = [f"{role}_{field}" for role in Role for field in ModelSettings.model_fields]
    known = [*(name for name in Settings.model_fields if name not in ROLES), "config", *models]
    found = {}
    for variable in os.environ if environ is None else environ:
        name = variable.removeprefix(PREFIX).lower()
        if variable.startswith(PREFIX) and name not in known and not _key(variable):
            near = nearest(name, known)
            found[variable] = near and PREFIX + near.upper()
    return found


def variable(name: str) -> str | None:
    """An environment variable that a target names; None when it is not set."""
    return os.environ.get(name)


class _Given(NamedTuple):
    """`values` as the file nests them, `path` that file, `variables` the names of those that came from outside it."""

    values: dict[str, Any]
    path: Path
    variables: dict[tuple[str, ...], str]


def _given(environ: Mapping[str, str] | None, directory: Path) -> _Given:
    environ = os.environ if environ is None else environ
    named = environ.get(f"{PREFIX}CONFIG")
    path = directory / (named or FILE)
    values = _read(path) if named or path.exists() else {}
    variables: dict[tuple[str, ...], str] = {}
    for variable, text in environ.items():
        key = _key(variable)
        if text and key and isinstance(section := values.setdefault(key[0], {}) if key[1:] else values, dict):
            section[key[-1]] = text
            variables[key] = variable
    return _Given(values, path, variables)


_LONGEST_FILE = 1_000_000


def _read(path: Path) -> dict[str, Any]:
    if path.is_fifo():  # which might never be written to
        raise ConfigError("is a pipe, not a file", where=str(path))
    try:
        with path.open("rb") as file:
            return tomllib.loads(file.read(_LONGEST_FILE).decode())
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", where=str(path)) from error
    except UnicodeDecodeError as error:
        raise ConfigError("is not UTF-8", where=str(path), fix="save it as UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"is not TOML: {error}", where=str(path)) from error


def _key(variable: str) -> tuple[str, ...]:
    """Where a variable's value belongs; empty when it is no setting."""
    name = variable.removeprefix(PREFIX).lower() if variable.startswith(PREFIX) else ""
    if name in Settings.model_fields and name not in ROLES:
        return (name,)
    role, _, field = name.partition("_")
    return (role, field) if role in ROLES and field else ()


def _problem(fault: Mapping[str, Any], given: _Given) -> ConfigError:
    key = tuple(str(part) for part in fault["loc"] if part != "[key]")
    missing = fault["type"] == "missing"
    variable = given.variables.get(key[:2]) or (f"{PREFIX}{'_'.join(key).upper()}" if missing else None)
    where = variable or f"{given.path}, {'.'.join(key)}"
    if missing:
        return ConfigError(
            "is not set", where=where, fix=f"the {key[0]} model needs a base URL and a model name; set both, or nothing"
        )
    if fault["type"] == "extra_forbidden":
        known = (Settings if len(key) == 1 else ModelSettings).model_fields
        return ConfigError("is no setting", where=where, fix=did_you_mean(key[-1], known))
    return ConfigError(in_words(fault), where=where)
