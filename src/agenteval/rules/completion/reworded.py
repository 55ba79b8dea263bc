"""Whether an expected value that nobody said as such may have been given all the same.

People dictate numbers, sum up, tell a day by its feast, and let the agent say the value for them. Code does not compare
such words; it only sees that they may mean the value, so that this is not `missing`.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import accumulate

from agenteval.domain.clauses import is_asked, is_negated, negations
from agenteval.domain.moments import ORDINALS, Date, Time, dates, times
from agenteval.domain.numerals import english, narrow, numbers
from agenteval.domain.slots import Found, SlotType, matches
from agenteval.domain.text import fold
from agenteval.domain.transcript import Dialog
from agenteval.rules.completion.items import Slot
from agenteval.rules.completion.readback import is_person
from agenteval.rules.completion.values import CHANGE, differ_in, expected_in

LONGEST = 4_096
"""Characters of a message that are looked at: what is longer is no dictation."""


def may_be_reworded(slot: Slot, dialog: Dialog) -> bool:
    """Whether the agent states the expected value and nobody corrects it, or a message may mean it."""
    if _said_by_agent(slot, dialog):
        return True
    said = (turn.sent_message[:LONGEST] for turn in dialog)
    messages = [message for message in said if not expected_in(slot, message)]
    messages.append("\n".join(messages)[:LONGEST])
    made_of = _MADE_OF.get(slot.type)
    return any(
        _is_dictated(value, message)
        or (slot.type is SlotType.TEXT and not slot.constrained and _has_parts(slot, value, message))
        or (made_of is not None and made_of(value, message))
        for value in _values(slot)
        for message in messages
    )


def _values(slot: Slot) -> tuple[str, ...]:
    return slot.expected_value if isinstance(slot.expected_value, tuple) else ()


def _said_by_agent(slot: Slot, dialog: Dialog) -> bool:
    for turn in reversed(dialog.turns):
        reply = turn.reply_text if turn.answered else ""
        if any(not is_negated(reply, f.start, f.end) and not _is_offered(reply, f) for f in expected_in(slot, reply)):
            return True
        if _corrects(slot, turn.sent_message):
            return False
    return False


_SENTENCE_END = re.compile(r"[。！!\n；;]|(?P<asks>[?？])|\.(?=\s|\Z)")


def _is_offered(reply: str, found: Found) -> bool:
    """Whether the sentence goes on to ask: "we have a double, shall I take it?"."""
    sentence = _SENTENCE_END.search(reply, found.end)
    return is_asked(reply, found.start) or (sentence is not None and sentence["asks"] is not None)


def _corrects(slot: Slot, message: str) -> bool:
    return (
        CHANGE.search(message) is not None
        or any(m["negation"] for m in negations(message))
        or any(differ_in(slot, value, message) for value in _values(slot))
    )


# ---- dictation -------------------------------------------------------------------------------------------------------

_SHORTEST = 4
"""Letters and digits of a value that is known again without its word boundaries."""
_WORDS = re.compile(r"[a-z]+|\d+|[\u3400-\u9fff]+")
_SPELT = re.compile(r"(?<![a-z])(?:[a-z][\s.-]{1,2}){2}[a-z](?![a-z])")
_LONG = 7
"""Digits of a number that is known again whatever words are between them."""
_MARKS = {"dot", "point", "dash", "hyphen", "underscore", "at", "plus", "slash", "and"}
_TENS = r"twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety"
_UNITS = r"one|two|three|four|five|six|seven|eight|nine"
_TEENS = r"ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen"
_FIGURES = re.compile(
    rf"\b(?:(?:(?P<twice>double)|(?P<thrice>triple))\s+)?(?P<figures>(?:{_TENS})(?:[\s-](?:{_UNITS}))?|{_TEENS}|{_UNITS}|zero|oh|o|\d)\b"
)


def _is_dictated(expected: str, message: str) -> bool:
    """Whether the letters and digits of a number, a code or an address stand in a row, whatever is between them: "four
    one five", "double oh seven", "alice dot chen at example dot com", "K 20417"."""
    said = fold(message)
    wanted = "".join(_WORDS.findall(fold(expected)))
    if len(wanted) < _SHORTEST or not (re.search(r"[\d@.]", expected) or _SPELT.search(said)):
        return False
    texts = (said, _FIGURES.sub(_in_figures, said))
    if wanted.isdecimal() and len(wanted) >= _LONG and any(wanted in re.sub(r"\D", "", text) for text in texts):
        return True
    return any(wanted in "".join(word for word in _WORDS.findall(text) if word not in _MARKS) for text in texts)


def _in_figures(m: re.Match[str]) -> str:
    said = m["figures"]
    figures = "0" if said in {"oh", "o"} else said if said.isdigit() else str(english(said))
    return figures * (2 if m["twice"] else 3 if m["thrice"] else 1)


# ---- names and addresses ---------------------------------------------------------------------------------------------

_KIND = re.compile(r"(?:street|st|road|rd|avenue|ave|lane|ln|drive|dr|close|court|place|square|号)\Z")


def _has_parts(slot: Slot, expected: str, message: str) -> bool:
    """Whether a message has all that a value of words and numbers is made of, in another order or spelling; of a
    person's name a part will do."""
    said = fold(message)
    if is_person(slot) and not expected.isascii():
        return set(expected) <= set(message)
    words = {word for word in _WORDS.findall(fold(expected)) if not word.isdigit() and not _KIND.match(word)}
    told = set(_WORDS.findall(said))
    if is_person(slot):
        return not words.isdisjoint(told)
    figures = {value for _, _, value in numbers(narrow(expected))}
    return bool(figures and words) and (
        figures <= {value for _, _, value in numbers(narrow(message))}
        and all(word in told or (not word.isascii() and word in said) for word in words)
    )


# ---- what a value is made of -----------------------------------------------------------------------------------------

_COMPANY = re.compile(
    r"\b(?:couple|pair|both|trio|myself|just\s+me|family|my\s+\w+|(?:and|plus)\s+(?:i|me))\b|[俩仨]|[和跟]我|我[和跟]|一家|夫妻|情侣|自己|一个人",
    re.IGNORECASE,
)
_LARGEST_COMPANY = 12
_ABOUT = re.compile(
    r"十几|几[十百千万]|[十百千万][多来](?!少)|\b(?:dozens|hundreds|thousands|several|a\s+few)\b", re.IGNORECASE
)
_DIGITS = re.compile(r"\d+")
_GAPS = re.compile(r"(?<=\d)[\s-]+(?=\d)")
_CALENDAR = re.compile(
    r"\b(?:christmas|xmas|new\s+year|easter|valentine|thanksgiving|halloween|labou?r\s+day|in\s+\w+\s+(?:day|week|month)s?|from\s+now"
    r"|next\s+(?:week|month)|end\s+of)\b|春节|元旦|国庆|中秋|清明|端午|五一|十一|圣诞|除夕|情人节|[天周月](?:之|以)?后|下个?月|月[底初]",
    re.IGNORECASE,
)
_CLOCK = re.compile(r"(?<![\d.:])(?P<hour>[01]?\d|2[0-4])(?:h|\s?uhr|\s?(?:[0-5]\d)\s?(?:hours|hrs?))", re.IGNORECASE)
_DAY_AND_MONTH = re.compile(r"(?<![\d.])(?P<day>\d{1,2})[.\s-]\s?(?P<month>\d{1,2})(?!\d)")
_ORDINAL = re.compile("|".join(map(re.escape, sorted(ORDINALS, key=len, reverse=True))), re.IGNORECASE)
_COUNTED = re.compile(
    r"\s?(?:[个人位名件张台岁天晚夜次楼层元块%$€£]|people|persons?|guests?|adults?|kids|children|of\s+us|nights?|days?|dollars?)",
    re.IGNORECASE,
)


def _may_be_sum(expected: str, message: str) -> bool:
    """ "Two adults and two kids" for four, "my wife and I" for two."""
    wanted = next((value for _, _, value in numbers(narrow(expected))), None)
    if wanted is None:
        return False
    said = [value for _, _, value in numbers(narrow(message))]
    if any(wanted in (total, total + 1) for total in list(accumulate(said))[1:]) or _ABOUT.search(message):
        return True
    in_row = _DIGITS.findall(_GAPS.sub("", _FIGURES.sub(_in_figures, fold(message))))  # "one two three"
    if str(wanted) in in_row and str(wanted) not in _DIGITS.findall(message) and wanted >= 10:
        return True
    return wanted <= _LARGEST_COMPANY and _COMPANY.search(message) is not None


def _may_be_day(expected: str, message: str) -> bool:
    """ "12.3.", "the 12", "Christmas", "in two weeks" for a date."""
    wanted = [day for _, _, day in dates(narrow(expected)) if isinstance(day, Date)]
    figures = [{int(m["day"]), int(m["month"])} for m in _DAY_AND_MONTH.finditer(message)]
    said = {*_bare(message), *(ORDINALS[m.group().lower()] for m in _ORDINAL.finditer(message))}
    return any(day.day in said or {day.day, day.month} in figures for day in wanted) or bool(
        wanted and _CALENDAR.search(message)
    )


def _may_be_hour(expected: str, message: str) -> bool:
    """ "20h", "2000 hours", "eight" for a time."""
    hours = {clock.hour for _, _, clock in times(narrow(expected)) if isinstance(clock, Time)}
    said = {*_bare(message), *(int(m["hour"]) for m in _CLOCK.finditer(message))}
    return any(hour in said or (hour % 12 or 12) in said for hour in hours)


def _bare(message: str) -> Iterator[int]:
    """Whole numbers that count nothing."""
    text = narrow(message)
    return (int(v) for _, end, v in numbers(text) if v.denominator == 1 and not _COUNTED.match(text, end))


def _may_be_moment(expected: str, message: str) -> bool:
    return (bool(matches(expected, message, SlotType.DATE)) or _may_be_day(expected, message)) and (
        bool(matches(expected, message, SlotType.TIME)) or _may_be_hour(expected, message)
    )


_MADE_OF: Mapping[SlotType, Callable[[str, str], bool]] = {
    SlotType.NUMBER: _may_be_sum,
    SlotType.DATE: _may_be_day,
    SlotType.TIME: _may_be_hour,
    SlotType.DATETIME: _may_be_moment,
}
