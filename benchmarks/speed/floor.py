"""The least that the work takes: `python -m benchmarks.speed.floor URL DATABASE N`.

One structured call for each conversation over aiohttp, its answer into SQLite in batches; nothing is verified, limited
or repeated. Prints what it cost as JSON.
"""

import asyncio
import sqlite3
import sys
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import aiohttp
import orjson
import uvloop

from benchmarks.speed.conversations import Conversation, conversation
from benchmarks.speed.phase import on_one_core, phase

CONCURRENCY = 100
BATCH_ROWS = 500
SYSTEM = (
    "You judge whether a multi-turn conversation completely satisfied the user. List the user's intentions, decide for "
    "each one whether the assistant satisfied it by the end, and answer with JSON only: intents [{intent, met, "
    "evidence}], score (met/total), reason listing the unmet intents."
)
_INTENT = {
    "type": "object",
    "properties": {"intent": {"type": "string"}, "met": {"type": "boolean"}, "evidence": {"type": "string"}},
    "required": ["intent", "met", "evidence"],
    "additionalProperties": False,
}
SCHEMA = {
    "type": "object",
    "properties": {
        "intents": {"type": "array", "items": _INTENT},
        "score": {"type": "number"},
        "reason": {"type": "string"},
    },
    "required": ["intents", "score", "reason"],
    "additionalProperties": False,
}
_FORMAT = {"type": "json_schema", "json_schema": {"name": "completeness", "strict": True, "schema": SCHEMA}}


class Results:
    def __init__(self, database: str) -> None:
        self._rows: list[tuple[object, ...]] = []
        self._connection = sqlite3.connect(database)
        self._connection.executescript(
            "pragma journal_mode=wal; pragma synchronous=normal;"
            "create table results (id text primary key, score real, reason text, intents text, raw text)"
        )

    def add(self, *row: object) -> None:
        self._rows.append(row)
        if len(self._rows) == BATCH_ROWS:
            self.flush()

    def flush(self) -> None:
        with self._connection:
            self._connection.executemany("insert into results values (?, ?, ?, ?, ?)", self._rows)
        self._rows.clear()


async def judge_all(url: str, results: Results, work: Iterator[Conversation]) -> None:
    timeout = aiohttp.ClientTimeout(total=60)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=CONCURRENCY), timeout=timeout) as session:

        async def worker() -> None:
            for each in work:
                text = await _asked(session, f"{url}/chat/completions", each)
                answer = orjson.loads(text)
                results.add(each.id, answer["score"], answer["reason"], orjson.dumps(answer["intents"]), text)

        await asyncio.gather(*(worker() for _ in range(CONCURRENCY)))
    results.flush()


async def _asked(session: aiohttp.ClientSession, url: str, each: Conversation) -> str:
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": each.transcript}]
    body = orjson.dumps({"model": "fake", "temperature": 0, "response_format": _FORMAT, "messages": messages})
    async with session.post(url, data=body, headers={"content-type": "application/json"}) as response:
        response.raise_for_status()
        reply: dict[str, Any] = orjson.loads(await response.read())
        return str(reply["choices"][0]["message"]["content"])


def main(url: str, database: str, n: int) -> None:
    on_one_core()
    results = Results(database)
    with phase() as measured:
        uvloop.run(judge_all(url, results, map(conversation, range(n))))
    sys.stdout.buffer.write(orjson.dumps(asdict(measured)))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
