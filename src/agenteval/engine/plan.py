"""What a run will do, decided before it starts: which cases, and under which conversation ids."""

import hashlib
from collections.abc import Sequence
from typing import TypeVar

from agenteval.domain.records import AttemptKey

T = TypeVar("T")


def sample(case_ids: Sequence[str], size: int, seed: int) -> list[int]:
    """The positions of `size` cases, in order. The choice depends on seed and ids alone, so it stays the same when
    cases are reordered, and a larger sample contains the smaller one."""

    def lot(position: int) -> bytes:
        return hashlib.sha256(f"{seed}\0{case_ids[position]}".encode()).digest()

    return sorted(sorted(range(len(case_ids)), key=lot)[:size])


def conversation_id(secret: bytes, key: AttemptKey) -> str:
    """New for each attempt, and not to be guessed from any other by an agent."""
    return hashlib.blake2b(f"conversation\0{key.id}".encode(), key=secret, digest_size=16).hexdigest()
