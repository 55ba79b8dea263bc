"""One model's HTTP server: headers, limits, repeats, and every failure as a ModelError without secrets."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

import orjson

from agenteval.domain.ports import Role
from agenteval.models import ModelContext
from agenteval.models.failures import Failures, words
from agenteval.models.retry import Retry
from agenteval.net.errors import NetError
from agenteval.net.limits import Limits
from agenteval.net.redact import Redactor
from agenteval.net.session import JSON_HEADERS, Response
from agenteval.settings import ModelSettings

T = TypeVar("T")

BYTES_PER_TOKEN = 3  # of the request's JSON: near for Chinese in UTF-8, on the safe side for English
CALL_DEADLINES = 3  # from its first turn on, a call begins no repeat after this many times the limit of one attempt


class Endpoint:
    """The server of one role's model. It is called as often and as much at once as the settings allow."""

    def __init__(self, role: Role, settings: ModelSettings, context: ModelContext) -> None:
        secrets = [secret.get_secret_value() for secret in (settings.api_key, *settings.headers.values()) if secret]
        self.failures = Failures(role, settings, Redactor(secrets))
        self.retry = Retry(deadline_s=CALL_DEADLINES * settings.timeout_s)
        self._settings = settings
        self._context = context
        self._limits = Limits(
            context.clock,
            max_concurrency=settings.max_concurrency,
            requests_per_minute=settings.requests_per_minute,
            tokens_per_minute=settings.tokens_per_minute,
        )
        self._headers = {**JSON_HEADERS, **{name: value.get_secret_value() for name, value in settings.headers.items()}}
        if settings.api_key:
            self._headers["Authorization"] = f"Bearer {settings.api_key.get_secret_value()}"

    async def post(
        self,
        path: str,
        payload: Mapping[str, Any],
        read: Callable[[Mapping[str, Any], float], T],
        retry: Retry | None = None,
    ) -> T:
        """What `read` makes of the reply's JSON object and its latency in milliseconds. `payload` holds the request but
        for the model's name. Raises ModelError; when `read` raises one that is retryable, the call is repeated too."""
        body = orjson.dumps({"model": self._settings.model, **payload})
        return await (retry or self.retry).run(
            partial(self._attempt, f"{self._settings.base_url}/{path}", body, read),
            turn=partial(self._limits.slot, len(body) // BYTES_PER_TOKEN),
            clock=self._context.clock,
            random=self._context.random,
            pause=self._limits.pause,
        )

    async def _attempt(self, url: str, body: bytes, read: Callable[[Mapping[str, Any], float], T]) -> T:
        try:
            response = await self._context.sessions.at(url).request(
                "POST", url, body=body, headers=self._headers, timeout_s=self._settings.timeout_s
            )
        except NetError as error:
            raise self.failures.connection(error) from error
        if not 200 <= response.status < 300:
            raise self.failures.status(response)
        data = self._object(response)
        self._settle(data, len(body))
        return read(data, response.latency_ms)

    def _object(self, response: Response) -> dict[str, Any]:
        try:
            data = response.json()
        except NetError as error:
            raise self.failures.malformed("the reply is not JSON", response.body) from error
        if not isinstance(data, dict):
            raise self.failures.malformed("the reply is no JSON object", response.body)
        if failure := data.get("error"):  # some gateways report one in a 200
            code = failure.get("code") if isinstance(failure, dict) else None
            raise self.failures.reported(code if isinstance(code, int) and code >= 400 else 500, words(failure))
        return data

    def _settle(self, data: Mapping[str, Any], body_bytes: int) -> None:
        usage = data.get("usage")
        used = usage.get("total_tokens") if isinstance(usage, dict) else None
        if isinstance(used, int):
            self._limits.settle(body_bytes // BYTES_PER_TOKEN, used)
