"""Words that the reasons of several rules share, in the dialog's language."""

from typing import Literal, TypeAlias

from agenteval.domain.evidence import Span
from agenteval.domain.questions import Cause, Unscored

Language: TypeAlias = Literal["zh", "en"]

_CAUSES: dict[Cause, tuple[str, str]] = {
    Cause.NEEDS_JUDGE: ("需要评审模型", "needs a judge model"),
    Cause.UNPARSABLE: ("评审的回答无法解析", "the judge's answer could not be parsed"),
    Cause.SCHEMA: ("评审的回答不符合要求的格式", "the judge's answer does not have the form asked for"),
    Cause.EVIDENCE: ("评审给出的证据无法核实", "the judge's evidence could not be verified"),
    Cause.TIE: ("多次评审结果不一致", "the votes are tied"),
    Cause.MODEL_ERROR: ("评审模型调用失败", "the judge model failed"),
    Cause.TOO_LONG: ("对话超出评审模型的上下文", "the dialog does not fit the judge model's context"),
    Cause.PENDING: ("等待批量评审结果", "waits for a batch's answers"),
    Cause.RULE_ERROR: ("规则自身出错", "the rule itself broke"),
}
_SHOWN = 60  # characters of a quote within a reason; the whole is in the evidence


def say(language: Language, zh: str, en: str) -> str:
    return zh if language == "zh" else en


def cause_text(language: Language, cause: Cause) -> str:
    return say(language, *_CAUSES[cause])


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
