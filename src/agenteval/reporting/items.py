"""Slots, steps and intents, one by one, as a rule's `detail` tells of them; a `detail` of another shape has none."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, NamedTuple

from agenteval.domain.evidence import Speaker
from agenteval.domain.json_value import as_text
from agenteval.domain.outcome import RuleResult
from agenteval.reporting.labels import Labels


class Kind(StrEnum):
    SLOT = "slot"
    STEP = "step"
    INTENT = "intent"


class Said(NamedTuple):
    """Words that stand for an item: in which turn (from 0), and whose when that is told."""

    turn: int
    text: str
    speaker: str | None = None


@dataclass(frozen=True, slots=True)
class Item:
    """One slot, step or intent. `good` None: not judged. `counts`: whether it is in the rate. `turn` counts from 0.
    `judging` tells how the answer came about that it rests on."""

    kind: Kind
    name: str
    status: str
    good: bool | None
    counts: bool = True
    value: str = ""
    turn: int | None = None
    quote: str = ""
    cause: str = ""
    reason: str = ""
    flags: tuple[str, ...] = ()
    judging: Mapping[str, Any] = field(default_factory=dict)
    evidence: tuple[Said, ...] = ()

    def status_text(self, labels: Labels) -> str:
        """In words; what holds beside the status in brackets."""
        status = labels.get(f"item.{self.status}", self.status)
        notes = [labels(f"flag.{flag}") for flag in self.flags if flag != self.status]
        notes += [labels.get(f"cause.{self.cause}", self.cause)] if self.cause else []
        notes += noted(self.judging, labels)
        return labels("aside", what=status, note=labels.listed(notes)) if notes else status

    @property
    def state(self) -> Literal["ok", "bad", "unknown", "left"]:
        """How a picture shows it."""
        if not self.counts and not self.good and self.status != _ACTED_ON:
            return "left"
        return "unknown" if self.good is None else "ok" if self.good else "bad"

    @property
    def against(self) -> tuple[Said, ...]:
        """What the agent said that speaks against it."""
        if self.status not in _BELIED:
            return ()
        return tuple(said for said in self.evidence if said.speaker == Speaker.AGENT)

    def against_text(self, labels: Labels) -> list[str]:
        return [labels("against", turn=said.turn + 1, text=said.text) for said in self.against]

    def turn_text(self) -> str:
        """As people count turns: from 1."""
        return "" if self.turn is None else str(self.turn + 1)


_FLAGS = ("critical", "optional", "asked", "reasked", "out_of_order")
_LEFT = ("declined", "left")
_BELIED = ("contradicted", "stale")
_REASON_CODES = ("pending", "blocked", "refused", "failed", "ignored")
_VERDICTS = {"met": True, "partly_met": False, "unmet": False}
_ACTED_ON = "acted_on"
_TOLD = {"slots", "steps", "intents", "unmet_intents", "acted_on", "filled", "slots_filled", "steps_filled", "missing"}
_TOLD |= {"turns_seen", "repaired", "reviewed"}


def items(detail: Mapping[str, Any]) -> list[Item]:
    """What a result's `detail` tells item by item."""
    found = [_item(Kind.SLOT, name, item, item.get("filled")) for name, item in _named(detail.get("slots"))]
    found += [_item(Kind.STEP, name, item, item.get("done")) for name, item in _named(detail.get("steps"))]
    found += [_intent(intent) for intent in _mappings(detail.get("intents"))]
    expected = _texts(detail.get("expected"))
    return found + [_acted_on(intent, expected) for intent in _mappings(detail.get("acted_on"))]


def _named(items_by_name: Any) -> list[tuple[str, Mapping[str, Any]]]:
    if not isinstance(items_by_name, Mapping):
        return []
    return [(name, item) for name, item in items_by_name.items() if isinstance(item, Mapping)]


def _mappings(values: Any) -> list[Mapping[str, Any]]:
    return [value for value in values if isinstance(value, Mapping)] if isinstance(values, list | tuple) else []


def _texts(value: Any) -> list[str]:
    return [as_text(part) for part in value] if isinstance(value, list | tuple) else [as_text(value)]


def _item(kind: Kind, name: str, item: Mapping[str, Any], good: Any) -> Item:
    status = str(item.get("status") or "unscored")
    marks = {**item, "optional": item.get("required") is False}
    return Item(
        kind,
        name,
        status,
        good if isinstance(good, bool) else None,
        counts=not marks["optional"] and status not in _LEFT,
        value=as_text(item.get("value")),
        cause=as_text(item.get("cause")),
        reason=as_text(item.get("reason")),
        flags=tuple(flag for flag in _FLAGS if marks.get(flag) is True),
        judging=item,
        **_place(item),
    )


def _intent(intent: Mapping[str, Any]) -> Item:
    state = str(intent.get("state") or "active")
    verdict = str(intent.get("verdict") or "unscored")
    active = state == "active"
    code = intent.get("reason_code")
    return Item(
        Kind.INTENT,
        as_text(intent.get("intent")),
        verdict if active else state,
        _VERDICTS.get(verdict),
        counts=active,
        cause=as_text(intent.get("cause")),
        reason=as_text(intent.get("reason")),
        flags=(str(code),) if code in _REASON_CODES else (),
        judging=intent,
        **_place(intent),
    )


def _acted_on(intent: Mapping[str, Any], expected: Sequence[str]) -> Item:
    name = as_text(intent.get("intent"))
    return Item(Kind.INTENT, name, _ACTED_ON, name in expected, counts=False, **_place(intent))


def _place(item: Mapping[str, Any]) -> dict[str, Any]:
    """Where an item stands in the dialog."""
    turn, quote = item.get("turn_index"), as_text(item.get("quote"))
    evidence = [Said(turn, quote)] if isinstance(turn, int) and quote else []
    for said in _mappings(item.get("evidence")):
        if isinstance(said.get("turn_index"), int):
            evidence.append(Said(said["turn_index"], as_text(said.get("quote")), as_text(said.get("speaker"))))
    return {"turn": turn if isinstance(turn, int) else None, "quote": quote, "evidence": tuple(evidence)}


def noted(told: Mapping[str, Any], labels: Labels) -> list[str]:
    """What is noteworthy of the judge's answer, as a result's `detail` or an item in it tells: the turns of each part
    of the dialog when no judge saw the whole, votes that differ, an answer that was not quite JSON."""
    notes, votes = [], told.get("votes")
    if seen := _windows(told.get("turns_seen")):
        notes.append(labels("judged.turns_seen", turns=labels.listed(seen)))
    if isinstance(votes, Mapping):
        notes.append(labels("judged.votes", votes=":".join(map(str, votes.values()))))
    notes += [labels("judged.repaired")] if told.get("repaired") is True else []
    if isinstance(reviewed := told.get("reviewed"), Mapping):
        machine = as_text(reviewed.get("machine")) or "unscored"
        machine = labels.get(f"item.{machine}", machine)
        notes.append(labels("judged.reviewed", by=as_text(reviewed.get("by")), machine=machine))
    return notes


def _windows(value: Any) -> list[str]:
    """As people count turns: from 1."""
    pairs = [pair for pair in value if isinstance(pair, list) and len(pair) == 2] if isinstance(value, list) else []
    whole = [(first, last) for first, last in pairs if isinstance(first, int) and isinstance(last, int)]
    return [f"{first + 1}–{last + 1}" if last > first else str(first + 1) for first, last in whole]


def more_detail(detail: Mapping[str, Any], labels: Labels) -> list[tuple[str, str]]:
    """What a rule tells beside its items."""
    rest = [(name, value) for name, value in detail.items() if name not in _TOLD and value not in (None, "", [], {})]
    return [(labels.get(f"detail.{name}", name), _plainly(value)) for name, value in rest]


def _plainly(value: Any) -> str:
    """Without the signs of JSON."""
    match value:
        case Mapping():
            return ", ".join(f"{name}: {_plainly(member)}" for name, member in value.items())
        case list() | tuple():
            return ("; " if any(isinstance(part, Mapping) for part in value) else ", ").join(map(_plainly, value))
        case _:
            return as_text(value)


def counted(result: RuleResult, labels: Labels) -> str:
    """ "4/5 missing appointment_time": what counts, and what of it is not there; empty when nothing is counted. Slots
    and steps are counted apart."""
    counts = [item for item in items(result.detail) if item.counts]
    lists = [(kind, of_kind) for kind in Kind if (of_kind := [item for item in counts if item.kind is kind])]
    texts = []
    for kind, of_kind in lists:
        known = any(item.good is not None for item in of_kind)
        parts = [f"{sum(item.good is True for item in of_kind)}/{len(of_kind)}"] if known else []
        if len(lists) > 1:
            parts.insert(0, labels(f"kind.{kind}"))
        for key, good in (("missing", False), ("unknown_items", None)):
            if names := [item.name for item in of_kind if item.good is good]:
                parts.append(labels(key, names=labels.listed(names)))
        texts.append(" ".join(parts))
    return " · ".join(texts)
