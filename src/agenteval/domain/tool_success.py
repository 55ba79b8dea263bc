"""Whether a tool call succeeded, from what its channel or file recorded: the one place that decides it."""

from collections.abc import Mapping

import orjson

from agenteval.domain.json_value import Json

_SAYS_IT = ("ok", "success", "succeeded")
_FAILED = {"error", "failed", "failure"}
_TRUTH: Mapping[Json, bool] = {True: True, False: False, "true": True, "false": False}  # 1 and 0 equal True and False


def succeeded(ok: Json, result: Json) -> bool | None:
    """What `ok` says, be it true or false, 1 or 0, or "true" or "false"; when it is None, what the result says. None
    when that says nothing, or contradicts itself. Raises ValueError for any other `ok`.

    A result is an object, or its JSON as text or in text parts. Its members `ok`, `success` and `succeeded` say it; an
    `error` that is not empty, a true `isError` (as in MCP) or a `status` of "error", "failed" or "failure" says that it
    failed.
    """
    if ok is not None:
        said = _truth(ok)
        if said is None:
            raise ValueError("must be true or false")
        return said
    members = _members(result)
    signs = {_truth(members.get(name)) for name in _SAYS_IT} - {None}
    error, status = members.get("error"), members.get("status")
    if (
        (error and _truth(error) is not False)
        or any(_truth(members.get(name)) for name in ("isError", "is_error"))
        or (isinstance(status, str) and status.strip().casefold() in _FAILED)
    ):
        signs.add(False)
    return signs.pop() if len(signs) == 1 else None


def _truth(value: Json) -> bool | None:
    if isinstance(value, str):
        value = value.strip().casefold()
    return _TRUTH.get(value) if isinstance(value, str | int | float) else None


def _members(result: Json) -> Mapping[str, Json]:
    if isinstance(result, list | tuple):
        texts = [part.get("text") for part in result if isinstance(part, Mapping) and part.get("type") == "text"]
        result = "".join(text for text in texts if isinstance(text, str)) if len(texts) == len(result) else None
    if isinstance(result, str) and result.lstrip().startswith("{"):
        try:
            result = orjson.loads(result)
        except orjson.JSONDecodeError:
            return {}
    return result if isinstance(result, Mapping) else {}
