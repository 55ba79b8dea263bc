"""Things compiled once per class, not per answer."""

from collections.abc import Callable
from functools import cache
from typing import TypeVar, cast

K = TypeVar("K")
R = TypeVar("R")


def per_class(build: Callable[[type[K]], R]) -> Callable[[type[K]], R]:
    """`functools.cache` for functions of a class; the type checker does not take classes for hashable."""
    return cast("Callable[[type[K]], R]", cache(build))
