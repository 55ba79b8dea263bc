"""A model or agent behind a chat-completions endpoint, which is told the whole dialog with each message."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, ClassVar

from agenteval.channels import ChannelFactory, register_channel
from agenteval.channels.endpoint import Endpoint
from agenteval.channels.json_path import JsonPath
from agenteval.channels.replies import as_messages, parse_json, tool_call
from agenteval.domain.errors import TargetProtocolError
from agenteval.domain.json_value import Json
from agenteval.domain.ports import AgentReply
from agenteval.domain.target import Target
from agenteval.domain.transcript import ToolCall
from agenteval.net.errors import NetError
from agenteval.net.guard import Guard, origin
from agenteval.net.session import Response

_OURS = frozenset({"model", "messages", "stream"})
_MESSAGE = JsonPath.parse("choices[0].message")
_NAME = JsonPath.parse("function.name")
_ARGUMENTS = JsonPath.parse("function.arguments")


@register_channel
@dataclass(frozen=True, slots=True)
class OpenAIChat(ChannelFactory):
    """`base_url` ends before `/chat/completions`, as in "https://api.example.com/v1". `extra`: further members of the
    request (temperature, tools, ...). Tool calls are recorded as asked for; nobody runs them."""

    name: ClassVar[str] = "openai_chat"

    base_url: str
    model: str
    api_key: str = field(default="", repr=False)
    system_prompt: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        try:
            origin(self.base_url)
        except NetError as error:
            raise ValueError(error.message) from error
        if taken := sorted(_OURS & self.extra.keys()):
            raise ValueError(f"extra cannot set {', '.join(taken)}")

    def create(self, target: Target, guard: Guard) -> "OpenAIChatChannel":
        return OpenAIChatChannel(self, Endpoint(self.base_url, target, guard, secrets=frozenset({self.api_key})))


class OpenAIChatChannel:
    def __init__(self, settings: OpenAIChat, endpoint: Endpoint) -> None:
        self._settings = settings
        self._endpoint = endpoint

    async def check(self) -> None:
        await self._endpoint.check()

    def open(self, conversation_id: str, case_id: str = "") -> "OpenAIChatConversation":
        return OpenAIChatConversation(self._settings, self._endpoint)

    async def close(self) -> None:
        await self._endpoint.close()


class OpenAIChatConversation:
    def __init__(self, settings: OpenAIChat, endpoint: Endpoint) -> None:
        self._settings = settings
        self._endpoint = endpoint
        self._said = [{"role": "system", "content": settings.system_prompt}] if settings.system_prompt else []

    async def send(self, message: str) -> AgentReply:
        settings = self._settings
        key = {"Authorization": f"Bearer {settings.api_key}"} if settings.api_key else {}
        response = await self._endpoint.request(
            "POST",
            f"{settings.base_url.rstrip('/')}/chat/completions",
            body={
                **settings.extra,
                "model": settings.model,
                "messages": [*self._said, {"role": "user", "content": message}],
            },
            headers={**key, **settings.headers},
        )
        reply = self._read(response)
        self._said += as_messages(message, reply.reply)
        return reply

    async def close(self) -> None:
        pass

    def _read(self, response: Response) -> AgentReply:
        try:
            answer = _MESSAGE.find(parse_json(response.body))
        except (ValueError, LookupError) as error:
            raise self._endpoint.malformed("the reply is no chat completion", response) from error
        if not isinstance(answer, Mapping):
            raise self._endpoint.malformed("the reply is no chat completion", response)
        content = answer.get("content")
        calls = answer.get("tool_calls") or []
        if not isinstance(calls, list):
            raise TargetProtocolError("tool_calls in the reply is no list")
        return AgentReply(answer.get("refusal") if content is None else content, tuple(map(_tool_call, calls)))


def _tool_call(call: Json) -> ToolCall:
    arguments = _ARGUMENTS.get(call)
    if isinstance(arguments, str):
        with suppress(ValueError, TargetProtocolError):  # what is no JSON is kept as it is
            arguments = parse_json(arguments.encode(errors="surrogatepass"))
    return tool_call(_NAME.get(call), arguments)
