"""Dates and times as people write them. No reference date is known, so relative words stay symbolic."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from agenteval.domain.numerals import CHINESE, number


class Date(NamedTuple):
    """A calendar date; None for a part that was not said. `swappable`: in figures that others read as day/month."""

    year: int | None
    month: int | None
    day: int | None
    swappable: bool = False

    @property
    def parts(self) -> tuple[int | None, int | None, int | None]:
        return self.year, self.month, self.day

    @property
    def swapped(self) -> "Date":
        return Date(self.year, self.day, self.month) if self.swappable else self


class Weekday(NamedTuple):
    """0 is Monday, 7 the weekend. `week`: 0 this week, 1 the next, -1 the last; None when not said."""

    day: int
    week: int | None


class Offset(NamedTuple):
    """So many days after the day of the conversation."""

    days: int


class Time(NamedTuple):
    """`hour` 0-23. When neither half of the day nor 24 hours were told apart, `exact` is False: "3点" is 3 or 15."""

    hour: int
    minute: int
    exact: bool


class Daypart(NamedTuple):
    name: str  # morning, noon, afternoon, evening, night


Day = Date | Weekday | Offset
Clock = Time | Daypart


def same_day(one: Day, other: Day) -> bool:
    """Whether both may be one day: every part that both tell agrees, and at least one does."""
    if isinstance(one, Date) and isinstance(other, Date):
        pairs = [(a, b) for a, b in zip(one.parts, other.parts, strict=True) if a is not None and b is not None]
        return bool(pairs) and all(a == b for a, b in pairs)
    if isinstance(one, Weekday) and isinstance(other, Weekday):
        return one.day == other.day and (one.week == other.week or None in (one.week, other.week))
    return one == other


def comparable_days(one: Day, other: Day) -> bool:
    """Whether both tell the same part of a day, so that it can be known to differ: not "12/03", if the third of
    December is as good as the twelfth of March."""
    if isinstance(one, Date) and isinstance(other, Date):
        return any(a is not None and b is not None for a, b in zip(one.parts, other.parts, strict=True)) and not (
            same_day(one.swapped, other) or same_day(one, other.swapped)
        )
    if isinstance(one, Weekday) and isinstance(other, Weekday):
        return {one.day, other.day} not in ({5, 7}, {6, 7})  # Saturday is of the weekend
    return isinstance(one, Offset) and isinstance(other, Offset)


def same_clock(one: Clock, other: Clock) -> bool:
    if isinstance(one, Time) and isinstance(other, Time):
        if one.exact and other.exact:
            return one[:2] == other[:2]
        twelve, zero = sorted((one, other), key=lambda clock: -clock.hour)
        if zero.exact and zero.hour == 0 and twelve.hour == 12:
            return False  # "12:00" is noon, unless midnight is spoken of
        return one.minute == other.minute and one.hour % 12 == other.hour % 12
    return one == other


def comparable_clocks(one: Clock, other: Clock) -> bool:
    """Whether it can be known that both differ: not "下午" and "15:00", nor "12:00" and midnight."""
    if isinstance(one, Time) and isinstance(other, Time):
        return (one.exact and other.exact) or {one.hour, other.hour} != {0, 12}
    return type(one) is type(other)


# ---- days ------------------------------------------------------------------------------------------------------------

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)"
)
ORDINALS = {
    word: value
    for value, word in enumerate(
        (
            *(
                "first",
                "second",
                "third",
                "fourth",
                "fifth",
                "sixth",
                "seventh",
                "eighth",
                "ninth",
                "tenth",
                "eleventh",
            ),
            *(
                "twelfth",
                "thirteenth",
                "fourteenth",
                "fifteenth",
                "sixteenth",
                "seventeenth",
                "eighteenth",
                "nineteenth",
            ),
            *("twentieth", "twenty-first", "twenty-second", "twenty-third", "twenty-fourth", "twenty-fifth"),
            *("twenty-sixth", "twenty-seventh", "twenty-eighth", "twenty-ninth", "thirtieth", "thirty-first"),
        ),
        start=1,
    )
}
_ORDINAL = "|".join(word.replace("-", r"[\s-]") for word in sorted(ORDINALS, key=len, reverse=True))
_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun", "weekend")
_WEEKDAY = (
    r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|weekend\b"
    r"|(?-i:Mon|Tues?|Wed|Thu(?:rs?)?|Fri|Sat|Sun)(?=[\s,.;!?)]|\Z))"
)
_CN = f"[{CHINESE}]{{1,3}}"
_DAY_NUMBER = rf"(?:\d{{1,2}}|{_CN})"
_RELATIVE = {
    "大前天": -3, "前天": -2, "前日": -2, "昨": -1, "今": 0, "当天": 0, "明": 1, "大后天": 3, "后天": 2, "后日": 2,
    "today": 0, "tonight": 0, "tomorrow": 1, "day after tomorrow": 2, "yesterday": -1, "day before yesterday": -2,
}  # fmt: skip
_DATE = re.compile(
    r"(?<![\d.])(?P<iso_year>\d{4})(?P<sep>[-/.])(?P<iso_month>\d{1,2})(?P=sep)(?P<iso_day>\d{1,2})(?!\d)"
    rf"|(?:(?P<cn_year>(?<!\d)\d{{4}}|(?<!\d)\d{{2}}|[{CHINESE}]{{2,4}})\s?年\s?)?(?P<cn_month>(?<!\d)\d{{1,2}}|{_CN})\s?月(?!\s?(?:租|付|薪|卡|票|饼|亮))"
    rf"(?:份|\s?(?P<cn_day>{_DAY_NUMBER})\s?(?:[日号]|(?<=\d)(?![\d:.\u3400-\u9fff])))?"
    rf"|(?P<only_day>(?<![\d第]){_DAY_NUMBER})\s?[日号](?![线楼店座馆厅院桌间房码游台舱位柜窗库栋幢]|门(?!诊)|[车机](?!票)|单元|公寓|登机|航站)"
    r"|(?<![\d/.])(?P<first>\d{1,2})/(?P<second>\d{1,2})(?:/(?P<last>\d{4}|\d{2}))?(?![\d/])"
    rf"|\b(?P<m_name>{_MONTH})\b\.?\s+(?:the\s+)?(?P<m_day>\d{{1,2}}|{_ORDINAL})(?:st|nd|rd|th)?(?![\d:])(?:,?\s+(?P<m_year>\d{{4}}))?\b"
    rf"|\b(?P<d_day>\d{{1,2}}|{_ORDINAL})(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<d_name>{_MONTH})\b\.?(?:,?\s+(?P<d_year>\d{{4}}))?"
    rf"|\b(?P<y_name>{_MONTH})\b\.?,?\s+(?P<y_year>\d{{4}})\b"
    r"|\b(?P<th_day>\d{1,2})(?:st|nd|rd|th)\b"
    r"|(?P<week>(?:这|本|今|下个?|上个?){0,2})(?:个)?(?:周|星期|礼拜)(?P<cn_weekday>[一二三四五六日天末])(?!年)"
    rf"|\b(?:(?P<which>next|this|last|coming)\s+)?(?P<weekday>{_WEEKDAY})(?:\s+(?P<after>next|this|last)\s+week\b)?"
    r"|(?P<relative>大[前后]天|前[天日]|后[天日]|当天|昨(?=[天日晚])|今(?=[天日晚早])|明(?=[天日晚早])"
    r"|\b(?:day\s+after\s+tomorrow|day\s+before\s+yesterday|today|tonight|tomorrow|yesterday)\b)[天日早晚]?",
    re.IGNORECASE,
)
_STREET = re.compile(r"(?:[街路巷弄村区楼栋幢]|胡同|单元|大院|(?<![知报频味])道)\s?\Z")
_THOROUGHFARE = re.compile(
    r"\s+(?:street|st|avenue|ave|road|rd|lane|floor|fl|drive|dr|boulevard|blvd)\b", re.IGNORECASE
)
_WEEKS = {"next": 1, "this": 0, "coming": None, "last": -1}
_DAYS_OF_MONTH = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def dates(text: str) -> Iterator[tuple[int, int, Day]]:
    """Every date `(start, end, value)` of a narrow text. "9/1" is month/day, unless only day/month is possible."""
    for m in _DATE.finditer(text):
        day = None if _is_address(m) else _day(m)
        if day is not None:
            yield m.start(), m.end(), day


def _is_address(m: re.Match[str]) -> bool:
    """中关村大街27号, 5th Avenue, 12 May Street."""
    if m["only_day"]:
        return _STREET.search(m.string, max(0, m.start() - 3), m.start()) is not None
    return bool(m["th_day"] or m["d_name"]) and _THOROUGHFARE.match(m.string, m.end()) is not None


def _day(m: re.Match[str]) -> Day | None:
    if m["relative"]:
        return Offset(_RELATIVE[" ".join(m["relative"].lower().split())])
    if m["cn_weekday"]:
        week = m["week"]
        shift = week.count("下") - week.count("上") if week else None
        return Weekday("一二三四五六日末天".index(m["cn_weekday"]) if m["cn_weekday"] != "天" else 6, shift)
    if m["weekday"]:
        name = m["weekday"].lower()
        which = (m["after"] or m["which"] or "").lower()
        return Weekday(next(i for i, w in enumerate(_WEEKDAYS) if name.startswith(w)), _WEEKS.get(which))
    date = _date(*_parts(m))
    return date._replace(swappable=True) if date and m["first"] and _is_day_and_month(m["first"], m["second"]) else date


def _is_day_and_month(first: str, second: str) -> bool:
    return first != second and int(first) <= 12 and int(second) <= 12


def _parts(m: re.Match[str]) -> tuple[str | None, str | None, str | None]:
    """Year, month, day of a calendar date as written."""
    if m["iso_year"]:
        return m["iso_year"], m["iso_month"], m["iso_day"]
    if m["cn_month"]:
        return m["cn_year"], m["cn_month"], m["cn_day"]
    if m["first"]:
        month, day = m["first"], m["second"]
        return m["last"], *((day, month) if int(month) > 12 else (month, day))
    if name := m["m_name"] or m["d_name"] or m["y_name"]:
        month = str(_MONTHS.index(name[:3].lower()) + 1)
        return m["m_year"] or m["d_year"] or m["y_year"], month, m["m_day"] or m["d_day"]
    return None, None, m["only_day"] or m["th_day"]


def _date(year: str | None, month: str | None, day: str | None) -> Date | None:
    y, m, d = (None if part is None else _whole(part) for part in (year, month, day))
    if y is not None and y < 100:
        y += 2000
    if m is not None and not 1 <= m <= 12:
        return None
    if d is not None and not 1 <= d <= (31 if m is None else _DAYS_OF_MONTH[m - 1]):
        return None
    return Date(y, m, d)


# ---- clock times -----------------------------------------------------------------------------------------------------

_DAYPARTS = {
    word: name
    for name, words in (
        ("morning", ("早上", "早晨", "清晨", "上午", "早", "morning")),
        ("noon", ("中午", "正午", "noon", "midday")),
        ("afternoon", ("下午", "afternoon")),
        ("evening", ("傍晚", "晚上", "晚", "evening", "tonight")),
        ("night", ("凌晨", "半夜", "深夜", "夜里", "night", "midnight")),
    )
    for word in words
}
_PART_CN = (
    r"凌晨|半夜|深夜|早上|早晨|清晨|上午|中午|正午|下午|傍晚|晚上|夜里|(?<=[今明昨后])[早晚]"
    rf"|(?<=[日号天末一二三四五六])[早晚](?=\s?(?:\d{{1,2}}|[{CHINESE}]{{1,3}})\s?[点點时:])"
)
_PART_EN = r"(?:in\s+the\s+(?:morning|afternoon|evening)|at\s+night)"
_HOUR_WORD = r"(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
_LACK = rf"差(?:一刻|(?:\d{{1,2}}|[{CHINESE}]{{1,3}})分)钟?"
_AFTER_HOUR = (
    r"(?=\s?(?:[,;!?)]|\.(?!\d)|\Z)"
    r"|\s(?:on|for|in|if|and|or|then|tonight|today|tomorrow|please|sharp|is|would|will|works|suits|with|under|as)\b)"
)
"""What stands after "at 9" when it is an hour: no street ("at 9 Rose Hill"), price or the like."""
_MERIDIEM = r"(?:a\.?m\b\.?|p\.?m\b\.?)"
_TIME = re.compile(
    rf"(?:(?P<part>{_PART_CN})的?\s?)?(?:(?<!\d)(?<!\d[:.])(?P<h24>\d{{1,2}}):(?P<m24>\d{{2}})(?::\d{{2}})?(?![\d:])(?:\s?(?P<ampm24>{_MERIDIEM}|{_PART_EN}))?"
    rf"|(?:(?P<lack>{_LACK})到?)?(?P<cn_hour>(?<!\d)(?<!\d[:.])\d{{1,2}}|(?:(?<![有早快慢多少差周])|(?<=有)(?!一\s?[点點]))(?<!星期)(?<!礼拜)[{CHINESE}]{{1,3}})\s?[点點时](?!间|候|评|餐|赞|击)"
    rf"(?:(?P<half>半)|(?P<lacking>{_LACK})|(?P<quarter>[一三])刻|(?P<cn_minute>\d{{1,2}}|[{CHINESE}]{{1,3}})(?:分|(?![\d:个位人间张元块天晚月日]))|(?P<whole>[钟整]))?)"
    rf"|\b(?P<hour>\d{{1,2}}|{_HOUR_WORD})\s?(?:(?P<ampm>{_MERIDIEM})|(?P<oclock>o'?\s?clock\b)?\s?(?P<en_part>{_PART_EN})|(?P<bare>o'?\s?clock\b))"
    rf"|(?<=\bat\s)(?P<at_hour>\d{{1,2}}|{_HOUR_WORD}){_AFTER_HOUR}"
    rf"|\bhalf\s+(?P<half_hour>\d{{1,2}}|{_HOUR_WORD})\s?(?P<half_part>{_MERIDIEM})"
    rf"|\b(?P<past>half|quarter|(?:\d{{1,2}}|five|ten|twenty|twenty[\s-]five)(?:\s+minutes?|(?=\s+past)))\s+(?P<side>past|to)\s+(?P<past_hour>\d{{1,2}}|{_HOUR_WORD})\b(?:\s?(?P<past_part>{_MERIDIEM}|{_PART_EN}))?"
    rf"|(?P<daypart>{_PART_CN}|\b(?:morning|afternoon|evening|midday|noon|midnight|tonight|night)\b)",
    re.IGNORECASE,
)


def times(text: str) -> Iterator[tuple[int, int, Clock]]:
    """Every clock time or part of the day `(start, end, value)` of a narrow text."""
    for m in _TIME.finditer(text):
        clock = _clock(m)
        if clock is not None:
            yield m.start(), m.end(), clock


def _clock(m: re.Match[str]) -> Clock | None:
    if m["daypart"]:
        return Daypart(_DAYPARTS[m["daypart"].lower()])
    if m["past"]:
        minute, hour = _minutes(m["past"].lower()), _whole(m["past_hour"])
        if m["side"].lower() == "to":
            return _before(_time(hour, 0, m["past_part"]), minute)
        return _time(hour, minute, m["past_part"])
    if m["half_hour"]:  # British: half past
        return _time(_whole(m["half_hour"]), 30, m["half_part"])
    if m["h24"]:
        return _time(int(m["h24"]), int(m["m24"]), m["part"] or m["ampm24"], padded=m["h24"].startswith("0"))
    if m["cn_hour"]:
        if m["cn_hour"] == "一" and not (m["part"] or m["half"] or m["quarter"] or m["cn_minute"] or m["whole"]):
            return None  # 一点: "a little"
        minute = 30 if m["half"] else 15 * _whole(m["quarter"]) if m["quarter"] else _whole(m["cn_minute"] or "0")
        said = _time(_whole(m["cn_hour"]), minute, m["part"])
        lack = m["lack"] or m["lacking"]
        return (
            said if lack is None else _before(said, 15 if "刻" in lack else _whole(lack[1:].rstrip("钟").rstrip("分")))
        )
    return _time(_whole(m["hour"] or m["at_hour"]), 0, m["ampm"] or m["en_part"])


def _minutes(said: str) -> int:
    """ "half", "quarter", "ten minutes"."""
    return {"half": 30, "quarter": 15}.get(said) or _whole(said.removesuffix("s").removesuffix("minute").strip())


def _before(clock: Time | None, minutes: int) -> Time | None:
    """So many minutes before a whole hour."""
    if clock is None or not 0 < minutes < 60:
        return None
    hour = (clock.hour - 1) % 24 if clock.exact else clock.hour - 1 or 12
    return Time(hour, 60 - minutes, clock.exact)


def _time(hour: int, minute: int, half: str | None, *, padded: bool = False) -> Time | None:
    """`half`: am, pm or a part of the day as written."""
    if not (0 <= hour <= 24 and 0 <= minute < 60):
        return None
    if half is None or hour > 12 or hour == 0:
        return Time(hour % 24, minute, exact=half is not None or padded or hour > 12 or hour == 0)
    words = half.lower().replace(".", "").split()
    part = {"am": "morning", "pm": "afternoon"}.get(words[-1]) or _DAYPARTS[words[-1]]
    afternoon = {
        "morning": False,
        "noon": hour < 10 or hour == 12,
        "afternoon": True,
        "evening": 4 <= hour < 12,
        "night": 6 <= hour < 12,
    }[part]
    return Time(hour % 12 + (12 if afternoon else 0), minute, exact=True)


def _whole(text: str) -> int:
    value = ORDINALS.get("-".join(text.lower().split())) or number(text.lower())
    return -1 if value is None else int(value)
