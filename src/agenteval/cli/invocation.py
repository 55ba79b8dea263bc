"""What one call of the program knows from beginning to end: what to hide, and how to say what went wrong."""

import errno
import os
import sys
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agenteval.settings import Settings

GATE_FAILED = 1
BAD_INPUT = 2
NOT_COMPLETED = 3
INTERRUPTED = 130
NOBODY_READS = 141
"""As of a program that SIGPIPE ends."""
_UNWRITABLE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EPIPE}
"""What results meet on stdout, and nothing else that comes this far without the name of a file."""


@dataclass(slots=True)
class Invocation:
    """`secrets` are shown nowhere. `outputs`: the files that it writes, none of which may be the database."""

    debug: bool = False
    secrets: set[str] = field(default_factory=set)
    outputs: list[Path] = field(default_factory=list)

    def writes(self, *paths: Path | None, reads: "Iterable[Path]" = ()) -> None:
        """Files that will be written. Raises InputError for those that cannot be, or would be lost."""
        from agenteval.cli import output

        output.writable(*paths, reads=reads)
        self.outputs += filter(None, paths)

    def settings(self, *, batch: bool = False) -> "Settings":
        """With a warning of variables that may be misspelt; `batch`: the judge is a file. Raises ConfigError."""
        from agenteval.settings import load, unknown

        self.note(*(f"warning: {name} is no setting; is {near} meant?" for name, near in unknown().items() if near))
        settings = load(batch=batch)
        if self.outputs:
            self._spare(settings.database_url)
        self.secrets.update(settings.secrets)
        return settings

    def _spare(self, database_url: str) -> None:
        from agenteval.cli import output
        from agenteval.storage.store import database_file

        database = database_file(database_url)
        files = [database, *(database.with_name(f"{database.name}{end}") for end in ("-wal", "-shm"))]
        for path in self.outputs:
            output.spared(path, files, "it is the database")

    def safe(self, text: str) -> str:
        """Without secrets, and without control over the terminal."""
        from agenteval.domain.text import visible
        from agenteval.net.redact import Redactor

        return visible(Redactor(self.secrets)(text))

    def note(self, *lines: str) -> None:
        """To stderr; stdout is for results. Where it cannot be written, nothing depends on it."""
        try:
            for line in lines:
                print(self.safe(line), file=sys.stderr, flush=True)
        except OSError:
            sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115 - for good

    def failed(self, error: Exception) -> int:
        """Say what went wrong, one line for each problem; the exit code."""
        from agenteval.domain.errors import AgentEvalError, ConfigError, InputError, NotFound

        if self.debug:
            self.note("".join(traceback.format_exception(error)).rstrip())
        if isinstance(error, OSError) and error.filename is not None:
            self.note(f"error: {error.filename}: cannot be used: {error.strerror}")
            return BAD_INPUT
        if isinstance(error, OSError) and error.errno in _UNWRITABLE:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # so that it is not tried again at the end
            if isinstance(error, BrokenPipeError):
                return NOBODY_READS
            self.note(f"error: stdout: cannot be written: {error.strerror}")
            return NOT_COMPLETED
        if not isinstance(error, AgentEvalError):
            self.note(f"error: {type(error).__name__}: {error} (a fault of agenteval itself; --debug shows where)")
            return NOT_COMPLETED
        self.note(*(f"error: {problem}" for problem in str(error).splitlines()))
        return BAD_INPUT if isinstance(error, ConfigError | InputError | NotFound) else NOT_COMPLETED
