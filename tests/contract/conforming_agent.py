"""What every channel's agent does in the contract suite. As a program it speaks JSON lines, for `command`."""

import json
import sys
import threading
from collections.abc import Sequence
from typing import Any

LARGE = "大" * 100_000 + "x" * 800_000
HALF_AN_EMOJI = "好的\ud83d"
SECRET = "sk-canary-密钥-0123456789"
TOOL_CALLS: list[dict[str, Any]] = [
    {"name": "book_train", "arguments": {"车次": "G101", "seats": 2}, "result": {"id": 7}, "ok": True},
    {"name": "notify"},
]


def answer(message: str, earlier: Sequence[str]) -> dict[str, Any]:
    """`earlier`: the user's messages before this one, in this dialog."""
    match message:
        case "What did I say first?" | "我最先说的是什么？":
            return {"reply": earlier[0] if earlier else "nothing"}
        case "say nothing":
            return {"reply": ""}
        case "say null":
            return {"reply": None}
        case "say a lot":
            return {"reply": LARGE}
        case "cut an emoji":
            return {"reply": HALF_AN_EMOJI}
        case "tell a secret":
            call = {"name": "log_in", "arguments": {"key": SECRET}, "result": [f"welcome {SECRET}"]}
            return {"reply": f"我的密钥是 {SECRET}", "tool_calls": [call]}
        case "use tools":
            return {"reply": "已预订", "tool_calls": TOOL_CALLS}
        case _:
            return {"reply": message}


def main() -> None:
    earlier: list[str] = []
    for line in sys.stdin:
        message = json.loads(line)["message"]  # noqa: TID251 - a program outside the project's rules
        if message == "hang":
            threading.Event().wait()
        print(json.dumps(answer(message, earlier)), flush=True)
        earlier.append(message)


if __name__ == "__main__":
    main()
