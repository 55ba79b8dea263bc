"""The database: the only place that opens transactions.

SQLite in WAL mode. Writing transactions begin IMMEDIATE: one that begins by reading and then writes fails at once when
another writer came between (measured: 413 of 480). Commits are synchronous FULL, so what was acknowledged outlives a
power failure.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from sqlite3 import DatabaseError
from typing import Any, Self

from sqlalchemy import URL, Connection, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine

from agenteval.domain.errors import ConfigError, NotFound, StorageError
from agenteval.net import forbid
from agenteval.storage.codec import DAMAGE, DAMAGED
from agenteval.storage.migrations import HEAD, schema_version

BUSY_TIMEOUT_MS = 10_000
_PRAGMAS = (f"busy_timeout={BUSY_TIMEOUT_MS}", "journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON")


class Store:
    """An open database at the newest schema; `aclose` it."""

    def __init__(self, url: URL) -> None:
        self.path = Path(url.database or "")
        self._engine = create_async_engine(url)
        self._writing_engine = self._engine.execution_options(agenteval_writes=True)
        self._thread_engine = create_engine(url.set(drivername="sqlite"), execution_options={"agenteval_writes": True})
        for engine in (self._engine.sync_engine, self._thread_engine):
            event.listen(engine, "connect", _set_up)
            event.listen(engine, "begin", _begin)
        self._writing = asyncio.Lock()

    @classmethod
    async def open(cls, location: str | Path, *, create: bool = True) -> Self:
        """A path or a URL (`sqlite:///path`). Creates what is missing, unless it is to be there, and migrates what is
        old.

        Raises StorageError when the file cannot be used or is of a newer version, ConfigError for any other URL,
        NotFound when it is missing.
        """
        store = cls(_url(location))
        if not create and not store.path.exists():
            raise NotFound(
                "there is no database",
                where=str(store.path),
                fix="`agenteval run` makes one; AGENTEVAL_DATABASE_URL says where it is",
            )
        try:
            await store._prepare()
        except BaseException:
            await store.aclose()
            raise
        return store

    @asynccontextmanager
    async def read(self) -> AsyncIterator[AsyncConnection]:
        """One consistent view of the database. What is read is made sense of inside: what makes none is damage."""
        with self._clear_errors():
            async with self._engine.connect() as connection:
                try:
                    yield connection
                except DAMAGE as error:
                    raise StorageError(f"what it holds cannot be read: {error}", fix=DAMAGED) from error

    @asynccontextmanager
    async def write(self) -> AsyncIterator[AsyncConnection]:
        """All or nothing; durable when the block ends. The network may not be awaited inside, nor another `write`."""
        if forbid.get():
            raise RuntimeError("a write transaction inside a write transaction")
        with self._clear_errors():
            async with self._writing, self._writing_engine.begin() as connection:
                token = forbid.set(True)
                try:
                    yield connection
                finally:
                    forbid.reset(token)

    async def write_aside(self, work: Callable[[Connection], None]) -> None:
        """`write`, as one piece of work in a thread. A transaction of ten statements goes to the driver's thread and
        back twenty times, which takes longer than the statements."""

        def transaction() -> None:
            with self._thread_engine.begin() as connection:
                work(connection)

        with self._clear_errors():
            async with self._writing:
                await asyncio.to_thread(transaction)

    async def aclose(self) -> None:
        await self._engine.dispose()
        self._thread_engine.dispose()

    async def _prepare(self) -> None:
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.path.open("ab").close()  # the driver leaves a thread behind when it cannot
        except OSError as error:
            raise StorageError(
                error.strerror or str(error), where=error.filename, fix=_advice("unable to open")
            ) from error
        async with self.read() as connection:
            current = await connection.run_sync(schema_version)
        if current != HEAD:
            from agenteval.storage.migrations.upgrade import upgrade  # noqa: PLC0415 - loads Alembic

            async with self.write() as connection:
                await connection.run_sync(upgrade)

    @contextmanager
    def _clear_errors(self) -> Iterator[None]:
        """One line without statement and parameters, which hold what was said."""
        try:
            yield
        except StorageError as error:
            error.where = error.where or str(self.path)
            raise
        except (SQLAlchemyError, DatabaseError) as error:
            cause = str(getattr(error, "orig", None) or error)
            raise StorageError(cause, where=str(self.path), fix=_advice(cause)) from error


_ADVICE = {
    "not a database": "it is damaged or no AgentEval database; restore a backup, or name another file",
    "malformed": DAMAGED,
    "locked": f"another program has been writing to it for {BUSY_TIMEOUT_MS // 1000} s; wait for it or end it",
    "unable to open": "name a file that may be read and written; even reading needs both, so copy one that may not",
    "readonly": "even reading needs a file and a folder that may be written; copy it to such a one",
    "full": "free some space, then resume the run",
}


def _advice(cause: str) -> str:
    return next((advice for sign, advice in _ADVICE.items() if sign in cause), "")


def database_file(location: str | Path) -> Path:
    """Raises ConfigError, as `Store.open` does."""
    return Path(_url(location).database or "")


def _url(location: str | Path) -> URL:
    if "://" not in str(location):
        return URL.create("sqlite+aiosqlite", database=str(Path(location).expanduser()))
    try:
        url = make_url(str(location))
    except ArgumentError as error:
        raise ConfigError("this database URL cannot be read", fix="write sqlite:///path/to/file.db") from error
    if url.get_backend_name() != "sqlite" or not url.database or url.database == ":memory:":
        place = url.render_as_string(hide_password=True)
        raise ConfigError("only SQLite files are supported", where=place, fix="write sqlite:///path/to/file.db")
    if url.query:
        raise ConfigError("a database URL takes no options", where=url.database, fix="leave out what follows the ?")
    return url.set(drivername="sqlite+aiosqlite")


def _set_up(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # `_begin` says BEGIN, not the driver
    cursor = connection.cursor()
    for pragma in _PRAGMAS:
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin(connection: Connection) -> None:
    writes = connection.get_execution_options().get("agenteval_writes")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
