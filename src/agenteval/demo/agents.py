"""Two agents that take repair bookings, one with planted faults: examples of an agent behind the `http` channel.

    python -m agenteval.demo.agents --port 8801 [--faulty]

    POST /chat  {"conversation_id": "c1", "message": "My fridge is leaking, I would like to book a repair"}
    ->          {"reply": "...", "tool_calls": [{"name": ..., "arguments": ..., "result": ..., "ok": ...}]}

That is what the `http` channel sends and reads when nothing else is set, so the URL is all that a target needs. Tool
calls are optional: they let rules compare what an agent says with what it did.
"""

import argparse
import re
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from enum import StrEnum
from typing import Any

import orjson
from aiohttp import web

from agenteval.demo.words import Words, words_for

HOST = "127.0.0.1"
NEEDED = ("fault", "name", "phone", "address")

ToolCall = dict[str, Any]


class Task(StrEnum):
    BOOK = "book"
    CANCEL = "cancel"


class RepairAgent:
    """Books and cancels repairs. One instance holds one conversation."""

    name = "good agent"

    def __init__(self) -> None:
        self.task: Task | None = None
        self.known: dict[str, str] = {}
        self.booked: dict[str, str] = {}
        self.calls: list[ToolCall] = []

    def answer(self, message: str) -> dict[str, Any]:
        words = words_for(message)
        self.calls = []
        self.remember(self.understand(message, words))
        self.task = self.task or self.task_of(message, words)
        act = {Task.BOOK: self.book, Task.CANCEL: self.cancel, None: self.greet}[self.task]
        return {"reply": act(words), "tool_calls": self.calls}

    # ---- understanding -----------------------------------------------------------------------------------------------

    def task_of(self, message: str, words: Words) -> Task | None:
        if words.cancel.search(message):
            return Task.CANCEL
        return Task.BOOK if words.book.search(message) else None

    def understand(self, message: str, words: Words) -> dict[str, str]:
        """The details that the message gives; of several values the last one."""
        matches = {detail: list(pattern.finditer(message)) for detail, pattern in words.details.items()}
        return {detail: found[-1].group(found[-1].lastindex or 0) for detail, found in matches.items() if found}

    def remember(self, heard: Mapping[str, str]) -> None:
        self.known |= heard

    # ---- acting ------------------------------------------------------------------------------------------------------

    def greet(self, words: Words) -> str:
        return words.greeting

    def book(self, words: Words) -> str:
        for detail in NEEDED:
            if detail not in self.known:
                return words.to_book + words.questions[detail]
        summary = words.summary.format_map({"time": words.no_time, **self.known})
        if self.known == self.booked:
            return words.reminder + summary
        if not self.succeeded(self.call(book_repair(self.known))):
            return words.full.format_map(self.known)
        head = words.changed if self.booked else words.booked
        self.booked = dict(self.known)
        return head + summary + ("" if "time" in self.known else words.questions["time"])

    def cancel(self, words: Words) -> str:
        if "number" not in self.known:
            return words.to_cancel + words.questions["number"]
        self.call(cancel_repair(self.known["number"]))
        return words.cancelled.format_map(self.known)

    def call(self, call: ToolCall) -> ToolCall:
        self.calls.append(call)
        return call

    def succeeded(self, call: ToolCall) -> bool:
        return bool(call["ok"])


class FaultyRepairAgent(RepairAgent):
    """The same agent with four faults that real agents have."""

    name = "faulty agent"

    def task_of(self, message: str, words: Words) -> Task | None:
        """Misreads the intent: whoever mentions a repair wants to book one."""
        return Task.BOOK

    def understand(self, message: str, words: Words) -> dict[str, str]:
        """Forgets a detail: an address that comes without a phone number is not noticed."""
        heard = super().understand(message, words)
        return heard if "phone" in heard else {detail: heard[detail] for detail in heard if detail != "address"}

    def remember(self, heard: Mapping[str, str]) -> None:
        """Keeps the first value that it heard, whatever the user says later."""
        self.known = {**heard, **self.known}

    def succeeded(self, call: ToolCall) -> bool:
        """Claims a booking without looking at what its tool call returned."""
        return True


# ---- the system behind the agents ------------------------------------------------------------------------------------

_FULL = re.compile(r"9 ?月 ?13 ?日|September 13\b")


def book_repair(details: Mapping[str, str]) -> ToolCall:
    """13 September is fully booked."""
    full = _FULL.match(details.get("time", "")) is not None
    result = {"error": "fully booked"} if full else {"number": f"R{details['phone'][-4:]}"}
    return {"name": "book_repair", "arguments": dict(details), "result": result, "ok": not full}


def cancel_repair(number: str) -> ToolCall:
    return {"name": "cancel_repair", "arguments": {"number": number}, "result": {"status": "cancelled"}, "ok": True}


# ---- over HTTP -------------------------------------------------------------------------------------------------------


def application(agent: type[RepairAgent]) -> web.Application:
    """Conversations are kept by the id that the client sends, until the program ends."""
    conversations: dict[str, RepairAgent] = {}

    async def chat(request: web.Request) -> web.Response:
        try:
            body = await request.json()
            conversation_id, message = str(body["conversation_id"]), str(body["message"])
        except (ValueError, KeyError, TypeError) as error:
            raise web.HTTPBadRequest(text='send {"conversation_id": "...", "message": "..."}') from error
        conversation = conversations.setdefault(conversation_id, agent())
        return web.Response(body=orjson.dumps(conversation.answer(message)), content_type="application/json")

    app = web.Application()
    app.router.add_post("/chat", chat)
    return app


@asynccontextmanager
async def serving(agent: type[RepairAgent]) -> AsyncIterator[str]:
    """The agent on a free port of this machine, in this process; gives the URL to send messages to."""
    runner = web.AppRunner(application(agent), shutdown_timeout=1)
    await runner.setup()
    try:
        await web.TCPSite(runner, HOST, 0).start()
        yield f"http://{HOST}:{runner.addresses[0][1]}/chat"
    finally:
        await runner.cleanup()


def main() -> None:
    parser = argparse.ArgumentParser(description="A demo agent that takes repair bookings.")
    parser.add_argument("--port", type=int, default=8801)
    parser.add_argument("--faulty", action="store_true", help="the one with planted faults")
    options = parser.parse_args()
    try:
        web.run_app(application(FaultyRepairAgent if options.faulty else RepairAgent), host=HOST, port=options.port)
    except OSError as error:
        sys.exit(f"port {options.port}: {error.strerror}; choose another one by --port")


if __name__ == "__main__":
    main()
