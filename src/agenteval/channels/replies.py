"""What agents answer, in the shapes that several channels share."""

import json
from collections.abc import Mapping

import orjson

from agenteval.domain.errors import TargetProtocolError
from agenteval.domain.json_value import Json
from agenteval.domain.ports import AgentReply
from agenteval.domain.transcript import ToolCall, extract_reply_text


def parse_json(data: bytes) -> Json:
    """Raises ValueError when it is no JSON. Half an emoji, as agents leave it that cut their text anywhere, is let
    through for `exchange` to clean; so is a byte order mark."""
    value: Json
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        try:
            value = json.loads(data)  # noqa: TID251 - the only parser at hand that takes lone surrogates
        except RecursionError as error:
            raise ValueError("nested too deeply") from error
    return value


def agent_reply(answer: Json) -> AgentReply:
    """From `{"reply": ..., "tool_calls": [{"name", "arguments", "result", "ok"}, ...]}`, or from the reply alone."""
    if not isinstance(answer, Mapping) or not {"reply", "tool_calls"} & answer.keys():
        return AgentReply(answer)
    calls = answer.get("tool_calls") or []
    if not isinstance(calls, list | tuple) or not all(isinstance(call, Mapping) for call in calls):
        raise TargetProtocolError("tool_calls is no list of objects")
    return AgentReply(
        answer.get("reply"),
        tuple(
            tool_call(call.get("name"), call.get("arguments"), call.get("result"), call.get("ok"))
            for call in calls
            if isinstance(call, Mapping)
        ),
    )


def tool_call(name: Json, arguments: Json = None, result: Json = None, ok: Json = None) -> ToolCall:
    """Raises TargetProtocolError for a call without a name. An `ok` that is not true or false says nothing."""
    if not isinstance(name, str) or not name:
        raise TargetProtocolError(f"a tool call has no name, but {name!r:.100}")
    return ToolCall(name, arguments, result, ok if isinstance(ok, bool) else None)


def as_messages(message: str, reply: Json) -> list[dict[str, str]]:
    """One turn as two chat messages, for agents that want to be told what was said before."""
    return [{"role": "user", "content": message}, {"role": "assistant", "content": extract_reply_text(reply)}]
