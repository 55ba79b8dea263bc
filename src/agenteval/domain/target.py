"""The agent under evaluation, and how it is talked to."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Target:
    """`channel` names the plug-in that `params` are for. `timeout_s` is for one message; `max_concurrency` counts
    messages on their way; `messages_per_minute` None means no limit; `retries` are for what was not delivered.
    `secrets`: the values in `params` that may be shown nowhere. Raises ValueError for a number out of its range.
    """

    name: str
    channel: str
    params: Mapping[str, Any] = field(default_factory=dict, repr=False)
    timeout_s: float = 60
    max_concurrency: int = 4
    messages_per_minute: float | None = None
    retries: int = 3
    secrets: frozenset[str] = field(default=frozenset(), repr=False)

    def __post_init__(self) -> None:
        if not self.timeout_s > 0:
            raise ValueError(f"timeout_s must be above 0, not {self.timeout_s!r}")
        if self.max_concurrency < 1:
            raise ValueError(f"max_concurrency must be 1 or more, not {self.max_concurrency!r}")
        if self.messages_per_minute is not None and not self.messages_per_minute > 0:
            raise ValueError(f"messages_per_minute must be above 0, not {self.messages_per_minute!r}")
        if self.retries < 0:
            raise ValueError(f"retries must be 0 or more, not {self.retries!r}")
