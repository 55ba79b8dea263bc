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

Where none of these holds, and yet the value may have been given in words that code cannot compare, it is left open.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from fractions import Fraction
from functools import lru_cache
from itertools import islice

from agenteval.domain.clauses import clause_before, is_negated, negations
from agenteval.domain.evidence import Match, Span, Speaker, cuts_negation
from agenteval.domain.numerals import digits, narrow, numbers
from agenteval.domain.regex import TextTooLong, compile_pattern
from agenteval.domain.slots import Found, SlotType, differ, find, matches, same
from agenteval.domain.text import cuts_word, quote_form
from agenteval.domain.transcript import Dialog
from agenteval.rules.completion.items import Slot, ValuePattern
from agenteval.rules.completion.offers import assents, ruled_out
from agenteval.rules.completion.wording import about, clause_at, mentions, speaks_of

SHORT = 4_096
"""Characters of a text whose matches are remembered."""
MAX_FOUND = 100
"""Values that are looked at in one text: the last ones, but of a pattern the first."""

UNMISTAKABLE = {SlotType.PHONE, SlotType.EMAIL, SlotType.ID_CARD, SlotType.URL}
CHANGE = re.compile(
    r"改|换|更正|纠正|应该是|不是|不对|[哦噢啊]不|说错"
    r"|\b(?:instead|actually|chang|rather|correct|make\s+(?:it|that)|meant|no|scratch\s+that)\b",
    re.IGNORECASE,
)
CHANGE_OF_MIND = re.compile(
    r"还是|算了|等等|等一下|(?:\A|[，,。！!\s])不(?=[，,。！!\s])|更好|更合适"
    r"|\b(?:second\s+thoughts?|wait|hang\s+on|hold\s+on|after\s+all|better|sorry|never\s?mind)\b",
    re.IGNORECASE,
)
"""What may be a change, too."""
_PARTS = (SlotType.DATE, SlotType.TIME)
MOMENTS = {*_PARTS, SlotType.DATETIME}
_LOOK_BACK = 40
"""Characters on either side of a value in which what excludes it is sought."""
_NEAR = 16
"""Characters between the word of a change and the new value."""
BESIDES = re.compile(
    r"备用|另外|还有|也可|也能|紧急|第二|(?:老婆|老公|妻子|丈夫|爱人|家人|朋友|同事|父|母|妈|爸|儿子|女儿)"
    r"|\b(?:also|another|backup|alternat\w*|secondary|second|emergency|wife|husband|friend|colleague|mother|father|mom|dad|or)\b",
    re.IGNORECASE,
)
"""What gives a further value, and does not replace the one before."""


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
    return bool(found or _for_nothing(slot, text))


_FOR_NOTHING = re.compile(
    r"免费|不要钱|不收费|零元|\bfor\s+free\b|\bfree\s+of\s+charge\b|\b(?:no|without|at\s+no)\s+(?:extra\s+)?(?:charge|cost|fee)\b|\bgratis\b"
    r"|(?:\A|\b(?:it|them|that|one|something|anything)\s+)free(?=\s*(?:please\b|[.,!;]|\Z))|\bfree\s+(?:one|option|plan|version|please)\b",
    re.IGNORECASE,
)
_PRICE = re.compile(r"价|费|预算|金额|钱|price|budget|cost|fee|charge|amount|pay", re.IGNORECASE)


def _for_nothing(slot: Slot, text: str) -> list[Found]:
    """Where a text says that a price is 0."""
    if slot.type is SlotType.MONEY or (
        slot.type is SlotType.NUMBER and _PRICE.search(f"{slot.name} {slot.description}")
    ):
        return [Found(*m.span(), m.group(), Fraction(0)) for m in _FOR_NOTHING.finditer(text)]
    return []


def _is_nothing(value: str) -> bool:
    return bool(_FOR_NOTHING.search(value)) or [v for _, _, v in numbers(narrow(value))] == [0]


def absent(slot: Slot, dialog: Dialog) -> bool:
    """Whether no words of anybody can be a value of the slot."""
    if _INNER_ANCHOR.search(_unanchored(slot.pattern)):
        return False
    try:
        return slot.constrained and not any(values_of(slot, t) or _for_nothing(slot, t) for t in _texts(dialog))
    except TextTooLong:
        return False


def expected_in(slot: Slot, text: str) -> list[Found]:
    """Where a text states the expected value."""
    match slot.expected_value:
        case ValuePattern(pattern):
            return _of_pattern(pattern, text)
        case tuple() as values:
            find_value = _remembered_matches if len(text) <= SHORT else matches
            found = [f for value in values for f in find_value(value, text, slot.type)]
            if any(map(_is_nothing, values)):
                found += [f for f in _for_nothing(slot, text) if f.start not in {other.start for other in found}]
            return sorted(found, key=lambda f: f[:2])
        case None:
            return []


_remembered_matches = lru_cache(maxsize=1024)(matches)  # a slot is looked at before and after the judge


def _of_pattern(pattern: str, text: str) -> list[Found]:
    """A pattern describes a whole value; in a text that value stands between word boundaries."""
    compiled = compile_pattern(_unanchored(pattern))
    text = digits(text)
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
    """Where the expected value is stated; an agent's offer has the user's assent. `parts`: of a date with time that was
    not said in one, where the date and the time are; then `value` is the later of them."""

    value: Span
    assent: Span | None = None
    parts: tuple["Given", ...] = ()

    @property
    def turn(self) -> int:
        return self.value.turn if self.assent is None else self.assent.turn

    @property
    def text(self) -> str:
        return " ".join(part.text for part in self.parts) if self.parts else self.value.text

    @property
    def spans(self) -> tuple[Span, ...]:
        if self.parts:
            return tuple(span for part in self.parts for span in part.spans)
        return (self.value,) if self.assent is None else (self.value, self.assent)


def given(slot: Slot, dialog: Dialog, others: Sequence[Slot]) -> Given | None:
    """Where the slot's expected value is stated, by the order above. `others`: the rule's other slots. Raises
    TextTooLong."""
    said = next((place for place, how in _mentions(slot, dialog) if how is _Said.STATED), None)
    if said is not None:
        other = last_value(slot, dialog, others)
        return None if other is not None and _replaces(other, said, dialog) else Given(said)
    offered = next((offer for offer, sure in _offers(slot, dialog) if sure), None)
    return _by_tool(slot, dialog) or offered or _in_parts(slot, dialog, others)


def parts_of(slot: Slot) -> list[Slot]:
    """A date with time as the date and the time that it consists of."""
    return [replace(slot, type=kind) for kind in _PARTS]


def _in_parts(slot: Slot, dialog: Dialog, others: Sequence[Slot]) -> Given | None:
    """ "September 12", and "3 pm" when asked for the hour."""
    if slot.type is not SlotType.DATETIME or slot.pattern or any(other.type in MOMENTS for other in others):
        return None
    if not isinstance(slot.expected_value, tuple) or len(slot.expected_value) > 1:
        return None
    found = [given(part, dialog, others) for part in parts_of(slot) if values_of(part, slot.expected_value[0])]
    parts = [part for part in found if part is not None]
    if len(parts) < len(_PARTS):
        return None
    last = max(parts, key=lambda part: (part.turn, part.value.start))
    return Given(last.value, last.assent, tuple(parts))


def uncertain(slot: Slot, dialog: Dialog, others: Sequence[Slot]) -> bool:
    """Of an expected value that is not `given`: whether it may have been for all that code can tell. The user names it
    in a denial of something else ("打不开热水器"), or in the plural, or gives one that cannot be compared ("明天" for
    "9月14日"), or the answer to an offer may be assent, or it is a yes or no, which people say in other words."""
    ways = {how for _, how in _mentions(slot, dialog)}
    if _Said.STATED in ways:
        return False  # and replaced since
    if _Said.UNCLEAR in ways or _is_yes_or_no(slot) or _is_said_of_several(slot, dialog):
        return True
    if any(sure is None for _, sure in _offers(slot, dialog)):
        return True
    ends_on = last_value(slot, dialog, others)
    theirs = [ends_on.text] if ends_on else [f.text for t in dialog for f in values_of(slot, t.sent_message)]
    return slot.type in MOMENTS and any(_incomparable(slot, value) for value in theirs)


def _is_said_of_several(slot: Slot, dialog: Dialog) -> bool:
    values = slot.expected_value if isinstance(slot.expected_value, tuple) and slot.type is SlotType.TEXT else ()
    return any(matches(f"{value}s", turn.sent_message) for value in values for turn in dialog)


def _incomparable(slot: Slot, text: str) -> bool:
    """Whether the text's value may or may not be the expected one."""
    expected = slot.expected_value if isinstance(slot.expected_value, tuple) else ()
    return not expected_in(slot, text) and not all(differ_in(slot, value, text) for value in expected)


def differ_in(slot: Slot, one: str, other: str) -> bool:
    """Whether two texts give values of the slot that cannot mean one thing."""
    ones, others = values_of(slot, one), values_of(slot, other)
    return bool(ones and others) and differ(slot.type, ones[0].value, others[0].value)


def last_value(slot: Slot, dialog: Dialog, others: Sequence[Slot]) -> Span | None:
    """The value about this slot on which the user ends."""
    said = user_values(slot, dialog, others)
    return said[-1] if said else None


def user_values(slot: Slot, dialog: Dialog, others: Sequence[Slot]) -> list[Span]:
    """All values that the user gave for the slot, as far as code can tell what they are about. Raises TextTooLong."""
    return [
        value
        for value in values_by_user(slot, dialog, others)
        if _is_about(slot, dialog[value.turn].sent_message, value, others)
    ]


def values_by_user(slot: Slot, dialog: Dialog, others: Sequence[Slot]) -> list[Span]:
    """All values of the slot's kind that the user states, if no other slot has such values. Raises TextTooLong."""
    if not slot.constrained or not alone(slot, others):
        return []
    return [
        span(turn.index, Speaker.USER, turn.sent_message, f)
        for turn in dialog
        for f in values_of(slot, turn.sent_message)
        if _how_said(slot, turn.sent_message, f) is _Said.STATED
    ]


def _is_about(slot: Slot, text: str, value: Span, others: Sequence[Slot]) -> bool:
    said = about(text, value.start, value.end)
    if slot.type in UNMISTAKABLE:
        return not BESIDES.search(said.text)
    changed = CHANGE.search(text, max(0, value.start - _NEAR), value.start)
    return bool(slot.values) or slot.type is SlotType.TEXT or changed is not None or speaks_of(slot, said, others)


def _replaces(other: Span, said: Span, dialog: Dialog) -> bool:
    """A second value in one breath is a further one, unless a change is spoken of: "或 139…", "不对，是 139…"."""
    if not is_after(other, said):
        return False
    between = dialog[said.turn].sent_message[said.end : other.start] if other.turn == said.turn else ""
    return other.turn > said.turn or CHANGE.search(between) is not None


def is_after(other: Span, said: Span) -> bool:
    return (other.turn, other.start) >= (said.turn, said.end)


class _Said(Enum):
    STATED = auto()
    DENIED = auto()
    UNCLEAR = auto()


_REFUSED_AFTER = re.compile(
    r"\s?(?:我|那天|这天|真的|可能|就|都|也|是){0,2}(?:不行|不要|没空|没时间|去不了|来不了|不可以)"
)


_EXCLUDED = re.compile(
    r"\b(?:(?:any\w*|every\w*|all|any\s+\w+)\s+but|except(?:\s+for)?|other\s+than|apart\s+from|instead\s+of|rather\s+than)"
    r"(?:\s+(?:at|on|in|the|for|a|an))*\s*\Z|(?:除了?|除开|排除)\s*\Z",
    re.IGNORECASE,
)
_BUT_ALSO = re.compile(r"[还也]")
"""What makes 除了 mean "besides"."""
_FORMER = re.compile(
    r"\b(?:last|previous|former|old|earlier)\s+(?:visit|appointment|booking|reservation|order|trip|stay|number|phone|address|e-?mail|time|one)\b"
    r"|\bused\s+to\s+be\b|上次|上回|以前的|之前的|旧(?:的|号|电话|手机|地址|邮箱)|老(?:号码|地址)|原来的(?:号|电话|手机|地址|邮箱)",
    re.IGNORECASE,
)
"""What tells of another occasion, or of what no longer holds."""


def _how_said(slot: Slot, message: str, found: Found) -> _Said:
    """A negation directly before a value denies it ("不要红色"). One elsewhere in its clause may deny the value or
    something about it ("打不开热水器", "my washer does not start", "the $60 are not mine")."""
    if cuts_negation(message, found.start) or _REFUSED_AFTER.match(message, found.end):
        return _Said.DENIED
    clause = clause_at(message, found.start)
    if _EXCLUDED.search(message, max(0, found.start - _LOOK_BACK), found.start):
        return _Said.UNCLEAR if _BUT_ALSO.search(message, found.end, found.end + _LOOK_BACK) else _Said.DENIED
    if _FORMER.search(clause) and not _FORMER.search(f"{slot.name} {slot.description}".replace("_", " ")):
        return _Said.UNCLEAR
    if not is_negated(message, found.start, found.end):
        return _Said.STATED
    denied = any(m["negation"] for m in negations(clause_before(message, found.start)))
    return _Said.DENIED if denied and slot.constrained else _Said.UNCLEAR


def _mentions(slot: Slot, dialog: Dialog) -> Iterator[tuple[Span, _Said]]:
    """Where the user says the expected value, the last place first."""
    for turn in reversed(dialog.turns):
        message = turn.sent_message
        for f in reversed(expected_in(slot, message)):
            if not _is_yes_or_no(slot) or _answers(slot, dialog, turn.index, f):
                yield span(turn.index, Speaker.USER, message, f), _how_said(slot, message, f)


_YES_OR_NO = re.compile(r"[是否对有无要]|没有|不要|不?需要|yes|no|true|false|y|n", re.IGNORECASE)
_ANSWER_END = re.compile(r"[的呀啊]?\s*(?:please\b|\W|\Z)", re.IGNORECASE)


def _is_yes_or_no(slot: Slot) -> bool:
    expected = slot.expected_value
    return isinstance(expected, tuple) and all(_YES_OR_NO.fullmatch(value.strip()) for value in expected)


def _answers(slot: Slot, dialog: Dialog, turn: int, found: Found) -> bool:
    """A yes or no is the slot's value where it answers a reply that speaks of the slot, or its clause does."""
    message = dialog[turn].sent_message
    if mentions(slot, clause_at(message, found.start)):
        return True
    opens = not any(map(str.isalnum, message[: found.start])) and _ANSWER_END.match(message, found.end) is not None
    return opens and turn > 0 and mentions(slot, dialog[turn - 1].reply_text)


_FAILED = re.compile(
    r"\A\W*(?:error|fail(?:ed|ure)?|exception)\b|\b(?:not\s+found|no\s+such|does\s+not\s+exist)\b"
    r"|\A\W*(?:错误|失败|异常)|未找到|找不到|查无|不存在",
    re.IGNORECASE,
)
"""How a result tells by itself that the call failed."""


def _by_tool(slot: Slot, dialog: Dialog) -> Given | None:
    for turn in reversed(dialog.turns):
        results = dialog.texts(turn.index, Speaker.TOOL)
        for source, (call, result) in enumerate(zip(turn.tool_calls, results, strict=True)):
            if call.ok is None and _FAILED.search(result):
                continue
            if call.ok is not False and (found := expected_in(slot, result)):
                return Given(span(turn.index, Speaker.TOOL, result, found[0], source=source))
    return None


def _offers(slot: Slot, dialog: Dialog) -> Iterator[tuple[Given, bool | None]]:
    """The agent's offers of the expected value, the last first, and whether the user's next message takes them up."""
    for turn, after in reversed(list(zip(dialog.turns, dialog.turns[1:], strict=False))):
        offer, answer = turn.reply_text, after.sent_message
        taken = assents(answer) if turn.answered else False
        if taken is False:
            continue
        offered = [f for f in expected_in(slot, offer) if not ruled_out(offer, f.start, f.end)]
        if offered and not (taken and _several(slot, offer)):
            value = span(turn.index, Speaker.AGENT, offer, offered[0])
            yield Given(value, Span(after.index, Speaker.USER, 0, 0, len(answer), answer, Match.EXACT)), taken


def _several(slot: Slot, text: str) -> bool:
    values = [f for f in values_of(slot, text) if not ruled_out(text, f.start, f.end)]
    return any(not same(slot.type, values[0].value, other.value) for other in values[1:])


def alone(slot: Slot, others: Sequence[Slot]) -> bool:
    """Whether none of the other slots has the same kind of values."""
    kind = (slot.type, slot.pattern, slot.values)
    return not any((other.type, other.pattern, other.values) == kind for other in others)
