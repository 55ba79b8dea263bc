"""Agents that are Python functions, found by module or file."""

import asyncio
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from agenteval.channels.exchange import exchange
from agenteval.domain.errors import TargetError
from agenteval.domain.transcript import ToolCall, Turn, TurnStatus
from tests.fakes.clock import FakeClock
from tests.unit.channels.talking import channel, talk

OK, TIMEOUT, ERROR, NOT_DELIVERED = TurnStatus
HERE = f"{Path(__file__)}"


def remember(message: str, session: Any) -> dict[str, Any]:
    session.state["said"] = [*session.state.get("said", []), message]
    return {"reply": {"id": session.id, "said": session.state["said"], "history": list(session.history)}}


async def shout(message: str, session: Any) -> str:
    return message.upper()


async def with_tools(message: str, session: Any) -> dict[str, Any]:
    return {"reply": "已订", "tool_calls": [{"name": "book", "arguments": {"n": 1}, "result": "ok", "ok": True}]}


def structured(message: str, session: Any) -> dict[str, Any]:
    return {"text": message, "card": 7}


def fails(message: str, session: Any) -> str:
    raise KeyError("订单")


async def fails_later(message: str, session: Any) -> str:
    raise KeyError("订单")


def leaves(message: str, session: Any) -> str:
    raise SystemExit("bye")


async def leaves_later(message: str, session: Any) -> str:
    raise SystemExit("bye")


def stops(message: str, session: Any) -> str:
    return next(iter(()))


async def cancels(message: str, session: Any) -> str:
    raise asyncio.CancelledError


async def cancels_its_task(message: str, session: Any) -> str:
    task = asyncio.current_task()
    assert task
    task.cancel()
    await asyncio.sleep(1)
    return "never"


async def cancels_all_tasks(message: str, session: Any) -> str:
    for task in asyncio.all_tasks():
        task.cancel()
    await asyncio.sleep(1)
    return "never"


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError


def unspeakable(message: str, session: Any) -> str:
    raise Unspeakable


async def unspeakable_later(message: str, session: Any) -> str:
    raise Unspeakable


async def leaves_in_a_task_of_its_own(message: str, session: Any) -> str:
    async def leave() -> None:
        raise SystemExit

    if message == "leave":
        await asyncio.create_task(leave())
    return message


async def blocks(message: str, session: Any) -> str:
    if message == "block":
        gate.wait()
    return message


async def refuses_to_be_cancelled(message: str, session: Any) -> str:
    while message == "stay" and not gate.is_set():
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(0.001)
    return message


async def cleans_up(message: str, session: Any) -> str:
    try:
        await asyncio.Event().wait()
    finally:
        await asyncio.sleep(0)
        cleaned_up.append(message)
    return "never"


cleaned_up: list[str] = []
loops: list[asyncio.AbstractEventLoop] = []


async def tells_its_loop(message: str, session: Any) -> str:
    loops.append(asyncio.get_running_loop())
    return message


def prints(message: str, session: Any) -> str:
    print("in a call")
    own = threading.Thread(target=print, args=("in a thread of its own",))
    own.start()
    own.join()
    return message


async def prints_later(message: str, session: Any) -> str:
    print("in a coroutine")
    return await asyncio.to_thread(prints, message, session)


def prints_at_last(message: str, session: Any) -> str:
    gate.wait()
    print("after it was given up")
    printed.set()
    return message


printed = threading.Event()


def says_what_is_no_json(message: str, session: Any) -> Any:
    return {"date": {"when": date(2024, 1, 15)}, "bytes": b"x"}.get(message, {"text": "\ud83d", "\udc00": 2**80})


def hangs(message: str, session: Any) -> str:
    threading.Event().wait()
    return "never"


gate = threading.Event()


def waits(message: str, session: Any) -> str:
    gate.wait()
    return "at last"


def speechless(message: str, session: Any) -> None:
    return None


def returns_later(message: str, session: Any) -> Any:
    return shout(message, session)


class Agent:
    async def __call__(self, message: str, session: Any) -> str:
        return f"called with {message}"

    def method(self, message: str, session: Any) -> str:
        return f"method got {message}"


agent = Agent()


def takes_too_little(message: str) -> str:
    return message


def here(function: str) -> dict[str, str]:
    return {"callable": f"{HERE}:{function}"}


@pytest.mark.parametrize(
    ("function", "reply"),
    [
        ("shout", "HI 你好"),
        ("returns_later", "HI 你好"),
        ("structured", {"text": "hi 你好", "card": 7}),
        ("speechless", None),
        ("agent", "called with hi 你好"),
        ("agent.method", "method got hi 你好"),
    ],
)
async def test_functions_of_all_kinds_are_agents(function: str, reply: Any) -> None:
    (turn,) = await talk("python", here(function), "hi 你好")
    assert (turn.status, turn.reply) == (OK, reply)


async def test_a_function_knows_its_dialog() -> None:
    turns = await talk("python", here("remember"), "1", "2", conversation_id="attempt-7")
    assert turns[1].reply == {
        "id": "attempt-7",
        "said": ["1", "2"],
        "history": [
            {"role": "user", "content": "1"},
            {"role": "assistant", "content": '{"id":"attempt-7","said":["1"],"history":[]}'},
        ],
    }


async def test_tool_calls_come_with_the_reply() -> None:
    (turn,) = await talk("python", here("with_tools"), "订票")
    assert (turn.reply, turn.tool_calls) == ("已订", (ToolCall("book", {"n": 1}, "ok", True),))


@pytest.mark.parametrize(
    ("function", "error"),
    [
        ("fails", "KeyError: '订单'"),
        ("fails_later", "KeyError: '订单'"),
        ("leaves", "SystemExit: bye"),
        ("leaves_later", "SystemExit: bye"),
        ("stops", "StopIteration"),
        ("unspeakable", "Unspeakable: (its message cannot be read)"),
        ("unspeakable_later", "Unspeakable: (its message cannot be read)"),
    ],
)
async def test_what_a_function_raises_is_its_failure_with_the_place(function: str, error: str) -> None:
    (turn,) = await talk("python", here(function), "hi", retries=3)
    assert turn.status is ERROR
    assert turn.error.startswith("test_python.py:")
    assert turn.error.endswith(error)


@pytest.mark.parametrize("function", ["cancels", "cancels_its_task", "cancels_all_tasks"])
async def test_a_function_that_cancels_itself_is_a_failure(function: str) -> None:
    (turn,) = await talk("python", here(function), "hi")
    assert turn.status is ERROR
    assert turn.error.endswith("CancelledError")


async def test_functions_that_hang_hold_up_nobody() -> None:
    turns = await asyncio.gather(*(talk("python", here("hangs"), "hi", timeout_s=0.02) for _ in range(40)))
    assert {turn.status for (turn,) in turns} == {TIMEOUT}
    (turn,) = await talk("python", here("remember"), "still there?")
    assert turn.status is OK


async def test_an_agent_whose_calls_do_not_return_is_called_no_more_until_they_do() -> None:
    over = channel("python", {"callable": f"{__name__}:waits"}, max_concurrency=2)

    async def turn(timeout_s: float) -> Turn:
        return await exchange(over.open("attempt"), 0, "hi", clock=FakeClock(), timeout_s=timeout_s, retries=3)

    gate.clear()
    assert {(await turn(0.001)).status for _ in range(34)} == {TIMEOUT}
    refused = await turn(5)
    gate.set()
    assert refused.status is NOT_DELIVERED
    assert "34 earlier calls of the agent have not returned" in refused.error
    while (await turn(5)).status is not OK:  # noqa: ASYNC110 - threads end when they like
        await asyncio.sleep(0.001)


@pytest.fixture
def closed_gate() -> Iterator[None]:
    gate.clear()
    yield
    gate.set()


@pytest.mark.usefixtures("closed_gate")
@pytest.mark.parametrize(("function", "trap"), [("blocks", "block"), ("refuses_to_be_cancelled", "stay")])
async def test_a_coroutine_that_never_gives_way_fails_its_own_case_and_no_other(function: str, trap: str) -> None:
    over = channel("python", {"callable": f"{__name__}:{function}"})

    async def turn(message: str, timeout_s: float) -> Turn:
        return await exchange(over.open("attempt"), 0, message, clock=FakeClock(), timeout_s=timeout_s, retries=0)

    given_up = await turn(trap, 0.02)
    after = await turn("你好", 5)
    await over.close()
    assert (given_up.status, given_up.error) == (TIMEOUT, "no reply within 0.02 s")
    assert (after.status, after.reply) == (OK, "你好")


async def test_an_agent_that_leaves_in_a_task_of_its_own_fails_its_own_case_and_no_other() -> None:
    over = channel("python", here("leaves_in_a_task_of_its_own"))
    turns = [
        await exchange(over.open("attempt"), 0, message, clock=FakeClock(), timeout_s=5, retries=0)
        for message in ("leave", "hi")
    ]
    await over.close()
    assert [turn.status for turn in turns] == [ERROR, OK]


async def test_a_coroutine_that_is_given_up_may_clean_up() -> None:
    cleaned_up.clear()
    over = channel("python", {"callable": f"{__name__}:cleans_up"})
    await exchange(over.open("attempt"), 0, "timeout", clock=FakeClock(), timeout_s=0.01, retries=0)
    talking = asyncio.create_task(
        exchange(over.open("attempt"), 0, "cancelled", clock=FakeClock(), timeout_s=5, retries=0)
    )
    await asyncio.sleep(0.01)
    talking.cancel()
    await asyncio.wait([talking])
    await over.close()
    assert talking.cancelled()
    assert cleaned_up == ["timeout", "cancelled"]


async def test_all_coroutines_of_an_agent_share_a_loop_that_is_not_ours() -> None:
    loops.clear()
    over = channel("python", {"callable": f"{__name__}:tells_its_loop"})
    for _ in range(2):
        await exchange(over.open("attempt"), 0, "hi", clock=FakeClock(), timeout_s=5, retries=0)
    await over.close()
    assert len(loops) == 2
    assert len({*loops, asyncio.get_running_loop()}) == 2


async def test_what_an_agent_prints_does_not_get_among_results(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "agent.py").write_text(
        "import logging, sys\nprint('at import')\n"
        "log = logging.getLogger('chatty agent')\nlog.addHandler(logging.StreamHandler(sys.stdout))\n"
        "def reply(message, session):\n    log.error('logged')\n    return message\n"
    )
    print("result 1")
    for callable_ in (f"{__name__}:prints", f"{__name__}:prints_later", f"{tmp_path}/agent.py:reply"):
        (turn,) = await talk("python", {"callable": callable_}, "hi")
        assert turn.reply == "hi"
    print("result 2")
    out, err = capsys.readouterr()
    assert out == "result 1\nresult 2\n"
    lines = ["in a call", "in a thread of its own"]
    assert err.splitlines() == [*lines, "in a coroutine", *lines, "at import", "logged"]


@pytest.mark.usefixtures("closed_gate")
async def test_what_an_agent_prints_after_it_was_given_up_does_not_either(capsys: pytest.CaptureFixture[str]) -> None:
    await talk("python", {"callable": f"{__name__}:prints_at_last"}, "hi", timeout_s=0.01)
    gate.set()
    assert printed.wait(5)
    print("result", file=sys.stdout)
    out, err = capsys.readouterr()
    assert (out, err) == ("result\n", "after it was given up\n")


async def test_what_is_no_json_is_told_as_such() -> None:
    awkward, moment, raw = [
        (await talk("python", here("says_what_is_no_json"), message))[0] for message in ("hi", "date", "bytes")
    ]
    assert awkward.reply == {"text": "\ufffd", "\ufffd": str(2**80)}
    assert moment.error == "the reply is no JSON: it contains datetime.date(2024, 1, 15) (date)"
    assert raw.error == "the reply is no JSON: it contains b'x' (bytes)"


@pytest.mark.parametrize(
    ("location", "error"),
    [
        ("no_such_module_anywhere:reply", "ModuleNotFoundError"),
        ("no/such/agent.py:reply", "FileNotFoundError"),
        (f"{HERE}:no_such_function", f"AttributeError: {HERE} has no 'no_such_function'"),
        (f"{HERE}:takes_too_little", "it must be importable from the working directory and take (message, session)"),
        (f"{HERE}:HERE", "TypeError"),
    ],
)
async def test_what_cannot_be_called_is_told_before_the_run(location: str, error: str) -> None:
    with pytest.raises(TargetError) as raised:
        await channel("python", {"callable": location}).check()
    assert error in str(raised.value)
    (turn,) = await talk("python", {"callable": location}, "hi")
    assert turn.status is NOT_DELIVERED


async def test_a_file_may_import_its_neighbours_and_two_files_may_have_one_name(tmp_path: Path) -> None:
    for name in ("a", "b"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / f"helper_of_{name}.py").write_text(f"NAME = {name!r}")
        (folder / "agent.py").write_text(
            f"from helper_of_{name} import NAME\nfrom dataclasses import dataclass\n"
            "@dataclass\nclass Box:\n    name: str\n"
            "def reply(message, session):\n    return Box(NAME).name\n"
        )
    replies = [
        (await talk("python", {"callable": f"{tmp_path / name}/agent.py:reply"}, "hi"))[0].reply for name in "ab"
    ]
    assert replies == ["a", "b"]


async def test_a_module_that_leaves_while_it_is_imported_does_not_end_us(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text("raise SystemExit('no key')")
    with pytest.raises(TargetError, match="SystemExit: no key"):
        await channel("python", {"callable": f"{tmp_path}/agent.py:reply"}).check()
