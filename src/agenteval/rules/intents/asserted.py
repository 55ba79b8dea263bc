"""What an agent does not deny, and what it asserts: that it has done, does or will do something.

"Do you want to cancel the order?" may be a fitting question, and "I can cancel it if you like" an offer; only "I have
cancelled" or "I will cancel the order" show beyond doubt that the agent acted. Spans are of clauses, in order.
"""

import re
from collections.abc import Iterator

from agenteval.domain.clauses import clauses, is_asked, is_negated, is_promised, simplified

Spans = list[tuple[int, int]]

_SENTENCE_END = re.compile(r"""(?:[。！？!?\n；;]|\.)["'”’」』)）]*\s*\Z""")
_QUESTION = re.compile(r"[?？]\W*\Z")
_PURPOSE = re.compile(r"\W*(?:为了|(?:in\s+order\s+)?to\b)", re.IGNORECASE)
_CHOICE = re.compile(r"还是|或|\bor\b", re.IGNORECASE)
_CONDITION = re.compile(
    r"如果|如需|如要|如有|如您|若(?!干)|要是|假如|假设|一旦|倘若|除非|的话|否则|不然"
    r"|\b(?:if|unless|when|once|as\s+soon\s+as|in\s+case|provided\s+that|should\s+you|otherwise|or\s+else)\b",
    re.IGNORECASE,
)
_OFFER = re.compile(r"可以|能够?[帮为给]|\b(?:can|could|may|might|would)\b", re.IGNORECASE)

_UNSAID = re.compile(r"[不没未无别]\w{0,3}(?:说|表示|告诉|声称|确认)")
"""A denial that what is done does not end, as in "我绝不会说您的订单已取消"."""


_REFERRAL = re.compile(
    r"请(?:您)?(?:自行|直接)?(?:致电|拨打|联系|前往|登录|访问|到(?!达)|去)|(?:只能|可以?)(?:通过|在|到|去)\w{0,6}(?:电话|官网|网站|应用|门店|前台|柜台)"
    r"|\b(?:please|you\s+(?:can|may|must|should|have\s+to|need\s+to)|just|kindly)\s+(?:\w+\s+)?"
    r"(?:call|phone|ring|dial|visit|contact|e?mail|write\s+to|go\s+to|use|ask|see)\b"
    r"|\b(?:only\s+(?:possible|available)|(?:by|over\s+the)\s+phone|on\s+(?:our|the)\s+(?:web\s?site|site|app|home\s?page))\b",
    re.IGNORECASE,
)
"""What sends the user elsewhere: who says that does not do it."""
_CANNOT_DO_IT = re.compile(
    r"(?:无法|不能|没法|没办法|不会)(?:[帮为给][您你])?(?:办理|处理|操作|做到?|办)\W*\Z|[办做帮]不[了到]"
    r"|\b(?:can\s?not|can['’]t|could\s+not|couldn['’]t|unable\s+to|not\s+able\s+to|won['’]t|don['’]t)\s+(?:\w+\s+)?"
    r"(?:do|help\s+(?:you\s+)?with|handle|process|offer)\s+(?:it|that|this|those|so)\b",
    re.IGNORECASE,
)
"""A denial of what was spoken of before."""


def affirmed(text: str) -> Spans:
    """All clauses but the negated ones, those that send the user elsewhere, and what is denied as a whole after it."""
    since = max((end for start, end in clauses(text) if _CANNOT_DO_IT.search(simplified(text[start:end]))), default=0)
    return [
        (start, end)
        for start, end in clauses(text)
        if start >= since and not _is_denied(text, start, end) and not _REFERRAL.search(simplified(text[start:end]))
    ]


def asserted(text: str) -> Spans:
    """The affirmed clauses that neither ask nor offer nor depend on a condition. Promises are among them."""
    told = set(affirmed(text))
    return [
        (start, end)
        for sentence in _sentences(text)
        for start, end in _unconditional(text, _stated(text, sentence))
        if (start, end) in told
        and not is_asked(text, max(start, _words_end(text, start, end) - 1))
        and not _OFFER.search(simplified(text[start:end]))
    ]


def cut(text: str, spans: Spans) -> str:
    return "".join(text[start:end] for start, end in spans)


def _is_denied(text: str, start: int, end: int) -> bool:
    return is_negated(text, _words_end(text, start, end)) or _UNSAID.search(simplified(text[start:end])) is not None


def _words_end(text: str, start: int, end: int) -> int:
    """Where the words of a clause are over, so that a look back from there sees all of them."""
    return min(start + len(re.sub(r"\W+\Z", "", text[start:end])), end - 1)


def _sentences(text: str) -> Iterator[Spans]:
    sentence: Spans = []
    for start, end in clauses(text):
        sentence.append((start, end))
        if _SENTENCE_END.search(text[start:end]):
            yield sentence
            sentence = []
    if sentence:
        yield sentence


def _stated(text: str, sentence: Spans) -> Spans:
    """All of a statement; of a question what it is for ("To send a technician, may I have your name?")."""
    whole = text[sentence[0][0] : sentence[-1][1]]
    if not _QUESTION.search(whole):
        return sentence
    return (
        []
        if _CHOICE.search(whole)
        else [span for span in sentence[:-1] if _PURPOSE.match(simplified(cut(text, [span])))]
    )


def _unconditional(text: str, sentence: Spans) -> Spans:
    """What comes before a condition, but for what is promised there ("I will cancel it, if you like")."""
    for i, (start, end) in enumerate(sentence):
        if _CONDITION.search(simplified(text[start:end])):
            return [(s, e) for s, e in sentence[:i] if not is_promised(text, e - 1)]
    return sentence
