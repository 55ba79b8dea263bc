"""What a clause denies, promises or asks, in English and in Chinese, both simplified and traditional.

A word is judged by its clause: an aside within it is left out ("I have not, unfortunately, booked it"), and a clause
with a subject of its own is another one ("No, I have booked it"). All functions are pure, and constant in time for each
word: a limited part of the text around it counts.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

SHORT = 1_000
"""Characters of a text whose clauses are remembered."""

_SIMPLIFIED = str.maketrans(
    "沒無別問題關係過僅錯論斷鏽鋼擔著線錫來級識類區敗認辦為爲幫給會將議員話場計見長費診馬盡隨這準備後時讓"
    "請嗎麼對經學國樂運動發覽軍機約誤協於處帳剛願還謝難絕許個並暫們夠從客統",
    "没无别问题关系过仅错论断锈钢担着线锡来级识类区败认办为为帮给会将议员话场计见长费诊马尽随这准备后时让"
    "请吗么对经学国乐运动发览军机约误协于处账刚愿还谢难绝许个并暂们够从客统",
)


def simplified(text: str) -> str:
    """The traditional characters among those that the patterns below name as simplified ones, each in its place."""
    return text if text.isascii() else text.translate(_SIMPLIFIED)


_SENTENCE_END = r"""[。！？!?\n；;]+["'”’」』)）]*|\.(?=\s|$|["'”’)])["'”’)]*"""
_COMMA = r"，|,(?!\d)|：|:(?=\s)|——+|\s[-–—]+(?=\s)"
_BORDER = re.compile(
    rf"""(?:{_SENTENCE_END}|{_COMMA})\s*"""
    r"""|(?=(?<![不非])但(?!愿)|不过|可是|然而|所以|因此|于是)"""
    r"""|(?=\b(?:but|however|although|though|because|(?:and|so)\s+(?:i|we|you|your|it)\b)\b)""",
    re.IGNORECASE,
)


def clauses(text: str) -> Sequence[tuple[int, int]]:
    """Spans of the clauses, one after the other, together the whole text; each keeps the punctuation that ends it."""
    return _remembered(text) if len(text) <= SHORT else _clauses(text)


def _clauses(text: str) -> Sequence[tuple[int, int]]:
    borders = [0, *(m.end() for m in _BORDER.finditer(simplified(text))), len(text)]
    return tuple((start, end) for start, end in pairwise(borders) if start < end)


_remembered = lru_cache(maxsize=8192)(_clauses)  # each item of a rule looks at the same turns

# The false friends come first, so that their 不, 没, "no" are consumed before they can be read as a negation.
_NEGATION = re.compile(
    r"不客气|没问题|没关系|没事|不到[\d一二两三五十半]|不好意思|不要紧|不过|不仅|不但|不只|不光|不止|不久|不少|不错|不同|不管|不论|无论|不断|不妨|不锈钢|不得不"
    r"|差不多|要不要|是不是|能不能|会不会|可不可以|需不需要|想不想|有没有|好不好|对不对|行不行|(?:不|别|没有?)(?:用|要|必)?(?:担心|忘)|(?:不|别)(?:用|要|必)?(?:着急|客气|谢)"
    r"|无比|无限|无线|无锡|无障碍|无微不至|无[糖印烟氟绳花骨籽核麸边框]|无人(?=[机车船驾售货值超便商])|无酒精|无咖啡因|无乳糖"
    r"|非常|非洲|非[遗凡标]|非物质|非处方|非机动|除非|是非|莫非|未来|未婚|特别|分别|区别|级别|性别|个别|告别|识别|差别|类别|辨别|派别|别墅|别人|别的|别致"
    r"|\b(?:(?:no|not|never)-(?=[a-z])|not\s+(?:only|just|merely|simply|a\s+problem|to\s+mention)|(?:do\s+not|don['’]?t)\s+(?:worry|hesitate|forget)"
    r"|no\s+(?:problem|worries|doubt|matter|need\s+to\s+worry|(?:extra|additional)\s+(?:cost|charge|fee)s?|later\s+than|\d+)"
    r"|without\s+(?:any\s+)?(?:problem|issue|trouble|delay)s?|could(?:n['’]t|\s+not)\s+be\s+(?:happi|bett)er)\b"
    r"|(?P<negation>[不未无非别]|没有?|失败|难以|拒绝|忘[了记]"
    r"|(?<![^\W_])(?:not|no|never|hardly|cannot|unable|without|neither|nor|none|nothing|nobody|refused?|fail(?:s|ed|ure)?"
    r"|unsuccessful(?:ly)?|(?:yet|forgot(?:ten)?)\s+to)(?![^\W_])|n['’]t\b|\b(?:can|don|won|didn|couldn|isn|wasn)t\b)",
    re.IGNORECASE,
)
_NEGATED_AFTER = re.compile(
    r"失败|被拒|[不没未](?:能|有)?(?:成功|成(?!为)|了\b|上|完成|到账|通过|生效|确认|处理|办理)|[不没]了(?![解])|不到(?!\s?[\d一二两三五十半])"
    r"|=\s*[\"']?(?:false|no|none|null|0)\b"
    r"|\b(?:failed|fails|unsuccessful|cannot|can['’]t|unable|declined|rejected|never\s+went)\b|\b(?:is|was|are|were|has|have|had|could|can|did|does|do|will|would)(?:\s+not\b|n['’]t\b)",
    re.IGNORECASE,
)
_SUBORDINATE = re.compile(
    r"\b(?:that|which|who|since|as|if|when|while|unless|until)\b|因为|由于|如果|如需|若"
    r"|\band\s+(?:(?:will|would|can|could|is|was|are|were|has|have|had|do|does|did|must|may|should|need)(?:n['’]?t|not)?|won['’]t|not)\b",
    re.IGNORECASE,
)
_PROMISE = re.compile(
    r"会[员议话场所展面见计客合晤诊徽费长籍务馆友堂刊]|[酒舞峰展庙茶]会|家长会|读书会|招聘会|讨论会|分享会|(?<![今明去来])年会|机会|大会|晚会|聚会|宴会|社会|协会|约会|误会|开会|音乐会|演唱会|运动会|委员会|发布会|奥运会|博览会|学会|体会|国会|工会|商会"
    r"|(?:已经?|成功|刚刚?|并)将|将军|将近|麻将|若干|如何"
    r"|(?<!\bi\s)(?<!\bwe\s)(?<!\bit\s)(?<!\byou\s)(?<!\bthey\s)\b(?-i:Will)\s+(?-i:[A-Z][a-z])"
    r"|\b(?:can|(?:happy|glad|pleased|like)\s+to)\s+(?:confirm|say|tell|inform|report)\b"
    r"|(?P<promise>[会将]|马上|稍后|立即|立刻|即将|正在|尽快|随后|这就|准备|打算|待会|让我|我来|[可能]以?[帮为给][您你]"
    r"|如果|如需|如要|若|要是|假如|假设|一旦"
    r"|(?<=\bi )can\b|(?<=\bwe )can\b"
    r"|\b(?:will|would\s+have|could\s+have|should\s+have|shall|gonna|going\s+to|about\s+to|let\s+(?:me|us)|let['’]s|try(?:ing)?\s+to|(?:happy|glad|love|like)\s+to|if|once|as\s+soon\s+as"
    r"|you\s+(?:can|could|may|must|should|(?:need|have)\s+to)\s+(?:\w+\s+)?(?:get|have))\b|['’]ll\b|['’]d\s+have\b)",
    re.IGNORECASE,
)
_DEED = re.compile(
    r"成功|完成|已|[好妥了]\W*\Z|预[约订定]|[订定约]|退款|取消|支付|下单|提交|发货|寄出|改签|登记|注册|开通|激活|安排|派单|办理"
    r"|(?:ed|en|one|aid|sent|ought)\b|\b(?:is|are|was|were|been|has|have)\b",
    re.IGNORECASE,
)
_SUPPOSED = re.compile(
    r"[高上中下平优头一二]等|等[级候次同]|尽可能|[招款接优虐看对亏]待|[刚人方]才|才华"
    r"|(?P<supposed>等|待|直到|除非|(?<!不)只[有要]|才|方可|想要|希望|期待|以便|为了|预计|争取|尽量|力争|可能|也许|大概|或许|应该(?=[已是会])|估计|似乎|好像|恐怕"
    r"|几乎|差点|险些|请[您你]?(?:先|自行|自己|务必|尽快|及时)|请[您你]?(?:在|到|去|通过|登录|前往)\w{0,8}(?:官网|网站|网上|小程序|平台|公众号|APP|电话|微信)"
    r"|不(?:太)?(?:确定|清楚|知道)|\b(?:almost|nearly)(?:\s+(?:got|had|have|has|been|it))*\s*\Z|\bafter(?!\s+(?:all|\w+ing)\b)|\bbefore(?!\s+(?:is|was|are|were|has|have|had)\b)"
    r"|\b(?:until|till|unless|when(?:ever)?|by\s+the\s+time|provid(?:ed|ing)|assuming|in\s+case|as\s+long\s+as|in\s+order|whether"
    r"|(?:i|we)\s+(?:think|believe|guess|suppose|assume|hope|expect)|maybe|perhaps|probably|possibly|presumably|apparently|hopefully"
    r"|(?:might|may|should|must|(?:need|ought)s?\s+to|ha(?:ve|s|d)\s+to|(?:is|are|was|were)\s+to)(?:\s+(?:\w+\s+)?(?:be|have\s+been)|(?=\s*\Z))|so\s+that|(?:not|un)\s?(?:sure|certain)|seems?|supposedly)\b)",
    re.IGNORECASE,
)
"""What makes a condition, an aim or a guess of the deed that follows in its clause."""
_SUPPOSED_AFTER = re.compile(
    r"了?(?:(?:之|以)?后(?![续台期来天面排勤门备缀果悔])|的话|的?时候|时(?![间段速])|(?:之|以)?前(?![往台来面去天期])|与否|率"
    r"|的?(?:概率|几率|可能|机会|前提|条件)|[还仍尚](?:需|须|要|待|得)|(?:需要?|须|待)[您你])"
    r"|\s+(?:only\s+)?(?:if|once|as\s+soon\s+as|unless|provided|assuming|pending|subject\s+to)\b",
    re.IGNORECASE,
)
_CONDITION = re.compile(
    r"\W*(?:once(?!\s+(?:more|again))|as\s+soon\s+as|unless|until(?!\s+now)|provided|assuming|only\s+if"
    r"|if\s+(?:you|we|i)\s+(?:pay|confirm|agree|accept|give|send|tell|provide|reply|call)\b|一旦|只有|只要|除非"
    r"|(?:等|待(?!遇))[^，,]*后\W*\Z)",
    re.IGNORECASE,
)
"""How a clause begins on which the one after it depends: "Once you have paid, your table is booked"."""
_DOUBT = re.compile(
    r"\W*(?:but\s+|though\s+|although\s+)?(?:i|we)(?:\s+am|\s+are|['’]m|['’]re)\s+not\s+(?:\w+\s+)?(?:sure|certain)"
    r"|\W*(?:但|不过)?我?们?[也还]?不(?:太|能|敢)?(?:确定|清楚|肯定)",
    re.IGNORECASE,
)
_ASKED_BEFORE = re.compile(
    r"是否|要不要|是不是|能不能|可不可以|需不需要|会不会|想不想|有没有|请问|\bwhether\b"
    r"|^\W*(?:(?:and|or|so|please|ok(?:ay)?|sure|great|then)\W+)*(?:would|do|does|did|can|could|should|shall|may|might|is|are|am|was|were|have|has|had|will)"
    r"\s+(?:you|i|we|it|they|he|she|there|this|that|the|your|my|our)\b"
    r"|^\W*(?:what|when|where|which|who|how|why)\b",
    re.IGNORECASE,
)
_QUESTION_END = re.compile(r"""[?？]\W*$|[吗么][。.，,；;!！\s]*$""")
_TAG_QUESTION = re.compile(
    r"\s*(?:对吗|对吧|是吗|是吧|好吗|可以吗|行吗|对不对|好不好|是不是|(?:is\s+that\s+)?(?:right|correct|ok(?:ay)?))\s*[?？]",
    re.IGNORECASE,
)
_AUXILIARY = (
    r"do|does|did|have|has|had|am|is|are|was|were|be|been|will|would|can|could|shall|should|may|might|must|cannot|to"
)
_LEFT_OPEN = re.compile(
    r"(?:(?:无法|没法|没办法|[不未没]能够?|[尚并暂仍还从][未没]有?|未曾|不曾|我们?(?:会|将|可以?|能))(?:再|暂时|目前|成功)?"
    rf"|(?:\b(?:{_AUXILIARY})(?:n['’]t)?|['’](?:m|s|re|ve|ll|d)|(?<=\w)\s(?:never|hardly|neither))"
    r"(?:\s+(?:not|never|hardly|yet|still|been|be|have|able|unable|failed))*)"
    rf"(?P<comma>(?:{_COMMA})?\s*)\Z",
    re.IGNORECASE,
)
"""The end of a clause whose auxiliary has its verb after an aside: "I have not, unfortunately, booked it"."""
_SENTENCE_OVER = re.compile(rf"(?:{_SENTENCE_END})\s*\Z")
_OF_ITS_OWN = re.compile(
    r"\W*(?:(?:however|still|then)\W+)?(?:(?:i|we|you|he|she|it|they|there|this|that|the|your|my|our|but|so(?!\s+far)|and|instead)\b"
    r"|但|不过|可是|然而|所以|因此|于是|只好|而|却|已|我|[您你]|他|系统|请)",
    re.IGNORECASE,
)
_LISTED = re.compile(r"\W*(?:\w+,\s+){0,3}\w+\s+n?or\s", re.IGNORECASE)
_ASIDES = 2
"""How many asides may follow one another."""
_NOUN_PHRASE = re.compile(
    r"\W*(?:(?:your|the|this|our|my)\b|[您你]的|本次|此次|该)"
    rf"(?!.*(?:\b(?:i|we|{_AUXILIARY})\b|['’](?:s|ve|re)\b|[已了是有]))",
    re.IGNORECASE | re.DOTALL,
)
_ASIDE = re.compile(r"\A[^,，。.!！?？;；]{1,60}[,，]\s*")
_DENIED_VALUE = re.compile(
    r"[\"']?(?:no|none|false|null|not\s+(?:yet\s+)?\w+|否|无)[\"']?\s*(?:[.。,，;；!！}\n]|\Z)", re.IGNORECASE
)
_RELATIVE = re.compile(
    r"(\b(?:your|the|this)\s+(?:\w+\s+){1,3}?)(?:which|that|who)\b.*(?=\b(?:is|are|was|were|has|have)(?:\s+(?:now|been|already))*\s*\Z)",
    re.IGNORECASE | re.DOTALL,
)
"""A relative clause within the subject of what follows: "the visit (which you will love) is booked"."""
_BOOKING = re.compile(r"book|reserv|taken|[订定约]", re.IGNORECASE)
_FULLY = re.compile(r"\A(?!.*\byour\b).*\b(?:fully|completely)\s*\Z", re.IGNORECASE | re.DOTALL)
_FULL = re.compile(r"[已都]?满|完了|一空|\s+(?:out|up|solid|full)\b", re.IGNORECASE)
_TRY_ANOTHER = re.compile(
    r"\W*(?:(?:so|please|kindly|you\s+(?:can|may)|(?:could|can|would)\s+you(?:\s+like\s+to)?)\s+){0,2}"
    r"(?:try|choose|pick|select)\s+(?:another|a\s+different|some\s+other)\b"
    r"|\W*(?:请|麻烦|建议|可以?)?[您你]?(?:重新)?(?:选择?|换|改|挑)(?:一?个)?(?:其[他它]|另外?|别的?|新的)"
    r"的?(?:时|日|天|一[天个]|场|座|房|门?店|位|档)",
    re.IGNORECASE,
)
_REACH = 160  # characters on each side of a word that may belong to its clause; keeps each question constant in time


def negations(text: str) -> Iterator[re.Match[str]]:
    """The negations of a text (group "negation"), and the words that look like one and deny nothing ("不仅")."""
    return _NEGATION.finditer(simplified(text))


def is_negated(text: str, start: int, end: int | None = None) -> bool:
    """Whether the words at `start` stand in a clause that denies them: "无法预订", "was not booked", "预订失败". With
    `end`, a negation within the words denies nothing: "is not cooling" may be just what is said."""
    clause = _clause_around(text, start, end)
    if _holds(_NEGATION, "negation", clause.before, clause.after):
        return True
    after = _SUBORDINATE.split(clause.after, maxsplit=1)[0]
    return _NEGATED_AFTER.search(after) is not None or _is_negated_beyond(clause, after)


def _is_negated_beyond(clause: "_Clause", after: str) -> bool:
    """Whether what follows the clause denies it: "Booked: no", "Your booking was, I fear, not made"."""
    if clause.after.rstrip().endswith((":", "：")):
        return any(pattern.match(clause.following) for pattern in (_DENIED_VALUE, _NEGATED_AFTER))
    rest = _ASIDE.sub("", clause.following)
    if _LEFT_OPEN.search(after):
        return _NEGATION.match(rest) is not None
    return _NOUN_PHRASE.match(clause.before + clause.after) is not None and _NEGATED_AFTER.match(rest) is not None


def clause_before(text: str, start: int) -> str:
    """What the clause of the words at `start` says before them, without asides and in simplified characters."""
    return _clause_around(text, start).before


def is_promised(text: str, start: int) -> bool:
    """Whether the words at `start` stand in a clause that only announces or offers them, or makes them a condition:
    "我将为您预订", "let me book", "I can book", "如需取消"."""
    return _holds(_PROMISE, "promise", _RELATIVE.sub(r"\1", _clause_around(text, start).before))


def is_supposed(text: str, start: int, end: int) -> bool:
    """Whether the deed that the words tell is only a condition, an aim or a guess: "预约成功后联系您", "until it is
    booked", "还需要电话才能预约", "I think it is booked"."""
    if not _DEED.search(simplified(text[start:end])):
        return False
    clause = _clause_around(text, start, end)
    return (
        _holds(_SUPPOSED, "supposed", clause.before)
        or _SUPPOSED_AFTER.match(clause.after) is not None
        or _DOUBT.match(clause.following) is not None
        or _CONDITION.match(clause.preceding) is not None
    )


def is_taken_by_others(text: str, start: int, end: int) -> bool:
    """Whether the words tell that what was wanted is not to be had: "fully booked", "该时段已预约，请选其他时间"."""
    if not _BOOKING.search(simplified(text[start:end])):
        return False
    clause = _clause_around(text, start, end)
    return bool(_FULLY.search(clause.before) or _FULL.match(clause.after) or _TRY_ANOTHER.match(clause.following))


def is_asked(text: str, start: int) -> bool:
    """Whether the words at `start` stand in a question, direct or indirect: "是否已预订", "已预订，对吗？"."""
    clause = _clause_around(text, start)
    if _ASKED_BEFORE.search(clause.before) or _QUESTION_END.search(clause.after):
        return True
    return _TAG_QUESTION.match(clause.following) is not None


class _Clause(NamedTuple):
    before: str  # of the clause, up to the words in question, without the asides between
    after: str  # of the clause, from them on
    following: str  # what comes after the clause
    preceding: str  # the clause before it in its sentence


def _clause_around(text: str, start: int, end: int | None = None) -> _Clause:
    offset = max(0, start - _REACH)
    stop = start if end is None else end
    window = simplified(text[offset : stop + _REACH])
    at, after = start - offset, stop - offset
    spans = clauses(window)
    *earlier, (begin, _) = [span for span in spans if span[0] <= at] or [(at, at)]
    close = next((e for _, e in spans if max(at, after - 1) < e), after)
    opening = _opening(window, earlier, begin, at)
    last = window[slice(*earlier[-1])] if earlier else ""
    preceding = "" if _SENTENCE_OVER.search(last) else last
    return _Clause(opening + window[begin:at], window[after:close], window[close:], preceding)


def _opening(window: str, earlier: Sequence[tuple[int, int]], begin: int, at: int) -> str:
    """What the words from `begin` to `at` go on with, after an aside or in a list ("I did not call, book or cancel").
    Empty where they have a subject of their own."""
    if _OF_ITS_OWN.match(window, begin, max(at, begin + 1)):
        return ""
    is_listed = _LISTED.match(window, begin) is not None
    opening = ""
    for b, e in earlier[: -_ASIDES - 2 : -1]:
        said = window[b:e]
        if _SENTENCE_OVER.search(said):
            break
        if left_open := _LEFT_OPEN.search(said):
            opening = f"{said[: left_open.start('comma')]} {opening}"
        elif is_listed and " " in said.strip():
            return said
    return opening


def _holds(pattern: re.Pattern[str], group: str, before: str, after: str = "") -> bool:
    """Whether a word of `group` governs what follows `before`. A later "已" (done) takes over ("不满意的订单已取消"),
    unless it belongs to what is denied ("没有已预订房间", "没有查到您已预订的记录")."""
    is_attribute = "的" in after
    return any(m[group] and (is_attribute or "已" not in before[m.end() + 1 :]) for m in pattern.finditer(before))
