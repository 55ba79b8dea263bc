"""An agent behind an HTTP endpoint: one request for each message; a slow agent is polled until its reply is there."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Annotated, Any, ClassVar, Literal, TypeAlias
from urllib.parse import quote

from pydantic import ConfigDict, Field, PlainValidator, WithJsonSchema

from agenteval.channels import ChannelFactory, register_channel
from agenteval.channels.endpoint import Endpoint
from agenteval.channels.json_path import JsonPath, PathParameter
from agenteval.channels.replies import agent_reply, as_messages, cleaned, parse_json, tool_call
from agenteval.channels.template import Template
from agenteval.domain.errors import TargetError, TargetProtocolError
from agenteval.domain.json_value import Json
from agenteval.domain.ports import AgentReply
from agenteval.domain.target import Target
from agenteval.domain.transcript import ToolCall
from agenteval.net.errors import NetError
from agenteval.net.guard import Guard, origin
from agenteval.net.session import Response

_ADDRESSING = ("conversation_id", "turn_index")
_SAID = ("message", *_ADDRESSING, "history", "messages")
_encode = partial(quote, safe="")


def _url(*names: str) -> Any:
    def parse(text: Any) -> Template:
        try:
            origin(str(text))
        except NetError as error:
            raise ValueError(error.message) from error
        return Template.parse(text, names)

    return PlainValidator(parse)


def _header(value: Any) -> Template:
    if not isinstance(value, str):
        raise ValueError("must be text")
    return Template.parse(value, _ADDRESSING)


Body: TypeAlias = Annotated[Template, PlainValidator(lambda body: Template.parse(body, _SAID)), WithJsonSchema({})]
Header: TypeAlias = Annotated[Template, PlainValidator(_header), WithJsonSchema({"type": "string"})]
Url: TypeAlias = Annotated[Template, _url("message", *_ADDRESSING), WithJsonSchema({"type": "string"})]
PollUrl: TypeAlias = Annotated[Template, _url("id", *_ADDRESSING), WithJsonSchema({"type": "string"})]


@dataclass(frozen=True, slots=True)
class ToolCalls:
    """`path` leads to the list of tool calls; the others lead on from each call to its parts."""

    __pydantic_config__: ClassVar[ConfigDict] = {"extra": "forbid"}

    path: PathParameter
    name: PathParameter = field(default=JsonPath.parse("name"))
    arguments: PathParameter = field(default=JsonPath.parse("arguments"))
    result: PathParameter = field(default=JsonPath.parse("result"))
    ok: PathParameter = field(default=JsonPath.parse("ok"))

    def read(self, document: Json) -> tuple[ToolCall, ...]:
        """Nothing at `path`, or null, is no call."""
        calls = self.path.get(document)
        if calls is None:
            return ()
        if not isinstance(calls, list):
            raise TargetProtocolError(f"what stands at {self.path.text!r} in the reply is no list of tool calls")
        return tuple(
            tool_call(self.name.get(c), self.arguments.get(c), self.result.get(c), self.ok.get(c)) for c in calls
        )


@dataclass(frozen=True, slots=True)
class Poll:
    """The answer to a message holds an id at `id_path`. `url` with `{id}` is asked every `interval_ms` until there is
    `done_value` (when not given: anything but null and false) at `done_path`. The reply is read from that answer. The
    deadline is the target's `timeout_s`."""

    __pydantic_config__: ClassVar[ConfigDict] = {"extra": "forbid"}

    url: PollUrl
    id_path: PathParameter
    done_path: PathParameter
    done_value: Any = None
    interval_ms: Annotated[float, Field(gt=0)] = 500

    def is_done(self, document: Json) -> bool:
        found = self.done_path.get(document)
        return found not in (None, False) if self.done_value is None else found == self.done_value


@register_channel
@dataclass(frozen=True, slots=True)
class Http(ChannelFactory):
    """`request` is the body: any JSON with `{message}`, `{conversation_id}`, `{turn_index}`, `{history}` (earlier turns
    as chat messages), `{messages}` (those and this message). `url` may hold the first three, `headers` the second and
    third. `reply` is the path of the reply in the answer; without one the answer is `{"reply", "tool_calls"}`, or is
    itself the reply, be it JSON or plain text.
    `conversation_id_path`: the agent gives the id in its first answer; until then `{conversation_id}` is null."""

    name: ClassVar[str] = "http"

    url: Url
    method: Literal["POST", "PUT", "PATCH", "GET"] = "POST"
    headers: Mapping[str, Header] = field(default_factory=dict, repr=False)
    request: Body = field(
        default=Template({"conversation_id": "{conversation_id}", "message": "{message}"}), repr=False
    )
    reply: PathParameter | None = None
    tool_calls: ToolCalls | None = None
    conversation_id_path: PathParameter | None = None
    poll: Poll | None = None

    def __post_init__(self) -> None:
        if self.poll and origin(str(self.poll.url.body)) != origin(str(self.url.body)):
            raise ValueError("poll.url must be at the same scheme, host and port as url")
        sent = self.url.names if self.method == "GET" else self.url.names | self.request.names
        if not sent & {"message", "messages"}:
            place = "url (GET has no body)" if self.method == "GET" else "request or url"
            raise ValueError(f"the agent would never get the user's message: put {{message}} into {place}")

    def create(self, target: Target, guard: Guard) -> "HttpChannel":
        return HttpChannel(self, Endpoint(str(self.url.body), target, guard))


class HttpChannel:
    def __init__(self, settings: Http, endpoint: Endpoint) -> None:
        self._settings = settings
        self._endpoint = endpoint

    async def check(self) -> None:
        await self._endpoint.check()

    def open(self, conversation_id: str, case_id: str = "") -> "HttpConversation":
        return HttpConversation(self._settings, self._endpoint, conversation_id)

    async def close(self) -> None:
        await self._endpoint.close()


class HttpConversation:
    def __init__(self, settings: Http, endpoint: Endpoint, conversation_id: str) -> None:
        self._settings = settings
        self._endpoint = endpoint
        self._id: Json = conversation_id if settings.conversation_id_path is None else None
        self._turn_index = 0
        self._history: list[dict[str, str]] = []

    async def send(self, message: str) -> AgentReply:
        settings = self._settings
        values: dict[str, Json] = {
            "message": message,
            "conversation_id": self._id,
            "turn_index": self._turn_index,
            "history": self._history,
            "messages": [*self._history, {"role": "user", "content": message}],
        }
        headers = {name: value.fill_text(values) for name, value in settings.headers.items()}
        response = await self._endpoint.request(
            settings.method,
            settings.url.fill_text(values, _encode),
            body=None if settings.method == "GET" else settings.request.fill(values),
            headers=headers,
        )
        if settings.conversation_id_path and self._id is None:
            self._id = cleaned(settings.conversation_id_path.require(self._json(response)))
        if settings.poll:
            response = await self._polled(settings.poll, self._json(response), headers)
        reply = self._read(response)
        self._history += as_messages(message, reply.reply)
        self._turn_index += 1
        return reply

    async def close(self) -> None:
        pass

    async def _polled(self, poll: Poll, answer: Json, headers: Mapping[str, str]) -> Response:
        """The answer that is done. The message is delivered already, so no failure here can mean that it was not."""
        job_id = cleaned(poll.id_path.require(answer))
        url = poll.url.fill_text({"id": job_id, "conversation_id": self._id, "turn_index": self._turn_index}, _encode)
        wait_s = poll.interval_ms / 1000
        while True:
            await asyncio.sleep(wait_s)
            try:
                response = await self._endpoint.request("GET", url, headers=headers)
            except TargetError as error:
                if error.delivered or not error.retryable:
                    raise TargetError(error.message, where="polling", fix=error.fix, delivered=True) from error
                wait_s = max(poll.interval_ms / 1000, error.retry_after_s or 0)
                continue
            if poll.is_done(self._json(response)):
                return response
            wait_s = poll.interval_ms / 1000

    def _read(self, response: Response) -> AgentReply:
        settings = self._settings
        if response.status == 204:
            return AgentReply(None)
        if settings.reply is None and settings.tool_calls is None:
            return agent_reply(self._json_or_text(response))
        document = self._json(response)
        reply = agent_reply(document) if settings.reply is None else AgentReply(settings.reply.require(document))
        return reply if settings.tool_calls is None else replace(reply, tool_calls=settings.tool_calls.read(document))

    def _json_or_text(self, response: Response) -> Json:
        if "json" in response.headers.get("Content-Type", "").lower():
            return self._json(response)
        try:
            return response.body.decode()
        except UnicodeDecodeError as error:
            raise self._endpoint.malformed("the reply is neither JSON nor text in UTF-8", response) from error

    def _json(self, response: Response) -> Json:
        try:
            return parse_json(response.body)
        except ValueError as error:
            raise self._endpoint.malformed("the reply is no JSON", response) from error
