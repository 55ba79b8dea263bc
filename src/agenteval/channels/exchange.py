"""One message to the agent and what came of it: the one place where a target's failure becomes data."""

import asyncio
import math
from collections.abc import Callable, Collection, Sequence
from contextlib import nullcontext
from contextvars import ContextVar
from dataclasses import replace
from functools import lru_cache
from random import Random

import orjson

from agenteval.channels.replies import cleaned
from agenteval.domain.errors import TargetError, TargetProtocolError, TargetRateLimited, TargetTimeout
from agenteval.domain.json_value import Json
from agenteval.domain.ports import AgentReply, Clock, Conversation
from agenteval.domain.text import clean
from agenteval.domain.transcript import Dialog, Turn, TurnStatus
from agenteval.net.limits import Limits
from agenteval.net.redact import Redactor

REPLY_CAP_BYTES = 2 * 1024 * 1024  # of reply and tool calls together, as JSON
_SURELY_KEPT = REPLY_CAP_BYTES // 8  # characters, of which JSON makes up to 6 bytes
_ERROR_CAP = 2_000
_FIRST_WAIT_S = 0.5
_LONGEST_WAIT_S = 30.0

time_limit_s: ContextVar[float] = ContextVar("time_limit_s", default=math.inf)
"""For the message on its way, for channels that set limits of their own within it."""

_spread = Random(0).random  # noqa: S311 - it only keeps retries apart


async def exchange(
    conversation: Conversation,
    index: int,
    message: str,
    *,
    clock: Clock,
    timeout_s: float | None,
    retries: int,
    limiter: Limits | None = None,
    secrets: Collection[str] = (),
    jitter: Callable[[], float] = _spread,
) -> Turn:
    """Send `message` as turn `index` and return the turn, whatever the agent does. Only cancellation is raised.

    A message that was not delivered is tried again up to `retries` times if that may help: after Retry-After (at most
    30 s), or after 0.5 s, 1 s, 2 s, ..., cut by `jitter` (0..1) to no less than half. What was delivered is never sent
    again. `timeout_s` and a place of `limiter` are for one try; `latency_ms` is that of the reply, without what was
    waited for before. `timeout_s` None: the reply was recorded, and nobody is waited for. None of `secrets` stands in
    the turn, be it in reply, tool calls or error: what is stored, judged and shown begins here.
    """
    message = clean(message)
    hide = _redactor(frozenset(secrets))
    attempt = 0
    while True:
        try:
            async with limiter.slot() if limiter else _AT_ONCE:
                return await _ask(conversation, index, message, clock, timeout_s=timeout_s, hide=hide)
        except TargetError as error:
            if error.delivered or not error.retryable or attempt >= retries:
                return _failed(index, message, error, hide)
            wait_s = _wait_s(error, attempt, jitter)
            if limiter and isinstance(error, TargetRateLimited):
                limiter.pause(wait_s)
            await clock.sleep(wait_s)
            attempt += 1


def exchanges(dialog: Dialog, messages: Sequence[str]) -> bool:
    """Whether `exchange` would make just these turns of the messages and the replies recorded in `dialog`, as long as
    there is no secret to hide. It does of most dialogs, and takes 20 µs for four turns where this takes 4."""
    if len(dialog) != len(messages):
        return False
    said: list[Json] = []
    for turn, message in zip(dialog.turns, messages, strict=True):
        if turn.sent_message != message or turn.status is not TurnStatus.OK or turn.tool_calls or turn.error:
            return False
        said += message, turn.reply
    try:
        together = "".join(said)  # type: ignore[arg-type]
    except TypeError:  # a structured reply, or none
        return False
    return len(together) < _SURELY_KEPT and clean(together) == together


_redactor = lru_cache(maxsize=64)(Redactor)
_AT_ONCE = nullcontext()


async def _ask(
    conversation: Conversation, index: int, message: str, clock: Clock, *, timeout_s: float | None, hide: Redactor
) -> Turn:
    """The turn as it is kept. Whatever goes wrong is a TargetError."""
    deadline = None
    try:
        if timeout_s is None:
            return _turn(index, message, await conversation.send(message), hide)
        time_limit_s.set(timeout_s)
        started_s = clock.monotonic_s()
        async with asyncio.timeout(timeout_s) as deadline:
            reply = await conversation.send(message)
        elapsed_ms = max(0.0, clock.monotonic_s() - started_s) * 1000
        return _turn(index, message, reply if reply.recorded else replace(reply, latency_ms=elapsed_ms), hide)
    except TargetError:
        raise
    except asyncio.CancelledError as error:
        if (task := asyncio.current_task()) is None or task.cancelling():
            raise
        raise TargetError("the agent's code cancelled itself", delivered=True) from error
    except Exception as error:
        if deadline and deadline.expired():
            raise TargetTimeout(f"no reply within {timeout_s:g} s") from error
        raise TargetError(described(error), delivered=True) from error


def described(error: BaseException) -> str:
    """What an agent's code raised, which need not even be able to say what it is."""
    try:
        said = str(error)
    except Exception:  # noqa: BLE001 - it is the agent's own
        said = "(its message cannot be read)"
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def _turn(index: int, message: str, reply: AgentReply, hide: Redactor) -> Turn:
    """Raises TargetProtocolError when the reply is too large or no JSON."""

    def tidy(text: str) -> str:
        return hide(clean(text))

    said = cleaned(reply.reply, tidy)
    if isinstance(said, str) and len(said) < _SURELY_KEPT and not reply.tool_calls:
        return Turn(index, message, said, (), reply.latency_ms)  # most turns
    calls = tuple(
        replace(call, name=tidy(call.name), arguments=cleaned(call.arguments, tidy), result=cleaned(call.result, tidy))
        for call in reply.tool_calls
    )
    size = len(orjson.dumps([said, [[call.name, call.arguments, call.result] for call in calls]]))
    if size > REPLY_CAP_BYTES:
        raise TargetProtocolError(f"the reply has {size} bytes, more than the {REPLY_CAP_BYTES} that are kept")
    return Turn(index, message, said, calls, reply.latency_ms)


def _failed(index: int, message: str, error: TargetError, hide: Redactor) -> Turn:
    if not error.delivered:
        status = TurnStatus.NOT_DELIVERED
    elif isinstance(error, TargetTimeout):
        status = TurnStatus.TIMEOUT
    else:
        status = TurnStatus.ERROR
    said = hide(clean(str(error)))
    return Turn(index, message, status=status, error=said if len(said) <= _ERROR_CAP else f"{said[:_ERROR_CAP]}… (cut)")


def _wait_s(error: TargetError, attempt: int, jitter: Callable[[], float]) -> float:
    if error.retry_after_s is not None:
        return min(error.retry_after_s, _LONGEST_WAIT_S) + _FIRST_WAIT_S * jitter()
    return min(_FIRST_WAIT_S * 2.0**attempt, _LONGEST_WAIT_S) * (1 - jitter() / 2)
