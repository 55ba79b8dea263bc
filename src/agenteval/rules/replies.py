"""What the agent said, and where in it something stands: for rules that look at replies themselves."""

from bisect import bisect_left

from agenteval.domain.evidence import Match, Span, Speaker
from agenteval.domain.text import fold
from agenteval.domain.transcript import Dialog, Turn, TurnStatus
from agenteval.rules.params import Scope


def answered(dialog: Dialog, scope: Scope) -> tuple[Turn, ...]:
    """The turns of the scope in which the agent said something. A turn that failed is an empty reply."""
    turns = dialog.turns[-1:] if scope == "last_turn" else dialog.turns
    return tuple(turn for turn in turns if turn.answered)


def no_reply(dialog: Dialog, scope: Scope) -> str:
    """The reason for a 0 when `answered` is empty."""
    last = dialog.turns[-1] if dialog.turns else None
    if last is None or last.status is TurnStatus.OK:
        return (_SILENT if scope == "full_dialog" else _EMPTY)[dialog.language]
    if last.status is TurnStatus.ERROR and last.error:
        return _FAILED[dialog.language].format(why=last.error[:_LONGEST])
    return _FAILED[dialog.language].format(why=_WHY[dialog.language][last.status])


_LONGEST = 120
"""Characters of an error that are shown."""
_SILENT = {"zh": "空回复：整个对话中没有任何回复。", "en": "Empty reply: the agent said nothing in the whole dialog."}
_EMPTY = {"zh": "空回复。", "en": "Empty reply."}
_FAILED = {"zh": "没有回复：{why}。", "en": "No reply: {why}."}
_WHY = {
    "zh": {
        TurnStatus.TIMEOUT: "智能体未在时限内回复",
        TurnStatus.ERROR: "智能体出错",
        TurnStatus.NOT_DELIVERED: "未送达",
    },
    "en": {
        TurnStatus.TIMEOUT: "the agent did not answer in time",
        TurnStatus.ERROR: "the agent failed",
        TurnStatus.NOT_DELIVERED: "not delivered",
    },
}


def find_word(word: str, text: str) -> tuple[int, int] | None:
    """A span of `text` that is `word` once both are folded, the first if it stands there as written; else None."""
    start = text.find(word)
    if start >= 0:
        return start, start + len(word)
    sought = fold(word)
    if sought not in fold(text):
        return None
    end = bisect_left(range(len(text)), True, key=lambda stop: sought in fold(text[:stop]))
    start = bisect_left(range(end), True, key=lambda begin: sought not in fold(text[begin:end])) - 1
    return start, end


def agent_span(turn: Turn, start: int, end: int, match: Match = Match.EXACT) -> Span:
    return Span(turn.index, Speaker.AGENT, 0, start, end, turn.reply_text[start:end], match)
