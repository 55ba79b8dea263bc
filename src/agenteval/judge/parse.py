"""THE parser of judge text: the only place where what a model wrote becomes data.

The text may carry objects that the evaluated agent wrote and the judge quotes. Order is no defence against these
(neither "the first" nor "the last" object is safe), so everything outside a leading reasoning block counts: exactly one
object with our keys, or no answer at all. What looks like an object and cannot be read makes the whole answer unusable,
because the one complete object may then be a quotation inside a broken verdict. No number is ever picked out of prose.
"""

import json
import math
import re
from collections.abc import Collection, Iterable, Iterator
from typing import Final, NamedTuple, Never

import orjson

from agenteval.domain.errors import AnswerCutOff, UnparsableAnswer

MAX_CHARS: Final = 64 * 1024
MAX_OBJECTS: Final = 500


class Parsed(NamedTuple):
    """`data` has expected keys only, at least one. `repaired`: it was not quite JSON, or wrapped in something."""

    data: dict[str, object]
    repaired: bool


def parse(text: str | None, keys: Collection[str], *, finish_reason: str | None = None) -> Parsed:
    """Read the one JSON object in `text` that has at least one of `keys` at its top level.

    Strict JSON first; then without leading reasoning blocks and a code fence; then one object amid prose, with lenient
    repair of what is complete but not quite JSON. Keys that are missing are the caller's business, unknown ones are
    left out. Code points that storage cannot hold (NUL, lone surrogates) become U+FFFD. An answer cut off by the length
    limit (`finish_reason` "length") counts only when nothing stands beside its closed, strict object. `MAX_CHARS` and
    `MAX_OBJECTS` bound the work.

    Raises `UnparsableAnswer`, and nothing else; its message is one English sentence that can be put to the model. It is
    `AnswerCutOff` when there is no text, or it ends inside an object or reasoning block and not by the length limit.
    """
    try:
        return _parse(text or "", keys, cut=finish_reason == "length")
    except RecursionError:
        raise UnparsableAnswer("the answer is nested too deeply") from None


def _parse(text: str, keys: Collection[str], *, cut: bool) -> Parsed:
    if len(text) > MAX_CHARS:
        raise UnparsableAnswer(f"the answer is longer than {MAX_CHARS} characters")
    text = text.removeprefix("\ufeff").strip()
    if not text and not cut:
        raise AnswerCutOff("the answer is empty")
    if data := _plain(text, keys):
        return Parsed(data, repaired=False)
    unstorable = "\\u" in text or _UNSTORABLE.search(text) is not None  # escaped, or as they are
    if (value := _decode(text)) is not None:
        return _only_one([(value, False)], keys, unstorable=unstorable)
    answer = _REASONING.sub("", text, count=1)
    if (value := _decode(_FENCE.sub("", answer))) is not None:
        return _only_one([(value, False)], keys, unstorable=unstorable)
    if cut:
        raise UnparsableAnswer("the answer was cut off by the length limit")
    if not answer:
        raise UnparsableAnswer("the answer is empty")
    if _REASONING_START.match(answer):
        raise AnswerCutOff("the answer ends inside its reasoning block")
    return _only_one(_objects(answer), keys, unstorable=unstorable)


def _plain(text: str, keys: Collection[str]) -> dict[str, object]:
    """What is found in the end in an answer that is plainly one object with our keys, as most are, in a fifth of the
    time. Empty for all others, and for those that `_STRICT` might read otherwise than `orjson` does."""
    if "\\u" in text:  # could stand for a colon, or for what storage cannot hold
        return {}
    try:
        raw = text.encode()
        value = orjson.loads(raw)
        is_whole = orjson.dumps(value).count(b":") == raw.count(b":")  # else a key may have stood twice
    except (ValueError, TypeError):
        return {}
    if not is_whole or not isinstance(value, dict) or _LONG in raw.translate(_DIGITS_AS_0):
        return {}
    return {key: value[key] for key in keys if key in value}


_LONG = b"0" * 19
"""Digits of a number that may be out of range. A search for them by `re` takes ten times as long."""
_DIGITS_AS_0 = bytes.maketrans(b"123456789", b"0" * 9)


# Only blocks that open the text are cut. Tags further on may be the agent's words, and cutting up to one of these could
# remove the verdict and leave a quoted object; prose needs no cutting, as only objects in it count.
_REASONING = re.compile(r"\A(?:<(think|thinking|reasoning)>.*?</\1>\s*)+", re.IGNORECASE | re.DOTALL)
_REASONING_START = re.compile(r"<(?:think|thinking|reasoning)>", re.IGNORECASE)
_FENCE = re.compile(r"\A```\w*|```\Z")


def _only_one(values: Iterable[tuple[object, bool]], keys: Collection[str], *, unstorable: bool) -> Parsed:
    """`unstorable`: the values may hold code points that storage cannot."""
    found = [
        (verdict, repaired or verdict is not value) for value, repaired in values for verdict in _verdicts(value, keys)
    ]
    if not found:
        raise UnparsableAnswer(f"the answer has no JSON object with the keys {', '.join(keys)}")
    if len(found) > 1:
        raise UnparsableAnswer(f"the answer has {len(found)} JSON objects with the expected keys instead of one")
    [(verdict, repaired)] = found
    data = {key: verdict[key] for key in keys if key in verdict}
    if not unstorable:
        return Parsed(data, repaired)
    storable = {key: _storable(value) for key, value in data.items()}
    return Parsed(storable, repaired or storable != data)


def _verdicts(value: object, keys: Collection[str]) -> Iterator[dict[str, object]]:
    """The outermost objects with our keys: `value` itself or what a list, a tool call or a JSON string in it wraps."""
    match value:
        case dict() if any(key in value for key in keys):
            yield value
        case dict() | list():
            for member in value.values() if isinstance(value, dict) else value:
                yield from _verdicts(member, keys)
        case str() if (inner := _decode(value)) is not None:
            yield from _verdicts(inner, keys)


_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


def _storable(value: object) -> object:
    match value:
        case str():
            return _UNSTORABLE.sub("\ufffd", value)
        case list():
            return [_storable(item) for item in value]
        case dict():
            return {_UNSTORABLE.sub("\ufffd", key): _storable(item) for key, item in value.items()}
        case _:
            return value


def _no_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise UnparsableAnswer("a JSON object has the same key twice")
    return members


def _finite(literal: str) -> float:
    value = float(literal)
    return value if math.isfinite(value) else _out_of_range(literal)


def _integer(literal: str) -> int:
    # 19 characters always fit into 64 bits.
    return int(literal) if len(literal) < 20 else _out_of_range(literal)


def _out_of_range(literal: str) -> Never:
    raise UnparsableAnswer("a number is NaN, infinite or out of range")


def _decoder(*, strict: bool) -> json.JSONDecoder:
    return json.JSONDecoder(
        object_pairs_hook=_no_duplicates,
        parse_float=_finite,
        parse_int=_integer,
        parse_constant=_out_of_range,
        strict=strict,
    )


_STRICT = _decoder(strict=True)
_RAW_NEWLINES = _decoder(strict=False)


def _decode(text: str) -> object:
    """The value of strict JSON; None when it is not."""
    try:
        return _STRICT.decode(text.strip())
    except (ValueError, UnparsableAnswer):
        return None


# A brace that begins an object, not a `{slot}` in prose: a quoted key, a comment, or a bare key with its colon follows.
_OPENING = re.compile(r"""[{｛]\s*+(?:["'“‘]|/[/*]|\w++\s*+[:：])""")


def _objects(text: str) -> Iterator[tuple[object, bool]]:
    """Every outermost object in `text`, and whether it took repair. Nothing is read twice: the first fault ends it."""
    position = 0
    for _ in range(MAX_OBJECTS):
        if not (opening := _OPENING.search(text, position)):
            return
        start = opening.start()
        try:
            value, position = _STRICT.raw_decode(text, start)
        except json.JSONDecodeError as fault:
            strict_json, position = _rewrite(text, start)
            try:
                value = _RAW_NEWLINES.decode(strict_json)
            except json.JSONDecodeError:
                raise UnparsableAnswer(f"the answer has malformed JSON: {fault}") from None
            yield value, True
        else:
            yield value, False
    raise UnparsableAnswer("the answer has too many JSON objects")


# Comments, and strings in other quotes than "...", hold no brace: marks that the agent wrote, quoted before and after
# the verdict, would otherwise turn the verdict into a comment or a string.
_OTHER_STRINGS = "|".join(rf"{a}[^{b}\\{{｛]*+(?:\\.[^{b}\\{{｛]*+)*+{b}" for a, b in ("''", "“”", "‘’"))
_TOKEN = re.compile(
    rf"""(?P<space>\s++|//[^\n{{｛]*+|/\*[^*{{｛]*+\*/)
       | (?P<mark>[][{{}},:［］｛｝，：])
       | (?P<string>"[^"\\]*+(?:\\.[^"\\]*+)*+"|{_OTHER_STRINGS})
       | (?P<word>[\w.+-]+)""",
    re.DOTALL | re.VERBOSE,
)
_MARKS = dict(zip("［］｛｝，：", "[]{},:", strict=True))
_WORDS = {"True": "true", "False": "false", "None": "null"}
_ESCAPES = {'"': r"\"", r"\'": "'", r"\’": "’", r"\”": "”"}


def _rewrite(text: str, start: int) -> tuple[str, int]:
    """Strict JSON for the lenient object at `start`, and where it ends.

    Knows other quotes, full-width punctuation, bare keys, Python's constants, comments and trailing commas. What is
    none of these stays, or ends the result early; the decoder then refuses it.
    """
    out: list[str] = []
    depth, position = 0, start
    while token := _TOKEN.match(text, position):
        position = token.end()
        raw = token[0]
        match token.lastgroup:
            case "string":
                out.append('"' + re.sub(r'\\.|"', lambda m: _ESCAPES.get(m[0], m[0]), raw[1:-1], flags=re.DOTALL) + '"')
            case "word":
                out.append(_WORDS.get(raw, raw))
            case "mark":
                mark = _MARKS.get(raw, raw)
                if mark in "}]" and out[-1] == ",":
                    out.pop()
                if mark == ":" and out[-1][0] not in '"[]{},:':
                    out[-1] = f'"{out[-1]}"'
                out.append(mark)
                depth += (mark in "{[") - (mark in "}]")
                if depth == 0:
                    break
    if depth and text[position : position + 1] in ("", '"'):
        # What ends in a brace was most likely said to its end, with quotes that nobody escaped.
        is_whole = position < len(text) and text.endswith(("}", "```"))
        raise (UnparsableAnswer if is_whole else AnswerCutOff)(
            "the answer was cut off: its JSON object is never closed"
        )
    return " ".join(out), position
