"""Numbers as people write them: digits, thousands separators, 万, Chinese numerals, English number words.

Values are exact fractions. All patterns are bounded, so a search is linear in the text. Texts come in as `narrow` gives
them: full-width characters in ASCII, one for one, so that places stay valid (but "，", which separates no thousands).
"""

import re
from collections.abc import Iterator
from fractions import Fraction

_NARROW = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F) if code != 0xFF0C} | {
    0x3000: 0x20,
    0x2019: 0x27,
    0xFFE5: 0xA5,
}

_DIGITS = {
    digit: value
    for value, digits in enumerate(("零〇", "一壹", "二两贰", "三叁", "四肆", "五伍", "六陆", "七柒", "八捌", "九玖"))
    for digit in digits
}
_UNITS = {"十": 10, "拾": 10, "百": 100, "佰": 100, "千": 1000, "仟": 1000}
_MYRIADS = {"万": 10**4, "亿": 10**8}
CHINESE = "零〇一壹二两贰三叁四肆五伍六陆七柒八捌九玖十拾百佰千仟万亿"

_SMALL = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_WORDS = {word: value for value, word in enumerate(_SMALL)} | {word: 10 * tens for tens, word in enumerate(_TENS, 2)}
_SCALES = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "trillion": 10**12, "dozen": 12}
_LETTERS = {"k": 1000, "m": 10**6, "mn": 10**6, "b": 10**9, "bn": 10**9}
_WORD = "|".join(sorted((*_WORDS, *_SCALES), key=len, reverse=True))
_SCALE = "|".join(_SCALES)

DECIMAL = r"\d{1,3}(?:,\d{3}){1,5}(?:\.\d{1,9})?(?!\d|,\d{3})|\d{1,20}(?:\.\d{1,9})?(?!\d)"
TIMES = rf"(?:\s?(?:{_SCALE})\b|(?:mn|bn?|[km])\b)"
"""What multiplies an amount of money: "$5 million", "$5M"."""
MIXED = r"\d{1,4}(?:[百千万亿]\d{1,4}){1,4}(?:[十百千万](?!\d))?(?!\d)"
ENGLISH = (
    rf"(?:half\s(?:an?\s)?(?:{_SCALE})"
    rf"|(?:{_WORD})(?:[\s-](?:and\s)?(?:{_WORD})){{0,8}}(?:\sand\sa\shalf(?:\s(?:{_SCALE}))?)?)"
)

_NUMBER = re.compile(
    # What only looks like a number, or is another type's: consumed first.
    r"(?:\d{1,4}[-/.:年]){2}\d{1,4}|\d{1,2}:\d{2}(?!\d)|(?<![A-Za-z\d])(?:[A-Za-z]+\d|\d{1,20}[A-Za-z]{1,20}\d)[A-Za-z\d]*"
    r"|\d{1,2}\s?(?:[ap]\.?m\b|(?:st|nd|rd|th)\b)"
    r"|万一|十分|三明治|四川|五香|九寨沟|百度|百货|百分之|千万别|万达|统一|唯一|单一|第一时间|一[下些样起直定般旦切边致共律再味向面体会流次性]|(?:星期|礼拜|周)[一二三四五六]"
    r"|(?<![有早晚快慢多少差])一点(?![\d半钟整])|[有早晚快慢多少差]一点"
    r"|(?:几|[\d一二两三四五六七八九十百千万]{0,4}十几)[十百千万]{0,2}|(?:\d{1,4}|[一二两三四五六七八九])?[十百千万]{1,3}(?:多(?!少)|来(?=[个人名位元块天次]))"
    rf"|(?P<mixed>(?<![\dA-Za-z_.]){MIXED})"
    rf"|(?P<decimal>(?<![\dA-Za-z_])(?<!\d\.)(?<![A-Za-z]-)(?:(?<!\d)-)?(?:{DECIMAL})(?:[十百千万亿]{{1,2}}|[kK]\b|\s(?:{_SCALE})\b)?(?![A-Za-z]*\d))(?P<halved>个半|\sand\sa\shalf\b)?"
    rf"|(?P<chinese>[{CHINESE}]{{1,20}}(?:点[零〇一二三四五六七八九]{{1,9}}(?![零〇一二三四五六七八九位人间张桌]|个(?:人|[大成]人|小?孩|朋友|位)))?)(?P<and_half>个半)?"
    rf"|\b(?P<english>{ENGLISH})\b",
    re.IGNORECASE,
)


def narrow(text: str) -> str:
    """The text with full-width characters in ASCII; same length."""
    return text if text.isascii() else text.translate(_NARROW)


_SPOKEN = str.maketrans({**{digit: str(value) for digit, value in _DIGITS.items()}, "幺": "1"})
_SPOKEN_RUN = re.compile(rf"[{''.join(_DIGITS)}幺](?:[\s-]?[{''.join(_DIGITS)}幺]){{6,}}")


def digits(text: str) -> str:
    """The text with long runs of dictated Chinese digits ("幺三八零零一三八零零零") in ASCII; same length."""
    return text if text.isascii() else _SPOKEN_RUN.sub(lambda run: run.group().translate(_SPOKEN), text)


def numbers(text: str) -> Iterator[tuple[int, int, Fraction]]:
    """Every number `(start, end, value)` of a narrow text. Dates, clock times, ordinals and codes (G101) are none."""
    for m in _NUMBER.finditer(text):
        value: Fraction | None = None
        if m["decimal"] is not None:
            value = decimal(m["decimal"])
        elif m["mixed"]:
            value = _mixed(m["mixed"])
        elif m["chinese"]:
            value = chinese(m["chinese"])
        elif m["english"]:
            value = english(m["english"])
        if value is not None:
            half = Fraction(1, 2) if m["halved"] or m["and_half"] else 0
            yield m.start(), m.end(), value + half


def number(text: str) -> Fraction | None:
    """The value of a text that is one numeral: "1,500", "3万", "十二", "two"."""
    if not text:
        return None
    if text[0] in CHINESE:
        return chinese(text)
    if text[0].isalpha():
        return english(text)
    return _mixed(text) if re.fullmatch(MIXED, text) else decimal(text)


def decimal(text: str) -> Fraction:
    """ "1,500.5", "2.5万", "3k", "5 million"."""
    digits = text.rstrip("十百千万亿 abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    value = Fraction(digits.replace(",", ""))
    unit = text[len(digits) :].strip().lower()
    if unit.isascii():
        return value * (_SCALES | _LETTERS).get(unit, 1)
    for character in unit:
        value *= (_UNITS | _MYRIADS)[character]
    return value


def _mixed(text: str) -> Fraction:
    """ "1万5千", "1万2", "3千5百"."""
    total = section = 0
    last_unit = 1
    for figures, unit in re.findall(r"(\d+)(\D?)", text):
        if unit in _MYRIADS:
            total, section = total + (section + int(figures)) * _MYRIADS[unit], 0
        else:
            value = _UNITS[unit] if unit else last_unit // 10 if len(figures) == 1 else 1
            section += int(figures) * value
        last_unit = (_UNITS | _MYRIADS).get(unit, 1)
    return Fraction(total + section)


def chinese(text: str) -> Fraction | None:
    """ "十二", "两百五" (250), "一千零五", "三万二", "二〇二六", "三点五"; None when the characters are no numeral."""
    whole, _, part = text.partition("点")
    if not any(c in _UNITS or c in _MYRIADS for c in whole):
        value = int("".join(str(_DIGITS[c]) for c in whole))
    else:
        total = section = 0
        digit: int | None = None
        last_unit = 1
        for c in whole:
            if c in _DIGITS:
                if digit:  # "三四百": about so many, no number
                    return None
                digit, last_unit = _DIGITS[c], last_unit if _DIGITS[c] else 1
            elif c in _UNITS:
                section += (1 if digit is None else digit) * _UNITS[c]
                digit, last_unit = None, _UNITS[c]
            else:
                section += digit or 0
                if not total + section:
                    return None
                total, section = (total + section) * _MYRIADS[c] if _MYRIADS[c] > total else total + section * 10**4, 0
                digit, last_unit = None, _MYRIADS[c]
        # A digit that ends the numeral counts the next lower unit: 两百五 = 250; not after 零, nor after 十.
        value = total + section + (digit or 0) * max(1, last_unit // 10)
    return Fraction(f"{value}.{''.join(str(_DIGITS[c]) for c in part)}") if part else Fraction(value)


def english(text: str) -> Fraction | None:
    """ "two", "twenty-one", "two hundred and fifty", "half a dozen", "one and a half"; None when the words are no one
    numeral: "one two three", "nineteen ninety"."""
    words = [word for word in re.findall(r"[a-z]+", text.lower()) if word not in {"and", "a", "an"}]
    if "half" not in words:
        return _cardinal(words)
    at = words.index("half")
    whole = _cardinal(words[:at]) if at else Fraction(0)
    scale = _SCALES.get(words[-1], 1)
    halved = _SCALES.get(words[at - 1], 1) if at else 1  # "a million and a half"
    return None if whole is None else (whole + Fraction(halved, 2)) * scale


def _cardinal(words: list[str]) -> Fraction | None:
    total = section = 0
    limit: int | None = None  # the scale that the next one has to stay below
    for word in words:
        if word in _WORDS:
            value = _WORDS[word]
            taken = section % 100
            fits = not taken or (value < 10 and taken >= 20 and taken % 10 == 0)
            if not fits or (value == 0 and len(words) > 1):
                return None
            section += value
        elif (scale := _SCALES[word]) >= 1000:
            if limit is not None and scale >= limit:
                return None
            total, section, limit = total + max(1, section) * scale, 0, scale
        elif section >= 100:
            return None
        else:
            section = max(1, section) * scale
    return Fraction(total + section)
