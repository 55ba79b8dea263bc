"""Opening a database, and its transactions."""

import asyncio
import errno
import sqlite3
import stat
import sys
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, create_engine, text

from agenteval.domain.errors import ConfigError, Conflict, StorageError
from agenteval.net import forbid
from agenteval.storage import attempts, install, reviews, runs
from agenteval.storage.lock import working_on
from agenteval.storage.migrations import HEAD
from agenteval.storage.store import Store
from agenteval.storage.tables import METADATA
from agenteval.storage.writer import Writer
from tests.fakes.clock import START
from tests.fakes.records import key, places, record, run


async def add(store: Store, key: str) -> None:
    async with store.write() as connection:
        await connection.execute(text("INSERT INTO memo VALUES (:key, '1', 'now')"), {"key": key})


async def count(store: Store) -> int:
    async with store.read() as connection:
        return int(await connection.scalar(text("SELECT count(*) FROM memo")) or 0)


async def test_a_new_database_stands_in_a_private_folder(tmp_path: Path) -> None:
    store = await Store.open(tmp_path / ".agenteval" / "agenteval.db")
    await store.aclose()
    assert stat.S_IMODE((tmp_path / ".agenteval").stat().st_mode) == 0o700


async def test_a_url_names_the_same_file_as_a_path(tmp_path: Path) -> None:
    by_path = await Store.open(tmp_path / "a.db")
    await add(by_path, "k")
    await by_path.aclose()
    by_url = await Store.open(f"sqlite:///{tmp_path}/a.db")
    assert await count(by_url) == 1
    await by_url.aclose()


async def test_commits_survive_power_loss_and_references_are_checked(store: Store) -> None:
    async with store.read() as connection:
        pragmas = [
            await connection.scalar(text(f"PRAGMA {name}"))
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        ]
    assert pragmas == ["wal", 2, 1, 10_000]


async def test_the_migrations_make_the_tables_that_the_code_declares(store: Store) -> None:
    def differences(connection: Connection) -> list[object]:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        return list(compare_metadata(context, METADATA))

    async with store.read() as connection:
        assert await connection.run_sync(differences) == []


def test_head_is_the_newest_migration() -> None:
    assert ScriptDirectory("src/agenteval/storage/migrations").get_current_head() == HEAD


async def test_a_database_of_the_first_schema_keeps_its_runs(tmp_path: Path) -> None:
    engine = create_engine(f"sqlite:///{tmp_path}/old.db")
    with engine.begin() as connection:
        config = Config(attributes={"connection": connection})
        config.set_main_option("script_location", "agenteval.storage:migrations")
        command.upgrade(config, "0001")
        connection.execute(
            text("INSERT INTO runs VALUES ('old', 'booking', '{}', :at, 1, 'completed', :at, '')"),
            {"at": START.isoformat()},
        )
    engine.dispose()
    store = await Store.open(tmp_path / "old.db")
    assert (await runs.get(store, "old")).name == "booking"
    assert await reviews.of_run(store, "old") == []
    await store.aclose()


async def test_a_current_database_is_opened_without_alembic(store: Store) -> None:
    script = (
        "import asyncio, sys\n"
        "from agenteval.storage.store import Store\n"
        "async def main() -> None:\n"
        f"    await (await Store.open({str(store.path)!r})).aclose()\n"
        "asyncio.run(main())\n"
        "print(sorted({'alembic', 'aiohttp'} & sys.modules.keys()))"
    )
    opening = await asyncio.create_subprocess_exec(sys.executable, "-c", script, stdout=asyncio.subprocess.PIPE)
    stdout, _ = await opening.communicate()
    assert stdout.decode().strip() == "[]"


async def test_a_database_of_a_newer_version_is_refused_and_left_as_it_is(store: Store) -> None:
    async with store.write() as connection:
        await connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    before = store.path.read_bytes()
    with pytest.raises(StorageError, match=r"newer version of AgentEval \(schema 9999; .*upgrade AgentEval"):
        await Store.open(store.path)
    assert store.path.read_bytes() == before


async def test_the_database_of_another_program_is_refused(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "other.db") as other:
        other.execute("CREATE TABLE customers (id)")
    other.close()
    with pytest.raises(StorageError, match=r"other\.db: this is the database of another program"):
        await Store.open(tmp_path / "other.db")


async def test_a_file_that_is_no_database_gives_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("不是数据库" * 1000, encoding="utf-8")
    with pytest.raises(StorageError) as caught:
        await Store.open(tmp_path / "notes.txt")
    assert str(caught.value).startswith(f"{tmp_path}/notes.txt: file is not a database (it is damaged")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("location", ["postgresql://user:secret@host/db", "sqlite://", "sqlite:///:memory:", "://"])
async def test_a_url_that_cannot_be_used_is_refused_without_its_password(location: str) -> None:
    with pytest.raises(ConfigError) as caught:
        await Store.open(location)
    assert "secret" not in str(caught.value)


async def test_a_transaction_that_fails_leaves_nothing(store: Store) -> None:
    async def fail() -> None:
        async with store.write() as connection:
            await connection.execute(text("INSERT INTO memo VALUES ('k', '1', 'now')"))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    assert await count(store) == 0


async def test_a_cancelled_transaction_leaves_nothing_and_frees_the_database(store: Store) -> None:
    inside = asyncio.Event()

    async def never_ending() -> None:
        async with store.write() as connection:
            await connection.execute(text("INSERT INTO memo VALUES ('k', '1', 'now')"))
            inside.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(never_ending())
    await inside.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await add(store, "other")
    assert await count(store) == 1


async def test_errors_of_the_database_show_nothing_of_what_was_said(store: Store) -> None:
    await add(store, "13800138000")
    with pytest.raises(StorageError) as caught:
        await add(store, "13800138000")
    assert "UNIQUE constraint failed: memo.key" in str(caught.value)
    assert "13800138000" not in str(caught.value)


async def test_the_network_is_forbidden_inside_a_write_transaction_only(store: Store) -> None:
    async with store.read():
        assert not forbid.get()
    async with store.write():
        assert forbid.get()
        with pytest.raises(RuntimeError, match="inside a write transaction"):
            async with store.write():
                pass
    assert not forbid.get()


async def test_a_reader_sees_one_state_while_others_write(store: Store) -> None:
    async with store.read() as connection:
        before = await connection.scalar(text("SELECT count(*) FROM memo"))
        await add(store, "k")
        assert await connection.scalar(text("SELECT count(*) FROM memo")) == before
    assert await count(store) == 1


WRITER = """
import asyncio, sys
from sqlalchemy import text
from agenteval.storage.store import Store

async def main(path, name, tasks, times):
    store = await Store.open(path)
    async def work(task):
        for i in range(times):
            async with store.write() as connection:
                seen = await connection.scalar(text("SELECT count(*) FROM memo"))
                await connection.execute(text(f"INSERT INTO memo VALUES ('{name}-{task}-{i}', '{seen}', 'now')"))
    await asyncio.gather(*map(work, range(tasks)))
    await store.aclose()

asyncio.run(main(sys.argv[1], sys.argv[2], 4, int(sys.argv[3])))
"""


async def test_eight_writers_in_two_processes_never_find_the_database_locked(tmp_path: Path, audit: bool) -> None:
    """They also create it at the same moment, and each reads before it writes: a deferred BEGIN fails here."""
    path, times = tmp_path / "new.db", 250 if audit else 25
    writers = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-c", WRITER, str(path), name, str(times), stderr=asyncio.subprocess.PIPE
        )
        for name in "ab"
    ]
    ended = [await writer.communicate() for writer in writers]
    assert [stderr.decode() for _, stderr in ended] == ["", ""]
    store = await Store.open(path)
    async with store.read() as connection:
        rows = (await connection.execute(text("SELECT CAST(answer AS INTEGER) FROM memo ORDER BY 1"))).scalars().all()
    await store.aclose()
    assert list(rows) == list(range(2 * 4 * times)), "every writer saw all that was written before"


async def test_the_secret_is_made_once_whoever_asks_first(store: Store) -> None:
    other = await Store.open(store.path)
    made = await asyncio.gather(*(install.secret(asker, START) for asker in (store, other) for _ in range(4)))
    await other.aclose()
    assert len(set(made)) == 1
    assert len(made[0]) == 32


def test_one_process_works_on_a_run(store: Store) -> None:
    with working_on(store, "run"), pytest.raises(Conflict, match="another process"), working_on(store, "run"):
        pass
    with working_on(store, "run"):
        pass


def test_a_lock_that_cannot_be_made_is_no_other_process(store: Store) -> None:
    store.path.with_name(f"{store.path.name}-run.lock").write_text(
        "no database, and long enough to be seen as none" * 50
    )
    with pytest.raises(StorageError, match="not a database"), working_on(store, "run"):
        pass


@pytest.mark.parametrize(
    ("change", "row", "said"),
    [
        ("UPDATE runs SET config = '{'", "runs with the id run", "unexpected end of data"),
        ("UPDATE runs SET status = 'done'", "runs with the id run", "'done' is not a valid RunStatus"),
        ("UPDATE runs SET repeats = 'two'", "runs with the id run", "cannot be interpreted as an integer"),
        ("UPDATE attempts SET l2_completion = '4/0'", f"attempts with the id {key(0).id}", "Fraction"),
        ("UPDATE attempts SET status = 'shut'", f"attempts with the id {key(0).id}", "not a valid AttemptStatus"),
        ("UPDATE attempts SET started_at = 'noon'", f"attempts with the id {key(0).id}", "Invalid isoformat"),
        ("UPDATE results SET detail = 'x'", f"results with the attempt_id {key(0).id}", "unexpected character"),
        ("UPDATE results SET detail = '[1]'", f"results with the attempt_id {key(0).id}", ""),
        ("UPDATE results SET score = NULL", f"results with the attempt_id {key(0).id}", "a score exists exactly when"),
        ("UPDATE answers SET answer = ''", f"answers with the attempt_id {key(0).id}", "empty document"),
        ("UPDATE run_cases SET \"case\" = '[]'", "run_cases with the case_id case-0", ""),
        ("UPDATE turns SET tool_calls = '3'", f"turns with the attempt_id {key(0).id}", "not iterable"),
        ("UPDATE turns SET latency_ms = 'long'", f"turns with the attempt_id {key(0).id}", "could not convert"),
    ],
)
async def test_damage_is_told_as_such_with_its_row(store: Store, change: str, row: str, said: str) -> None:
    await runs.create(store, run(), places(1))
    async with Writer(store) as writer:
        await writer.put(record(key(0)))
    async with store.write() as connection:
        await connection.execute(text(change))
    with pytest.raises(StorageError) as damaged:
        _ = [view async for view in attempts.views(store, (await runs.get(store, "run")).id)]
    assert str(damaged.value).startswith(f"{store.path}: the row of {row} cannot be read: ")
    assert said in str(damaged.value)
    assert "restore a backup" in str(damaged.value)


async def test_a_database_that_lost_its_version_is_damaged_not_newer(tmp_path: Path) -> None:
    opened = await Store.open(tmp_path / "a.db")
    async with opened.write() as connection:
        await connection.execute(text("DELETE FROM alembic_version"))
    await opened.aclose()
    with pytest.raises(StorageError, match="does not tell its version"):
        await Store.open(tmp_path / "a.db")


async def test_a_url_takes_no_options(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no options"):
        await Store.open(f"sqlite:///{tmp_path}/a.db?mode=ro")


async def test_a_cost_that_is_no_number_is_damage(store: Store) -> None:
    await runs.create(store, run(), places(1))
    async with Writer(store) as writer:
        await writer.put(record(key(0)))
    async with store.write() as connection:
        await connection.execute(text("UPDATE calls SET cost = 'free'"))
    with pytest.raises(StorageError, match=r"agenteval\.db: what it holds cannot be read: .*free.*restore a backup"):
        await attempts.usage(store, "run")


async def test_a_file_that_may_not_be_written_is_told_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, *_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(StorageError, match=r"a\.db: Permission denied \(.*even reading needs both, so copy"):
        await Store.open(tmp_path / "a.db")


async def test_a_folder_is_no_database(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"Is a directory \(name a file"):
        await Store.open(tmp_path)
