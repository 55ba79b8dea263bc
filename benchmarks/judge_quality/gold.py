"""Dialogs that people have labelled: what may be shown of them, what people said, and which of them are taken."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from random import Random
from typing import Any, Literal, NamedTuple, TypeAlias

import orjson

from agenteval.domain.transcript import Dialog, Turn

SEED = 0
Half = Literal["tuning", "test"]
Label: TypeAlias = bool | tuple[str, ...]
"""Yes or no; of intents all that are right."""


class Measure(StrEnum):
    SLOTS_EXPECTED = "slots_expected"
    SLOTS = "slots"
    INTENTS = "intents"
    EXPECTED_INTENT = "expected_intent"
    STEPS = "steps"
    COMPLETENESS = "completeness"
    SUCCESS = "success"


class Slot(NamedTuple):
    """`expected`: the value that the user gave, or gives in the part of the dialog that was cut off."""

    name: str
    description: str
    type: str
    expected: str | tuple[str, ...] | None
    filled: bool


class Step(NamedTuple):
    name: str
    description: str
    done: bool


@dataclass(frozen=True, slots=True)
class Row:
    """A labelled dialog. `drawn`: the intent that is asked after. `success`, `complete`: None where nobody said."""

    id: str
    parent: str
    source: str
    language: str
    variant: str
    dialog: Dialog
    taxonomy: Mapping[str, str]
    intents: tuple[str, ...]
    slots: tuple[Slot, ...]
    steps: tuple[Step, ...]
    success: bool | None
    complete: bool | None
    drawn: str = ""

    @property
    def labels(self) -> Iterator[tuple[Measure, str, Label]]:
        """By measure and item. Of slots to be compared with a value only those that have one; intents only where the
        agent's side was recorded, for they are what the agent acted on."""
        for slot in self.slots:
            yield Measure.SLOTS, slot.name, slot.filled
            if slot.expected is not None:
                yield Measure.SLOTS_EXPECTED, slot.name, slot.filled
        for step in self.steps:
            yield Measure.STEPS, step.name, step.done
        if self.has_intents:
            yield Measure.INTENTS, "", self.intents
            yield Measure.EXPECTED_INTENT, self.drawn, self.drawn in self.intents
        if self.complete is not None:
            yield Measure.COMPLETENESS, "", self.complete
        if self.success is not None:
            yield Measure.SUCCESS, "", self.success

    @property
    def has_intents(self) -> bool:
        return bool(self.intents) and not self.dialog.silent


def read(path: Path) -> list[Row]:
    rows = [_row(orjson.loads(line)) for line in path.read_bytes().splitlines() if line.strip()]
    drawn = draw([row for row in rows if row.has_intents])
    return [replace(row, drawn=drawn.get(row.id, "")) for row in rows]


def draw(rows: Sequence[Row]) -> dict[str, str]:
    """An intent for each dialog, for one half of them (at random) a right one, for the other a wrong one."""
    random = Random(SEED)  # noqa: S311 - not for secrets
    rights = [i % 2 == 0 for i in range(len(rows))]
    random.shuffle(rights)
    return {
        row.id: random.choice([name for name in row.taxonomy if (name in row.intents) is right])
        for row, right in zip(rows, rights, strict=True)
    }


def _row(raw: Mapping[str, Any]) -> Row:
    intents, completeness, success = raw["intents"], raw["completeness_gold"], raw["success_gold"]
    return Row(
        id=raw["id"],
        parent=raw["parent"],
        source=raw["source"].partition(" ")[0],
        language=raw["lang"],
        variant=raw["variant"],
        dialog=Dialog(tuple(Turn(i, turn["input"], turn["actual_output"]) for i, turn in enumerate(raw["turns"]))),
        taxonomy=intents["taxonomy"] if intents else {},
        intents=tuple(intents["gold"]) if intents else (),
        slots=tuple(map(_slot, raw["slots"])),
        steps=tuple(Step(step["name"], step["description"], step["gold"] == "done") for step in raw["steps"]),
        success=None if success is None else success == "success",
        complete=None if completeness is None else completeness["score"] == 1,
    )


def _slot(raw: Mapping[str, Any]) -> Slot:
    known = raw["value"] if raw["value"] is not None else tuple(raw.get("eventual_values", ()))
    return Slot(raw["name"], raw["description"], raw["type"], known or None, raw["gold"] == "filled")


def chosen(rows: Sequence[Row], half: Half | None, sample: int | None) -> list[Row]:
    """One random half, all variants of a dialog in the same, and so many of it: as many of each language, of these
    the variants and sources in proportion."""
    if half:
        firsts = _ordered({row.parent: row for row in reversed(rows)}.values())
        parents = {row.parent for row in firsts[("tuning", "test").index(half) :: 2]}
        rows = [row for row in rows if row.parent in parents]
    if sample is None:
        return list(rows)
    languages = sorted({row.language for row in rows})
    taken: list[Row] = []
    for k, language in enumerate(languages):
        share = sample * (k + 1) // len(languages) - sample * k // len(languages)
        those = _ordered(row for row in rows if row.language == language)
        taken += those if share >= len(those) else [those[i * len(those) // share] for i in range(share)]
    return taken


def _ordered(rows: Iterable[Row]) -> list[Row]:
    """Alike ones beside each other, among these at random: every n-th is a stratified sample."""
    return sorted(rows, key=lambda row: (row.language, row.variant, row.source, _random_key(row.parent)))


def _random_key(text: str) -> bytes:
    return hashlib.sha256(f"{SEED}:{text}".encode()).digest()
