"""A judge whose requests go into a file and whose answers come from one, in the format of OpenAI's Batch API.

A request is a line `{"custom_id", "method": "POST", "url": "/v1/chat/completions", "body"}`, an answer a line
`{"custom_id", "response": {"status_code", "body"}, "error"}`. Requests and answers are kept by `custom_id`, so that
answers may come in parts, in any order and in any number of rounds.
"""

import hashlib
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

import orjson

from agenteval.domain.errors import ModelError, Pending
from agenteval.domain.json_value import Json, canonical
from agenteval.domain.ports import Capabilities, ChatReply, ChatRequest, Memo, Role
from agenteval.models.chat_completions import chat_params, payload_of, reply_of
from agenteval.models.failures import Failures, words
from agenteval.models.ladder import Mode, recalled
from agenteval.net.redact import Redactor
from agenteval.settings import ModelSettings

URL = "/v1/chat/completions"
PAGE = 500


class BatchFile:
    """`memo` keeps what was asked and, once it is there, what was answered. `write` is given the line of each request
    that has no answer, once."""

    def __init__(
        self, settings: ModelSettings, capabilities: Capabilities, memo: Memo, write: Callable[[bytes], object]
    ) -> None:
        self.id = settings.model
        self.context_tokens = settings.context_tokens
        self.params = chat_params(settings)
        self.asked: set[str] = set()
        self._scope = hashlib.sha256(canonical([self.id, self.params])).hexdigest()
        self._settings = settings
        self._capabilities = capabilities
        self._memo = memo
        self._write = write
        self._failures = Failures(Role.JUDGE, settings, Redactor([]))
        self._mode: Mode | None = None

    async def complete(self, request: ChatRequest) -> ChatReply:
        """Raises Pending while there is no answer."""
        key = self._key(request.custom_id)
        if body := (await self._memo.get([key])).get(key):
            return replace(self._reply(body), was_kept=True)
        if self._mode is None:
            self._mode = await recalled(self._settings, self._capabilities)
        if request.custom_id not in self.asked:
            self.asked.add(request.custom_id)
            self._write(_line(request.custom_id, {"model": self.id, **payload_of(request, self._settings, self._mode)}))
        raise Pending(f"request {request.custom_id} waits for its answer")

    async def check(self) -> None:
        """Nobody is called."""

    async def close(self) -> None:
        """Remember what was asked, so that the answers are known as such. The file is whoever's opened it."""
        ids = iter(self.asked)
        while page := list(islice(ids, PAGE)):
            await self._memo.put({self._key(custom_id): None for custom_id in page})

    async def take_in(self, lines: Iterable[bytes], where: str) -> AsyncIterator[str]:
        """Remember the answers of a file. Yields what is wrong, line by line; such a request is asked again."""
        seen: dict[str, int] = {}
        numbered = ((n, line) for n, line in enumerate(lines, 1) if line.strip())
        while page := list(islice(numbered, PAGE)):
            answers: dict[str, tuple[int, Json]] = {}
            for n, line in page:
                try:
                    custom_id, body = self._answer(line)
                    if first := seen.get(custom_id):
                        raise ModelError(f"{custom_id} was answered in line {first}, which counts")
                    seen[custom_id] = n
                    answers[custom_id] = n, body
                except ModelError as error:
                    yield f"{where}:{n}: {error.message}"
            known = await self._memo.get([self._key(custom_id) for custom_id in answers])
            for custom_id, (n, _) in answers.items():
                if self._key(custom_id) not in known:
                    yield f"{where}:{n}: there was no request {custom_id} to {self.id} with this database"
            await self._memo.put(
                {key: body for custom_id, (_, body) in answers.items() if (key := self._key(custom_id)) in known}
            )

    def _answer(self, line: bytes) -> tuple[str, Json]:
        """`custom_id` and completion. Raises ModelError for what is no answer."""
        try:
            told = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise ModelError(f"is not JSON: {error}") from error
        custom_id = told.get("custom_id") if isinstance(told, dict) else None
        if not isinstance(custom_id, str):
            raise ModelError("has no custom_id")
        response = told.get("response")
        response = response if isinstance(response, dict) else {}
        body, status = response.get("body"), response.get("status_code")
        if told.get("error") or status != 200 or not isinstance(body, dict):
            said = words(told.get("error") or body or "no response")
            raise ModelError(f"{custom_id} failed: {f'{status}: ' if status else ''}{said}")
        try:
            self._reply(body)
        except ModelError as error:
            raise ModelError(f"{custom_id} failed: {error.message}") from error
        return custom_id, body

    def _reply(self, body: Any) -> ChatReply:
        return reply_of(body, self._settings, self._failures)

    def _key(self, custom_id: str) -> str:
        return f"batch:{self._scope}:{custom_id}"


def _line(custom_id: str, body: Mapping[str, Any]) -> bytes:
    return orjson.dumps({"custom_id": custom_id, "method": "POST", "url": URL, "body": body}) + b"\n"
