"""Patterns that users write. RE2 runs them: its time is linear in the text, whatever the pattern."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import re2  # type: ignore[import-untyped]

MAX_PATTERN = 1_000
"""Characters."""
MAX_STEPS = 100_000_000
"""Size of the compiled pattern times bytes of the text. The slowest patterns were measured at 7 to 9 ns a step, most
take far less; so a search ends within a second."""

_ADVICE = (
    "patterns are RE2: no look-around and no back-references; "
    "use several patterns, or the rule's lists of words, to say that something is or is not there"
)
_UNICODE_ESCAPE = re.compile(r"(\\\\)|\\u([0-9A-Fa-f]{4})")


class TextTooLong(ValueError):
    """The text is too long to be searched for this pattern in bounded time."""


class Pattern:
    """A compiled pattern of a user."""

    def __init__(self, source: str, compiled: Any) -> None:
        self.source = source
        self._compiled = compiled

    def search(self, text: str) -> tuple[int, int] | None:
        """Where the pattern first matches. Raises TextTooLong."""
        self._check(text)
        found = self._compiled.search(text)
        return None if found is None else found.span()

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Every place where the pattern matches, from left to right. Raises TextTooLong."""
        self._check(text)
        return (found.span() for found in self._compiled.finditer(text))

    def fullmatch(self, text: str) -> bool:
        """Whether the pattern matches the whole text. Raises TextTooLong."""
        self._check(text)
        return self._compiled.fullmatch(text) is not None

    def _check(self, text: str) -> None:
        if self._compiled.programsize * len(text.encode()) > MAX_STEPS:
            raise TextTooLong(f"a text of {len(text):,} characters is too long to be searched for {self.source!r}")


@lru_cache(maxsize=256)
def compile_pattern(pattern: str) -> Pattern:
    r"""The pattern, in RE2's syntax or with `\uXXXX`. Raises ValueError saying what is wrong and what to do."""
    if len(pattern) > MAX_PATTERN:
        raise ValueError(f"a pattern has at most {MAX_PATTERN:,} characters, this one has {len(pattern):,}")
    options = re2.Options()
    options.log_errors = False  # it would write to stderr
    try:
        return Pattern(pattern, re2.compile(_UNICODE_ESCAPE.sub(_as_re2, pattern), options))
    except re2.error as error:
        reason = error.args[0].decode("utf-8", "replace") if error.args else "malformed"
        raise ValueError(f"the pattern {pattern!r} cannot be used ({reason}); {_ADVICE}") from None


def _as_re2(escape: re.Match[str]) -> str:
    return escape[1] or rf"\x{{{escape[2]}}}"
