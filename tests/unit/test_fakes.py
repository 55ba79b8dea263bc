"""The fakes in processes of their own, as tests that kill and restart things use them."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from agenteval.net.guard import Guard
from agenteval.net.session import Sessions
from tests.fakes.posting import posted

ROOT = Path(__file__).parents[2]


@contextmanager
def running(*arguments: str) -> Iterator[str]:
    """The URL of a server started with these arguments."""
    command = [sys.executable, "-m", *arguments]
    with subprocess.Popen(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": "."}, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().decode().strip()
        finally:
            process.kill()


async def test_a_scripted_model_in_its_own_process_tells_what_it_was_asked(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("def answer(request):\n    return {'heard': request['messages'][0]['content']}\n")
    asked = {"model": "m", "messages": [{"role": "user", "content": "你好"}]}
    with running("tests.fakes.scripted_model", "0", "--script", str(script)) as url:
        async with Sessions(Guard()) as sessions:
            reply = await posted(sessions.at(url), f"{url}/v1/chat/completions", asked, timeout_s=5)
            seen = await sessions.at(url).request("GET", f"{url}/requests", timeout_s=5)
    assert '{\\"heard\\":\\"你好\\"}' in reply.body.decode()
    assert '"content":"你好"' in seen.body.decode()


async def test_a_faulty_agent_in_its_own_process_remembers_each_conversation() -> None:
    with running("tests.fakes.faulty_agent", "0") as url:
        async with Sessions(Guard()) as sessions:
            replies = [
                await posted(
                    sessions.at(url),
                    f"{url}/memory",
                    {"message": message, "conversation_id": conversation},
                    timeout_s=5,
                )
                for conversation, message in (("a", "我要订房"), ("b", "hello"), ("a", "我最先说的是什么？"))
            ]
    assert replies[-1].json() == {"reply": "我要订房"}
