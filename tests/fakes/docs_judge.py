"""What the judge model of the documentation's examples says; a script of `tests.fakes.scripted_model`."""

from collections.abc import Mapping
from typing import Any

from tests.fakes.scripted_judge import Script, tasks

NOTHING = {"agent_quote": None, "tool_quote": None}
TICKET = {
    "quote": {"turn": 0, "text": "订一张明天去上海的高铁票"},
    "text": "订明天去上海的高铁票",
    "judgement": {
        "reason": "智能体告知 G101 高铁票预订成功",
        "state": "active",
        **NOTHING,
        "agent_quote": {"turn": 1, "text": "G101 高铁票已为您预订成功"},
        "verdict": "met",
        "reason_code": "none",
    },
}
HOTEL = {
    "quote": {"turn": 0, "text": "还要帮我查一下那边的酒店"},
    "text": "查上海的酒店",
    "judgement": {
        "reason": "智能体始终没有回应酒店的请求",
        "state": "active",
        **NOTHING,
        "verdict": "unmet",
        "reason_code": "ignored",
    },
}

POLITE = {
    "reason": "Friendly, and says when the shop is open",
    "quote": {"turn": 0, "text": "On Sunday we are open from 10 am to 4 pm"},
    "score": 9,
}


def answer(request: Mapping[str, Any]) -> Mapping[str, Any]:
    asked = tasks(request)
    if not asked:
        return {"ok": True}
    return Script({"polite": POLITE, "": {"intents": [TICKET, HOTEL]}})(request)
