"""One worker per run: a lock that ends with its process, however that ends."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager

from agenteval.domain.errors import Conflict, StorageError
from agenteval.storage.store import Store


@contextmanager
def working_on(store: Store, run_id: str) -> Iterator[None]:
    """Hold a run while it is worked on. Raises Conflict when another process does.

    The lock is an exclusive transaction on a file of its own beside the database: the operating system frees it when
    the process dies.
    """
    path = store.path.with_name(f"{store.path.name}-{run_id}.lock")
    with closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as lock:
        try:
            lock.execute("BEGIN EXCLUSIVE")
        except sqlite3.DatabaseError as error:
            if "locked" not in str(error):
                raise StorageError(str(error), where=str(path)) from error
            raise Conflict(
                f"another process is working on run {run_id}", fix="wait until it ends, or end it, then resume the run"
            ) from error
        try:
            yield
        finally:
            path.unlink(missing_ok=True)
