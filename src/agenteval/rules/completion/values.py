"""What code can see of a slot's value: where it stands, whose words it is in, whether it is what was expected.

Without an expected value code only tells that there is none. With one it decides whether it was stated:

1. The user states it, and does not deny it there. The last value counts: when the user later states another one *about
   this slot*, the expected one no longer is. A later value is about the slot when no other slot has the same kind of
   values and it is a phone number, an address or the like, or its clause names the slot or speaks of a change; a bare
   second date or number may be about anything. What the user ends on is then shown as `invalid`: given, but not what it
   had to be.
2. Else it stands in the result of a tool call that did not fail.
3. Else the agent offered it and the user's next message assents in words: not by silence, not with a "but", and not
   when the offer named several values of the kind.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from agenteval.domain.evidence import Match, Span, Speaker
from agenteval.domain.regex import TextTooLong, compile_pattern
from agenteval.domain.slots import Found, SlotType, find, matches, same
from agenteval.domain.text import NEGATION, clauses, cuts_word, fold, is_negated, quote_form
from agenteval.domain.transcript import Dialog
from agenteval.rules.completion.items import Slot, ValuePattern

SHORT = 4_096
"""Characters of a text whose matches are remembered."""
MAX_FOUND = 100
"""Places of a pattern that are looked at in one text."""

UNMISTAKABLE = {SlotType.PHONE, SlotType.EMAIL, SlotType.ID_CARD, SlotType.URL}
_CHANGE = re.compile(
    r"改|换|更正|纠正|应该是|不是|说错|\b(?:instead|actually|chang|rather|correct|make\s+it|meant|no)\b", re.IGNORECASE
)
_NEAR = 16
"""Characters between the word of a change and the new value."""
_ASSENT = re.compile(
    r"\W*(?:嗯+|好(?:[的啊呀吧嘞滴]|(?=\W|$))|可以|行(?:[的啊吧]|(?=\W|$))|没问题|对(?:[的啊呀]|(?=\W|$))|是(?:[的啊呀]|(?=\W|$))"
    r"|没错|同意|确认|就[这那][个样]|就它"
    r"|(?:yes|yeah|yep|yup|sure|ok(?:ay)?|agreed|please\s+do|go\s+ahead|absolutely|exactly|of\s+course"
    r"|(?:(?:that|it)(?:['’]s|\s+is|\s+will\s+be)\s+|(?:that\s+)?sounds?\s+|(?:that\s+)?looks?\s+)?"
    r"(?:fine|great|perfect|correct|right|good(?!\s+(?:morning|afternoon|evening|day)))"
    r"|(?:that|it)\s+works)(?!\w))",
    re.IGNORECASE,
)
_QUESTION = re.compile(r"[?？吗]\W*$")
_RESERVATION = re.compile(
    r"但|不过|换|改|另|别的|其他|还是|\b(?:but|instead|another|other|change|different|rather)\b", re.IGNORECASE
)


def values_of(slot: Slot, text: str) -> list[Found]:
    """Possible values of a constrained slot in a text. Raises TextTooLong."""
    if slot.values:
        found = {f.start: f for value in slot.values for f in matches(value, text, slot.type)}
        return [found[start] for start in sorted(found)]
    if slot.type is not SlotType.TEXT:
        return find(slot.type, text)
    return _of_pattern(slot.pattern, text) if slot.pattern else []


def acceptable(slot: Slot, text: str) -> bool:
    """Whether words that are to give the slot's value give one that its type, values and pattern allow."""
    if not slot.constrained:
        return True
    try:
        found = values_of(slot, text)
        if slot.pattern and (slot.values or slot.type is not SlotType.TEXT):
            return any(compile_pattern(slot.pattern).fullmatch(f.text) for f in found)
    except TextTooLong:
        return True
    return bool(found)


def absent(slot: Slot, dialog: Dialog) -> bool:
    """Whether no words of anybody can be a value of the slot."""
    if _INNER_ANCHOR.search(_unanchored(slot.pattern)):
        return False
    try:
        return slot.constrained and not any(values_of(slot, text) for text in _texts(dialog))
    except TextTooLong:
        return False


def expected_in(slot: Slot, text: str) -> list[Found]:
    """Where a text states the expected value."""
    match slot.expected_value:
        case ValuePattern(pattern):
            return _of_pattern(pattern, text)
        case tuple() as values:
            find_value = _remembered_matches if len(text) <= SHORT else matches
            return sorted(f for value in values for f in find_value(value, text, slot.type))
        case None:
            return []


_remembered_matches = lru_cache(maxsize=1024)(matches)  # a slot is looked at before and after the judge


def _of_pattern(pattern: str, text: str) -> list[Found]:
    """A pattern describes a whole value; in a text that value stands between word boundaries."""
    compiled = compile_pattern(_unanchored(pattern))
    found = ((start, end, text[start:end]) for start, end in islice(compiled.spans(text), MAX_FOUND))
    return [Found(s, e, said, quote_form(said)) for s, e, said in found if said and not cuts_word(text, s, e)]


_INNER_ANCHOR = re.compile(r"(?<![\[\\])\^|(?<!\\)\$")


def _unanchored(pattern: str) -> str:
    pattern = pattern.removeprefix("^")
    return pattern if pattern.endswith("\\$") else pattern.removesuffix("$")


def _texts(dialog: Dialog) -> Iterator[str]:
    return (text for turn in dialog for who in Speaker for text in dialog.texts(turn.index, who))


def span(turn: int, speaker: Speaker, text: str, found: Found, *, source: int = 0) -> Span:
    return Span(turn, speaker, source, found.start, found.end, text[found.start : found.end], Match.EXACT)


# ---- stated ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Given:
    """Where the expected value is stated; an agent's offer has the user's assent."""

    value: Span
    assent: Span | None = None

    @property
    def turn(self) -> int:
        return self.value.turn if self.assent is None else self.assent.turn

    @property
    def spans(self) -> tuple[Span, ...]:
        return (self.value,) if self.assent is None else (self.value, self.assent)


def given(slot: Slot, dialog: Dialog, others: Sequence[Slot]) -> Given | None:
    """Where the slot's expected value is stated, by the order above. `others`: the rule's other slots. Raises
    TextTooLong."""
    said = _by_user(slot, dialog)
    if said is not None:
        other = last_value(slot, dialog, others)
        return None if other is not None and _is_after(other, said) else Given(said)
    return _by_tool(slot, dialog) or _by_offer(slot, dialog)


def last_value(slot: Slot, dialog: Dialog, others: Sequence[Slot]) -> Span | None:
    """The value about this slot on which the user ends."""
    said = user_values(slot, dialog, others)
    return said[-1] if said else None


def user_values(slot: Slot, dialog: Dialog, others: Sequence[Slot]) -> list[Span]:
    """All values that the user gave for the slot, as far as code can tell what they are about. Raises TextTooLong."""
    if not slot.constrained or not alone(slot, others):
        return []
    return [
        span(turn.index, Speaker.USER, turn.sent_message, f)
        for turn in dialog
        for f in values_of(slot, turn.sent_message)
        if not is_negated(turn.sent_message, f.start) and _is_about(slot, turn.sent_message, f, others)
    ]


def _is_about(slot: Slot, text: str, found: Found, others: Sequence[Slot]) -> bool:
    if slot.values or slot.type in UNMISTAKABLE or slot.type is SlotType.TEXT:
        return True
    just_before = text[max(0, found.start - _NEAR) : found.start]
    return _CHANGE.search(just_before) is not None or names_slot(slot, clause_at(text, found.start), others)


def _is_after(other: Span, said: Span) -> bool:
    return (other.turn, other.start) >= (said.turn, said.end)


def _by_user(slot: Slot, dialog: Dialog) -> Span | None:
    for turn in reversed(dialog.turns):
        message = turn.sent_message
        for f in reversed(expected_in(slot, message)):
            if not is_negated(message, f.start):
                return span(turn.index, Speaker.USER, message, f)
    return None


def _by_tool(slot: Slot, dialog: Dialog) -> Given | None:
    for turn in reversed(dialog.turns):
        results = dialog.texts(turn.index, Speaker.TOOL)
        for source, (call, result) in enumerate(zip(turn.tool_calls, results, strict=True)):
            if call.ok is not False and (found := expected_in(slot, result)):
                return Given(span(turn.index, Speaker.TOOL, result, found[0], source=source))
    return None


def _by_offer(slot: Slot, dialog: Dialog) -> Given | None:
    for turn, after in reversed(list(zip(dialog.turns, dialog.turns[1:], strict=False))):
        offer, answer = turn.reply_text, after.sent_message
        if not turn.answered or not _assents(answer):
            continue
        offered = [f for f in expected_in(slot, offer) if not is_negated(offer, f.start)]
        if offered and not _several(slot, offer):
            value = span(turn.index, Speaker.AGENT, offer, offered[0])
            return Given(value, Span(after.index, Speaker.USER, 0, 0, len(answer), answer, Match.EXACT))
    return None


def _assents(message: str) -> bool:
    return (
        _ASSENT.match(message) is not None
        and not _QUESTION.search(clause_at(message, 0))
        and not _RESERVATION.search(message)
        and not any(m["negation"] for m in NEGATION.finditer(message))
    )


def _several(slot: Slot, text: str) -> bool:
    values = values_of(slot, text)
    return any(not same(slot.type, values[0].value, other.value) for other in values[1:])


# ---- a slot's own words ----------------------------------------------------------------------------------------------

_ASIDE = re.compile(r"[（(【\[].*?[）)】\]]|[（(].*", re.DOTALL)
_OWNER = re.compile(r"^(?:用户|客户|顾客|联系人|本人|您|你)的?|^.*的")
_CHINESE_RUN = re.compile(r"[\u3400-\u9fff]{2,}")
_ENGLISH_WORD = re.compile(r"[a-z]{3,}")
_FILLERS = re.compile(
    r"the|and|for|users?|customers?|clients?|their|his|her|your|our|slot|value|info|information|details|number|desired"
    r"|preferred|wanted|given|which|that|what|whether"
)


def names_slot(slot: Slot, clause: str, others: Sequence[Slot]) -> bool:
    """Whether a clause speaks of the slot, and of none of the others, in the words of its name or description: the
    Chinese head word ("电话" of "联系电话"), or all English words of the one or the other."""
    text = fold(clause)
    return _names(slot, text) and not any(_names(other, text) for other in others)


def _names(slot: Slot, folded: str) -> bool:
    heads, sets = _own_words(slot.name, slot.description)
    if any(head in folded for head in heads):
        return True
    said = set(_ENGLISH_WORD.findall(folded)) if sets else ()
    return any(words.issubset(said) for words in sets)


@lru_cache(maxsize=1024)
def _own_words(name: str, description: str) -> tuple[list[str], list[frozenset[str]]]:
    heads, sets = [], []
    for label in (name.rpartition(".")[2], description):
        plain = _ASIDE.sub("", fold(label)).replace("_", " ")
        head = _OWNER.sub("", (_CHINESE_RUN.findall(plain) or [""])[-1])[-2:]
        if len(head) == 2:
            heads.append(head)
        words = frozenset(word for word in _ENGLISH_WORD.findall(plain) if not _FILLERS.fullmatch(word))
        if words:
            sets.append(words)
    return heads, sets


_REQUEST = re.compile(
    r"(?:请(?:您|你)?(?:再|重新)?|麻烦.{0,6}|能(?:不能|否)?.{0,4}|方便.{0,4})(?:提供|告诉|告知|输入|填写|留下?|说)"
    r"|\b(?:please|(?:could|can|would)\s+you|(?:may|can|could)\s+i|need\s+(?:you\s+to|your))\b",
    re.IGNORECASE,
)
_OPEN_QUESTION = re.compile(r"请问|[?？]\W*$")
_YES_OR_NO = re.compile(
    r"[吗吧]|对不对|是不是|是否|\b(?:correct|right)\b|^\W*(?:is|are|was|were|do|does|did|has|have)\b", re.IGNORECASE
)


def asked_in(slot: Slot, reply: str, others: Sequence[Slot]) -> tuple[int, int] | None:
    """Where a reply asks for the slot by its own words. "您的电话是 139…，对吗？" has its answer already."""
    if not _names(slot, fold(reply)):
        return None
    for start, end in clauses(reply):
        clause = reply[start:end]
        open_question = _OPEN_QUESTION.search(clause) and not _YES_OR_NO.search(clause)
        if names_slot(slot, clause, others) and (open_question or _REQUEST.search(clause)):
            return start, end
    return None


def clause_at(text: str, place: int) -> str:
    return next((text[start:end] for start, end in clauses(text) if start <= place < end), text)


_ELLIPSIS = re.compile(r"\.{3,}|。{3,}|…+")


def quotable(text: str, place: int) -> str:
    """The words around a place that can be quoted as they are: its clause, up to an ellipsis."""
    start, end = next(((s, e) for s, e in clauses(text) if s <= place < e), (0, len(text)))
    dots = [m.span() for m in _ELLIPSIS.finditer(text, start, end)]
    start = max([start, *(after for _, after in dots if after <= place)])
    end = min([end, *(before for before, _ in dots if before > place)])
    return text[start:end].strip()


def alone(slot: Slot, others: Sequence[Slot]) -> bool:
    """Whether none of the other slots has the same kind of values."""
    kind = (slot.type, slot.pattern, slot.values)
    return not any((other.type, other.pattern, other.values) == kind for other in others)
