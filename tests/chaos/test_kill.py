"""A run that is killed at any moment and resumed ends as one that was left alone."""

import asyncio
import signal
import sqlite3
import sys
import time
from collections import defaultdict
from pathlib import Path
from random import Random

from agenteval.domain.records import AttemptStatus, CaseView, RunStatus
from agenteval.domain.run_summary import RunSummary, Tally
from agenteval.storage import attempts, runs
from agenteval.storage.store import Store
from tests.chaos.child import WORKERS
from tests.fakes.records import places

CASES = 2_000
NEVER = 10**9


async def begin(folder: Path, *, cases: int = CASES, hangs_after: int = NEVER) -> asyncio.subprocess.Process:
    arguments = (str(folder / "agenteval.db"), str(folder / "heard"), str(cases), str(hangs_after))
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.chaos.child", *arguments, stdout=asyncio.subprocess.PIPE
    )


async def wait_until_done(child: asyncio.subprocess.Process, count: int) -> None:
    assert child.stdout
    async for line in child.stdout:
        if int(line) >= count:
            return


async def finish(folder: Path, cases: int) -> None:
    child = await begin(folder, cases=cases)
    await child.communicate()
    assert child.returncode == 0


async def read(folder: Path) -> tuple[list[CaseView], RunSummary]:
    store = await Store.open(folder / "agenteval.db")
    assert (await runs.get(store, "run")).status is RunStatus.COMPLETED
    views = [view async for view in attempts.views(store, "run")]
    tally = Tally()
    async for case_id, facts in attempts.facts(store, "run"):
        tally.add_case(case_id, facts)
    await store.aclose()
    return views, tally.summary()


def said_and_judged(views: list[CaseView]) -> list[object]:
    """All that a finished attempt came to, whenever and under whatever conversation id."""
    return [
        (view.place, attempt.key.repeat, attempt.dialog, attempt.results, attempt.outcome)
        for view in views
        for attempt in view.attempts
        if attempt.status is AttemptStatus.FINISHED
    ]


async def test_kill_and_resume_loses_nothing_and_doubles_nothing(tmp_path: Path, audit: bool) -> None:
    cases, kills = (10_000, 20) if audit else (CASES, 2)
    random = Random(7)
    undisturbed, killed = tmp_path / "undisturbed", tmp_path / "killed"
    for folder in (undisturbed, killed):
        folder.mkdir()
    await finish(undisturbed, cases)
    for _ in range(kills):
        child = await begin(killed, cases=cases)
        await wait_until_done(child, random.randint(0, cases // kills))
        child.send_signal(signal.SIGKILL)
        await child.communicate()
    await finish(killed, cases)

    expected, expected_summary = await read(undisturbed)
    views, summary = await read(killed)
    assert said_and_judged(views) == said_and_judged(expected)
    assert summary == expected_summary
    assert len(said_and_judged(views)) == cases

    # What was cut stays visible, is never continued, and each message that the agent heard is accounted for.
    cut = [attempt for view in views for attempt in view.attempts if attempt.status is AttemptStatus.INTERRUPTED]
    assert 0 < len(cut) <= kills * 2 * WORKERS  # 80 cases a kill are held and judged again, of 500 that may be
    assert all(attempt.outcome is None and not attempt.results for attempt in cut)
    heard = defaultdict(list)
    for line in (killed / "heard").read_text(encoding="utf-8").splitlines():
        conversation_id, message = line.split("\t")
        heard[conversation_id].append(message)
    (place,) = places(1)
    for view in views:
        for attempt in view.attempts:
            messages = heard.pop(attempt.conversation_id, [])
            kept = [turn.sent_message for turn in attempt.dialog] + ([attempt.sending] if attempt.sending else [])
            assert messages == list(place.case.messages[: len(messages)]), "nothing is sent twice in a conversation"
            assert kept[: len(messages)] == messages, "nothing is sent that was not stored before"
    assert not heard, "no conversation is unknown"
    with sqlite3.connect(killed / "agenteval.db") as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    database.close()


async def test_an_interrupt_ends_a_run_within_two_seconds(tmp_path: Path) -> None:
    """Even when the agent never answers; and what was finished is kept."""
    child = await begin(tmp_path, hangs_after=200)
    await wait_until_done(child, 50)
    interrupted_s = time.monotonic()
    child.send_signal(signal.SIGINT)
    stdout, _ = await child.communicate()
    assert time.monotonic() - interrupted_s < 2
    assert child.returncode == 130
    done = int(stdout.split()[-1]) if stdout else 50
    store = await Store.open(tmp_path / "agenteval.db")
    assert (await runs.get(store, "run")).status is RunStatus.INTERRUPTED
    (stats,) = await runs.listed(store, limit=1)
    await store.aclose()
    assert 50 <= done <= stats.finished
