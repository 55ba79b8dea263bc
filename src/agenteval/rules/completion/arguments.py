"""Whether the agent's tool calls have another value for a slot than the user gave.

A call is a deed, so that its last argument for the slot outranks the words. An argument is no text that can be quoted,
and it may be spelt for a program, so that what differs only leaves the slot open.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from agenteval.domain.json_value import Json, as_text
from agenteval.domain.slots import SlotType, matches, same
from agenteval.domain.text import quote_form
from agenteval.domain.transcript import Dialog
from agenteval.rules.completion.items import Slot
from agenteval.rules.completion.readback import is_person
from agenteval.rules.completion.values import MAX_FOUND, UNMISTAKABLE, Given, alone, expected_in, values_of
from agenteval.rules.completion.wording import names_slot

_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|[_.\-]")
_OF_THE_CALL = re.compile(r"created|updated|timestamp|now|current|request", re.IGNORECASE)
_OF_PEOPLE = re.compile(r"people|persons?|guests?|party|pax|covers|seats|人数", re.IGNORECASE)
_PERSON_KEY = re.compile(r"(?:(?:full|first|last|customer|user|guest|contact|client)\W?)?name|姓名", re.IGNORECASE)
_TELLING = {*UNMISTAKABLE, SlotType.DATE, SlotType.TIME, SlotType.DATETIME}


def another_in_call(slot: Slot, dialog: Dialog, stated: Given, others: Sequence[Slot]) -> bool:
    """Whether the last call with an argument for the slot, at or after the user's value, has only other ones."""
    for turn in reversed(dialog.turns[stated.turn :]):
        for call in reversed(turn.tool_calls):
            told = [text for key, text in _leaves(call.arguments) if _is_for(slot, key, text, others)]
            if told:
                return not any(_agrees(slot, stated.value.text, text) for text in told)
    return False


def _leaves(arguments: Json) -> Iterator[tuple[str, str]]:
    return islice(_walk("", arguments), MAX_FOUND)


def _walk(key: str, value: Json) -> Iterator[tuple[str, str]]:
    match value:
        case Mapping():
            for name, member in value.items():
                yield from _walk(name, member)
        case list() | tuple():
            for member in value:
                yield from _walk(key, member)
        case None | bool():
            return
        case _:
            yield key, as_text(value)


def _is_for(slot: Slot, key: str, text: str, others: Sequence[Slot]) -> bool:
    words = _CAMEL.sub(" ", key)
    if slot.type in _TELLING:
        return bool(values_of(slot, text)) and (
            names_slot(slot, words, others) or (alone(slot, others) and not _OF_THE_CALL.search(words))
        )
    if is_person(slot):
        return _PERSON_KEY.fullmatch(words) is not None
    about_people = _OF_PEOPLE.search(words) and _OF_PEOPLE.search(f"{slot.name} {slot.description}")
    return names_slot(slot, words, others) or bool(about_people and slot.type is SlotType.NUMBER)


def _agrees(slot: Slot, value: str, text: str) -> bool:
    if expected_in(slot, text) or matches(value, text, slot.type):
        return True
    if slot.constrained and (wanted := values_of(slot, value)) and (said := values_of(slot, text)):
        return any(same(slot.type, wanted[0].value, f.value) for f in said)
    one, other = quote_form(value), quote_form(text)
    return one in other or (len(other) > 1 and other in one)
