"""What an HTTP status, an error body or a broken connection means for a call to a model."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from agenteval.domain.errors import (
    ContextTooLong,
    ModelAuthError,
    ModelError,
    ModelRateLimited,
    ModelRefused,
    ModelTimeout,
    ModelUnavailable,
)
from agenteval.domain.ports import Role
from agenteval.models import variable
from agenteval.models.ladder import ParameterRefused
from agenteval.net.errors import NetError, NetFault
from agenteval.net.session import Response
from agenteval.settings import ModelSettings

EXCERPT = 300

# In the words of OpenAI, vLLM, llama.cpp, Ollama, Anthropic gateways, DashScope, Zhipu and Moonshot.
TOO_LONG = re.compile(
    r"context_length_exceeded|context[ _](length|window|size)|(prompt|input) is too long|too many (input )?tokens"
    r"|token limit|input length|超长|超过.{0,12}(长度|上下文|token)",
    re.IGNORECASE,
)
FILTERED = re.compile(r"content_?filter|content management policy|data_inspection_failed|内容安全|敏感", re.IGNORECASE)
NO_CREDIT = re.compile(r"insufficient.(quota|balance)|arrearage|余额|欠费", re.IGNORECASE)
TRY_LATER = {408, 409, 425, 500}


class Failures:
    """Turns what went wrong with one model into ModelErrors that say where, and which setting to look at."""

    def __init__(self, role: Role, settings: ModelSettings, redact: Callable[[str], str]) -> None:
        self._where = f"{role} model {settings.model} at {settings.base_url}"
        self._key = variable(role, "api_key")
        self._model = variable(role, "model")
        self._base_url = variable(role, "base_url")
        self._structured = variable(role, "structured")
        self._timeout = variable(role, "timeout_s")
        self._redact = redact

    def connection(self, error: NetError) -> ModelError:
        message = self._redact(error.message)
        match error.fault:
            case NetFault.TIMEOUT if error.delivered:
                return ModelTimeout(message, where=self._where, fix=f"{self._timeout} sets the limit")
            case NetFault.FORBIDDEN | NetFault.TLS | NetFault.TOO_LARGE:
                return ModelError(message, where=self._where, fix=f"check {self._base_url}")
            case _:
                return ModelUnavailable(message, where=self._where, fix=f"check {self._base_url}")

    def status(self, response: Response) -> ModelError:
        """For a response that is no 2xx."""
        return self.reported(response.status, self._complaint(response), response.retry_after_s)

    def reported(self, status: int, said: str, retry_after_s: float | None = None) -> ModelError:
        """`status` as HTTP has it; some gateways report it inside a 200."""
        shown = self._redact(said)
        shown = f"{status}: {shown[:EXCERPT]}" if shown else str(status)
        if status in {401, 403}:
            return ModelAuthError(f"the key was refused ({shown})", where=self._where, fix=f"check {self._key}")
        if status == 402 or (status == 429 and NO_CREDIT.search(said)):
            return ModelAuthError(f"the account has no credit ({shown})", where=self._where, fix="check its billing")
        if status == 429:
            return ModelRateLimited(f"too many requests ({shown})", where=self._where, retry_after_s=retry_after_s)
        if status in TRY_LATER or status > 501:
            return ModelUnavailable(shown, where=self._where, retry_after_s=retry_after_s)
        if 300 <= status < 400:
            return ModelError(f"the server redirects ({shown})", where=self._where, fix=f"check {self._base_url}")
        if status == 413 or TOO_LONG.search(said):
            return ContextTooLong(shown, where=self._where)
        if FILTERED.search(said):
            return ModelRefused(f"the provider's filter stopped the request ({shown})", where=self._where)
        if status == 404:
            fix = f"check {self._model} and {self._base_url}, which usually ends in /v1"
            return ParameterRefused(f"not found ({shown})", complaint=said, where=self._where, fix=fix)
        return ParameterRefused(
            f"the request was refused ({shown})",
            complaint=said,
            where=self._where,
            fix=f"if it is about the output format, set {self._structured}",
        )

    def malformed(self, message: str, body: bytes) -> ModelUnavailable:
        """A 2xx whose body is not what was promised: cut off on its way, or from another kind of server."""
        fix = f"check {self._base_url}, which usually ends in /v1"
        return ModelUnavailable(f"{message}: {self._excerpt(body) or 'empty'}", where=self._where, fix=fix)

    def refused(self, message: str) -> ModelRefused:
        return ModelRefused(self._redact(message)[:EXCERPT], where=self._where)

    def _complaint(self, response: Response) -> str:
        """The server's own words, the parameter's name first: never what it repeats of the request."""
        try:
            return words(response.json())
        except NetError:
            return self._excerpt(response.body)

    def _excerpt(self, body: bytes) -> str:
        """The beginning of a body that is not JSON. It is cut last: of a secret that a cut halves, the half would
        stay."""
        return self._redact(" ".join(body.decode(errors="replace").split()))[:EXCERPT]


def words(body: object) -> str:
    """The words of an error object as OpenAI (`error`), FastAPI (`detail`) and others write it."""
    if isinstance(body, list):
        return "; ".join(map(words, body))
    if not isinstance(body, Mapping):
        return str(body)
    told: Mapping[str, Any] = body
    if inner := told.get("error") or told.get("detail") or told.get("errors"):
        return words(inner)
    place = ".".join(map(str, told["loc"])) if isinstance(told.get("loc"), list) else ""
    parts = (told.get("param"), place, told.get("code"), told.get("message"), told.get("msg"))
    return " ".join(str(part) for part in parts if part)
