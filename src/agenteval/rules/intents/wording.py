"""The reasons of `intent_classification`, composed by code."""

from collections.abc import Sequence

from agenteval.domain.text import Language
from agenteval.rules.intents.reading import SILENT, Reading, Verdict
from agenteval.rules.reasons import quoted, say


def single(language: Language, expected: str, reading: Reading, verdict: Verdict) -> str:
    heading = {
        Verdict.CORRECT: ("意图正确", "Intent correct"),
        Verdict.PARTIAL: ("意图部分正确", "Intent partly correct"),
        Verdict.INCORRECT: ("意图错误", "Intent wrong"),
    }[verdict]
    wanted = "" if verdict is Verdict.CORRECT else say(language, f"预期 {expected}，", f"expected {expected}, ")
    return say(
        language,
        f"{heading[0]}：{wanted}{_did(language, reading)}。",
        f"{heading[1]}: {wanted}{_did(language, reading)}.",
    )


def unproven(language: Language, expected: str, reading: Reading) -> str:
    return say(
        language,
        f"意图未能判定：预期 {expected}，{_did(language, reading)}。",
        f"Intent not judged: expected {expected}, {_did(language, reading)}.",
    ) + dropped(language, len(reading.dropped))


def several(language: Language, expected: Sequence[str], reading: Reading) -> str:
    found = [name for name in expected if reading.question or name in reading.names]
    missing = [name for name in expected if name not in found]
    reason = say(
        language,
        f"{len(expected)} 个预期意图中处理了 {len(found)} 个：{_did(language, reading)}。",
        f"{len(found)} of {len(expected)} expected intents acted on: {_did(language, reading)}.",
    )
    if missing:
        reason += say(language, f"未处理：{'、'.join(missing)}。", f" Not acted on: {', '.join(missing)}.")
    return reason


def dropped(language: Language, count: int) -> str:
    return say(
        language,
        f"另有 {count} 项所列意图的证据无法核实。",
        f" {count} more that were listed could not be verified.",
    )


def _did(language: Language, reading: Reading) -> str:
    if reading.question:
        quote = quoted(language, reading.question)
        return say(language, f"智能体提出了恰当的澄清问题（{quote}）", f"the agent asked a fitting question ({quote})")
    if reading is SILENT:
        return say(language, "智能体没有任何回复（空回复或出错）", "the agent said nothing (empty reply, or it failed)")
    if not reading.acted:
        return say(
            language, "智能体未处理任何意图，也未恰当澄清", "the agent acted on nothing and asked no fitting question"
        )
    acts = [
        f"{act.intent}{say(language, f'（{quoted(language, act.shown)}）', f' ({quoted(language, act.shown)})')}"
        for act in reversed(reading.acted)
    ]
    verb = "依次处理了" if len(acts) > 1 else "处理了"
    return say(language, f"智能体{verb} {'、'.join(acts)}", f"the agent acted on {', then '.join(acts)}")
