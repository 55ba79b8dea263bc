"""What a call used and cost."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from agenteval.domain.ports import Usage
from agenteval.settings import ModelSettings

PER_MILLION = Fraction(1, 1_000_000)


def usage_of(reported: object, settings: ModelSettings) -> Usage:
    """Usage from a provider's `usage` object. What it does not tell stays None, and so does a cost that needs it."""
    told: Mapping[str, Any] = reported if isinstance(reported, dict) else {}
    asked, said = _count(told.get("prompt_tokens")), _count(told.get("completion_tokens"))
    return Usage(asked, said, _cost(asked, said, settings))


def usage_of_texts(reported: Sequence[object], settings: ModelSettings) -> Usage:
    """Usage of calls that read texts and write none, together; None when one of them does not tell."""
    counts = [_count(told.get("prompt_tokens")) if isinstance(told, Mapping) else None for told in reported]
    asked = None if None in counts else sum(count for count in counts if count is not None)
    cost = None if asked is None or settings.input_price is None else asked * settings.input_price * PER_MILLION
    return Usage(asked, 0, cost)


def _cost(asked: int | None, said: int | None, settings: ModelSettings) -> Fraction | None:
    if asked is None or said is None or settings.input_price is None or settings.output_price is None:
        return None
    return (asked * settings.input_price + said * settings.output_price) * PER_MILLION


_MOST_TOKENS = 10**9
"""More than any call holds: a count above it tells nothing."""


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_TOKENS else None
