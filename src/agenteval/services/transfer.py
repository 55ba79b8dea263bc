"""Runs carried to another database, in a file."""

from collections.abc import AsyncGenerator, Iterable
from typing import NamedTuple

from agenteval.datasets import run_file
from agenteval.domain.errors import InputError
from agenteval.domain.records import Run
from agenteval.storage import runs, transfer
from agenteval.storage.store import Store


class Taken(NamedTuple):
    """A run as it is here now; `new`: it was not here before."""

    run: Run
    new: bool


def export(store: Store, run: Run) -> AsyncGenerator[str]:
    """The lines of a file that `take` reads. No secret is in it, for none is ever stored."""
    return run_file.write(transfer.records(store, run.id))


async def take(store: Store, lines: Iterable[bytes], name: str) -> Taken:
    """Store the run of a file that is called `name`, all of it or nothing. Raises InputError, with the place in the
    file, when it cannot be used, or when another run of its id is here."""
    file = run_file.RunFile(lines, name)
    try:
        run_id, new = await transfer.take(store, file)
    except InputError as error:
        raise file.placed(error) from error
    return Taken(await runs.get(store, run_id), new)
