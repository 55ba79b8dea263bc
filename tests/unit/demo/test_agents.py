"""The demo agents by themselves, as somebody meets them who runs `python -m agenteval.demo.agents`."""

import socket
import sys
from asyncio import create_subprocess_exec, subprocess
from typing import Any

import aiohttp
import pytest

from agenteval.demo.agents import FaultyRepairAgent, RepairAgent, serving

ZH = ("冰箱不制冷，想预约 9 月 12 日下午 3 点维修", "我叫李四，电话 13900139000，地址是中关村大街 66 号")
EN = (
    "My fridge is leaking, can I book a repair on September 12 at 3 pm?",
    "My name is Bob Lee, phone 415-555-0142, address 66 Castro Street",
)


def talk(agent: RepairAgent, *messages: str) -> tuple[str, list[dict[str, Any]]]:
    """The last reply, and all tool calls."""
    answers = [agent.answer(message) for message in messages]
    return answers[-1]["reply"], [call for answer in answers for call in answer["tool_calls"]]


@pytest.mark.parametrize("agent", [RepairAgent, FaultyRepairAgent])
def test_books_with_what_it_was_told(agent: type[RepairAgent]) -> None:
    reply, (call,) = talk(agent(), *ZH)
    assert "已为您预约成功" in reply
    assert call["name"] == "book_repair"
    assert call["arguments"] == {
        "fault": "冰箱不制冷",
        "name": "李四",
        "phone": "13900139000",
        "address": "中关村大街 66 号",
        "time": "9 月 12 日下午 3 点",
    }
    assert call["ok"]


def test_answers_in_the_language_of_the_user() -> None:
    reply, (call,) = talk(RepairAgent(), *EN)
    assert reply.startswith("Your repair is booked")
    assert call["arguments"]["name"] == "Bob Lee"


@pytest.mark.parametrize("message", ["您好", "Hello"])
def test_asks_what_is_wanted_before_it_does_anything(message: str) -> None:
    reply, calls = talk(RepairAgent(), message)
    assert reply.endswith(("？", "?"))
    assert calls == []


def test_goes_on_to_ask_for_what_is_missing() -> None:
    assert "地址" in talk(RepairAgent(), ZH[0], "我叫李四，电话 13900139000")[0]


def test_the_last_value_wins_unless_the_fault_is_planted() -> None:
    correction = "Sorry, my phone number is 415-555-0199"
    reply, calls = talk(RepairAgent(), *EN, correction)
    assert "415-555-0199" in reply
    assert calls[-1]["arguments"]["phone"] == "415-555-0199"
    reply, calls = talk(FaultyRepairAgent(), *EN, correction)
    assert "415-555-0142" in reply
    assert len(calls) == 1


def test_admits_a_failed_booking_unless_the_fault_is_planted() -> None:
    on_a_full_day = [message.replace("12 日", "13 日") for message in ZH]
    reply, (call,) = talk(RepairAgent(), *on_a_full_day)
    assert not call["ok"]
    assert "很抱歉" in reply
    reply, (call,) = talk(FaultyRepairAgent(), *on_a_full_day)
    assert not call["ok"]
    assert "预约成功" in reply


def test_cancels_unless_the_fault_is_planted() -> None:
    messages = ("Please cancel my repair", "My booking number is R2046")
    reply, (call,) = talk(RepairAgent(), *messages)
    assert (call["name"], call["arguments"]) == ("cancel_repair", {"number": "R2046"})
    assert "R2046 is cancelled" in reply
    reply, calls = talk(FaultyRepairAgent(), *messages)
    assert calls == []
    assert "technician" in reply


def test_notices_an_address_that_comes_alone_unless_the_fault_is_planted() -> None:
    messages = (ZH[0], "我叫李四", "电话 13900139000", "地址是中关村大街 66 号")
    assert "预约成功" in talk(RepairAgent(), *messages)[0]
    assert "地址是？" in talk(FaultyRepairAgent(), *messages)[0]


async def test_conversations_are_told_apart_by_their_id() -> None:
    async with serving(RepairAgent) as url, aiohttp.ClientSession() as session:

        async def say(conversation_id: str, message: str) -> str:
            body = {"conversation_id": conversation_id, "message": message}
            async with session.post(url, json=body) as response:
                return str((await response.json())["reply"])

        await say("one", ZH[0])
        await say("two", "请取消我的预约")
        assert "预约成功" in await say("one", ZH[1])
        assert "R2046" in await say("two", "R2046")


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'"hi"', b'{"message": "hi"}', b"\xff"])
async def test_what_is_no_message_is_a_bad_request(body: bytes) -> None:
    async with (
        serving(RepairAgent) as url,
        aiohttp.ClientSession() as session,
        session.post(url, data=body) as response,
    ):
        assert response.status == 400
        assert "conversation_id" in await response.text()


async def test_a_port_in_use_is_told_in_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as busy:
        port = str(busy.getsockname()[1])
        process = await create_subprocess_exec(
            sys.executable, "-m", "agenteval.demo.agents", "--port", port, stderr=subprocess.PIPE
        )
        _, err = await process.communicate()
    assert process.returncode == 1
    assert err.decode().count("\n") == 1
    assert f"port {port}" in err.decode()
