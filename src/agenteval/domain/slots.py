"""Typed values of slots, found and compared by code.

Every value has a normalised form that can be compared: "138 0013 8000" and "+86 13800138000" are one phone number,
"两百五" and "250" one number, "9月1日" and "2026-09-01" may be one date. The search is linear in the text.
"""

import re
from collections.abc import Hashable, Iterator
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from agenteval.domain.moments import Clock, Day, comparable_clocks, comparable_days, dates, same_clock, same_day, times
from agenteval.domain.numerals import CHINESE, DECIMAL, ENGLISH, MIXED, TIMES, digits, narrow, number, numbers
from agenteval.domain.text import fold, occurrences, quote_form, without_unseen

SHORT = 1_000
"""Characters of a text whose values are remembered."""


class SlotType(StrEnum):
    TEXT = "text"
    NUMBER = "number"
    MONEY = "money"
    PHONE = "phone"
    EMAIL = "email"
    DATE = "date"
    TIME = "time"
    DATETIME = "datetime"
    ID_CARD = "id_card"
    URL = "url"


class Found(NamedTuple):
    """A value where it stands: `text` is the slice `[start:end]`, `value` what `same` compares."""

    start: int
    end: int
    text: str
    value: Hashable


class Money(NamedTuple):
    amount: Fraction
    currency: str | None  # ISO 4217; None when not said


class Moment(NamedTuple):
    day: Day
    clock: Clock


_Values = Iterator[tuple[int, int, Hashable]]


def find(kind: SlotType, text: str) -> list[Found]:
    """Every value of the type in the text. A text slot takes the whole text, unless it is blank."""
    return list(_remembered(kind, text) if len(text) <= SHORT else _found(kind, text))


def _found(kind: SlotType, text: str) -> tuple[Found, ...]:
    seen, places = without_unseen(text)
    found = ((places[start], places[end - 1] + 1, value) for start, end, value in _FINDERS[kind](narrow(seen)))
    return tuple(Found(start, end, text[start:end], value) for start, end, value in found)


_remembered = lru_cache(maxsize=8192)(_found)  # each slot of a type looks at the same turns, however many there are


def valid(kind: SlotType, text: str) -> bool:
    """Whether the text states a value of the type ("3 people" states a number)."""
    return bool(find(kind, text))


def same(kind: SlotType, one: Hashable, other: Hashable) -> bool:
    """Whether two values that `find` gave for the type may mean one thing: all that both of them tell agrees."""
    if isinstance(one, Moment) and isinstance(other, Moment):
        return same_day(one.day, other.day) and same_clock(one.clock, other.clock)
    if isinstance(one, Money) and isinstance(other, Money):
        return one.amount == other.amount and (one.currency == other.currency or None in (one.currency, other.currency))
    if kind is SlotType.PHONE:
        return _same_phone(str(one), str(other))
    if kind is SlotType.DATE:
        return same_day(one, other)  # type: ignore[arg-type]
    if kind is SlotType.TIME:
        return same_clock(one, other)  # type: ignore[arg-type]
    return one == other


def differ(kind: SlotType, one: Hashable, other: Hashable) -> bool:
    """Whether two values that `find` gave for the type cannot mean one thing. Neither `same` nor different are those
    that cannot be compared without knowing the day of the conversation, or that tell other parts: "明天" and "9月1日",
    "下午" and "15:00"."""
    if isinstance(one, Moment) and isinstance(other, Moment):
        return differ(SlotType.DATE, one.day, other.day) or differ(SlotType.TIME, one.clock, other.clock)
    if kind is SlotType.DATE and not comparable_days(one, other):  # type: ignore[arg-type]
        return False
    if kind is SlotType.TIME and not comparable_clocks(one, other):  # type: ignore[arg-type]
        return False
    return not same(kind, one, other)


def matches(expected: str, text: str, kind: SlotType = SlotType.TEXT) -> list[Found]:
    """Where the text states the expected value: by value when that is of the type, else word for word.

    A range ("50-100元") is met by its values one close after the other. Word for word means equal after `fold`, on
    word boundaries, with spaces free beside Chinese characters and punctuation. A money amount is also met by a plain
    number: the question told the currency.
    """
    if kind is SlotType.TEXT:
        return _verbatim(expected, text)
    wanted, stated = find(kind, expected), find(kind, text)
    if kind is SlotType.MONEY:
        wanted = wanted or _plain_amounts(expected)
        taken = {place for money in stated for place in range(money.start, money.end)}
        plain = [amount for amount in _plain_amounts(text) if amount.start not in taken]
        stated = sorted((*stated, *plain), key=lambda amount: amount.start)
    if not wanted:
        return _verbatim(expected, text)
    found = []
    for at in range(len(stated) - len(wanted) + 1):
        row = stated[at : at + len(wanted)]
        close = all(after.start - before.end <= _RANGE_GAP for before, after in pairwise(row))
        if close and all(same(kind, want.value, f.value) for want, f in zip(wanted, row, strict=True)):
            start, end = row[0].start, row[-1].end
            value = row[0].value if len(row) == 1 else tuple(f.value for f in row)
            found.append(Found(start, end, text[start:end], value))
    return found


_RANGE_GAP = 5  # characters between the ends of a range: "50元 到 100元"


def _verbatim(expected: str, text: str) -> list[Found]:
    words = _words(expected)
    if expected.strip().isdecimal():
        text = digits(text)
    spans = ((start, end, text[start:end]) for start, end in occurrences(expected.strip(), text))
    return [Found(start, end, said, quote_form(said)) for start, end, said in spans if _words(said) == words]


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W\u3400-\u9fff]+", fold(text))


def _plain_amounts(text: str) -> list[Found]:
    return [
        Found(start, end, text[start:end], Money(value, None))
        for start, end, value in numbers(narrow(text))
        if not _COUNTED.match(text, end)
    ]


_COUNTED = re.compile(
    r"\s?(?:[个人位名件张台岁天晚夜次号楼层路米杯份间]|分钟|小时|公里|%|(?:people|persons?|guests?|adults?|kids|children"
    r"|nights?|days?|hours?|minutes?|years?|miles?|times?)\b)",
    re.IGNORECASE,
)


# ---- numbers ---------------------------------------------------------------------------------------------------------

_NO_COUNT = re.compile(r"[月年a-z半整]|[上下中]午|[早晚夜]", re.IGNORECASE)


def _numbers(text: str) -> _Values:
    """Not the 3 of "May 3" or "下午3点". What may as well be a count ("3点", "1/3", "3号") stays."""
    taken = {
        place
        for start, end, _ in (*dates(text), *times(text))
        if _NO_COUNT.search(text, start, end)
        for place in range(start, end)
    }
    return ((start, end, value) for start, end, value in numbers(text) if start not in taken)


# ---- money -----------------------------------------------------------------------------------------------------------

_CURRENCIES = {
    "CNY": r"¥|rmb|cny|yuan|元|块钱?|圆|人民币",
    "USD": r"us\$|\$|usd|dollars?|bucks|美元|美金|刀",
    "EUR": r"€|eur|euros?|欧元",
    "GBP": r"£|gbp|pounds?|英镑",
    "JPY": r"jpy|yen|日元",
    "HKD": r"hk\$|hkd|港币|港元",
}
_CURRENCY = "|".join(_CURRENCIES.values())
_AMOUNT = rf"(?:{MIXED}|(?:{DECIMAL})(?:{TIMES}|\s?[十百千万亿]{{0,2}})|[{CHINESE}]{{1,20}}|{ENGLISH})"
_MONEY = re.compile(
    rf"(?P<before>hk\$|us\$|[$¥€£]|\b(?:usd|cny|rmb|eur|gbp|hkd|jpy)\b|人民币)\s?(?P<amount>{MIXED}|(?:{DECIMAL})(?:{TIMES}|[十百千万亿]{{0,2}}))(?:\s?[元])?"
    rf"|(?<![\d.,A-Za-z])(?P<number>{_AMOUNT})\s?(?P<after>{_CURRENCY})(?![a-z])(?:(?P<jiao>[\d一二三四五六七八九])(?:[毛角](?P<fen>[\d一二三四五六七八九])?分?|(?![\d{CHINESE}个位人间])))?",
    re.IGNORECASE,
)


def _money(text: str) -> _Values:
    for m in _MONEY.finditer(text):
        amount = number(m["amount"] or m["number"])
        if amount is not None:
            tenths, hundredths = (number(m[part] or "0") or 0 for part in ("jiao", "fen"))
            amount += Fraction(tenths, 10) + Fraction(hundredths, 100)
            yield m.start(), m.end(), Money(amount, _currency(m["before"] or m["after"]))


def _currency(written: str) -> str:
    return next(code for code, pattern in _CURRENCIES.items() if re.fullmatch(pattern, written, re.IGNORECASE))


# ---- phone, e-mail, URL, identity card -------------------------------------------------------------------------------

_PHONE = re.compile(
    r"(?<![\dA-Za-z_.,])(?:"
    r"(?:\+?86[\s-]?)?1[3-9](?:[\s-]?\d){9}"  # Chinese mobile
    r"|0\d{2,4}(?:\s\d{3,4}){2}|07\d{3}\s\d{6}"  # British, as it is written
    r"|0\d{2,3}[\s-]?\d{7,8}|[48]00[\s-]?\d{3}[\s-]?\d{4}"  # Chinese landline, service
    r"|(?:\+?1[\s.-]?)?(?:\(\d{3}\)\s?|\d{3}[\s.-]|[2-9]\d{2})\d{3}[\s.-]?\d{4}"  # North American
    r"|\+\d{1,3}(?:[\s.-]?\d{2,5}){2,5}"  # international
    r"|(?!(?:19|20)\d\d[\s-]?\d{4})[2-9]\d{2,3}[\s-]?\d{4}"  # local, but no years or date
    r")(?![\dA-Za-z])"
)


def _phones(text: str) -> _Values:
    return ((m.start(), m.end(), re.sub(r"\D", "", m.group())) for m in _PHONE.finditer(digits(text)))


def _same_phone(one: str, other: str) -> bool:
    """With or without country code, or area code."""
    short, long = sorted((one, other), key=len)
    return long.endswith(short.lstrip("0")) and len(long) - len(short) <= 4


_EMAIL = re.compile(r"(?<![\w.%+-])[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,8}", re.ASCII)
_URL = re.compile(
    r"""(?:https?://|(?<![\w.@-])www\.)[^\s<>"'，。！？；、（）《》【】“”\u3400-\u9fff]{1,2048}"""
    r"|(?<![\w.@/-])(?:[a-z0-9-]{1,63}\.){1,4}(?:com|cn|org|net|io|gov|edu|info|ai)\b(?![\w@-])(?:/[^\s<>\"'，。！？；、（）\u3400-\u9fff]{0,2048})?",
    re.IGNORECASE | re.ASCII,
)
# 17 digits with a birth date, and a check character. That is not verified: test data hold invented numbers.
_ID_CARD = re.compile(
    r"(?<![\dA-Za-z])[1-9]\d{5}\s?(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])\s?\d{3}[\dXx](?![\dA-Za-z])"
)


def _emails(text: str) -> _Values:
    return ((m.start(), m.end(), m.group().casefold()) for m in _EMAIL.finditer(text))


def _urls(text: str) -> _Values:
    for m in _URL.finditer(text):
        url = m.group().rstrip(".,;:!?)]}'\"")
        host, slash, path = re.sub(r"^https?://", "", url, flags=re.IGNORECASE).partition("/")
        yield m.start(), m.start() + len(url), (host.casefold().removeprefix("www.") + slash + path).rstrip("/")


def _id_cards(text: str) -> _Values:
    return ((m.start(), m.end(), re.sub(r"\s", "", m.group()).upper()) for m in _ID_CARD.finditer(digits(text)))


# ---- date with time --------------------------------------------------------------------------------------------------

_BETWEEN = re.compile(r"[\sT,，、(（)）]{0,3}(?:的|at|on|around|from|by|大概|大约)?[\s(（]{0,2}", re.IGNORECASE)


def _datetimes(text: str) -> _Values:
    """A date and a time side by side, in either order; "明晚8点" shares its 晚."""
    parts = sorted(
        [(s, e, v, True) for s, e, v in dates(text)] + [(s, e, v, False) for s, e, v in times(text)],
        key=lambda p: p[:2],
    )
    at = 0
    while at + 1 < len(parts):
        (start, end, one, is_day), (next_start, next_end, two, is_next_day) = parts[at], parts[at + 1]
        if is_day != is_next_day and (next_start < end or _BETWEEN.fullmatch(text, end, next_start)):
            day, clock = (one, two) if is_day else (two, one)
            yield start, max(end, next_end), Moment(day, clock)  # type: ignore[arg-type]
            at += 1
        at += 1


def _whole_text(text: str) -> _Values:
    said = text.strip()
    if said:
        start = text.index(said)
        yield start, start + len(said), quote_form(said)


_FINDERS = {
    SlotType.TEXT: _whole_text,
    SlotType.NUMBER: _numbers,
    SlotType.MONEY: _money,
    SlotType.PHONE: _phones,
    SlotType.EMAIL: _emails,
    SlotType.DATE: dates,
    SlotType.TIME: times,
    SlotType.DATETIME: _datetimes,
    SlotType.ID_CARD: _id_cards,
    SlotType.URL: _urls,
}
