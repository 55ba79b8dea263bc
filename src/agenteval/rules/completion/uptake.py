"""What the agent made of an expected value, as far as code sees it: for a judge that has no model.

Code sees three refusals, and otherwise takes a stated value for accepted. It accuses only where it cannot be mistaken:

- no reply follows, or only system errors and "I did not understand" do;
- the agent's last reply asks for the slot by the slot's own words, and does not name the value;
- the agent never states the value from there on, or falls back to one that the user gave before, and ends on another
  one of the kind that is about this slot: no other slot has such values, its label or its clause names the slot (for a
  phone number, an address and the like also: speaks of "your"), speaks neither of the agent's own number nor of a
  range, and neither asks nor denies. Numbers and prices are left alone: "评分 4.9" may be what was found for "4.5 or
  more". Such a value is `stale` when the user gave it before, else `contradicted`.

Where no reply names the value, but one names another of its type for all that code can tell (`rivals`), or none shows
that the agent listened (`heed`), it does not decide.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agenteval.domain.clauses import clauses, is_asked, is_negated
from agenteval.domain.evidence import Span, Speaker
from agenteval.domain.json_value import as_text
from agenteval.domain.slots import Found, matches, same
from agenteval.domain.text import fold, quote_form
from agenteval.domain.transcript import Dialog
from agenteval.rules.completion.arguments import another_in_call
from agenteval.rules.completion.forms import Part, SlotVerdict
from agenteval.rules.completion.heed import taken_up
from agenteval.rules.completion.items import Slot
from agenteval.rules.completion.readback import Readback, readbacks
from agenteval.rules.completion.rivals import AMOUNTS, BEFORE, OTHER_NUMBER, THEIRS, objects, rival
from agenteval.rules.completion.values import (
    BESIDES,
    MAX_FOUND,
    UNMISTAKABLE,
    Given,
    alone,
    differ_in,
    expected_in,
    is_after,
    parts_of,
    span,
    values_by_user,
    values_of,
)
from agenteval.rules.completion.wording import about, asked_in, speaks_of

_YOURS = re.compile(r"[您你](?:的|(?=\s?\+?\d|\s?\Z))|\byour\b", re.IGNORECASE)
_RANGE = re.compile(
    r"[前后内起]|到|至|[~～—–]|以[上下]|\b(?:before|after|until|by|within|from|to|least|most|between)\b", re.IGNORECASE
)
_SUPPOSED = re.compile(r"如[需要果]|若|要是|或者?|\b(?:if|or|should|unless)\b", re.IGNORECASE)
_ERROR = re.compile(
    r"(?:系统|服务|网络)\w{0,4}(?:繁忙|异常|错误|故障|出错|超时|开小差|不可用)|出错了|出了点?问题|稍后再试"
    r"|something\s+went\s+wrong|internal\s+(?:server\s+)?error|an?\s+(?:\w+\s+)?error\s+(?:has\s+)?occurred"
    r"|service\s+(?:is\s+)?(?:temporarily\s+)?unavailable|try\s+again\s+later",
    re.IGNORECASE,
)
_NOT_UNDERSTOOD = re.compile(
    r"(?:没有?(?:太|能|大)?(?:听|看)?(?:懂|清楚?|明白|理解)|(?:听|看)不(?:太|大)?(?:懂|清楚?|明白)|不(?:太|大|能)?(?:懂|明白|理解))"
    r"(?!的(?:地方|话|问题|事)|[，,]?(?:可以|请)随时)"
    r"|(?:再|重新)(?:说|讲|描述|表达|输入|重复|解释)|换[个一]{1,2}(?:种)?(?:说法|方式)"
    r"|\b(?:did\s+not|didn['’]?t|do\s+not|don['’]?t|could\s+not|couldn['’]?t|cannot|can['’]?t|failed\s+to|not\s+sure\s+I)\s+"
    r"(?:quite\s+|fully\s+)?(?:understand|get|catch|follow|hear)\b(?!\s+(?:you|your|the|it)\s+\w+)"
    r"|\brephras|\b(?:say|repeat)\s+(?:that|it|yourself)\b|\bcome\s+again\b|\bpardon\b",
    re.IGNORECASE,
)
_COURTESY = re.compile(
    r"\W*(?:(?:非常|很|十分|真)?(?:抱歉|对不起|不好意思)|您好|你好|亲|请问|[Ii](?:['’]m|\s+am)\s+(?:very\s+|so\s+)?sorry|(?:so\s+)?sorry"
    r"|apologies|my\s+apologies|excuse\s+me|hmm*|oh|please|thank\s+you)?\W*",
    re.IGNORECASE,
)
_NEAR = 12
_LONGEST_ERROR = 60
"""Characters of a reply that says nothing but that the system failed."""


@dataclass(frozen=True, slots=True)
class Reaction:
    """`agent`: the words that show the agent's `part`, or with which it is wrong. `older`: where the user gave the
    value that is stale. `reasked`: the agent asked after the value was given."""

    verdict: SlotVerdict
    part: Part
    agent: Span | None = None
    used: bool = False
    reasked: bool = False
    older: Span | None = None


def replied_after(dialog: Dialog, turn: int) -> bool:
    """Whether the agent said anything at or after a turn."""
    return any(later.answered for later in dialog.turns[turn:])


def used(slot: Slot, value: str, dialog: Dialog) -> bool:
    """Whether the value is an argument of a tool call."""
    return any(_same_value(slot, value, as_text(call.arguments)) for turn in dialog for call in turn.tool_calls)


def by_code(slot: Slot, dialog: Dialog, stated: Given, others: Sequence[Slot]) -> Reaction | None:
    """What the agent made of the stated value; None when it cannot be told. Raises TextTooLong."""
    if stated.parts:
        return _of_parts(slot, dialog, stated, others)
    asked = [span_ for turn in dialog for span_ in _asks(slot, dialog, turn.index, others)]
    again = [ask for ask in asked if ask.turn >= stated.turn]
    in_call = used(slot, stated.value.text, dialog)
    if not replied_after(dialog, stated.turn):
        return Reaction(SlotVerdict.STATED_ONLY, Part.NONE, used=in_call)
    repeats = [place for turn in dialog.turns[stated.turn :] for place in _repeated(slot, dialog, turn.index, stated)]
    if (other := _other_value(slot, dialog, stated, others)) is not None:
        wrong, older = other
        if not repeats or is_after(wrong, repeats[-1]):
            verdict = SlotVerdict.STALE if older else SlotVerdict.CONTRADICTED
            return Reaction(verdict, Part.NONE, wrong, in_call, bool(again), older)
    if (error := _all_said(dialog, stated.turn, _is_error_or_not_understood)) is not None:
        return Reaction(SlotVerdict.STATED_ONLY, Part.NONE, error, in_call, bool(again))
    last_reply = max(turn.index for turn in dialog if turn.answered)
    if again and again[-1].turn == last_reply and not any(place.turn == last_reply for place in repeats):
        return Reaction(SlotVerdict.STATED_ONLY, Part.ASKED, again[-1], in_call, reasked=True)
    asked_before = {quote_form(turn.reply_text) for turn in dialog.turns[: stated.turn] if "?" in fold(turn.reply_text)}
    if (same := _all_said(dialog, stated.turn, lambda reply: quote_form(reply) in asked_before)) is not None:
        return Reaction(SlotVerdict.STATED_ONLY, Part.NONE, same, in_call, bool(again))
    if (found := rival(slot, dialog, stated, others)) is not None:
        if not found.certain or in_call:
            return None
        return _wrong(slot, dialog, found.place, stated, others, reasked=bool(again))
    if (wrong_form := _misread(slot, dialog, stated, repeats)) is not None:
        place, certain = wrong_form
        return Reaction(SlotVerdict.CONTRADICTED, Part.NONE, place, in_call, bool(again)) if certain else None
    since = repeats[-1].turn if repeats else stated.turn
    if (
        another_in_call(slot, dialog, stated, others)
        or _is_rejected(dialog, since)
        or _is_turned(dialog, stated, repeats)
    ):
        return None
    if stated.assent is not None:
        return Reaction(SlotVerdict.FILLED, Part.OFFERED, stated.value, in_call, bool(again))
    if repeats:
        return Reaction(SlotVerdict.FILLED, Part.REPEATED, repeats[0], in_call, bool(again))
    before = [ask for ask in asked if ask.turn < stated.turn]
    if not in_call and not taken_up(slot, dialog, stated, others, asked=bool(before)):
        return None
    if before:
        return Reaction(SlotVerdict.FILLED, Part.ASKED, before[-1], in_call, bool(again))
    return Reaction(SlotVerdict.FILLED, Part.NONE, None, in_call, bool(again))


_REJECTED = re.compile(
    r"\b(?:not|n['’]t)\s+(?:an?\s+)?(?:valid|correct|right)\s+(?:phone\s+)?(?:number|address|e-?mail|date|time|name|format|one)\b|\binvalid\b"
    r"|\b(?:give|provide|enter|send|try)\s+(?:me\s+|us\s+)?(?:another|a\s+different|a\s+valid)\b"
    r"|无效|不是有效|不(?:正确|合法|规范)|格式(?:错误|有误|不对)|有误|号码?(?:错误|不对|不存在)",
    re.IGNORECASE,
)


def _is_rejected(dialog: Dialog, since: int) -> bool:
    """Whether a reply turns a value down: "that is not a valid number"."""
    return any(turn.answered and _REJECTED.search(turn.reply_text) for turn in dialog.turns[since:])


_ROLE = re.compile(
    r"(?:\b(?P<source>from)|\b(?P<target>to|towards?))\s+(?:the\s+)?\Z|(?:(?P<von>[从由自])|(?P<nach>[到至往飞去]))\Z",
    re.I,
)
_SOURCE_AFTER = re.compile(r"\s*(?:出发|[到至飞]|to\b)", re.IGNORECASE)


def _role(place: Span, text: str) -> str | None:
    """Whether the way goes from there, or there."""
    before = _ROLE.search(text, max(0, place.start - _NEAR), place.start)
    if before:
        return "to" if before["target"] or before["nach"] else "from"
    return "from" if _SOURCE_AFTER.match(text, place.end) else None


def _is_turned(dialog: Dialog, stated: Given, repeats: Sequence[Span]) -> bool:
    """Whether replies take the way round: "from London to Paris" for "from Paris to London"."""
    if stated.value.speaker is not Speaker.USER:
        return False
    wanted = _role(stated.value, dialog[stated.value.turn].sent_message)
    roles = {_role(place, dialog[place.turn].reply_text) for place in repeats}
    return wanted is not None and bool(roles - {None}) and wanted not in roles


def _of_parts(slot: Slot, dialog: Dialog, stated: Given, others: Sequence[Slot]) -> Reaction | None:
    """Of a date and a time that were said apart: filled when both are, else as the first that is not."""
    made = [by_code(part, dialog, said, others) for part, said in zip(parts_of(slot), stated.parts, strict=True)]
    seen = [each for each in made if each is not None]
    wrong = next((each for each in seen if each.verdict is not SlotVerdict.FILLED), None)
    if wrong or len(seen) < len(made):
        return wrong
    return next((each for each in seen if each.part is Part.NONE), seen[-1])


def _wrong(
    slot: Slot, dialog: Dialog, place: Span, stated: Given, others: Sequence[Slot], *, reasked: bool
) -> Reaction:
    theirs = (value for value in values_by_user(slot, dialog, others) if is_after(stated.value, value))
    older = next((value for value in theirs if _same_value(slot, value.text, place.text)), None)
    verdict = SlotVerdict.STALE if older else SlotVerdict.CONTRADICTED
    return Reaction(verdict, Part.NONE, place, False, reasked, older)


def _all_said(dialog: Dialog, since: int, is_such: Callable[[str], bool]) -> Span | None:
    """The last reply, when all from a turn on are such."""
    replies = [turn for turn in dialog.turns[since:] if turn.answered]
    if not all(is_such(turn.reply_text) for turn in replies):
        return None
    text = replies[-1].reply_text
    return span(replies[-1].index, Speaker.AGENT, text, Found(0, len(text), text, None))


def _is_error_or_not_understood(reply: str) -> bool:
    return _is_error(reply) or _is_not_understood(reply)


def _is_error(reply: str) -> bool:
    return len(reply) <= _LONGEST_ERROR and _ERROR.search(reply) is not None


def _is_not_understood(reply: str) -> bool:
    """Whether the reply says only that, in every clause; a courtesy says nothing."""
    said = [reply[start:end] for start, end in clauses(reply) if not _COURTESY.fullmatch(reply[start:end])]
    return bool(said) and all(_NOT_UNDERSTOOD.search(clause) for clause in said)


def last_ask(slot: Slot, dialog: Dialog, others: Sequence[Slot]) -> Span | None:
    """The last place where the agent asks for the slot by its own words."""
    asks = [ask for turn in dialog for ask in _asks(slot, dialog, turn.index, others)]
    return asks[-1] if asks else None


def _asks(slot: Slot, dialog: Dialog, turn: int, others: Sequence[Slot]) -> list[Span]:
    reply = dialog[turn].reply_text
    place = asked_in(slot, reply, others) if dialog[turn].answered else None
    return [] if place is None else [span(turn, Speaker.AGENT, reply, Found(*place, "", None))]


def _repeated(slot: Slot, dialog: Dialog, turn: int, stated: Given) -> list[Span]:
    """Where a reply names the value, or part of it."""
    reply = dialog[turn].reply_text if dialog[turn].answered else ""
    named = [f for f in expected_in(slot, reply)[-MAX_FOUND:] if not is_negated(reply, f.start, f.end)]
    parts = [_found(reply, one) for one in readbacks(slot, stated.value.text, reply) if one.agrees]
    return [span(turn, Speaker.AGENT, reply, f) for f in sorted((*named, *parts), key=lambda f: f.start)]


def _found(reply: str, one: Readback) -> Found:
    return Found(one.start, one.end, reply[one.start : one.end], None)


def _misread(slot: Slot, dialog: Dialog, stated: Given, repeats: Sequence[Span]) -> tuple[Span, bool] | None:
    """The last form of another value that a reply has after the user's, and whether it is certain that it is for the
    slot; none that the user says, too."""
    since = repeats[-1].turn if repeats else stated.turn
    theirs = fold(" ".join(turn.sent_message for turn in dialog))
    for turn in reversed(dialog.turns[since:]):
        reply = turn.reply_text if turn.answered else ""
        for one in reversed(readbacks(slot, stated.value.text, reply)):
            place = span(turn.index, Speaker.AGENT, reply, _found(reply, one))
            if one.agrees or fold(place.text) in theirs:
                continue
            if repeats and not is_after(place, repeats[-1]):
                return None
            if repeats and not one.certain and turn.index == repeats[-1].turn:
                continue
            objected = any(objects(later.sent_message) for later in dialog.turns[turn.index + 1 :])
            return place, one.certain and not is_asked(reply, one.start) and not objected
    return None


def _other_value(slot: Slot, dialog: Dialog, stated: Given, others: Sequence[Slot]) -> tuple[Span, Span | None] | None:
    """The last other value that the agent states about this slot, and where the user gave that one before."""
    if slot.type in AMOUNTS or not slot.constrained or not alone(slot, others):
        return None
    earlier = [value for value in values_by_user(slot, dialog, others) if is_after(stated.value, value)]
    for turn in reversed(dialog.turns[stated.turn :]):
        reply = turn.reply_text if turn.answered else ""
        for f in reversed(values_of(slot, reply)[-MAX_FOUND:]):
            older = next((value for value in earlier if _same_value(slot, value.text, f.text)), None)
            if (
                differ_in(slot, stated.value.text, f.text)
                and _is_statement(slot, reply, f, others, older)
                and (older or not any(_same_value(slot, f.text, t.sent_message) for t in dialog))
            ):
                return span(turn.index, Speaker.AGENT, reply, f), older
    return None


def _is_statement(slot: Slot, reply: str, found: Found, others: Sequence[Slot], older: Span | None) -> bool:
    """A value that the user never gave may be somebody else's, of whom the reply spoke: "师傅：李工，电话：139…"."""
    said = about(reply, found.start, found.end)
    unmistakable = slot.type in UNMISTAKABLE
    your = unmistakable and _YOURS.search(said.text) is not None
    return (
        (speaks_of(slot, said, others) or (your and not OTHER_NUMBER.search(said.text)))
        and not _SUPPOSED.search(said.text)
        and not (_RANGE.search(said.text) and not unmistakable)
        and not is_asked(reply, found.start)
        and not is_negated(reply, found.start, found.end)
        and not BESIDES.search(said.text)
        and not THEIRS.search(said.text if older or your else reply[max(0, found.start - BEFORE) : found.start])
    )


def _same_value(slot: Slot, value: str, text: str) -> bool:
    wanted = values_of(slot, value) if slot.constrained else []
    if not wanted:
        return bool(matches(value, text))
    return any(same(slot.type, wanted[0].value, f.value) for f in values_of(slot, text))
