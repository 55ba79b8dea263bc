"""The fake model server's control, from other processes."""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.request import urlopen

import orjson

ROOT = Path(__file__).parents[2]


class Behaviour(NamedTuple):
    latency_ms: float = 0
    faults: bool = False


@contextmanager
def fake_model() -> Iterator[str]:
    """Its base URL, up to `/v1`."""
    command = [sys.executable, "-m", "benchmarks.speed.fake_model"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT) as process:  # noqa: S603 - our own
        assert process.stdout
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"  # it ends with its stdin, which is closed now


def behave(url: str, behaviour: Behaviour) -> None:
    """From now on; its counts begin anew."""
    _admin(url, orjson.dumps(behaviour._asdict()))


def reset(url: str) -> None:
    """Begin counting anew."""
    _admin(url, b"{}")


def counted(url: str) -> Mapping[str, int]:
    return _admin(url, None)


def _admin(url: str, body: bytes | None) -> Mapping[str, int]:
    with urlopen(url.replace("/v1", "/admin"), data=body, timeout=10) as response:  # noqa: S310 - loopback
        counts: Mapping[str, int] = orjson.loads(response.read())
    return counts
