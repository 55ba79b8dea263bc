"""Whether the agent took up a value that no reply names, as far as its words show that it listened.

Of itself a stated value is accepted. That is left open where the agent may have missed it:

- the value came with a change of mind, or later on as a question ("could I have them in black?"), or after another
  one that a reply still names, or a reply speaks of "your budget" with another one;
- a reply denies it, or a word of it ("without a lift" for "a lift"), or its street ("we don't serve Market Street");
- a reply says the value's words with another number ("72 Ferry Road" for "27 Ferry Road"), or spells it otherwise;
- a reply puts a question of its own again, or the user had to say the value again;
- a reply says that it was not saved or recorded;
- nothing shows that the agent is on the topic: no reply acknowledges, tells of something done or on its way, speaks of
  a slot, or shares a word with what the user said, nor does a tool call that did not fail.
"""

import re
from collections.abc import Sequence
from difflib import get_close_matches
from itertools import islice

from agenteval.domain.clauses import clauses, is_asked, is_negated
from agenteval.domain.evidence import Speaker, cuts_negation
from agenteval.domain.json_value import as_text
from agenteval.domain.slots import Found, SlotType, same
from agenteval.domain.text import fold, occurrences, quote_form
from agenteval.domain.transcript import Dialog, Turn
from agenteval.rules.completion.items import Slot
from agenteval.rules.completion.readback import street_of
from agenteval.rules.completion.rivals import AMOUNTS, first_turn
from agenteval.rules.completion.values import CHANGE, CHANGE_OF_MIND, MAX_FOUND, Given, differ_in, values_of
from agenteval.rules.completion.wording import clause_at, mentions

_KEPT = re.compile(
    r"记录|保存|登记|存储|记下|\b(?:sav(?:e|ed|ing)|record(?:ed|ing)?|stor(?:e|ed|ing)|note[ds]?|keep(?:ing)?|kept)\b",
    re.IGNORECASE,
)
"""What is done with a value that is taken up."""
_YOUR = re.compile(r"[您你]|\byour\b", re.IGNORECASE)
_NUMERAL = re.compile(
    r"\d+|[零〇一二两三四五六七八九十百千万]+|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
    r"|first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth)\b",
    re.IGNORECASE,
)
_FREE = {SlotType.TEXT, SlotType.NUMBER}
"""Types whose values have no form by which another one is known."""
_NAME = re.compile(r"(?=[A-Z]|[a-z_@.-]*\d)[A-Za-z\d_@.-]{3,}[A-Za-z\d]")
_DIGITS = re.compile(r"\d{2,}")
_STEM = 5
_ALIKE = 0.75
"""Ratio of `difflib`: one of four characters may differ."""
_ACKNOWLEDGED = re.compile(
    r"\W*(?:好[的啊呀，,。！]|收到|明白|了解|知道了|没问题|可以|行[，,。]|当然|谢谢(?!您?的)|嗯|对[，,。]"
    r"|(?:ok(?:ay)?|sure|certainly|of\s+course|noted|got\s+it|understood|great|perfect|fine|right|all\s+right|alright|done"
    r"|no\s+problem|not\s+a\s+problem|with\s+pleasure|gladly|happy\s+to|thanks?(?:\s+you)?(?!\s+for)|i\s+see)\b)",
    re.IGNORECASE,
)
_UNDER_WAY = re.compile(
    r"已|成功|尽快|马上|稍等|安排"
    r"|\b(?:booked|scheduled|reserved|arranged|registered|confirm\w*|cancelled|ordered|sent|on\s+(?:its|the|their)\s+way)\b"
    r"|\b(?:i|we)['’]ll\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[a-z]{3,}|[a-z]*\d[a-z\d]*")
_FUNCTION_WORD = re.compile(
    r"the|and|for|yours?|our|are|was|were|can|could|would|will|with|th(?:is|at|ese|ose)|ha(?:ve|s|d)|from|what|when|where|which|who|how"
    r"|please|not|but|all|any|get|one|out|its|about|t?here|been|does|did|just|like|need|want|some|then|than|they|them|she|her|his|him"
    r"|you|may|should|let|now|also|too|very"
)
_CHINESE = re.compile(r"[\u3400-\u9fff]{2,}")
_FUNCTION_CHARACTERS = re.compile("[的了吗呢吧啊呀是我你您们在有和就都这那要想不请问好可以给为把被个一到也还没再]")


def taken_up(slot: Slot, dialog: Dialog, stated: Given, others: Sequence[Slot], *, asked: bool) -> bool:
    """`asked`: the agent had asked for the value, so that to go on is to take it."""
    message = dialog[stated.value.turn].sent_message
    if CHANGE.search(message) or CHANGE_OF_MIND.search(message):
        return False
    if stated.value.turn and stated.value.speaker is Speaker.USER and is_asked(message, stated.value.start):
        return False
    since = dialog.turns[stated.turn :]
    replies = [turn.reply_text for turn in since if turn.answered]
    if _keeps_another(slot, dialog, stated, replies):
        return False
    value = stated.value.text
    if any(_denies(value, reply) or _denies_street(value, reply) for reply in replies):
        return False
    if slot.type in _FREE and any(_misspells(value, reply) for reply in replies):
        return False
    if slot.type is SlotType.TEXT and any(_miscopies(value, reply) for reply in replies):
        return False
    first = first_turn(slot, dialog, stated)
    if any(turn.answered for turn in dialog.turns[first : stated.value.turn]) or _asks_again(dialog, first, others):
        return False
    if any(is_negated(reply, *m.span()) for reply in replies for m in islice(_KEPT.finditer(reply), MAX_FOUND)):
        return False
    if stated.value.speaker is Speaker.TOOL:
        return True
    return asked or _is_called_for(dialog, since) or _is_on_topic(dialog, replies, (slot, *others))


def _is_called_for(dialog: Dialog, turns: Sequence[Turn]) -> bool:
    """Whether a call that did not fail has words of the user's in its name or arguments."""
    said = _content(" ".join(turn.sent_message for turn in dialog))
    calls = (call for turn in turns for call in turn.tool_calls if call.ok is not False)
    return any(
        not said.isdisjoint(_content(f"{call.name} {as_text(call.arguments)}".replace("_", " "))) for call in calls
    )


def _keeps_another(slot: Slot, dialog: Dialog, stated: Given, replies: Sequence[str]) -> bool:
    """Whether a reply names a value that the user gave before, or denied when giving this one, or calls it theirs."""
    message = dialog[stated.value.turn].sent_message
    before = [f for turn in dialog.turns[: stated.value.turn] for f in values_of(slot, turn.sent_message)]
    before += [f for f in values_of(slot, message) if cuts_negation(message, f.start)]
    wanted = slot.expected_value if isinstance(slot.expected_value, tuple) else (stated.value.text,)
    return any(
        any(differ_in(slot, value, said.text) for value in wanted)
        and (any(same(slot.type, said.value, f.value) for f in before) or _calls_theirs(slot, reply, said))
        for reply in replies
        for said in values_of(slot, reply)
    )


def _calls_theirs(slot: Slot, reply: str, said: Found) -> bool:
    if slot.type not in AMOUNTS:
        return False
    clause = clause_at(reply, said.start)
    return _YOUR.search(clause) is not None and mentions(slot, clause)


def _miscopies(value: str, reply: str) -> bool:
    """Whether a reply says the words around the value's numbers with other numbers."""
    parts = [quote_form(part) for part in _NUMERAL.split(value)]
    if len(parts) == 1 or not any(parts):
        return False
    shape = f"({_NUMERAL.pattern})".join(map(re.escape, parts))
    numbers = tuple(_NUMERAL.findall(value))
    return any(m.groups() != numbers for m in re.finditer(shape, quote_form(reply), re.IGNORECASE))


def _denies(value: str, reply: str) -> bool:
    """Whether a negation stands directly before a word of the value, in whatever form."""
    text = fold(reply)
    stems = {word[:_STEM] for word in _content(value)}
    return any(cuts_negation(text, place) for stem in stems for place in _starts(stem, text))


def _denies_street(value: str, reply: str) -> bool:
    street = street_of(value)
    return street is not None and any(is_negated(reply, start, end) for start, end in occurrences(street, reply))


def _starts(stem: str, text: str) -> list[int]:
    boundary = r"\b" if stem.isascii() else ""
    return [m.start() for m in re.finditer(boundary + re.escape(stem), text)]


def _misspells(value: str, reply: str) -> bool:
    """Whether a reply has a name or number of the value with other letters or digits ("8041" for "8014")."""
    said = _NAME.findall(reply)
    if any(name not in said and get_close_matches(name, said, n=1, cutoff=_ALIKE) for name in _NAME.findall(value)):
        return True
    numbers = set(_DIGITS.findall(value))
    return any(sorted(one) == sorted(n) for one in _DIGITS.findall(reply) if one not in numbers for n in numbers)


def _asks_again(dialog: Dialog, since: int, others: Sequence[Slot]) -> bool:
    """Whether a reply puts a question that was put before, and not for another slot."""
    earlier: set[str] = set()
    for turn in dialog:
        reply = turn.reply_text
        questions = {
            quote_form(reply[start:end])
            for start, end in clauses(reply)
            if reply[start:end].rstrip().endswith(("?", "？"))
            and not any(mentions(other, reply[start:end]) for other in others)
        }
        if turn.index >= since and not earlier.isdisjoint(questions):
            return True
        earlier |= questions
    return False


def _is_on_topic(dialog: Dialog, replies: Sequence[str], slots: Sequence[Slot]) -> bool:
    said = _content(" ".join(turn.sent_message for turn in dialog))
    return any(
        _ACKNOWLEDGED.match(reply)
        or _UNDER_WAY.search(reply)
        or any(mentions(slot, reply) for slot in slots)
        or not said.isdisjoint(_content(reply))
        for reply in replies
    )


def _content(text: str) -> set[str]:
    """Stems of the English words that mean something, codes, and pairs of Chinese characters."""
    folded = fold(text)
    words = {word.rstrip("s")[:12] for word in _WORD.findall(folded) if not _FUNCTION_WORD.fullmatch(word)}
    runs = _CHINESE.findall(_FUNCTION_CHARACTERS.sub(" ", folded))
    return words | {run[i : i + 2] for run in runs for i in range(len(run) - 1)}
