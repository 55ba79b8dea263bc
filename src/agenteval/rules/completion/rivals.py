"""Another value of the slot's type in the agent's replies, after the last one that names the user's.

The words around it seldom say for certain whether it is meant for the slot: it may be the hour of something else, or
an alternative. So it leaves the slot open, unless its clause says that just this was arranged ("booked for 4 pm",
"已预约成功，明天下午四点上门"), or it is the user's number with a slip. What clearly is something else does not count:
opening hours, the date of an order, a hotline, what is denied or supposed, another slot's value, what the user said
besides. Numbers and prices occur everywhere, so one that is no bound counts only with the user's unit ("21 cups" for
"12 cups"), by the slot's words, or where people are counted or money is moved.

A reply that named the user's value goes on to other things: there another value counts only if it was arranged, or the
user's is not to be had ("8 pm is full, you have 9 pm"). In a later reply it counts unless it is the time of a call, a
reminder or the like.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from itertools import pairwise
from operator import ne
from typing import NamedTuple

from agenteval.domain.clauses import is_asked, is_negated, negations
from agenteval.domain.evidence import Span, Speaker
from agenteval.domain.slots import Found, SlotType
from agenteval.domain.text import fold
from agenteval.domain.transcript import Dialog, Turn
from agenteval.rules.completion.items import Slot
from agenteval.rules.completion.offers import assents, ruled_out
from agenteval.rules.completion.values import (
    CHANGE,
    MAX_FOUND,
    MOMENTS,
    UNMISTAKABLE,
    Given,
    differ_in,
    expected_in,
    span,
    values_of,
)
from agenteval.rules.completion.wording import about, clause_at, partly_names

AMOUNTS = {SlotType.NUMBER, SlotType.MONEY}
THEIRS = re.compile(
    r"我们|我司|我店|本店|本公司|客服|热线|专线|总机|前台|官网|师傅|技师|工程师|司机|骑手|快递员|商家|酒店|餐厅|门店|房东|医生|营业|管家|顾问|专员|经理|助理|导游|教练|老师|物业|配送员"
    r"|\b(?:our|us|hotline|support|service|office|technician|engineer|driver|courier|doctor|hotel|restaurant|store|shop"
    r"|advis[eo]r|agent|manager|concierge|representative|guide|host|assistant|reception|front\s+desk|helpline|nurse|dentist)\b"
    r"|(?<!\bit)(?<!\bthat)(?<!\bhere)(?<!\bwhat)['’]s\s",
    re.IGNORECASE,
)
"""Whose value it is, when not the user's."""
BEFORE = 1_000
"""Characters before a value in which its owner may be named."""
OTHER_NUMBER = re.compile(
    r"单号|编号|流水|卡号|账号|帐号|工单|订单"
    r"|\b(?:order|confirmation|reference|ticket|tracking|account|card|case|booking|reservation)\b",
    re.IGNORECASE,
)
_SUPPOSED = re.compile(r"如[需要果]|若|要是|\b(?:if|should|unless)\b", re.IGNORECASE)
_TO_BE_CALLED = re.compile(
    r"(?:拨打|致电|来电)(?!.{0,20}联系[您你])|\byou\s+(?:can|may)\s+(?:call|reach|e?mail|write)\b", re.IGNORECASE
)
_OTHER_EVENT = re.compile(
    r"提交|下单|创建|购买|营业|开门|关门|今天是|现在是|截止|截至|受理"
    r"|\b(?:open(?:s|ing)?|clos(?:e|es|ed|ing)|hours|submitted|created|ordered|purchased|bought|received|expir\w+|deadline"
    r"|today\s+is|it\s+is\s+now)\b",
    re.IGNORECASE,
)
_BOUND_BEFORE = re.compile(
    r"(?:至少|至多|最多|最少|不超过|不低于|\b(?:before|until|till|by|within|over|under|above|below|least|most|up\s+to|than))"
    r"\s*\Z",
    re.IGNORECASE,
)
_BOUND_AFTER = re.compile(r"\w?\s*(?:(?:之|以)[前内上下]|前|内|左右|起|or\s+(?:more|less|above|below))", re.IGNORECASE)
_BESIDE = (
    r"you|your|it|in|the|an?|table|room|tickets?|seats?|appointment|visit|booking|reservation|successfully|now|for|on|at|of|to|party"
    r"|people|persons?|guests?|is|has|have|been|down|tomorrow|today|tonight|[a-z]+day|january|february|march|april|may|june|july"
    r"|august|september|october|november|december|\d{1,4}(?:st|nd|rd|th)?|one|two|three|four|five|six|seven|eight|nine|ten|[ap]m"
)
_ARRANGED = re.compile(
    r"(?:(?:预约|预订|预定|安排|登记|[订定约][位座房票]?)(?:成功|完成|好|了|在|到|为|至|成){0,3}"
    r"(?:[\s，,。：:！!]{0,3}(?:您|的|时间|日期|[在为是]|上门|到店|[\d零一二三四五六七八九十两]+|[月日号点时半位人桌个]|周|星期|[早晚中]?[上午]|下午)){0,12}"
    r"[\s，,。：:！!]{0,3}"
    r"|(?:(?<!fully\s)(?<!we\sare\s)(?<!we['’]re\s)\b(?:booked|reserved|scheduled|arranged|confirmed)|\bsee\s+you|\bexpect\s+you)"
    rf"(?:[\s,:]+(?:{_BESIDE})\b){{0,12}}[\s,:]+"
    r"|\b(?:so|then|make|making)\s+it(?:['’]s|\s+is|\s+will\s+be)?\s+)\Z",
    re.IGNORECASE,
)
_ARRANGED_AFTER = re.compile(
    r"\s*(?:准时|为您|给您|到您家){0,2}[上登]门|[，,。\s]{0,2}(?:已经?|都)?(?:记下|登记好?)了?"
    r"|\W{0,3}(?:it\s+is\b|noted\b|got\s+it\b|(?:is|has\s+been)\s+confirmed\b)",
    re.IGNORECASE,
)
_OTHER_THING = re.compile(
    r"\b(?:the|our|a|an|another|every)\s+(?!table|appointment|reservation|booking|visit|room|slot|session|meeting|date|time)\w+\s+"
    r"(?:is|are|was|were)\s+\Z",
    re.IGNORECASE,
)
"""The subject of what is booked, when it is nothing of the user's: "the garage is booked at 9 pm"."""
_POSSIBLE = re.compile(r"可以?(?=预|[订定约])|能|建议|想|要不|\b(?:can|could|may|might)\b", re.IGNORECASE)
_MOVED = re.compile(r"改|调整|换|挪|推迟|提前|\b(?:moved|changed|switched|shifted|postponed|pushed)\b", re.IGNORECASE)
_SENT_TO = re.compile(
    r"(?:(?:发送?|寄)(?:到|至|给|往)\W{0,3}|\b(?:wrote|written|sent|e?mailed)\b[^.;]{0,40}?\s(?:to\s+|at\s+)?)\Z",
    re.IGNORECASE,
)
_SIMILAR = 0.6
_NOT_JUST_THIS = re.compile(
    r"已经?于|其他|别的|另|上次|之前|原[来先]|已被|提醒|回访|回电|电话|短信|配送|取件|接送"
    r"|\b(?:from|already|last|previous\w*|originally|another|others?|else|remind\w*|call\w*|alarm|alert|notif\w+|survey|deliver\w*|taxi|follow-?up)\b",
    re.IGNORECASE,
)
_ALTERNATIVE = re.compile(
    r"约满|已满|满了|没有?[空位]|无法|不能|只能|最早|最近|抱歉|对不起|很遗憾"
    r"|\b(?:full|taken|(?:un)?available|instead|earliest|nearest|closest|next|only|sorry|unfortunately|alternative)\b",
    re.IGNORECASE,
)
_WRONG = re.compile(r"错|\b(?:wrong|incorrect|mistake|said)\b|n['’]t\b", re.IGNORECASE)
_LOOK_BACK = 100
_LABEL = 12
_TO = re.compile(r"\s*(?:[-~～—–]|[至到和或、,]|to|till|until|and|or)\s*", re.IGNORECASE)
_RANGE_AFTER = re.compile(r"[^\S\n]*(?:[-~～—–至到]|(?:to|and|or)\b|或)", re.IGNORECASE)
_UNIT = re.compile(r"[^\S\n]?(?:个?(?P<chinese>[\u3400-\u9fff])|(?P<english>[A-Za-z]{2,}))")
_NO_UNIT = {"at", "on", "in", "of", "for", "to", "or", "and", "from", "is", "are", "am", "pm", "more", "的", "，"}
_PEOPLE = {"人", "位", "名", "people", "person", "guest", "diner", "adult", "pax", "passenger"}
_OF_PEOPLE = re.compile(
    r"people|persons?|guests?|diners?|party|passengers?|travell?ers?|adults?|人数|[几多少][位人]|用餐人|出行人",
    re.IGNORECASE,
)
_PARTY = re.compile(r"\b(?:table|party|booking|reservation|booked|seats?|room)\s+(?:for|of)\s+\Z", re.IGNORECASE)
_BUDGET = re.compile(r"预算|价[格位]|上限|最[高多低少]|budget|price|limit|max|min|up\s+to|at\s+most", re.IGNORECASE)
_PAID = re.compile(
    r"退|转|付|扣|收取|汇|充|捐|\b(?:refund|transferr?|pa(?:y|id)|charg|sent|send|debit|deposit|credit|donat|withdr)",
    re.IGNORECASE,
)
_SLIP = 2
"""Digits of a long number that may be others by a slip."""


class Rival(NamedTuple):
    """`certain`: it was arranged, so that the agent contradicts the user."""

    place: Span
    certain: bool


def rival(slot: Slot, dialog: Dialog, stated: Given, others: Sequence[Slot]) -> Rival | None:
    """The last such value. Raises TextTooLong."""
    if not slot.constrained or _is_loose(slot):
        return None
    since = first_turn(slot, dialog, stated)
    named = last_named(slot, dialog, since)
    if slot.type is SlotType.DATETIME and (found := _of_part(slot, dialog, stated, others)):
        return found
    places = [
        span(turn.index, Speaker.AGENT, turn.reply_text, f)
        for turn in dialog.turns[named.turn if named else since :]
        if turn.answered
        for f in _rivals(slot, turn.reply_text, dialog, stated, others)
        if named is None or _takes_over(slot, turn, f, named)
    ]
    if not places:
        return None
    last = places[-1]
    only = not any(differ_in(slot, last.text, place.text) for place in places)
    alone_of_type = not any(_alike(slot, other) for other in others)
    return Rival(last, only and alone_of_type and _contradicts(slot, dialog, last, stated))


def first_turn(slot: Slot, dialog: Dialog, stated: Given) -> int:
    return next((t.index for t in dialog if expected_in(slot, t.sent_message)), stated.turn)


def last_named(slot: Slot, dialog: Dialog, since: int) -> Span | None:
    """Where a reply names the expected value last."""
    for turn in reversed(dialog.turns[since:]):
        if turn.answered and (found := expected_in(slot, turn.reply_text)):
            return span(turn.index, Speaker.AGENT, turn.reply_text, found[-1])
    return None


def _takes_over(slot: Slot, turn: Turn, found: Found, named: Span) -> bool:
    """Whether another value may stand instead of the user's, which was named before, or is not to be had."""
    reply = turn.reply_text
    if is_asked(reply, found.start):
        return False
    if turn.index > named.turn:
        return slot.type in UNMISTAKABLE or not _NOT_JUST_THIS.search(clause_at(reply, found.start))
    lost = ruled_out(reply, named.start, named.end)
    if found.start < named.end:
        return lost
    if _TO.fullmatch(reply, named.end, found.start):
        return _MOVED.search(clause_at(reply, named.start)) is not None
    return lost or _is_arranged(reply, found.start, found.end)


def _is_arranged(reply: str, start: int, end: int) -> bool:
    before = reply[max(0, start - _LOOK_BACK) : start]
    arranged = _ARRANGED.search(before)
    return (arranged is not None and not _OTHER_THING.search(before[: arranged.start()])) or (
        _ARRANGED_AFTER.match(reply, end) is not None
    )


def _of_part(slot: Slot, dialog: Dialog, stated: Given, others: Sequence[Slot]) -> Rival | None:
    """ "Booked for 4 pm" contradicts "tomorrow 3 pm"."""
    parts = (replace(slot, type=kind, expected_value=(stated.value.text,)) for kind in (SlotType.TIME, SlotType.DATE))
    found = [
        one for part in parts if values_of(part, stated.value.text) if (one := rival(part, dialog, stated, others))
    ]
    return next((one for one in found if one.certain), found[0] if found else None)


def _is_loose(slot: Slot) -> bool:
    """Whether its values may be any words, or are yes and no."""
    return any(len(value.strip()) < 2 or value.lower() in {"yes", "no", "true", "false"} for value in slot.values)


def _alike(slot: Slot, other: Slot) -> bool:
    types = {slot.type, other.type}
    return len(types) == 1 or (SlotType.DATETIME in types and types <= MOMENTS)


def _rivals(slot: Slot, reply: str, dialog: Dialog, stated: Given, others: Sequence[Slot]) -> Iterator[Found]:
    for f in values_of(slot, reply)[-MAX_FOUND:]:
        if (
            differ_in(slot, stated.value.text, f.text)
            and (slot.values or slot.type is not SlotType.TEXT or any(map(str.isdigit, f.text)))
            and (slot.type not in AMOUNTS or _comparable_amount(slot, reply, f, dialog, stated))
            and not _is_something_else(slot, reply, f, dialog)
            and not any(expected_in(other, f.text) for other in others)
            and not _is_said(slot, dialog.turns[stated.turn :], f)
        ):
            yield f


def _is_said(slot: Slot, turns: Sequence[Turn], found: Found) -> bool:
    """Whether the user gives this value, too."""
    theirs = (f for turn in turns for f in values_of(slot, turn.sent_message))
    return any(not differ_in(slot, found.text, f.text) for f in theirs)


def _is_something_else(slot: Slot, reply: str, found: Found, dialog: Dialog) -> bool:
    said = about(reply, found.start, found.end).text
    if _SUPPOSED.search(said) or is_negated(reply, found.start, found.end):
        return True
    if slot.type in UNMISTAKABLE:
        told = reply[max(0, found.start - BEFORE) : found.start] + said
        numbered = slot.type is not SlotType.EMAIL and OTHER_NUMBER.search(said)
        another = numbered or _TO_BE_CALLED.search(said) or THEIRS.search(told)
        return bool(another) and not _is_said(slot, dialog.turns, found)
    if slot.type not in MOMENTS:
        return False
    label = reply[max(0, found.start - _LABEL) : found.start]  # of a range: "营业时间：9:00-18:00"
    return _OTHER_EVENT.search(said + label) is not None or _is_bound(reply, found.start, found.end)


def _is_bound(text: str, start: int, end: int) -> bool:
    return bool(_BOUND_BEFORE.search(text, max(0, start - _LOOK_BACK), start) or _BOUND_AFTER.match(text, end))


def _comparable_amount(slot: Slot, reply: str, found: Found, dialog: Dialog, stated: Given) -> bool:
    if stated.value.speaker != Speaker.USER:
        return False
    message = dialog[stated.value.turn].sent_message
    if _is_bound(message, stated.value.start, stated.value.end):
        return False
    if slot.type is SlotType.MONEY:
        clause = clause_at(reply, found.start)
        return partly_names(slot, clause) or (_PAID.search(clause) is not None and not _BUDGET.search(_label(slot)))
    unit = _unit(message, stated.value.end) or ("人" if _OF_PEOPLE.search(_label(slot)) else None)
    return unit is not None and unit == (_unit(reply, found.end) or _unit_before(reply, found))


def _unit_before(reply: str, found: Found) -> str | None:
    """ "Table for 5", "Guests: 5"."""
    before = reply[max(0, found.start - _LOOK_BACK) : found.start]
    is_party = _PARTY.search(before) or _labels_people(reply, found.start, found.end)
    return "人" if is_party else None


def _labels_people(reply: str, start: int, end: int) -> bool:
    return any(_OF_PEOPLE.search(label) for label in about(reply, start, end).labels)


def _label(slot: Slot) -> str:
    return f"{slot.name} {slot.description}"


def _unit(text: str, end: int) -> str | None:
    m = _UNIT.match(text, end)
    said = (m["chinese"] or fold(m["english"])) if m else None
    if said is None or said in _NO_UNIT:
        return None
    unit = said.removesuffix("s")
    return "人" if unit in _PEOPLE else unit


def _contradicts(slot: Slot, dialog: Dialog, place: Span, stated: Given) -> bool:
    """Whether just this other value was arranged for the user, who neither changed the value nor objected."""
    reply = dialog[place.turn].reply_text
    if slot.type is SlotType.EMAIL:
        said = reply[max(0, place.start - _LOOK_BACK) : place.start]
        arranged = _SENT_TO.search(said) is not None and _is_misspelt(place.text, stated.value.text)
    elif slot.type in {SlotType.PHONE, SlotType.ID_CARD}:
        arranged = _is_slip(place.text, stated.value.text)
    else:
        people = slot.type is SlotType.NUMBER and _OF_PEOPLE.search(_label(slot)) is not None
        arranged = (slot.type in MOMENTS or people) and _is_arranged(reply, place.start, place.end)
        arranged = arranged or (people and _labels_people(reply, place.start, place.end))
    return (
        arranged
        and not _POSSIBLE.search(clause_at(reply, place.start))
        and not _is_assented(slot, dialog, place, stated)
        and stated.value.speaker != Speaker.TOOL
        and place.turn >= stated.turn
        and not is_asked(reply, place.start)
        and not _RANGE_AFTER.match(reply, place.end)
        and (slot.type in UNMISTAKABLE or not _NOT_JUST_THIS.search(clause_at(reply, place.start)))
        and not _ALTERNATIVE.search(reply)
        and not any(objects(turn.sent_message) for turn in dialog.turns[place.turn + 1 :])
        and (
            not _is_said(slot, dialog.turns, Found(place.start, place.end, place.text, None))
            or _is_changed(dialog, stated)
        )
    )


def _is_slip(one: str, other: str) -> bool:
    """Whether two numbers have nearly the same digits, in nearly the same places."""
    a, b = (re.sub(r"\D", "", text) for text in (one, other))
    return len(a) == len(b) and (sorted(a) == sorted(b) or sum(map(ne, a, b)) <= _SLIP)


def _is_assented(slot: Slot, dialog: Dialog, place: Span, stated: Given) -> bool:
    """Whether the other value was offered before, and the user's next message may take it up."""
    return any(
        assents(after.sent_message) is not False
        and any(not differ_in(slot, place.text, f.text) for f in values_of(slot, turn.reply_text))
        for turn, after in pairwise(dialog.turns[stated.turn : place.turn + 1])
        if turn.answered
    )


def _is_misspelt(address: str, users: str) -> bool:
    """ "I wrote to …" may as well tell of somebody else."""
    one, other = (text.casefold().partition("@")[0] for text in (address, users))
    return SequenceMatcher(None, one, other).ratio() >= _SIMILAR


def objects(message: str) -> bool:
    return _WRONG.search(message) is not None or any(m["negation"] for m in negations(message))


def _is_changed(dialog: Dialog, stated: Given) -> bool:
    return CHANGE.search(dialog[stated.turn].sent_message) is not None
