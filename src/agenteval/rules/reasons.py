"""Words that the reasons of several rules share, in the dialog's language."""

from agenteval.domain.evidence import Span
from agenteval.domain.questions import Cause, Unscored
from agenteval.domain.text import Language
from agenteval.domain.words import CAUSES

_SHOWN = 60  # characters of a quote within a reason; the whole is in the evidence


def say(language: Language, zh: str, en: str) -> str:
    return zh if language == "zh" else en


def cause_text(language: Language, cause: Cause) -> str:
    return say(language, *CAUSES[cause])


def unscored_text(language: Language, answer: Unscored) -> str:
    """Why there is no verdict, with the judge's own detail."""
    text = cause_text(language, answer.cause)
    return f"{text}{say(language, '：', ': ')}{answer.detail}" if answer.detail else text


def turn_text(language: Language, turn: int) -> str:
    """A turn as people count it: from 1."""
    return say(language, f"第 {turn + 1} 轮", f"turn {turn + 1}")


def quoted(language: Language, span: Span) -> str:
    """A quote on one line with its turn, for use in brackets."""
    text = " ".join(span.text.split())
    text = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
    return turn_text(language, span.turn) + say(language, f"：“{text}”", f': "{text}"')
