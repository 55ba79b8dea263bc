"""What agents answer, in the shapes that several channels share."""

import json
import math
from collections import Counter
from collections.abc import Callable, Mapping

from agenteval.domain.errors import TargetProtocolError
from agenteval.domain.json_value import Json
from agenteval.domain.ports import AgentReply
from agenteval.domain.text import clean
from agenteval.domain.tool_success import succeeded
from agenteval.domain.transcript import ToolCall, extract_reply_text

_DEPTH_CAP = 100
_TOO_DEEP = f"the reply is nested deeper than {_DEPTH_CAP} levels"
_INT64 = range(-(2**63), 2**63)
_BITS_CAP = 10_000  # of whole numbers; Python writes out no more than 4,300 digits


def parse_json(data: bytes) -> Json:
    """Raises ValueError when it is no JSON, TargetProtocolError when it is nested too deeply or an object has a key
    twice: which one is meant? Half an emoji, as agents leave it that cut their text anywhere, is let through for
    `cleaned`; so are a byte order mark and whole numbers of any length, which orjson would round."""
    try:
        value: Json = _DECODER.decode(data.decode(json.detect_encoding(data), "surrogatepass"))
    except RecursionError as error:
        raise TargetProtocolError(_TOO_DEEP) from error
    return value


def _whole_number(digits: str) -> int | str:
    return int(digits) if len(digits) <= 20 else digits


def _members(pairs: list[tuple[str, Json]]) -> Mapping[str, Json]:
    members = dict(pairs)
    if len(members) < len(pairs):
        twice = next(key for key, n in Counter(key for key, _ in pairs).items() if n > 1)
        raise TargetProtocolError(f"an object in the reply has the key {twice!r} twice")
    return members


_DECODER = json.JSONDecoder(parse_int=_whole_number, object_pairs_hook=_members)


def cleaned(value: object, tidy: Callable[[str], str] = clean, depth: int = 0) -> Json:
    """`value` as storage can hold it: its texts, keys included, through `tidy`; whole numbers beyond 64 bits as text.
    Raises TargetProtocolError when it is no JSON or nested too deeply."""
    if depth > _DEPTH_CAP:
        raise TargetProtocolError(_TOO_DEEP)
    match value:
        case str():
            return tidy(value)
        case None | bool():
            return value
        case int() if value.bit_length() <= _BITS_CAP:
            text = str(value)
            return value if value in _INT64 and tidy(text) == text else tidy(text)
        case float() if math.isfinite(value):
            text = str(value)
            return value if tidy(text) == text else tidy(text)
        case Mapping():
            return {tidy(str(key)): cleaned(member, tidy, depth + 1) for key, member in value.items()}
        case list() | tuple():
            return [cleaned(member, tidy, depth + 1) for member in value]
        case _:
            raise TargetProtocolError(f"the reply is no JSON: it contains {_shown(value)} ({type(value).__name__})")


def _shown(value: object) -> str:
    try:
        return repr(value)
    except Exception:  # noqa: BLE001 - it is the agent's own object
        return "what cannot be shown"


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
    """Raises TargetProtocolError for a call without a name, or with an `ok` that says neither true nor false."""
    if not isinstance(name, str) or not name:
        raise TargetProtocolError(f"a tool call has no name, but {_shown(name)}")
    try:
        return ToolCall(name, arguments, result, succeeded(ok, result))
    except ValueError as error:
        raise TargetProtocolError(f"ok of the tool call {name!r} {error}, not {_shown(ok)}") from error


def as_messages(message: str, reply: Json) -> list[dict[str, str]]:
    """One turn as two chat messages, for agents that want to be told what was said before. Raises TargetProtocolError
    for what `cleaned` refuses."""
    return [{"role": "user", "content": message}, {"role": "assistant", "content": extract_reply_text(cleaned(reply))}]
