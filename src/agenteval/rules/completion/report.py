"""What is said of a completion: the reason in the dialog's language, and the structured detail."""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from agenteval.domain.evidence import Span
from agenteval.domain.json_value import Json
from agenteval.domain.questions import Cause
from agenteval.domain.text import Language
from agenteval.domain.transcript import Dialog, TurnStatus
from agenteval.rules.completion.bounds import Bounds
from agenteval.rules.completion.forms import SlotVerdict
from agenteval.rules.completion.items import Mode, Slot, Step, Uptake
from agenteval.rules.completion.result import Completion, Count, Placed
from agenteval.rules.completion.slots import SlotOutcome
from agenteval.rules.completion.steps import StepStatus
from agenteval.rules.reasons import cause_text

_MISSING, _UNSCORED, _LEFT = range(3)
_WHY: Mapping[str, Mapping[Language, str]] = {
    "filled": {"zh": "未被智能体确认", "en": "not confirmed by the agent"},
    "stated_only": {"zh": "用户已说明，智能体未采纳", "en": "given, but not taken up by the agent"},
    "stale": {"zh": "用户改变后智能体仍用旧值", "en": "the agent kept an older value"},
    "contradicted": {"zh": "智能体说的与用户不一致", "en": "the agent stated another value than the user"},
    "invalid": {"zh": "给出的值不符合要求", "en": "the value given is not as required"},
    "fabricated": {"zh": "智能体编造", "en": "invented by the agent"},
    "declined": {"zh": "用户拒绝提供", "en": "declined by the user"},
    "missing": {"zh": "用户未提供", "en": "not given by the user"},
    "asked": {"zh": "智能体询问过，用户的消息中没有答案", "en": "asked for, but no message of the user answers it"},
    "silent": {"zh": "空回复", "en": "empty replies"},
    "no_reply": {"zh": "没有回复", "en": "no reply"},
    "stated_silent": {"zh": "用户已说明，智能体只有空回复", "en": "given, but the replies are empty"},
    "stated_no_reply": {"zh": "用户已说明，但没有回复", "en": "given, but no reply came"},
    "out_of_order": {"zh": "顺序不对", "en": "out of order"},
    "done_without_prerequisite": {"zh": "前置步骤未先完成", "en": "done without its prerequisite"},
    "not_done": {"zh": "未完成", "en": "not done"},
    "claim_contradicted": {
        "zh": "智能体声称完成，但工具调用失败",
        "en": "claimed by the agent, but its tool call failed",
    },
    "left": {"zh": "条件不成立", "en": "its condition does not hold"},
    "unscored": {"zh": "未能判定", "en": "could not be judged"},
}


def silence_of(dialog: Dialog) -> str:
    """Why the agent said nothing at all: it failed, or its replies are empty; "" when it said something."""
    if not dialog.silent:
        return ""
    return "silent" if not len(dialog) or dialog[-1].status is TurnStatus.OK else "no_reply"


def reason(mode: Mode, done: Completion, language: Language, *, silence: str) -> str:
    """ "完成 4/5 项：缺少 appointment_time（预约时间，用户未提供）"."""
    missing, unscored, left = _by_kind(done, language, silence=silence)
    zh = language == "zh"
    parts = [
        (("缺少 " if zh else "missing "), missing),
        (("未判定 " if zh else "not judged "), unscored),
        (("不计入 " if zh else "not counted "), left),
    ]
    told = ("；" if zh else "; ").join(head + ("、" if zh else ", ").join(names) for head, names in parts if names)
    if unscored and not missing and done.slot_count.done + done.step_count.done == 0:
        head = "没有一项能判定" if zh else "no item could be judged"
    else:
        head = _counts(mode, done, language)
    return head + (("：" if zh else ": ") + told if told else "")


def _counts(mode: Mode, done: Completion, language: Language) -> str:
    zh = language == "zh"
    if done.bounds.low is None:
        return "没有可计入的必需项" if zh else "no required item is left in the count"
    weighted = len({slot.slot.weight for slot in done.slots if not slot.slot.optional}) > 1
    if mode is Mode.HYBRID:
        slots, steps = done.slot_count, done.step_count
        counts = [(f"槽位 {slots}" if zh else f"slots {slots}")] if slots.of else []
        counts += [(f"步骤 {steps}" if zh else f"steps {steps}")] if steps.of else []
        text = "完成 " + "、".join(counts) if zh else "done: " + ", ".join(counts)
    else:
        count = done.slot_count if mode is Mode.SLOT else done.step_count
        text = f"完成 {count} 项" if zh else f"{count} items done"
    if mode is Mode.HYBRID or weighted or done.bounds.low != done.bounds.high:
        text += ("，完成率" if zh else ", completion rate ") + _rate(done.bounds, language)
    return text


def _rate(bounds: Bounds, language: Language) -> str:
    if bounds.low == bounds.high:
        return f"{' ' if language == 'zh' else ''}{_number(bounds.low)}"
    low, high = _number(bounds.low), _number(bounds.high)
    return f"在 {low} 与 {high} 之间" if language == "zh" else f"between {low} and {high}"


def _number(rate: Fraction | None) -> str:
    return "" if rate is None else f"{float(rate):.4g}"


def _by_kind(done: Completion, language: Language, *, silence: str) -> tuple[list[str], list[str], list[str]]:
    """The required items that are missing, not judged, and out of the count, each with its cause."""
    kinds: tuple[list[str], list[str], list[str]] = [], [], []
    for kind, name, description, why in (*_slots(done, silence=silence), *_steps(done, silence=silence)):
        about = f"{description}{'，' if language == 'zh' else ', '}" if description else ""
        text = cause_text(language, why) if isinstance(why, Cause) else _WHY[why][language]
        kinds[kind].append(f"{name}（{about}{text}）" if language == "zh" else f"{name} ({about}{text})")
    return kinds


def _slots(done: Completion, *, silence: str) -> Iterator[tuple[int, str, str, str]]:
    for slot in done.slots:
        filled = slot.levels[done.uptake]
        if slot.slot.optional or filled:
            continue
        if slot.verdict is SlotVerdict.DECLINED:
            yield _LEFT, slot.slot.name, slot.slot.description, slot.status
        elif filled is None:
            yield _UNSCORED, slot.slot.name, slot.slot.description, slot.cause or Cause.NEEDS_JUDGE
        else:
            yield _MISSING, slot.slot.name, slot.slot.description, _why_not(slot, silence=silence)


def _why_not(slot: SlotOutcome, *, silence: str) -> str:
    if slot.verdict is SlotVerdict.MISSING and (silence or slot.asked):
        return silence or "asked"
    return f"stated_{silence}" if silence and slot.verdict is SlotVerdict.STATED_ONLY else slot.status


def _steps(done: Completion, *, silence: str) -> Iterator[tuple[int, str, str, str]]:
    declined = {slot.slot.name for slot in done.slots if slot.verdict is SlotVerdict.DECLINED}
    for placed in done.steps:
        step = placed.outcome.step
        if step.optional or placed.status is StepStatus.DONE:
            continue
        if placed.status is StepStatus.LEFT:
            yield _LEFT, step.name, step.description, "declined" if step.satisfied_by_slot in declined else "left"
        elif placed.status is StepStatus.UNSCORED:
            yield _UNSCORED, step.name, step.description, placed.outcome.cause or "unscored"
        else:
            why = silence if placed.status is StepStatus.NOT_DONE and silence else placed.status
            yield _MISSING, step.name, step.description, why


# ---- detail ----------------------------------------------------------------------------------------------------------


def detail(mode: Mode, done: Completion) -> dict[str, Any]:
    """Everything by name, as JSON; rates are exact ("3/5"), None when a list has nothing in the count."""
    items = (*_slots(done, silence=""), *_steps(done, silence=""))
    counts = {Mode.SLOT: [done.slot_count], Mode.STEP: [done.step_count]}.get(mode, [done.slot_count, done.step_count])
    return {
        "mode": mode.value,
        "uptake": done.uptake.value,
        "filled": f"{sum(c.done for c in counts)}/{sum(c.of for c in counts)}",
        **_list("slot", done.slot_count, [(slot.slot.name, _slot(slot, done.uptake)) for slot in done.slots]),
        **_list("step", done.step_count, [(placed.outcome.step.name, _step(placed)) for placed in done.steps]),
        "missing": [name for kind, name, _, _ in items if kind == _MISSING],
    }


def unknown(slots: Sequence[Slot], steps: Sequence[Step]) -> dict[str, Any]:
    """The items when none of them was looked at."""
    kinds: tuple[tuple[str, str, Sequence[Slot | Step]], ...] = (("slots", "filled", slots), ("steps", "done", steps))
    return {kind: {item.name: _unknown(item, good) for item in items} for kind, good, items in kinds if items}


def _unknown(item: Slot | Step, good: str) -> dict[str, Json]:
    return {"status": "unscored", good: None, "required": not item.optional, "critical": item.critical}


def _list(kind: str, count: Count, items: Sequence[tuple[str, Json]]) -> dict[str, Any]:
    if not items:
        return {}
    rate = None if count.rate is None else str(count.rate)
    return {f"{kind}s": dict(items), f"{kind}s_filled": str(count), f"{kind}_rate": rate}


def _slot(slot: SlotOutcome, uptake: Uptake) -> dict[str, Json]:
    return {
        "status": slot.status,
        "filled": None if slot.verdict is SlotVerdict.DECLINED else slot.levels[uptake],
        **{level.value: slot.levels[level] for level in Uptake},
        "value": slot.value,
        "turn_index": None if slot.quote is None else slot.quote.turn,
        "quote": None if slot.quote is None else slot.quote.text,
        "history": [_said(span) for span in slot.history],
        "asked": slot.asked,
        "reasked": slot.reasked,
        "required": not slot.slot.optional,
        "critical": slot.slot.critical,
        "decided_by": slot.decided_by,
        "reason": slot.reason,
        "cause": slot.cause,
        "evidence": [_said(span) for span in slot.evidence],
        **slot.noted,
    }


def _step(placed: Placed) -> dict[str, Json]:
    """With the turn that earns its credit, or in which it was shown, or claimed, without any."""
    outcome = placed.outcome
    quote = next((span for span in outcome.evidence if placed.turn in (span.turn, None)), None)
    known = placed.status not in (StepStatus.UNSCORED, StepStatus.LEFT)
    return {
        "status": placed.status.value,
        "done": placed.status is StepStatus.DONE if known else None,
        "turn_index": quote.turn if placed.turn is None and quote else placed.turn,
        "quote": None if quote is None else quote.text,
        "out_of_order": placed.out_of_order,
        "applies": outcome.applies,
        "required": not outcome.step.optional,
        "critical": outcome.step.critical,
        "decided_by": outcome.decided_by,
        "reason": outcome.reason,
        "cause": outcome.cause,
        "evidence": [_said(span) for span in (*outcome.evidence, *outcome.condition)],
        **outcome.noted,
    }


def _said(span: Span) -> dict[str, Json]:
    return {"turn_index": span.turn, "speaker": span.speaker.value, "quote": span.text}
