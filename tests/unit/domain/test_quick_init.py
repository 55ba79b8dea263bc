import copy
import pickle
from collections.abc import Mapping
from dataclasses import FrozenInstanceError, dataclass, field, replace
from inspect import signature
from typing import Any

import pytest

from agenteval.domain.quick_init import quick_init


@dataclass(frozen=True, slots=True)
class Plain:
    name: str
    size: int = 1
    detail: Mapping[str, Any] = field(default_factory=dict)
    twice: int = field(init=False)

    def __post_init__(self) -> None:
        if self.size < 0:
            raise ValueError("size")
        object.__setattr__(self, "twice", 2 * self.size)


@quick_init
@dataclass(frozen=True, slots=True)
class Quick(Plain):
    more: str = ""


@quick_init
@dataclass(frozen=True)
class WithDict:
    items: tuple[int, ...]


def test_it_is_filled_as_by_dataclass() -> None:
    made = Quick("a", detail={"x": 1}, more="b")
    assert (made.name, made.size, made.detail, made.twice, made.more) == ("a", 1, {"x": 1}, 2, "b")
    assert Quick("a").detail == {}
    assert Quick("a").detail is not Quick("a").detail
    assert type(made) is Quick
    assert made == Quick("a", 1, {"x": 1}, "b")


def test_it_stays_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        Quick("a").name = "b"  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        WithDict((1,)).items = ()  # type: ignore[misc]


def test_a_subclass_is_filled_too() -> None:
    class Open(Quick):
        pass

    made = Open("a", 2, more="b")
    assert (type(made), made.name, made.detail, made.twice, made.more) == (Open, "a", {}, 4, "b")
    with pytest.raises(FrozenInstanceError):
        made.name = "b"  # type: ignore[misc]


def test_what_it_cannot_fill_is_refused() -> None:
    with pytest.raises(TypeError, match=r"ByKeyword\.name"):

        @quick_init
        @dataclass(frozen=True, kw_only=True)
        class ByKeyword:
            name: str

    with pytest.raises(TypeError, match=r"NotGiven\.name"):

        @quick_init
        @dataclass(frozen=True, slots=True)
        class NotGiven:
            name: str = field(init=False, default="a")


def test_post_init_may_refuse() -> None:
    with pytest.raises(ValueError, match="size"):
        Quick("a", -1)


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(TypeError, match="name"):
        Quick()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unknown"):
        Quick("a", unknown=1)  # type: ignore[call-arg]
    assert list(signature(Quick).parameters) == ["name", "size", "detail", "more"]


def test_it_is_hashed_replaced_copied_and_pickled() -> None:
    made = WithDict((1, 2))
    assert hash(made) == hash(WithDict((1, 2)))
    assert replace(made, items=(3,)) == WithDict((3,))
    assert copy.deepcopy(made) == made == pickle.loads(pickle.dumps(made))
