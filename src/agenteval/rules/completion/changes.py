"""Whether the user may have given up a stated value, in words from which code cannot tell the new one for certain.

"还是4号吧", "on second thought, May 4", "改到4点" of a date with time, "推迟一天", "再加2个人", another street: the
last value the user gave wins, so that the one before is no longer given for certain, and what replaced it is open.
"""

import re
from collections.abc import Iterator, Sequence

from agenteval.domain.evidence import cuts_negation
from agenteval.domain.slots import Found, SlotType, same
from agenteval.domain.text import fold
from agenteval.domain.transcript import Dialog
from agenteval.rules.completion.items import Slot
from agenteval.rules.completion.readback import street_of
from agenteval.rules.completion.rivals import AMOUNTS
from agenteval.rules.completion.values import (
    BESIDES,
    CHANGE,
    CHANGE_OF_MIND,
    MAX_FOUND,
    Given,
    expected_in,
    parts_of,
    values_of,
)

_BEFORE, _AFTER = 24, 16
"""Characters before and after another value in which a word of change is sought."""
_MOVE = re.compile(r"推[迟后到]|延[后到期]|提[前早]|[挪移调]|\b(?:mov|postpon|push|reschedul|shift)", re.IGNORECASE)
_PARTICLE = re.compile(
    r"\s*(?:[吧好]|更|比较|(?:would|will|is|might)\s+(?:be\s+)?(?:better|best)|then\b)", re.IGNORECASE
)
_SHIFTED = re.compile(
    r"(?:推迟|延后|延迟|推后|往[前后][推挪调移]?|提前|提早|[晚早](?=[一两半\d]))(?=到|至|[一两二三半几\d点些吧]|\W|\Z)"
    r"(?!.{0,8}(?:打|联系|通知|电话|提醒|告))"
    r"|\b(?:push|move|put|bring)\s+(?:it|that|(?:the|my)\s+\w+)\s+(?:back|forward|up|out)\b|\bpostpone\b"
    r"|\b(?:hour|day|week|minute)s?\s+(?:later|earlier)\b",
    re.IGNORECASE,
)
_MORE = re.compile(
    r"(?:再|又|另外)?(?:加|来|多|添|少)[上了]?(?=[一两俩二三四五六七八九十\d])"
    r"|\b(?:plus|add(?:ing)?)\s+(?=\w+\s)|\b\w+\s+(?:more|fewer|less)\b(?!\s+than)",
    re.IGNORECASE,
)
_PEOPLE = re.compile(
    r"\s?(?:个|位|名)?(?:[大成小]?[人孩]|朋友|位|同事|(?:more\s+)?(?:people|persons?|guests?|friends?|kids?|child|adults?))",
    re.IGNORECASE,
)
_WORD = re.compile(r"(?!more|less|fewer)[a-z]{3,}|(?!个)[\u3400-\u9fff]")
_REPLACED = re.compile(
    r"[改换][成为到用]|应该是|说错|更正|我是说"
    r"|\b(?:make\s+(?:it|that)|i\s+meant?|scratch\s+that|chang\w+\s+(?:it|that|(?:my|the)\s+\w+)\s+to)\b",
    re.IGNORECASE,
)
_MOMENTS = {SlotType.DATE, SlotType.TIME, SlotType.DATETIME}


def may_be_changed(slot: Slot, dialog: Dialog, stated: Given, others: Sequence[Slot]) -> bool:
    """Raises TextTooLong."""
    since = stated.turn
    said = dialog.texts(stated.value.turn, stated.value.speaker)[stated.value.source]
    again = since if since and slot.type is SlotType.NUMBER else since + 1  # "再加2个人" after "2个人"
    unit = said[stated.value.end : stated.value.end + _AFTER]
    if any(_may_change(slot, turn.sent_message, stated, unit, others) for turn in dialog.turns[again:]):
        return True
    if stated.value.speaker != "user" or stated.parts:
        return False
    rest = dialog[since].sent_message[stated.value.end :]  # in one breath: "13800138000, wait, 13900139000"
    return any(_is_changed_to(slot, rest, f, others) for f in _others(slot, rest, stated))


def _may_change(slot: Slot, message: str, stated: Given, unit: str, others: Sequence[Slot]) -> bool:
    """`unit`: what follows the stated value."""
    if slot.type in _MOMENTS and _SHIFTED.search(message):
        return True
    if slot.type is SlotType.NUMBER and _MORE.search(message):
        return any(
            _is_counted_alike(message[f.end : f.end + _AFTER], unit) for f in values_of(slot, message)[-MAX_FOUND:]
        )
    if slot.type is SlotType.TEXT and not slot.constrained:
        return _renames(message, stated.text, others)
    sought = (slot, *parts_of(slot)) if slot.type is SlotType.DATETIME else (slot,)
    return any(_is_changed_to(part, message, f, others) for part in sought for f in _others(part, message, stated))


def _is_counted_alike(after: str, unit: str) -> bool:
    """Whether what follows a number counts people, or the same as the stated value does."""
    return _PEOPLE.match(after) is not None or not _counted(after).isdisjoint(_counted(unit))


def _counted(text: str) -> set[str]:
    return {word.removesuffix("s") for word in _WORD.findall(fold(text))[:2]}


def _others(slot: Slot, message: str, stated: Given) -> Iterator[Found]:
    """Other values than the stated one, which the message does not deny."""
    stands = values_of(slot, stated.text)
    for f in values_of(slot, message)[-MAX_FOUND:]:
        is_it = expected_in(slot, f.text) or any(same(slot.type, f.value, one.value) for one in stands)
        if not is_it and not cuts_negation(message, f.start):
            yield f


def _is_changed_to(slot: Slot, message: str, found: Found, others: Sequence[Slot]) -> bool:
    before = message[max(0, found.start - _BEFORE) : found.start]
    after = message[found.end : found.end + _AFTER]
    if any(expected_in(other, found.text) for other in others) or BESIDES.search(CHANGE_OF_MIND.sub("", before)):
        return False
    if CHANGE.search(before) or CHANGE_OF_MIND.search(before):
        return True
    if slot.type in _MOMENTS:
        return _MOVE.search(before) is not None or _PARTICLE.match(after) is not None
    return slot.type not in AMOUNTS and _PARTICLE.match(after) is not None


def _renames(message: str, value: str, others: Sequence[Slot]) -> bool:
    """Whether a message gives another text in the value's place, or another street."""
    if fold(value) in fold(message) or any(expected_in(o, message) or values_of(o, message) for o in others):
        return False
    street = street_of(value)
    return _REPLACED.search(message) is not None or (street is not None and street_of(message) is not None)
