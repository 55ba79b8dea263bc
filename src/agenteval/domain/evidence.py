"""Verification of quotes: a judge's words count only where code finds them in the dialog.

A quote is sought exactly, then in its `quote_form`, then elided ("A ... B": the parts in order). The cited turn comes
first, then the other turns of the same speaker, nearest first. Nothing is accepted by similarity: a flipped negation is
nearly the same text. For the same reason a span is refused when a negation was cut off before it, or stands in a gap.
"""

import re
import unicodedata
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, NamedTuple, Protocol

from agenteval.domain.clauses import clause_before, negations, simplified
from agenteval.domain.quick_init import quick_init
from agenteval.domain.text import cuts_word, is_word_character, occurrences, quote_form


class Speaker(StrEnum):
    USER = "user"
    AGENT = "agent"
    TOOL = "tool"


class Match(StrEnum):
    EXACT = "exact"
    NORMALISED = "normalised"
    ELIDED = "elided"


@quick_init
@dataclass(frozen=True)  # without slots: orjson writes what has slots in three times the time
class Span:
    """Where a quote stands: `text` is `source[start:end]` of the speaker's text number `source` (from 0) in `turn`.

    `moved`: found in another turn than the one cited. An elided span reaches from its first part to its last.
    """

    turn: int
    speaker: Speaker
    source: int
    start: int
    end: int
    text: str
    match: Match
    moved: bool = False


class Rejected(NamedTuple):
    """Why a quote is no evidence; `detail` is one English sentence for whoever gave the quote."""

    cause: Literal["empty", "not_found", "negation_cut", "wrong_speaker"]
    detail: str


class Sources(Protocol):
    """The dialog as plain texts."""

    @property
    def turns(self) -> Sequence[int]: ...

    def texts(self, turn: int, speaker: Speaker) -> Sequence[str]:
        """What the speaker said in the turn: a message is one text, tool results are several; none when silent."""
        ...


def locate(sources: Sources, quote: str, turn: int, speaker: Speaker) -> Span | Rejected:
    """The first place where `speaker` said `quote`: in `turn`, or else in the turn nearest to it."""
    quote = quote.strip()
    if not (quote[:1].isalnum() or any(unicodedata.category(c)[0] in "LNS" for c in quote)):
        return Rejected("empty", f"The quote {_shown(quote)} holds no words; quote the words themselves.")
    found = _verbatim(sources, quote, turn, speaker) or _search(sources, quote, turn, speaker)
    if isinstance(found, Span):
        return found
    if found is not None:
        return Rejected(
            "negation_cut",
            f"In turn {found} a negation stands directly before the quote {_shown(quote)} or in its gap; "
            "quote the whole statement.",
        )
    for other in Speaker:
        elsewhere = None if other is speaker else _search(sources, quote, turn, other)
        if isinstance(elsewhere, Span):
            return Rejected(
                "wrong_speaker",
                f"The quote {_shown(quote)} is what the {other} said in turn {elsewhere.turn}, not the {speaker}.",
            )
    return Rejected("not_found", f"The quote {_shown(quote)} is nowhere in the words of the {speaker}; quote verbatim.")


def _verbatim(sources: Sources, quote: str, cited: int, speaker: Speaker) -> Span | None:
    """The span of a quote that stands in the cited turn as it is, found without what else `_search` sets up: most
    quotes are like that."""
    if cited not in sources.turns:
        return None
    for source, text in enumerate(sources.texts(cited, speaker)):
        start = text.find(quote)
        if start >= 0:
            end = start + len(quote)
            if len(quote) < len(text) and (cuts_word(text, start, end) or cuts_negation(text, start)):
                return None
            return Span(cited, speaker, source, start, end, quote, Match.EXACT)
    return None


class _Place(NamedTuple):
    start: int
    end: int
    negation_cut: bool


_Finder = Callable[[str], Iterable[_Place]]


def _search(sources: Sources, quote: str, cited: int, speaker: Speaker) -> Span | int | None:
    """The span; or the turn where the quote stands only with its negation cut off; or None."""
    for turns in _nearest_first(sources.turns, cited):
        cut: int | None = None
        for match, find in _finders(quote):
            for turn in turns:
                for source, text in enumerate(sources.texts(turn, speaker)):
                    for start, end, negation_cut in find(text):
                        if not negation_cut:
                            return Span(turn, speaker, source, start, end, text[start:end], match, turn != cited)
                        cut = turn if cut is None else cut
        if cut is not None:
            return cut
    return None


def _nearest_first(turns: Sequence[int], cited: int) -> Iterator[Sequence[int]]:
    if cited in turns:
        yield [cited]
    yield sorted((turn for turn in turns if turn != cited), key=lambda turn: (abs(turn - cited), turn))


def _finders(quote: str) -> Iterator[tuple[Match, _Finder]]:
    yield Match.EXACT, lambda text: _exact(quote, text)
    yield Match.NORMALISED, lambda text: _places(occurrences(quote, text), text)
    parts = [part for part in _ELLIPSIS.split(quote) if part]
    if _ELLIPSIS.search(quote) and all(_is_distinct(quote_form(part)) for part in parts):
        yield Match.ELIDED, lambda text: _elided(parts, text)


def _exact(quote: str, text: str) -> Iterator[_Place]:
    """Where the text is the quote character by character, and it cuts no word and no number."""
    start = text.find(quote)
    while start >= 0:
        end = start + len(quote)
        if not cuts_word(text, start, end):
            yield _Place(start, end, cuts_negation(text, start))
        start = text.find(quote, start + 1)


def _places(spans: Iterable[tuple[int, int]], text: str) -> Iterator[_Place]:
    return (_Place(start, end, cuts_negation(text, start)) for start, end in spans)


# ---- elided quotes ---------------------------------------------------------------------------------------------------

_ELLIPSIS = re.compile(r"\s*[\[(（【]?(?:\.{3,}|。{3,}|…+)[\])）】]?\s*")


def _is_distinct(form: str) -> bool:
    """Whether a part says enough to be found again: two characters, or one that is a whole word."""
    return any(c.isalnum() for c in form) and (len(form) > 1 or is_word_character(form))


def _elided(parts: Sequence[str], text: str) -> Sequence[_Place]:
    """All parts in order. For each place of a part only the nearest one of the part before it matters: from one further
    off, the gap holds all that the nearer gap holds, and more."""
    found = [list(occurrences(part, text)) for part in parts]
    if not all(found):
        return ()
    denials = [m.start() for m in negations(text) if m["negation"]]
    chains = list(_places(found[0], text))
    for spans in found[1:]:
        chains = list(_extended(chains, spans, denials))
    return chains


def _extended(chains: Sequence[_Place], spans: Sequence[tuple[int, int]], denials: Sequence[int]) -> Iterator[_Place]:
    nearest: _Place | None = None
    nearest_clean: _Place | None = None
    waiting = deque(chains)
    for start, end in spans:
        while waiting and waiting[0].end <= start:
            nearest = waiting.popleft()
            nearest_clean = nearest_clean if nearest.negation_cut else nearest
        if nearest_clean and not _any_between(denials, nearest_clean.end, start):
            yield _Place(nearest_clean.start, end, False)
        elif nearest:
            yield _Place(nearest.start, end, True)


def _any_between(rising: Sequence[int], start: int, end: int) -> bool:
    at = bisect_left(rising, start)
    return at < len(rising) and rising[at] < end


# ---- negations cut off -----------------------------------------------------------------------------------------------

_FILLERS = (
    r"(?:\s|[\u200b-\u200d\u2060\ufeff*_`~\"'“”‘’「」『』«»]"
    r"|能够?|会|可以?|是|要|想|曾经?|有|法|被|再|得|必|用|需|给|[为帮给][您你]|成功|支持|允许|一定"
    r"|\b(?:to|be|been|being|have|has|had|able|yet|ever|actually|really|currently|going|an?|any|the)\b)*\Z"
)
_CUT = re.compile(
    r"(?:[不未无非别]|没有?|(?<![^\W_])(?:not|no|never|hardly|cannot|unable|without|neither|nor|refused|failed)|n['’]t"
    rf"|\b(?:can|don|won|didn|couldn|isn|wasn)t){_FILLERS}",
    re.IGNORECASE,
)
_AFTER_COMMA = re.compile(rf"[,，–—-]{_FILLERS}", re.IGNORECASE)
_LOOK_BACK = 40  # characters; more than any negation with its auxiliaries takes


def cuts_negation(text: str, start: int) -> bool:
    """Whether a negation stands directly before the span, with at most auxiliaries or an aside between them:
    "不[能退款]", "I have not, sorry, [booked it]"."""
    if not start:
        return False
    begin = max(0, start - _LOOK_BACK)
    before = simplified(text[begin:start])
    quoted = text[start : start + _LOOK_BACK]
    if _AFTER_COMMA.search(before):
        before = clause_before(text, start)
    return _is_cut_between(before, quoted)


def _is_cut_between(before: str, quoted: str) -> bool:
    cut = _CUT.search(before)
    if cut is None:
        return False
    # 特别, 不仅: the same characters as part of a word that denies nothing, unless the quote cuts that very word.
    word = next((m for m in negations(before + quoted) if m.end() > cut.start()), None)
    return word is None or word["negation"] is not None or word.end() > len(before)


def _shown(quote: str) -> str:
    return f'"{quote[:80]}…"' if len(quote) > 80 else f'"{quote}"'
