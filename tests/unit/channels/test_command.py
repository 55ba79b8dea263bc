"""Agents that are programs speaking lines of JSON."""

import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import uvloop

from agenteval.channels.exchange import exchange
from agenteval.domain.errors import TargetError
from agenteval.domain.transcript import ToolCall, TurnStatus
from tests.fakes.clock import FakeClock
from tests.unit.channels.talking import channel, talk

OK, TIMEOUT, ERROR, NOT_DELIVERED = TurnStatus
READ = "import sys, json, os, time\nfor line in sys.stdin:\n    asked = json.loads(line)\n    "


def program(code: str) -> dict[str, Any]:
    return {"command": [sys.executable, "-c", code]}


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "zombie" not in Path(f"/proc/{pid}/status").read_text() if Path("/proc").exists() else True


async def test_one_process_serves_one_dialog() -> None:
    code = READ + "print(json.dumps({'reply': {**asked, 'pid': os.getpid()}}), flush=True)"
    turns, others = await asyncio.gather(
        talk("command", program(code), "你好\n😀", "2", conversation_id="a"),
        talk("command", program(code), "x", conversation_id="b"),
    )
    first, second, other = (turn.reply for turn in (*turns, *others))
    assert isinstance(first, dict)
    assert isinstance(second, dict)
    assert isinstance(other, dict)
    assert first == {"conversation_id": "a", "turn_index": 0, "message": "你好\n😀", "pid": first["pid"]}
    assert second == {"conversation_id": "a", "turn_index": 1, "message": "2", "pid": first["pid"]}
    assert other["pid"] != first["pid"]
    assert not alive(first["pid"])


async def test_tool_calls_come_with_the_reply() -> None:
    calls = "[{'name': 'book', 'arguments': {'n': 1}, 'ok': False}]"
    (turn,) = await talk(
        "command", program(READ + f"print(json.dumps({{'reply': None, 'tool_calls': {calls}}}), flush=True)"), "hi"
    )
    assert (turn.status, turn.reply, turn.tool_calls) == (OK, None, (ToolCall("book", {"n": 1}, ok=False),))


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (
            READ + "print('thinking...', flush=True)",
            "no JSON: thinking... (stdout is for replies, one line for each message; stderr is for the rest)",
        ),
        (READ + "print('[1]', flush=True)", 'the program wrote no {"reply": ...} but [1]'),
        (READ + "print('{\"answer\": 1}', flush=True)", 'the program wrote no {"reply": ...}'),
        (READ + "os.write(1, bytes([255, 254, 10]))", "no JSON"),
        (READ + "sys.exit('没有密钥')", "the program ended with code 1 instead of answering; stderr: 没有密钥"),
        ("", "the program ended with code 0 instead of answering"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "ended with code -9"),
        (READ + "print('{\"reply\": ', end='', flush=True); sys.exit(3)", "ended with code 3"),
        ("import sys\nwhile True: sys.stdout.write('x' * 65536)", "wrote a line of more than 2097152 bytes"),
    ],
)
async def test_a_program_that_does_not_answer_as_agreed_is_told(code: str, error: str) -> None:
    (turn,) = await talk("command", program(code), "hi", retries=3)
    assert turn.status is ERROR
    assert error in turn.error


MORE = "the program wrote more than one line for the message before: "


@pytest.mark.parametrize(
    ("written", "error"),
    [
        ('{"reply": 1}\n{"reply": 2}\n', f'{MORE}{{"reply": 2}}'),
        ('{"reply": 1}\n再见', f"{MORE}再见"),
        ('{"reply": 1}\n\n[', f"{MORE}["),
    ],
)
async def test_a_second_line_is_not_taken_for_the_next_reply(written: str, error: str) -> None:
    first, second = await talk("command", program(READ + f"os.write(1, {written.encode()!r})"), "1", "2")
    assert (first.status, first.reply) == (OK, 1)
    assert (second.status, second.reply) == (ERROR, None)
    assert error in second.error


async def test_blank_lines_say_nothing() -> None:
    code = READ + "os.write(1, b'\\n{\"reply\": %d}\\n \\n' % asked['turn_index'])"
    assert [turn.reply for turn in await talk("command", program(code), "a", "b", "c")] == [0, 1, 2]


@pytest.mark.parametrize("loop_factory", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_the_last_line_needs_no_line_break(loop_factory: Callable[[], asyncio.AbstractEventLoop]) -> None:
    code = READ + "print('{\"reply\": \"再见\"}', end='', flush=True); sys.exit(3)"
    with asyncio.Runner(loop_factory=loop_factory) as runner:
        first, second = runner.run(talk("command", program(code), "1", "2"))
    assert (first.status, first.reply) == (OK, "再见")
    assert (second.status, second.error) == (ERROR, "the program ended with code 3 instead of answering")


async def test_only_the_end_of_a_long_stderr_is_quoted_and_it_blocks_nothing() -> None:
    code = READ + "sys.stderr.write('x' * 1_000_000 + 'the end'); sys.exit(1)"
    (turn,) = await talk("command", program(code), "hi")
    assert turn.error.endswith("xthe end")
    assert len(turn.error) < 1_200


@pytest.mark.parametrize("before", [0, 190, 975, 990])
async def test_secrets_appear_in_no_error_not_even_in_part(before: int) -> None:
    secret = "sk-quite-secret-token-0123456789"
    for code in (
        READ + f"sys.exit('{secret}' + 'x' * {before})",
        READ + f"print('x' * {before} + '{secret}', flush=True)",
    ):
        (turn,) = await talk("command", program(code), "hi", secrets=frozenset({secret}))
        assert turn.status is ERROR
        assert not any(secret[i : i + 8] in turn.error for i in range(len(secret) - 7))


@pytest.mark.parametrize(
    "params",
    [{"command": ["no-such-program"]}, {"command": "./no/such"}, {"command": "true", "cwd": "/no/such/folder"}],
)
async def test_what_cannot_be_started_was_not_delivered(params: dict[str, Any]) -> None:
    (turn,) = await talk("command", params, "hi")
    assert turn.status is NOT_DELIVERED
    with pytest.raises(TargetError):
        await channel("command", params).check()


@pytest.mark.parametrize("cwd", [None, ".", "{}"])
async def test_a_program_is_found_from_its_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cwd: str | None
) -> None:
    script = tmp_path / "agent"
    script.write_text('#!/bin/sh\nread line\necho "{\\"reply\\": \\"$PWD\\"}"\n')
    script.chmod(0o755)
    monkeypatch.chdir("/" if cwd == "{}" else tmp_path)
    params = {"command": "./agent", "cwd": cwd and cwd.format(tmp_path)}
    await channel("command", params).check()
    (turn,) = await talk("command", params, "hi")
    assert turn.reply == str(tmp_path)


async def test_one_line_is_split_as_a_shell_does_but_run_without_one() -> None:
    (turn,) = await talk(
        "command", {"command": """sh -c 'read line; echo "{\\"reply\\": \\"$0 $#\\"}"' 'a b' '$HOME' ';'"""}, "hi"
    )
    assert turn.reply == "a b 2"


async def test_a_program_that_hangs_is_killed_with_all_that_it_started() -> None:
    code = (
        "import json, os, subprocess, threading\n"
        "child = subprocess.Popen(['sleep', '60'])\n"
        "print(json.dumps({'reply': [os.getpid(), child.pid]}), flush=True)\n"
        "threading.Event().wait()"
    )
    conversation = channel("command", program(code)).open("attempt")
    said = await exchange(conversation, 0, "hi", clock=FakeClock(), timeout_s=10, retries=0)
    turn = await exchange(conversation, 1, "hi", clock=FakeClock(), timeout_s=0.02, retries=0)
    await conversation.close()
    assert turn.status is TIMEOUT
    assert isinstance(said.reply, list)
    for pid in said.reply:
        for _ in range(100):  # init reaps the grandchild in its own time
            if not alive(pid):
                break
            await asyncio.sleep(0.01)
        assert not alive(pid)


async def test_a_program_that_ignores_its_closed_stdin_is_gone_when_its_dialog_is_cancelled(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    code = (
        "import os, signal, threading\nfor ignored in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):\n"
        f"    signal.signal(ignored, signal.SIG_IGN)\nopen({str(note)!r}, 'w').write(str(os.getpid()) + '\\n')\n"
        "threading.Event().wait()"
    )
    talking = asyncio.create_task(talk("command", program(code), "hi"))
    while not note.exists() or not note.read_text().endswith("\n"):  # noqa: ASYNC110 - another process writes it
        await asyncio.sleep(0.005)
    talking.cancel()
    await asyncio.wait([talking])
    assert talking.cancelled()
    assert not alive(int(note.read_text()))


@pytest.mark.parametrize("loop_factory", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_a_dialog_that_is_cancelled_while_its_program_starts_leaves_none(
    tmp_path: Path, loop_factory: Callable[[], asyncio.AbstractEventLoop]
) -> None:
    note = tmp_path / "pid"

    async def started_and_cancelled() -> None:
        params = {"command": ["sh", "-c", f"echo $$ >> {note}; exec sleep 60"]}
        for steps in range(8):
            talking = asyncio.create_task(talk("command", params, "hi"))
            for _ in range(steps):
                await asyncio.sleep(0)
            talking.cancel()
            await asyncio.wait([talking])

    with asyncio.Runner(loop_factory=loop_factory) as runner:
        runner.run(started_and_cancelled())
    pids = note.read_text().split() if note.exists() else []
    assert not any(alive(int(pid)) for pid in pids)


async def test_a_program_may_end_by_itself_when_the_dialog_does(tmp_path: Path) -> None:
    note = tmp_path / "note"
    code = READ + f"print('{{\"reply\": 1}}', flush=True)\nopen({str(note)!r}, 'w').write('saved')"
    await talk("command", program(code), "hi")
    assert note.read_text() == "saved"


def test_it_works_on_both_event_loops() -> None:
    code = READ + "print(json.dumps({'reply': asked['message'] * 100_000}), flush=True)"

    async def dialog() -> list[Any]:
        return [turn.reply for turn in await talk("command", program(code), "a", "b")]

    assert uvloop.run(dialog()) == ["a" * 100_000, "b" * 100_000]
