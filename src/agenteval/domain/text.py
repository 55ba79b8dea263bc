"""The one place for the forms of a text: what counts as equal, as empty, as said.

Two forms compare texts: `fold` for rules and `quote_form` for evidence. Neither unifies traditional and simplified
Chinese. All functions are pure and linear in the length of the text, for hostile texts too.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from itertools import compress
from typing import Literal, TypeAlias

Language: TypeAlias = Literal["zh", "en"]
"""Of reasons and reports."""

# ---- forms -----------------------------------------------------------------------------------------------------------

_STREAM_SAFE = 30
_ZERO_WIDTH = "\u200b\u200c\u200d\u2060\ufeff"
_GAP = rf"\s{_ZERO_WIDTH}"

_PUNCTUATION = [
    (mark, plain)
    for marks, plain in (
        ("“”„‟«»「」『』〝〞〟", '"'),
        ("‘’‚‛′", "'"),
        ("。｡", "."),
        ("、", ","),
        ("‐‒–—―−─", "-"),
        ("〜∼", "~"),
        ("《〈", "<"),
        ("》〉", ">"),
        ("【〔〖", "["),
        ("】〕〗", "]"),
    )
    for mark in marks
]


_SIMPLE = re.compile("[\\s!-~\u2018-\u201d\u2026\u3001-\u3020\u3400-\u4dbf\u4e00-\u9fff\uff01-\uff5e]*")
"""Most Chinese text: nothing in it is of zero width or combines. It is folded in a tenth of the time."""
_WIDE_MARKS = tuple(zip("，：？！", ",:?!", strict=True))  # mostly all that NFKC changes in it


def fold(text: str) -> str:
    """The form in which rules compare: zero-width characters removed, then NFKC, casefold, NFKC. Idempotent.

    Of a run of combining marks the first 30 count (Unicode's stream-safe limit): normalising is quadratic in a run.
    """
    if text.isascii():
        return text.lower()
    if _SIMPLE.fullmatch(text):
        for mark, plain in _WIDE_MARKS:
            text = text.replace(mark, plain)
        return (text if unicodedata.is_normalized("NFKC", text) else unicodedata.normalize("NFKC", text)).casefold()
    for mark in _ZERO_WIDTH:
        text = text.replace(mark, "")
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", _stream_safe(text)).casefold())
    return _stream_safe(folded)


def quote_form(text: str) -> str:
    """The form in which evidence is compared: `fold` without whitespace, with punctuation in ASCII. Idempotent."""
    folded = fold("".join(text.split()))
    if folded.isascii():
        return folded
    for mark, plain in _PUNCTUATION:
        folded = folded.replace(mark, plain)
    # NFKC writes some marks as a space and a combining mark; without the space that mark joins the letter before it.
    return unicodedata.normalize("NFKC", _stream_safe("".join(folded.split())))


def quote_form_map(text: str) -> tuple[str, tuple[int, ...]]:
    """`quote_form(text)`, and for each of its characters the index in `text` where the piece it comes from begins.

    A piece is a character with what may combine with it: "ﬁ", "㎞", "ß" or a letter with its accents is one piece, so
    two characters of the form may share an index.
    """
    forms: list[str] = []
    origins: list[int] = []
    for piece in _pieces().finditer(text):
        if piece.lastgroup == "plain":
            forms.append(piece.group().replace(" ", "").lower())
            origins.extend(compress(range(*piece.span()), map(str.strip, piece.group())))
        else:
            form = _piece_form(piece.group())
            forms.append(form)
            origins.extend([piece.start()] * len(form))
    return "".join(forms), tuple(origins)


def occurrences(quote: str, text: str) -> Iterator[tuple[int, int]]:
    """Every span `(start, end)` of `text` that has the `quote_form` of `quote` and cuts no word and no number."""
    sought = quote_form(quote)
    if not sought or sought not in (_message_form(text) if len(text) <= _MESSAGE else quote_form(text)):
        return
    form, origins = quote_form_map(text)
    for at in _finds(sought, form):
        after = at + len(sought)
        if (at and origins[at - 1] == origins[at]) or (after < len(form) and origins[after] == origins[after - 1]):
            continue  # inside a piece: "f" of "ﬁ"
        end = origins[after] if after < len(form) else len(text)
        while text[end - 1] in _ZERO_WIDTH or text[end - 1].isspace():
            end -= 1
        if not cuts_word(text, origins[at], end):
            yield origins[at], end


def cuts_word(text: str, start: int, end: int) -> bool:
    """Whether the span begins or ends inside a number ("138" in "13800138000", "1" in "1.5"), a word ("rain" in
    "train") or an accented letter. Scripts written without spaces have no word boundaries."""
    if start >= end:
        return False
    if end < len(text) and unicodedata.combining(text[end]):
        return True
    return _joined(text, start) or _joined(text, end)


def _joined(text: str, at: int) -> bool:
    if not 0 < at < len(text):
        return False
    left, right = text[at - 1], text[at]
    if is_word_character(left) and is_word_character(right):
        return True
    around = text[max(0, at - 2) : at + 2]
    return bool(_DECIMAL.search(around))


_DECIMAL = re.compile(r"\d[.,．，]\d")
_SPACELESS = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u31f0-\u31ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]"
)


def is_word_character(character: str) -> bool:
    """A digit, or a letter of a script that separates its words by spaces."""
    return character.isalnum() and not _SPACELESS.match(character)


def _finds(sought: str, text: str) -> Iterator[int]:
    at = text.find(sought)
    while at >= 0:
        yield at
        at = text.find(sought, at + 1)


def _stream_safe(text: str) -> str:
    return _mark_runs().sub(lambda run: _leading_marks(run.group()), text)


def _leading_marks(run: str) -> str:
    kept: list[str] = []
    marks = 0
    for character in run:
        marks = marks + 1 if unicodedata.combining(character) else 0
        if marks <= _STREAM_SAFE:
            kept.append(character)
    return "".join(kept)


@cache
def _marks() -> str:
    """The inside of a regex class: all that may combine with the character before it once whitespace is gone.

    Beyond the basic plane two coarse ranges (historic scripts, no emoji): `re` tests many ranges there one by one.
    """
    marks = "".join(chr(c) for c in range(0x300, 0x10000) if unicodedata.category(chr(c))[0] == "M")
    jamo = "\u1160-\u11ff\u3131-\u318e\uffa0-\uffdc"
    voiced = "\uff9e\uff9f"
    spacing = (
        "\xa8\xaf\xb4\xb8\u02d8-\u02dd\u037a\u0384\u0385\u1fbd\u1fbf-\u1fc1\u1fcd-\u1fcf\u1fdd-\u1fdf\u1fed\u1fee\u1ffd\u1ffe"
        "\u2017\u203e\u309b\u309c\ufc5e-\ufc63\ufe49-\ufe4c\ufe70-\ufe7e\uffe3"
    )
    return marks + jamo + voiced + spacing + "\U000101fd-\U0001d244\U0001da00-\U0001e94a\U000e0100-\U000e01ef"


@cache
def _mark_runs() -> re.Pattern[str]:
    mark = f"[{_marks()}]"
    return re.compile(f"{mark}{mark}{{{_STREAM_SAFE},}}")  # a class comes first: `re` looks for it at C speed


@cache
def _pieces() -> re.Pattern[str]:
    joined = f"[{_GAP}]*[{_marks()}]"
    plain = r"[!-~\u3400-\u4dbf\u4e00-\u9fff]+"
    return re.compile(rf"(?P<plain>{plain}(?: {plain})*(?!{joined}))|(?P<composed>[^{_GAP}](?:{joined})*)")


_piece_form = lru_cache(maxsize=4096)(quote_form)
_message_form = lru_cache(maxsize=1024)(quote_form)  # many quotes are sought in the same messages
_MESSAGE = 16_384  # characters; keeps the cache below some 64 MB


# ---- edges -----------------------------------------------------------------------------------------------------------

_BLANK = re.compile(f"[{_GAP}]*")
_UNSEEN = re.compile("[\xad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
_IDEOGRAPHS = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+")
_LOWERCASE = re.compile("[a-z]")
_LOWERCASE_WORD = re.compile(r"(?<![A-Za-z])[a-z]+")
# Controls but tab and line feed, format characters (bidi, zero-width, tags), fillers, line separators, lone surrogates.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]|\r(?!\n)"
)


def without_unseen(text: str) -> tuple[str, Sequence[int]]:
    """What is left without characters that nobody sees (of zero width, soft hyphens, marks of direction), and the index
    in `text` of each of these, and of its end. They stand inside numbers by accident, or to hide them."""
    if text.isascii() or not _UNSEEN.search(text):
        return text, range(len(text) + 1)
    kept = [i for i, character in enumerate(text) if not _UNSEEN.match(character)]
    return "".join(text[i] for i in kept), [*kept, len(text)]


def is_blank(text: str) -> bool:
    """Whether nothing is said: whitespace and zero-width characters only. Punctuation and emoji say something."""
    return _BLANK.fullmatch(text) is not None


def clean(text: str) -> str:
    """The text as storage and JSON can hold it: no NUL, lone surrogates as U+FFFD (a pair becomes its character)."""
    text = text.replace("\0", "")
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def language(text: str) -> Language:
    """The language that carries the text. Capitalised Latin words count for neither: they are names in both."""
    if text.isascii():
        return "en"
    if not _LOWERCASE.search(text):  # most Chinese text: a tenth of the time that counting takes
        return "zh" if _IDEOGRAPHS.search(text) else "en"
    return "zh" if sum(map(len, _IDEOGRAPHS.findall(text))) > 2 * len(_LOWERCASE_WORD.findall(text)) else "en"


def name_form(text: str) -> str:
    """The form in which ids and names are kept: without whitespace around it, composed (NFC). For short texts."""
    return unicodedata.normalize("NFC", text.strip())


def visible(text: str) -> str:
    r"""The text for terminals and reports: control, bidi and zero-width characters as `\uXXXX`, but tab and newline."""
    return _INVISIBLE.sub(lambda m: f"\\u{ord(m.group()):04x}", text)
