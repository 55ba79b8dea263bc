from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import orjson
import pytest

from agenteval.cli import main


class Ended(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return orjson.loads(self.out)


class Call(Protocol):
    def __call__(self, *arguments: str) -> Ended: ...


@pytest.fixture
def call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> Callable[..., Ended]:
    """The command line within this process, in an empty folder and without settings."""
    monkeypatch.chdir(tmp_path)
    for name in ("JUDGE_BASE_URL", "JUDGE_MODEL", "JUDGE_API_KEY", "DATABASE_URL", "CONFIG"):
        monkeypatch.delenv(f"AGENTEVAL_{name}", raising=False)

    def ended(*arguments: str) -> Ended:
        with pytest.raises(SystemExit) as exit_:
            main(arguments)
        out, err = capsysbinary.readouterr()
        code = exit_.value.code
        assert isinstance(code, int)
        return Ended(code, out.decode(), err.decode())

    return ended
