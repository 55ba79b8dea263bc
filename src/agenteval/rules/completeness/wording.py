"""The reasons of `conversation_completeness`, composed by code."""

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from agenteval.domain.questions import Unscored
from agenteval.domain.text import Language
from agenteval.domain.transcript import Dialog
from agenteval.rules.completeness.forms import Judgement, ReasonCode, State, Verdict
from agenteval.rules.completeness.items import Item, Score
from agenteval.rules.reasons import cause_text, say, turn_text, unscored_text
from agenteval.rules.replies import no_reply

_CODES = {
    ReasonCode.PENDING: ("等待处理", "still waiting"),
    ReasonCode.BLOCKED: ("智能体表示无法办理", "the agent said that it cannot"),
    ReasonCode.REFUSED: ("按规定被拒绝", "declined by policy"),
    ReasonCode.FAILED: ("尝试后失败", "tried and failed"),
    ReasonCode.IGNORED: ("未得到回应", "no response"),
}
_STATES = {
    State.WITHDRAWN: ("已撤回", "withdrawn"),
    State.REPLACED: ("已被替换", "replaced"),
    State.CONDITIONAL: ("条件未出现", "its condition did not occur"),
}


@lru_cache(maxsize=1024)
def printed(score: Fraction) -> str:
    """To 4 digits."""
    return f"{float(round(score, 4)):g}"


def scored(language: Language, score: Fraction, items: Sequence[Item], dropped: int) -> str:
    counted = len([item for item in items if item.verdict is not None])
    met = len([item for item in items if item.verdict is Verdict.MET])
    number = printed(score)
    heading = say(
        language,
        f"评分为 {number}：{counted} 项意图中满足 {met} 项。",
        f"Score {number}: {met} of {counted} intents met.",
    )
    return _sentences(language, heading, *_lists(language, items, dropped))


def unsettled(language: Language, bounds: Score, items: Sequence[Item], dropped: int) -> str:
    unknown = sum(item.unknown for item in items)
    known = sum(item.verdict is not None for item in items)
    low, high = printed(bounds.low), printed(bounds.high)
    heading = say(
        language,
        f"无法评分：{known + unknown} 项意图中 {unknown} 项未能判定，评分在 {low} 与 {high} 之间。",
        f"No score: {unknown} of {known + unknown} intents could not be judged; it lies between {low} and {high}.",
    )
    return _sentences(language, heading, *_lists(language, items, dropped))


def unlisted(language: Language, failure: Unscored) -> str:
    why = unscored_text(language, failure)
    return say(
        language, f"无法评分：用户意图未能提取：{why}", f"No score: the user's intents could not be listed: {why}"
    )


def none_active(language: Language, items: Sequence[Item]) -> str:
    heading = say(language, "不适用：用户没有提出仍有效的意图。", "Not applicable: no intent of the user is active.")
    return _sentences(language, heading, *_lists(language, items, 0))


def silent(dialog: Dialog) -> str:
    return say(dialog.language, "评分为 0。", "Score 0. ") + no_reply(dialog, "full_dialog")


def _lists(language: Language, items: Sequence[Item], dropped: int) -> list[str]:
    listed = [item for item in items if item.verdict is not Verdict.MET]
    if not listed and not dropped:
        return []
    unmet, partly = (
        [_named(language, item) for item in listed if item.verdict is verdict]
        for verdict in (Verdict.UNMET, Verdict.PARTLY_MET)
    )
    unknown = [_named(language, item) for item in listed if item.unknown]
    left = [_named(language, item) for item in listed if not item.unknown and item.verdict is None]
    return [
        *_list(language, ("未满足", "Unmet"), unmet),
        *_list(language, ("部分满足", "Partly met"), partly),
        *_list(language, ("未判定", "Not judged"), unknown),
        *_list(language, ("不计入", "Not counted"), left),
        *(
            [say(language, f"另有 {dropped} 项所列意图无法核实，未计入。", f"{dropped} more could not be verified.")]
            if dropped
            else []
        ),
    ]


def _list(language: Language, title: tuple[str, str], names: Sequence[str]) -> list[str]:
    if not names:
        return []
    return [say(language, f"{title[0]}：{'、'.join(names)}。", f"{title[1]}: {', '.join(names)}.")]


def _named(language: Language, item: Item) -> str:
    """The intent with where it was asked and what became of it: "查酒店（第 1 轮提出，未得到回应）"."""
    notes = []
    if item.quote:
        turn = turn_text(language, item.quote.turn)
        notes.append(say(language, f"{turn}提出", f"asked in {turn}"))
    notes.append(_fate(language, item.judgement))
    return say(language, f"{item.text}（{'，'.join(notes)}）", f"{item.text} ({', '.join(notes)})")


def _fate(language: Language, judgement: Judgement | Unscored) -> str:
    if isinstance(judgement, Unscored):
        return cause_text(language, judgement.cause)
    if judgement.state is not State.ACTIVE:
        return say(language, *_STATES[judgement.state])
    return say(language, *_CODES[judgement.reason_code])


def _sentences(language: Language, *sentences: str) -> str:
    return say(language, "", " ").join(sentences)
