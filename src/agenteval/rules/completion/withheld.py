"""Whether a value that stands nowhere may have been refused, or given in words that are no such value.

Both look like a missing one and are none, so code leaves them to a judge: words of refusal after the agent spoke of the
slot, and an answer that may be meant for a value ("my passport number is 77").
"""

import re
from itertools import pairwise

from agenteval.domain.clauses import is_asked, negations
from agenteval.domain.slots import SlotType
from agenteval.domain.transcript import Dialog
from agenteval.rules.completion.items import Slot
from agenteval.rules.completion.values import expected_in
from agenteval.rules.completion.wording import mentions

_REFUSAL = re.compile(
    r"不方便|不想|不愿|不告诉|不透露|不[说给]|不提供|保密|拒绝|不用了|算了"
    r"|\b(?:prefer\s+not|rather\s+not|(?:not|n['’]t)\s+(?:want|wish|like|comfortable|going|give|share|tell)|no\s+thanks?"
    r"|decline|refuse|private|keep\s+(?:it|that|this)\s+to\s+myself|(?:not|none\s+of)\s+your\s+business)\b",
    re.IGNORECASE,
)
_ASKS = re.compile(r"[?？吗]|请|需要|\b(?:please|need)\b", re.IGNORECASE)
_FIGURES = re.compile(r"(?<![\d-])(?<!\d[\s.])\d{3,8}(?![\d)-]|[\s.]\d)")
"""A date without its signs, but no group of a telephone number."""
_MANGLED = {
    SlotType.EMAIL: re.compile(r"@|[^\W_](?:com|net|org|edu|cn)\b|\bdot\s+(?:com|net|org|edu|cn)\b", re.IGNORECASE),
    SlotType.PHONE: re.compile(r"(?:\d[\s().-]{0,3}){6}\d"),
    SlotType.ID_CARD: re.compile(r"(?:\d[\s().-]{0,3}){6}\d"),
    SlotType.DATE: _FIGURES,
    SlotType.DATETIME: _FIGURES,
}
"""What is left of a value that lost its signs on the way: "tom at mail dot com", "tommailcom", "2292018"."""
_WORDS_ONLY = {SlotType.TEXT, SlotType.EMAIL, SlotType.URL}
"""Types whose values need no digit."""


def may_be_refused(slot: Slot, dialog: Dialog) -> bool:
    """Whether an answer has words of refusal, or denies anything after a reply that speaks of the slot. Who refuses an
    offer has not been asked for a value."""
    return any(
        _ASKS.search(before.reply_text)
        and not expected_in(slot, before.reply_text)
        and (
            _REFUSAL.search(after.sent_message)
            or (mentions(slot, before.reply_text) and any(m["negation"] for m in negations(after.sent_message)))
        )
        for before, after in pairwise(dialog.turns)
    )


def may_be_misgiven(slot: Slot, dialog: Dialog) -> bool:
    """Whether a message holds what may be a garbled value; or speaks of the slot, or answers a reply that does, with
    something that may be meant for a value and is none. With an expected value it does not matter what else was
    given."""
    if not slot.constrained or slot.expected_value is not None:
        return False
    mangled = _MANGLED.get(slot.type)
    if mangled and any(mangled.search(turn.sent_message) for turn in dialog):
        return True
    messages = [
        turn.sent_message
        for turn in dialog
        if mentions(slot, turn.sent_message) or (turn.index and mentions(slot, dialog[turn.index - 1].reply_text))
    ]
    return any(_may_be_value(slot, message) for message in messages)


def _may_be_value(slot: Slot, message: str) -> bool:
    if is_asked(message, len(message.rstrip()) - 1):
        return False
    return slot.type in _WORDS_ONLY or any(map(str.isnumeric, message))
