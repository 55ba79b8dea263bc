"""What a reply makes of a value in another form than the user's: part of it, a title with a name, a street.

"Ending in 0137" reads a phone number back, "Ms Chen" the name Alice Chen; "ending in 0173", "Mr Smith" or "88 Market
Road" do not. Names of others, and streets of others, occur in replies, too. So a form that differs is `certain` only
where it addresses the user or tells what was noted, or is so like the user's value that nothing else can be meant.
"""

import re
from collections.abc import Callable, Iterator
from difflib import SequenceMatcher
from itertools import islice
from typing import NamedTuple

from agenteval.domain.numerals import digits
from agenteval.domain.slots import SlotType
from agenteval.domain.text import fold
from agenteval.rules.completion.items import Slot
from agenteval.rules.completion.rivals import OTHER_NUMBER, THEIRS
from agenteval.rules.completion.values import MAX_FOUND
from agenteval.rules.completion.wording import clause_at


class Readback(NamedTuple):
    """Whether what stands in `reply[start:end]` agrees with the user's value; a difference may be `certain`."""

    start: int
    end: int
    agrees: bool
    certain: bool = True


def readbacks(slot: Slot, value: str, reply: str) -> list[Readback]:
    """All of a reply, in order."""
    return sorted(one for read in _READERS for one in islice(read(slot, value, reply), MAX_FOUND))


# ---- the end of a number ---------------------------------------------------------------------------------------------

_TAIL = re.compile(
    r"(?:\b(?:ending|ends?)\s+(?:in|with|on)|\blast\s+(?:\w+\s+)?digits?(?:\s+(?:are|is|being))?|尾号|[后末][三四4]位(?:数字|号码)?)"
    r"\s*(?:[是为:：]|are|is)?\s*(?P<tail>\d{2,6})(?!\d)",
    re.IGNORECASE,
)
_MASKED = re.compile(r"(?<!\d)(?P<head>\d{0,6})[*＊xX•]{2,12}(?P<tail>\d{2,6})(?!\d)")
_NUMBERED = {SlotType.PHONE, SlotType.ID_CARD, SlotType.TEXT}
_LONG = 7
"""Digits of a number of which somebody would read back only the end."""


def _tails(slot: Slot, value: str, reply: str) -> Iterator[Readback]:
    number = re.sub(r"\D", "", digits(value))
    if slot.type not in _NUMBERED or len(number) < _LONG:
        return
    own = OTHER_NUMBER.search(fold(f"{slot.name} {slot.description}")) is not None
    for m in _TAIL.finditer(reply):
        if own or not OTHER_NUMBER.search(clause_at(reply, m.start())):
            yield Readback(*m.span(), number.endswith(m["tail"]))
    for m in _MASKED.finditer(reply):
        agrees = number.startswith(m["head"]) and number.endswith(m["tail"])
        yield Readback(*m.span(), agrees, bool(m["head"]) and not OTHER_NUMBER.search(clause_at(reply, m.start())))


# ---- names -----------------------------------------------------------------------------------------------------------

_PERSON = re.compile(
    r"\W*(?:(?:the|of|your|full|first|last|customer|user|guest|contact|client|caller|passenger|patient|booking|reservation|person)s?['’]?s?\W+)*"
    r"(?:(?:sur)?names?|person|guest|customer|contact)(?:\W+(?:of|for|on)\b.*)?\W*|.*(?:姓名|名字|称呼|(?:联系|预[订定约]|入住|乘车)人|乘客|姓氏)\W*",
    re.IGNORECASE,
)
_NO_PERSON = re.compile(
    r"pet|dog|cat\b|hotel|restaurant|product|compan|brand|course|doctor|stylist|shop|store|drug|file|project|event|city|place"
    r"|宠物|酒店|餐厅|产品|商品|公司|品牌|课程|医生|技师|发型师|店|城市|项目|药",
    re.IGNORECASE,
)
_WORD = r"[A-Z][\w-]*[a-z][\w-]*"
_LATIN_NAME = re.compile(rf"{_WORD}(?:\s+{_WORD}){{0,3}}")
_NAME = rf"(?P<name>{_WORD}(?:[ ]+{_WORD}){{0,2}})(?!['’]s\b)"
_ADDRESSED = re.compile(
    r"\b(?:[Hh]ello|[Hh]i|[Dd]ear|[Ww]elcome(?:[ ]back)?|[Tt]hank(?:s|[ ]you)(?:[ ](?:so|very)[ ]much)?"
    r"|[Ss]orry|[Gg]oodbye|[Bb]ye)"
    rf",?[ ](?:(?:Mr|Mrs|Ms|Miss|Mx|Dr)\.?[ ])?{_NAME}(?=[ ]?[,.!?;:])"
    rf"|(?:\A|[.!?,]\s+)(?:Mr|Mrs|Ms|Miss|Mx)\.?[ ]{_NAME.replace('name>', 'titled>')}(?=[ ]?[,.!])"
    r"|(?:\b[Nn]ame[ ](?:of[ ])?|(?<=[Bb]ooked[ ])under[ ]|(?<=[Rr]eserved[ ])under[ ]"
    r"|(?:(?:\A|\n)[\s*•-]*|[Yy]our[ ]|[Gg]uest[ ]|[Cc]ustomer[ ])[Nn]ame[*]{0,2}:[ *]{1,3})"
    rf"{_NAME.replace('name>', 'noted>')}"
    rf"|\b(?:Mr|Mrs|Ms|Miss|Mx)\.?[ ]{_NAME.replace('name>', 'told>')}"
    r"|\b(?:[Rr]eservation|[Bb]ooking|[Tt]able|[Aa]ppointment|[Rr]oom|[Bb]ooked|[Rr]eserved)[ ]for[ ]"
    rf"(?P<guest>{_WORD}[ ]{_WORD})"
)
_NO_NAME = re.compile(
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|may|june|july|august|september|october|november|december"
    r"|your?|we|it|the|there|this|that|sir|madam|everyone|all|again|for|to|and|booking|reservation|order|reference|confirmation|team"
    r"|customers?|guests?|clients?|friends?|valued|members?|folks|miss|mate|buddy|sunshine|honey|darling|traveller"
    r"|welcome|goodbye|bye|thanks?|noted|done|booked|great|perfect|no|yes|of|on|in|is|please|have|enjoy|see|mr|mrs|ms",
    re.IGNORECASE,
)
_NICKNAMES = frozenset(
    (
        *(("bob", "robert"), ("bill", "william"), ("dick", "richard"), ("ted", "edward"), ("ned", "edward")),
        *(("peggy", "margaret"), ("jack", "john"), ("hank", "henry"), ("polly", "mary"), ("nancy", "ann")),
        *(("sandy", "alexander"), ("sasha", "alexander"), ("sasha", "alexandra"), ("kate", "catherine")),
        *(("kathy", "catherine"), ("kit", "christopher"), ("jeff", "geoffrey")),
    )
)
_SPELT_ALIKE = 0.7


def _names(slot: Slot, value: str, reply: str) -> Iterator[Readback]:
    if slot.type is not SlotType.TEXT or slot.constrained or not is_person(slot):
        return
    if _LATIN_NAME.fullmatch(value):
        for m in _ADDRESSED.finditer(reply):
            group = str(m.lastgroup)
            words = [word for word in m[group].split() if not _NO_NAME.fullmatch(word)]
            if words and words == m[group].split():
                agrees, certain = _same_name(words, value.split())
                yield Readback(*m.span(group), agrees, certain and (agrees or group not in {"told", "guest"}))
    elif _CHINESE_NAME.fullmatch(value):
        yield from _chinese_names(value, reply)


def is_person(slot: Slot) -> bool:
    """Whether the slot is the name of the user, or of whom they act for."""
    label = slot.name.rpartition(".")[2].replace("_", " ")
    return not _NO_PERSON.search(f"{label} {slot.description}") and any(
        _PERSON.fullmatch(words) for words in (label, slot.description) if words
    )


def _same_name(said: list[str], wanted: list[str]) -> tuple[bool, bool]:
    """Whether it agrees, and whether that is certain: it may be a nickname, another spelling, or a second name."""
    one, other = ([word.casefold() for word in words] for words in (said, wanted))
    if set(one) <= set(other):
        return True, True
    alike = any(
        a[0] == b[0]
        or a in b
        or (a, b) in _NICKNAMES
        or (b, a) in _NICKNAMES
        or SequenceMatcher(None, a, b).ratio() >= _SPELT_ALIKE
        for a in one
        for b in other
    )
    return False, not alike


_SURNAMES = (
    "王李张刘陈杨黄赵吴周徐孙马朱胡郭何高林罗郑梁谢宋唐许韩冯邓曹彭曾肖田董袁潘于蒋蔡余杜叶程苏魏吕丁任沈姚卢姜崔钟谭陆汪范金石廖贾夏韦付方"
    "白邹孟熊秦邱江尹薛闫段雷侯龙史陶黎贺顾毛郝龚邵万钱严覃武戴莫孔向汤"
)
_COMPOUND = "欧阳|司马|上官|诸葛|司徒|夏侯|皇甫|尉迟|公孙|慕容|令狐|长孙"
_CHINESE_NAME = re.compile(rf"(?P<surname>{_COMPOUND}|[\u3400-\u9fff])[\u3400-\u9fff]{{1,2}}")
_FULL = rf"(?:{_COMPOUND}|[{_SURNAMES}])[\u3400-\u9fff]{{1,2}}"
_LABEL = 6
"""Characters before a name in which its label may stand: "师傅：李先生"."""
_TITLE = re.compile(r"(?:先生|女士|小姐|太太)\Z")
_CALLED = re.compile(
    r"(?:\A|[\s，。！、,.!：:~～]|好的|您好|你好|谢谢|感谢|尊敬的|亲爱的|[为给帮请])"
    rf"(?P<titled>(?:{_COMPOUND}|[{_SURNAMES}])[\u3400-\u9fff]{{0,2}}?)(?:先生|女士|小姐|太太)"
    rf"|[在以用](?P<noted>{_FULL}?)(?:先生|女士)?(?:的?名下|的?名义|的名字)"
    rf"|(?:姓名|名字|(?:预[订定约]|联系|入住)人)[是为]?[：:]?\s?(?P<label>{_FULL}?)(?=[，。；,;\s！!]|先生|女士|\Z)"
)


def _chinese_names(value: str, reply: str) -> Iterator[Readback]:
    whole = _CHINESE_NAME.fullmatch(value)
    for m in _CALLED.finditer(reply):
        group = str(m.lastgroup)
        name = _TITLE.sub("", m[group])
        agrees = name == value or (whole is not None and name == whole["surname"])
        told = reply[max(0, m.start(group) - _LABEL) : m.start(group)] + clause_at(reply, m.start(group))
        yield Readback(*m.span(group), agrees, not THEIRS.search(told))


# ---- addresses -------------------------------------------------------------------------------------------------------

_KINDS = {
    "st": "street", "rd": "road", "ave": "avenue", "ln": "lane", "dr": "drive", "blvd": "boulevard", "ct": "court",
    "pl": "place", "sq": "square",
}  # fmt: skip
_STREET = re.compile(
    r"(?<![\w-])(?P<number>\d{1,5}[a-z]?)\s+(?P<street>(?:[a-z][\w'’.-]*\s+){1,3}?)(?P<kind>street|road|avenue|lane|drive|boulevard"
    r"|close|court|place|square|terrace|crescent|gardens|grove|way|st|rd|ave|ln|dr|blvd|ct|pl|sq)\b",
    re.IGNORECASE,
)
_CHINESE_STREET = re.compile(
    r"(?P<street>[\u3400-\u9fff]{1,8}?(?:大街|大道|胡同|路|街|巷|弄))\s?(?P<number>\d{1,5}|[一二三四五六七八九十百]{1,5})\s?[号弄]"
)
_NOTED = re.compile(
    r"(?:登记|地址|上门|[送寄发派]到|送往)[^。！；]{0,6}\Z"
    r"|\b(?:your\s+address|(?:come|go|deliver\w*|ship\w*|sen[dt]|visit\w*)\b[^.;]{0,30}\b(?:to|at))(?:\s+(?:is|as))?:?\s*\Z",
    re.IGNORECASE,
)
_PLACE = re.compile(
    r"位于|地处|(?:我们|本店|门店|酒店|餐厅|分店|总部)\w{0,4}[在是：:]"
    r"|\b(?:our|nearest|the)\s+(?:\w+\s+)?(?:office|store|shop|hotel|restaurant|branch|clinic|salon)\b|\b(?:we\s+are|we['’]re|located)\b",
    re.IGNORECASE,
)
"""Whose address it is, when not the user's."""
_TOWN = re.compile(r",\s*(?P<town>[A-Z][a-z]{2,})(?!\s+[a-z])")
_NEAR = 40
_ALIKE = 0.6


def _addresses(slot: Slot, value: str, reply: str) -> Iterator[Readback]:
    pattern = _CHINESE_STREET if _CHINESE_STREET.search(value) else _STREET
    wanted = pattern.search(value)
    if slot.type is not SlotType.TEXT or slot.constrained or wanted is None:
        return
    for m in pattern.finditer(reply):
        if _PLACE.search(clause_at(reply, m.start())):
            continue
        number, street = m["number"].casefold() == wanted["number"].casefold(), _same_street(m, wanted)
        slip = _like_street(m, wanted) if number else street and sorted(m["number"]) == sorted(wanted["number"])
        noted = _NOTED.search(reply[max(0, m.start() - _NEAR) : m.start()]) or _NOTED.search(m["street"][:-2])
        if number and street:
            town = _other_town(reply[m.end() : m.end() + _NEAR], value[wanted.end() :])
            yield Readback(m.start(), m.end() + len(town), not town, certain=False)
        else:
            yield Readback(*m.span(), agrees=False, certain=noted is not None or slip)


def _other_town(said: str, wanted: str) -> str:
    """The place that follows the street, where it is none of the value's."""
    town = _TOWN.match(said)
    is_other = town and _TOWN.match(wanted) and town["town"].casefold() not in wanted.casefold()
    return town.group() if town and is_other else ""


def street_of(address: str) -> str | None:
    """The street of an address that has a number."""
    m = _CHINESE_STREET.search(address) or _STREET.search(address)
    return m and m["street"] + m.groupdict().get("kind", "")


def _like_street(one: re.Match[str], other: re.Match[str]) -> bool:
    """Whether one may be the other with a slip of the tongue: Market Road, 建设路 for 建国路."""
    a, b = (fold("".join(part for part in m.groups() if part is not m["number"])) for m in (one, other))
    return SequenceMatcher(None, a[-len(b) :], b).ratio() >= _ALIKE


def _same_street(one: re.Match[str], other: re.Match[str]) -> bool:
    """With or without a district before it."""
    a, b = (" ".join(fold(m["street"]).split()) for m in (one, other))
    if "kind" not in one.groupdict():
        return a.endswith(b) or b.endswith(a)
    kind_a, kind_b = (_KINDS.get(m["kind"].lower(), m["kind"].lower()) for m in (one, other))
    return kind_a == kind_b and (a.endswith(b) or b.endswith(a))


# ---- codes -----------------------------------------------------------------------------------------------------------

_CODE = re.compile(
    r"(?<![A-Za-z\d_.-])(?=[A-Za-z-]*\d)(?P<letters>[A-Za-z]{0,5})-?(?P<digits>\d{4,12})(?![A-Za-z\d_-])(?!\.\d)"
)


def _codes(slot: Slot, value: str, reply: str) -> Iterator[Readback]:
    """Another code of the same shape may be another thing's; only one with the digits turned round is a slip."""
    wanted = _CODE.fullmatch(value.strip())
    if slot.type is not SlotType.TEXT or wanted is None:
        return
    for m in _CODE.finditer(reply):
        if len(m["digits"]) == len(wanted["digits"]) and m["letters"].casefold() == wanted["letters"].casefold():
            same, slip = m["digits"] == wanted["digits"], sorted(m["digits"]) == sorted(wanted["digits"])
            if same or slip or m["letters"]:
                yield Readback(*m.span(), same, slip)


_READERS: tuple[Callable[[Slot, str, str], Iterator[Readback]], ...] = (_tails, _names, _addresses, _codes)
