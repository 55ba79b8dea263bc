"""What the agent made of an expected value, as far as code sees it: for a judge that has no model.

Code sees three refusals, and otherwise takes a stated value for accepted. It accuses only where it cannot be mistaken:

- no reply follows;
- the agent's last reply asks for the slot by the slot's own words, and does not name the value;
- from the value on the agent never states it, but states another one of the kind that is about this slot: no other slot
  has such values, and the clause names the slot (for a phone number, an address and the like also: speaks of "your"),
  speaks neither of the agent's own number nor of a range, and neither asks nor denies. Numbers and prices are left
  alone: "评分 4.9" may be what was found for "4.5 or more".
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from agenteval.domain.evidence import Span, Speaker
from agenteval.domain.json_value import as_text
from agenteval.domain.slots import Found, SlotType, matches, same
from agenteval.domain.text import is_asked, is_negated
from agenteval.domain.transcript import Dialog
from agenteval.rules.completion.forms import Part, SlotVerdict
from agenteval.rules.completion.items import Slot
from agenteval.rules.completion.values import (
    UNMISTAKABLE,
    Given,
    alone,
    asked_in,
    clause_at,
    expected_in,
    names_slot,
    span,
    user_values,
    values_of,
)

_ATTRIBUTES = {SlotType.NUMBER, SlotType.MONEY}
_THEIRS = re.compile(
    r"我们|我司|我店|本店|本公司|客服|热线|总机|前台|官网|\b(?:our|us|hotline|support|service|office)\b", re.IGNORECASE
)
_YOURS = re.compile(r"您|你|\byour?\b", re.IGNORECASE)
_RANGE = re.compile(
    r"[前后内起]|到|至|[~～—–]|以[上下]|\b(?:before|after|until|by|within|from|to|least|most|between)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Reaction:
    """`agent`: the words that show the agent's `part`, or with which it is wrong. `reasked`: it asked after the value
    was given."""

    verdict: SlotVerdict
    part: Part
    agent: Span | None = None
    used: bool = False
    reasked: bool = False


def replied_after(dialog: Dialog, turn: int) -> bool:
    """Whether the agent said anything at or after a turn."""
    return any(later.answered for later in dialog.turns[turn:])


def used(slot: Slot, value: str, dialog: Dialog) -> bool:
    """Whether the value is an argument of a tool call."""
    return any(_same_value(slot, value, as_text(call.arguments)) for turn in dialog for call in turn.tool_calls)


def by_code(slot: Slot, dialog: Dialog, stated: Given, others: Sequence[Slot]) -> Reaction:
    """What the agent made of the stated value. Raises TextTooLong."""
    asked = [span_ for turn in dialog for span_ in _asks(slot, dialog, turn.index, others)]
    again = [ask for ask in asked if ask.turn >= stated.turn]
    in_call = used(slot, stated.value.text, dialog)
    if not replied_after(dialog, stated.turn):
        return Reaction(SlotVerdict.STATED_ONLY, Part.NONE, used=in_call)
    repeats = [place for turn in dialog.turns[stated.turn :] for place in _stated_in_reply(slot, dialog, turn.index)]
    if not repeats and (wrong := _other_value(slot, dialog, stated, others)) is not None:
        older = [value.text for value in user_values(slot, dialog, others) if value.turn < stated.turn]
        verdict = (
            SlotVerdict.STALE if any(_same_value(slot, o, wrong.text) for o in older) else SlotVerdict.CONTRADICTED
        )
        return Reaction(verdict, Part.NONE, wrong, in_call, bool(again))
    last_reply = max(turn.index for turn in dialog if turn.answered)
    if again and again[-1].turn == last_reply and not any(place.turn == last_reply for place in repeats):
        return Reaction(SlotVerdict.STATED_ONLY, Part.ASKED, again[-1], in_call, reasked=True)
    if stated.assent is not None:
        return Reaction(SlotVerdict.FILLED, Part.OFFERED, stated.value, in_call, bool(again))
    if repeats:
        return Reaction(SlotVerdict.FILLED, Part.REPEATED, repeats[0], in_call, bool(again))
    before = [ask for ask in asked if ask.turn < stated.turn]
    if before:
        return Reaction(SlotVerdict.FILLED, Part.ASKED, before[-1], in_call, bool(again))
    return Reaction(SlotVerdict.FILLED, Part.NONE, None, in_call, bool(again))


def last_ask(slot: Slot, dialog: Dialog, others: Sequence[Slot]) -> Span | None:
    """The last place where the agent asks for the slot by its own words."""
    asks = [ask for turn in dialog for ask in _asks(slot, dialog, turn.index, others)]
    return asks[-1] if asks else None


def _asks(slot: Slot, dialog: Dialog, turn: int, others: Sequence[Slot]) -> list[Span]:
    reply = dialog[turn].reply_text
    place = asked_in(slot, reply, others) if dialog[turn].answered else None
    return [] if place is None else [span(turn, Speaker.AGENT, reply, Found(*place, "", None))]


def _stated_in_reply(slot: Slot, dialog: Dialog, turn: int) -> list[Span]:
    reply = dialog[turn].reply_text
    return [span(turn, Speaker.AGENT, reply, f) for f in expected_in(slot, reply) if not is_negated(reply, f.start)]


def _other_value(slot: Slot, dialog: Dialog, stated: Given, others: Sequence[Slot]) -> Span | None:
    """The last other value that the agent states about this slot."""
    if slot.type in _ATTRIBUTES or not slot.constrained or not alone(slot, others):
        return None
    found = [
        span(turn.index, Speaker.AGENT, turn.reply_text, f)
        for turn in dialog.turns[stated.turn :]
        if turn.answered
        for f in values_of(slot, turn.reply_text)
        if _is_statement(slot, turn.reply_text, f.start, others)
    ]
    return found[-1] if found else None


def _is_statement(slot: Slot, reply: str, place: int, others: Sequence[Slot]) -> bool:
    clause = clause_at(reply, place)
    unmistakable = slot.type in UNMISTAKABLE
    about = names_slot(slot, clause, others) or (unmistakable and _YOURS.search(clause) is not None)
    return (
        about
        and not _THEIRS.search(clause)
        and not (_RANGE.search(clause) and not unmistakable)
        and not is_asked(reply, place)
        and not is_negated(reply, place)
    )


def _same_value(slot: Slot, value: str, text: str) -> bool:
    wanted = values_of(slot, value) if slot.constrained else []
    if not wanted:
        return bool(matches(value, text))
    return any(same(slot.type, wanted[0].value, f.value) for f in values_of(slot, text))
