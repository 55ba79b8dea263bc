"""A slot's own words: whether a clause or a label speaks of it, whether a reply asks for it, and what can be quoted."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from agenteval.domain.clauses import clauses
from agenteval.domain.text import fold
from agenteval.rules.completion.items import Slot

_ASIDE = re.compile(r"[（(【\[].*?[）)】\]]|[（(].*", re.DOTALL)
_OWNER = re.compile(r"^(?:用户|客户|顾客|联系人|本人|您|你)的?|^.*(?<!目)的")
_CHINESE_RUN = re.compile(r"[\u3400-\u9fff]{2,}")
_ENGLISH_WORD = re.compile(r"[a-z]{3,}")
_FILLERS = re.compile(
    r"the|and|for|users?|customers?|clients?|their|his|her|your|our|slot|value|info|information|details|number|desired"
    r"|preferred|wanted|given|which|that|what|whether"
)


class _OwnWords(NamedTuple):
    heads: tuple[str, ...]  # the last two characters of a Chinese name: "电话" of "联系电话"
    names: frozenset[str]  # the whole Chinese names
    sets: tuple[frozenset[str], ...]  # the English words of a name


def names_slot(slot: Slot, clause: str, others: Sequence[Slot]) -> bool:
    """Whether a clause speaks of the slot, and of none of the others, in the words of its name or description: the
    Chinese head word ("电话" of "联系电话"), or all English words of the one or the other."""
    text = fold(clause)
    return _names(slot, text) and not any(_names(other, text) for other in others)


def _names(slot: Slot, folded: str) -> bool:
    own = _own_words(slot.name, slot.description)
    if any(head in folded for head in own.heads):
        return True
    said = set(_ENGLISH_WORD.findall(folded)) if own.sets else ()
    return any(words.issubset(said) for words in own.sets)


def partly_names(slot: Slot, clause: str) -> bool:
    """Whether a clause has at least one of the slot's own words."""
    own, text = _own_words(slot.name, slot.description), fold(clause)
    words = set(_ENGLISH_WORD.findall(text))
    return any(head in text for head in own.heads) or any(not words.isdisjoint(one) for one in own.sets)


@lru_cache(maxsize=1024)
def _own_words(name: str, description: str) -> _OwnWords:
    heads, names, sets = [], [], []
    for label in (name.rpartition(".")[2], description):
        plain = _ASIDE.sub("", fold(label)).replace("_", " ")
        whole = _OWNER.sub("", (_CHINESE_RUN.findall(plain) or [""])[-1])
        if len(whole) >= 2:
            heads.append(whole[-2:])
            names.append(whole)
        if words := _english_words(plain):
            sets.append(words)
    return _OwnWords(tuple(heads), frozenset(names), tuple(sets))


def _english_words(folded: str) -> frozenset[str]:
    return frozenset(word for word in _ENGLISH_WORD.findall(folded) if not _FILLERS.fullmatch(word))


# ---- labels ----------------------------------------------------------------------------------------------------------

_LABEL = re.compile(
    r"(?P<label>[^\W\d_]+(?:[ '’/()（）]{1,3}[^\W\d_]+){0,5})[ *`）)]{0,4}"
    r"(?:(?:(?<!\d)[：:]|[：:](?!\d))\s{0,3}|\s[-–—]+\s)"
    r"(?P<between>[^，,；。！？!?;|：:\n]{0,40})\Z"
)
_RULE = re.compile(r"[\s|:+-]*-[\s|:+-]*")
_LOOK_BACK = 120
"""Characters before a value in which its label is sought."""
_REACH = 200
"""Characters on each side of a place that may belong to its clause."""
_TABLE = 4_000
"""Characters before a row in which the head of its table is sought."""


class About(NamedTuple):
    """The words that say what a value is: its labels ("电话：", "Phone - "; in a table the cell before and the head of
    the column), and those around it: between label and value, else its clause."""

    labels: tuple[str, ...]
    words: str

    @property
    def text(self) -> str:
        return " ".join((*self.labels, self.words))


def about(text: str, start: int, end: int) -> About:
    line_start = text.rfind("\n", 0, start) + 1
    if "|" in text[line_start:start]:
        return _in_table(text, line_start, start)
    found = _LABEL.search(text, max(0, start - _LOOK_BACK), start)
    if found:
        return About((found["label"],), found["between"])
    clause = clause_at(text, start)
    labels_another = clause.rstrip().endswith((":", "："))
    return About((), clause[: clause.find(text[start:end]) + end - start] if labels_another else clause)


def _in_table(text: str, line_start: int, start: int) -> About:
    *before, words = text[line_start:start].split("|")
    labels = before[-1:]
    rows = text[max(0, line_start - _TABLE) : line_start].splitlines()
    for head, rule in zip(rows[-2::-1], rows[:0:-1], strict=True):
        if _RULE.fullmatch(rule):
            labels += head.split("|")[len(before) : len(before) + 1]
            break
        if "|" not in rule:
            break
    return About(tuple(label.strip(" *") for label in labels), words)


def speaks_of(slot: Slot, said: About, others: Sequence[Slot]) -> bool:
    """Whether a value that stands there is one of the slot. A label has to be the slot's own ("师傅电话" is none of
    "联系电话"); other words have to name it."""
    if any(_is_label(other, label) for other in others for label in said.labels):
        return False
    return any(_is_label(slot, label) for label in said.labels) or names_slot(slot, said.words, others)


def _is_label(slot: Slot, label: str) -> bool:
    folded = fold(label)
    own = _own_words(slot.name, slot.description)
    chinese = _OWNER.sub("", (_CHINESE_RUN.findall(folded) or [""])[-1])
    if chinese:
        return chinese in own.names or chinese in own.heads
    words = _english_words(folded)
    return bool(words) and any(words == own_words or words | _GENERAL == own_words | _GENERAL for own_words in own.sets)


_GENERAL = frozenset(("contact",))


# ---- asking ----------------------------------------------------------------------------------------------------------

_REQUEST = re.compile(
    r"需要[您你](?:的|提供)|(?:请(?:您|你)?(?:再|重新)?|麻烦.{0,6}|能(?:不能|否)?.{0,4}|方便.{0,4})(?:提供|告诉|告知|输入|填写|留下?|说)"
    r"|\b(?:(?:please|(?:could|can|would|will)\s+you(?:\s+(?:please|kindly))?|need\s+you\s+to|kindly)\s+"
    r"(?:provide|give|tell|share|enter|confirm|specify|repeat|leave|send|state|type|spell|let\s+(?:me|us)\s+(?:know|have))"
    r"|(?:may|can|could)\s+i|need\s+your)\b",
    re.IGNORECASE,
)
_OPEN_QUESTION = re.compile(r"请问|[?？]\W*$")
_YES_OR_NO = re.compile(
    r"[吗吧]|对不对|是不是|是否|\b(?:correct|right)\b|^\W*(?:is|are|was|were|do|does|did|has|have)\b", re.IGNORECASE
)
_COMPOUND = re.compile(
    r"\b[a-z]+\s+(?P<head>models?|brands?|cases?|plans?|providers?|types?|chargers?|screens?|colou?rs?|carriers?|company|systems?|version"
    r"|warranty|serial)\b|[\u3400-\u9fff]{2}的?(?P<of>型号|品牌|机型|套餐|颜色|系统|运营商|保修)",
    re.IGNORECASE,
)
"""What has a slot's word in its name and is another thing: "phone model", "电话型号"."""
_ONE_MORE = re.compile(r"其他|其它|别的|另外|备用|\b(?:an?other|else|alternat\w*|additional|backup)\b", re.IGNORECASE)


def asked_in(slot: Slot, reply: str, others: Sequence[Slot]) -> tuple[int, int] | None:
    """Where a reply asks for the slot by its own words. "您的电话是 139…，对吗？" has its answer already, and
    "还有其他电话吗" wants another one."""
    if not mentions(slot, reply):
        return None
    for start, end in clauses(reply):
        clause = reply[start:end]
        open_question = _OPEN_QUESTION.search(clause) and not _YES_OR_NO.search(clause)
        asks = (open_question or _REQUEST.search(clause)) and not _ONE_MORE.search(clause)
        plain = clause if _is_of(slot) else _COMPOUND.sub(" ", clause)
        if asks and names_slot(slot, plain, others):
            return start, start + len(_trimmed(clause))
    return None


def _is_of(slot: Slot) -> bool:
    """Whether the slot itself is such a thing."""
    return _COMPOUND.search(f"{slot.name.replace('_', ' ')} {slot.description}") is not None


def mentions(slot: Slot, text: str) -> bool:
    return _names(slot, fold(text))


# ---- quotes ----------------------------------------------------------------------------------------------------------

_ELLIPSIS = re.compile(r"\.{3,}|。{3,}|…+")


def quotable(text: str, place: int) -> str:
    """The words around a place that can be quoted as they are: its clause, up to an ellipsis."""
    start, end = _clause_span(text, place)
    dots = [m.span() for m in _ELLIPSIS.finditer(text, start, end)]
    start = max([start, *(after for _, after in dots if after <= place)])
    end = min([end, *(before for before, _ in dots if before > place)])
    return _trimmed(text[start:end]).lstrip()


def clause_at(text: str, place: int) -> str:
    """The clause around a place, as far as it is near."""
    offset = max(0, place - _REACH)
    near = text[offset : place + _REACH]
    start, end = _clause_span(near, place - offset)
    return near[start:end]


def _clause_span(text: str, place: int) -> tuple[int, int]:
    return next(((start, end) for start, end in clauses(text) if start <= place < end), (0, len(text)))


def _trimmed(clause: str) -> str:
    """Without what only leads on to the next clause; "!" and "?" tell something."""
    return clause.rstrip(" \t\r\n，,；;：:、-–—") or clause.strip()
