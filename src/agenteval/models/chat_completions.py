"""OpenAI's chat completions: how a request and its reply are written."""

from collections.abc import Mapping
from typing import Any

import orjson

from agenteval.domain.json_value import Json, as_text
from agenteval.domain.ports import ChatReply, ChatRequest
from agenteval.models.failures import Failures
from agenteval.models.ladder import Mode, Structured
from agenteval.models.usage import usage_of
from agenteval.settings import ModelSettings

TOOL_NAME = "answer"
PROMPT = "Answer with exactly one JSON object and nothing else. It must fit this JSON Schema:\n"


def chat_params(settings: ModelSettings) -> Mapping[str, Json]:
    """What a model's answers depend on beside its name."""
    return {
        "base_url": settings.base_url,
        "temperature": settings.temperature,
        "seed": settings.seed,
        "max_tokens": settings.max_tokens,
    }


def payload_of(request: ChatRequest, settings: ModelSettings, mode: Mode) -> dict[str, Any]:
    """The request's JSON but for the model's name."""
    messages = [{"role": message.role, "content": message.content} for message in request.messages]
    payload: dict[str, Any] = {"messages": messages}
    if "temperature" not in mode.without:
        payload["temperature"] = settings.temperature
    if "seed" not in mode.without:
        payload["seed"] = settings.seed + (request.seed or 0)
    if max_tokens := request.max_tokens or settings.max_tokens:
        payload["max_completion_tokens" if "max_tokens" in mode.without else "max_tokens"] = max_tokens
    if request.schema is None:
        return payload
    match mode.structured:
        case Structured.JSON_SCHEMA:
            form = {"name": TOOL_NAME, "strict": True, "schema": request.schema}
            payload["response_format"] = {"type": "json_schema", "json_schema": form}
        case Structured.TOOL:
            function = {"name": TOOL_NAME, "parameters": request.schema}
            payload["tools"] = [{"type": "function", "function": function}]
            payload["tool_choice"] = {"type": "function", "function": {"name": TOOL_NAME}}
        case Structured.PROMPTED:
            told = PROMPT + orjson.dumps(request.schema).decode()
            if messages and messages[0]["role"] == "system":
                messages[0]["content"] += f"\n\n{told}"
            else:
                messages.insert(0, {"role": "system", "content": told})
    return payload


def reply_of(
    data: Mapping[str, Any], settings: ModelSettings, failures: Failures, latency_ms: float | None = None
) -> ChatReply:
    """Raises ModelError when it holds no message, or a refusal."""
    choices = data.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        raise failures.malformed("the reply holds no message", orjson.dumps(data))
    finish_reason = choice.get("finish_reason")
    if refusal := message.get("refusal"):
        raise failures.refused(f"the model refused to answer: {as_text(refusal)}")
    if finish_reason == "content_filter":
        raise failures.refused("the provider's filter stopped the answer")
    return ChatReply(
        text=_text(message),
        finish_reason=finish_reason if isinstance(finish_reason, str) else None,
        usage=usage_of(data.get("usage"), settings),
        latency_ms=latency_ms,
    )


def _text(message: Mapping[str, Any]) -> str | None:
    """A tool call's arguments, else the content; reasoning beside it is not the answer."""
    calls = message.get("tool_calls")
    if isinstance(calls, list) and calls and isinstance(calls[0], dict):
        function = calls[0].get("function")
        if isinstance(function, dict):
            return as_text(function.get("arguments"))
    content = message.get("content")
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else None
