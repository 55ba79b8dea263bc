"""The intents to choose from, as the judge sees them and as the local scorer does."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from pydantic import ConfigDict

from agenteval.domain.text import fold, is_blank

OTHER = "other"


@dataclass(frozen=True, slots=True)
class Entry:
    """An intent in words: what it is, words that go with it, and what is said to it."""

    __pydantic_config__: ClassVar[ConfigDict] = {"extra": "forbid"}

    description: str
    keywords: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()

    @property
    def phrases(self) -> tuple[str, ...]:
        return (self.description, *self.keywords, *self.examples)

    def __str__(self) -> str:
        return "; ".join(
            filter(None, (self.description, ", ".join(self.keywords), " | ".join(f'"{e}"' for e in self.examples)))
        )


Taxonomy: TypeAlias = Mapping[str, str | Entry]


def check(taxonomy: Taxonomy) -> None:
    """Raises ValueError naming the entry that cannot be told from the others."""
    if not taxonomy:
        raise ValueError("intent_taxonomy is empty: name the intents to choose from")
    seen: dict[str, str] = {}
    for name in taxonomy:
        if is_blank(name):
            raise ValueError("intent_taxonomy has an entry with a blank name")
        if (same := seen.setdefault(fold(name), name)) != name:
            raise ValueError(f"intent_taxonomy: {same!r} and {name!r} are the same name")


def shuffled(taxonomy: Taxonomy) -> dict[str, Entry]:
    """All entries and `other`, in an order that their names fix, so that the author's order tells nothing."""
    entries = {name: entry if isinstance(entry, Entry) else Entry(entry) for name, entry in taxonomy.items()}
    entries.setdefault(OTHER, Entry("none of these"))
    return dict(sorted(entries.items(), key=lambda item: hashlib.sha256(item[0].encode()).digest()))


def listed(entries: Mapping[str, Entry]) -> str:
    return "\n".join(f"  - {name}: {entry}" for name, entry in entries.items())


def candidates(entries: Mapping[str, Entry]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """For ranking: `other` is like everything and nothing."""
    return tuple((name, entry.phrases) for name, entry in entries.items() if name != OTHER)


def siblings(a: str, b: str) -> bool:
    """Whether both stand below the same entry of a dotted taxonomy: `repair.book`, `repair.cancel`."""
    parent = a.rpartition(".")[0]
    return bool(parent) and parent == b.rpartition(".")[0]
