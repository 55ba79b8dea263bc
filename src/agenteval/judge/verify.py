"""From an answer's JSON to its form: aliases mapped, every quote looked up in the transcript."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple, TypeVar

from agenteval.domain.caching import lazy, per_class
from agenteval.domain.evidence import Match, Rejected, Span, Speaker, locate
from agenteval.domain.forms import Form, FormError, Path, Quote, Reader, dump, read
from agenteval.domain.questions import Cause, Question, View
from agenteval.domain.quick_init import quick_init
from agenteval.domain.text import fold, is_blank
from agenteval.domain.transcript import Dialog
from agenteval.judge.compile import as_said

F = TypeVar("F", bound=Form)

_YES = ("yes", "true", "y", "是", "对")
_NO = ("no", "false", "n", "否", "不", "没有")
_PART = ("partial", "partially", "partly", "部分", "部分满足")
ALIASES: Mapping[str, tuple[str, ...]] = {
    "yes": _YES,
    "no": _NO,
    "met": (*_YES, "满足", "已满足", "satisfied", "fulfilled"),
    "unmet": (*_NO, "未满足", "不满足", "not met", "not_met", "unsatisfied"),
    "partly_met": (*_PART, "partially met", "partially_met", "partial_met"),
    "done": (*_YES, "完成", "已完成", "completed", "complete"),
    "not_done": (*_NO, "未完成", "not done", "incomplete"),
    "filled": ("已填", "已收集", "收集"),
    "missing": ("缺失", "未提供"),
    "declined": ("拒绝",),
    "contradicted": ("矛盾",),
    "active": ("有效",),
    "withdrawn": ("撤回", "已撤回"),
    "replaced": ("替换", "已替换"),
}
"""Other words for a verdict. They count only where exactly one member of the asked choice has them."""


class Flaw(NamedTuple):
    """What is wrong with an answer. `path` is () for the whole, else the list item that fails alone, whose form and raw
    text are `form` and `raw`. `message` goes to the model when it is asked again."""

    path: Path
    form: type[Form]
    raw: object
    message: str
    cause: Cause


@quick_init
@dataclass(frozen=True)
class Seen:
    """The part of a dialog that a view shows, as a source of quotes."""

    dialog: Dialog
    view: View

    @lazy
    def turns(self) -> Sequence[int]:
        shown = self.view.turns(self.dialog)
        return range(shown[0].index, shown[-1].index + 1) if shown else range(0)

    def texts(self, turn: int, speaker: Speaker) -> Sequence[str]:
        if turn not in self.turns or (speaker is not Speaker.USER and not self.view.agent):
            return ()
        return self.dialog.texts(turn, speaker)


class Verified(NamedTuple):
    """`value` is what holds: without the flawed items, None when the whole is flawed. `dropped` tells of the items that
    were rejected twice."""

    value: Form | None
    flaws: tuple[Flaw, ...]
    dropped: tuple[str, ...] = ()


def verify(
    question: Question[Any], raw: object, seen: Seen, *, rejected: Mapping[Path, object] | None = None
) -> Verified:
    """Read an answer. Items of a list fail one by one, and at the first try each is a flaw to ask about again.

    At the last try, what holds of a failed item in its smaller form is kept. `rejected` are the items that were
    rejected at the first try and answered anew, by path: they are dropped when nothing of them holds. A failed item
    that was not answered twice is a flaw still: nobody knows whether it is true.
    """
    reader = _Evidence(seen, rejected)
    try:
        value = read(question.form, raw, reader)
    except FormError as error:
        # What an item lost is then missing from the whole: "done" whose one quote was invented has none.
        errors = [*reader.errors, error]
        message = "; ".join(map(str, errors))
        return Verified(None, (Flaw((), question.form, raw, message, _cause(errors)),))
    return Verified(value, tuple(reader.flaws), tuple(reader.dropped))


def verify_code(dialog: Dialog, value: F) -> F:
    """The answer of a rule's own code with its quotes located. Raises FormError for a quote that does not hold."""
    return read(type(value), dump(value), _Evidence(Seen(dialog, View())))  # type: ignore[return-value]


def located(dialog: Dialog, kind: type[Quote], words: str) -> Quote:
    """A person's quote: words of the dialog, or "#2" for all that was said in the second turn. Raises ValueError."""
    if turn := re.fullmatch(r"\s*#\s*(\d+)\s*", words):
        index = int(turn[1]) - 1
        texts = [(n, text) for n, text in enumerate(dialog.texts(index, kind.speaker)) if not is_blank(text)]
        if not texts:
            raise ValueError(f"the {kind.speaker} says nothing in turn {index + 1}")
        source, text = texts[0]
        return kind(index, text, Span(index, kind.speaker, source, 0, len(text), text, Match.EXACT))
    span = locate(Seen(dialog, View()), words.strip().strip("\"'“”‘’「」"), 0, kind.speaker)
    if isinstance(span, Rejected):
        raise ValueError(span.detail)
    return kind(span.turn, span.text, span)


def _cause(errors: Sequence[FormError]) -> Cause:
    return Cause.EVIDENCE if any(error.evidence for error in errors) else Cause.SCHEMA


def _word(text: str) -> str:
    return fold(text).strip(" .。!！*\"'“”")


@per_class
def _words(kind: type[StrEnum]) -> Mapping[str, StrEnum]:
    """Each word that means exactly one member: its own comes before the others."""
    own, others = defaultdict[str, list[StrEnum]](list), defaultdict[str, list[StrEnum]](list)
    for member in kind:
        own[_word(member.value)].append(member)
        for word in ALIASES.get(member.value, ()):
            others[word].append(member)
    return {word: members[0] for word, members in (others | own).items() if len(members) == 1}


class _Evidence(Reader):
    def __init__(self, seen: Seen, rejected: Mapping[Path, object] | None = None) -> None:
        self._seen = seen
        self._rejected = rejected
        self.errors: list[FormError] = []
        self.flaws: list[Flaw] = []
        self.dropped: list[str] = []

    def choice(self, kind: type[StrEnum], raw: object, path: Path) -> StrEnum:
        word = str(raw) if isinstance(raw, bool) else raw
        if isinstance(word, str):
            words = _words(kind)
            if meant := words.get(word) or words.get(_word(word)):
                return meant
        raise FormError(path, f"must be one of {', '.join(kind)}, not {raw!r}")

    def quote(self, kind: type[Quote], raw: Mapping[str, Any], path: Path) -> Quote:
        text: str = raw["text"]
        found = locate(self._seen, text, raw["turn"], kind.speaker)
        if isinstance(found, Rejected) and (said := as_said(text)) != text:
            found = locate(self._seen, said, raw["turn"], kind.speaker)
        if isinstance(found, Rejected):
            raise FormError(path, found.detail, evidence=True)
        return kind(found.turn, found.text, found)

    def form_list(self, kind: type[Form], raw: Sequence[object], path: Path) -> tuple[Form, ...]:
        kept: list[Form] = []
        for i, item in enumerate(raw):
            try:
                kept.append(read(kind, item, self, (*path, i)))
            except FormError as error:
                self._fail(kind, item, (*path, i), error, kept)
        return tuple(kept)

    def _fail(self, kind: type[Form], item: object, path: Path, error: FormError, kept: list[Form]) -> None:
        self.errors.append(error)
        if self._rejected is not None:
            if salvaged := self._salvaged(kind, item, path):
                kept.append(salvaged)
                return
            if path in self._rejected:
                self.dropped.append(str(error))
                return
        self.flaws.append(Flaw(path, kind, item, str(error), _cause([error])))

    def _salvaged(self, kind: type[Form], item: object, path: Path) -> Form | None:
        """The item in its smaller form, as it was given last, else as it was given first."""
        if kind.salvage is None or self._rejected is None:
            return None
        for given in (item, self._rejected.get(path)):
            try:
                return read(kind.salvage, given, self, path)
            except FormError:
                continue
        return None


def with_item(raw: object, path: Path, item: object) -> object:
    """`raw` with the list item at `path` replaced."""
    head, *rest = path
    if isinstance(raw, Mapping):
        return {**raw, head: with_item(raw[str(head)], tuple(rest), item) if rest else item}
    if isinstance(raw, Sequence) and isinstance(head, int):
        return [
            (with_item(old, tuple(rest), item) if rest else item) if i == head else old for i, old in enumerate(raw)
        ]
    raise TypeError(f"no item {path} in {type(raw).__name__}")
