"""Things worked out once: per class, not per answer; per object, when they are first asked for."""

from collections.abc import Callable
from functools import cache
from typing import Generic, Self, TypeVar, cast, overload

K = TypeVar("K")
T = TypeVar("T")
R = TypeVar("R")


def per_class(build: Callable[[type[K]], R]) -> Callable[[type[K]], R]:
    """`functools.cache` for functions of a class; the type checker does not take classes for hashable."""
    return cast("Callable[[type[K]], R]", cache(build))


class lazy(Generic[T, R]):  # noqa: N801 - used like `property`
    """An attribute worked out when it is first asked for, and kept in the object's `__dict__`.

    `functools.cached_property` without the lock that it has up to Python 3.11, which takes longer than what is worked
    out; two threads may both do so.
    """

    def __init__(self, work_out: Callable[[T], R]) -> None:
        self._work_out = work_out
        self.__doc__ = work_out.__doc__

    def __set_name__(self, owner: type[T], name: str) -> None:
        self._name = name

    @overload
    def __get__(self, owned: None, owner: type[T]) -> Self: ...
    @overload
    def __get__(self, owned: T, owner: type[T]) -> R: ...
    def __get__(self, owned: T | None, owner: type[T]) -> Self | R:
        if owned is None:
            return self
        value = owned.__dict__[self._name] = self._work_out(owned)
        return value
