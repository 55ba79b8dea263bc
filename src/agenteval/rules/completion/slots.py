"""From what is known about a slot to its status.

Who decides: a person; else code what it can see for certain (that an expected value was not stated, that there is no
value of the kind at all, that no reply follows); else the judge. For a slot with an expected value the judge, who does
not know it, is asked the same as for any other, and only its view of the uptake counts: that the value was stated is
settled by then, so whatever is no acceptance ("missing", "fabricated", "declined") means that the agent did not take it
up. Without a model, code's own view of the uptake stands in. A judge that failed leaves the uptake open.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from agenteval.domain.evidence import Span
from agenteval.domain.forms import AgentQuote, Quote, UserQuote
from agenteval.domain.json_value import Json
from agenteval.domain.questions import Cause, Judged, Unscored, provenance
from agenteval.domain.regex import TextTooLong
from agenteval.domain.slots import SlotType
from agenteval.domain.transcript import Dialog
from agenteval.rules.completion import uptake as taken
from agenteval.rules.completion.changes import may_be_changed
from agenteval.rules.completion.forms import Part, SlotAnswer, SlotVerdict
from agenteval.rules.completion.items import Slot, Uptake
from agenteval.rules.completion.reworded import may_be_reworded
from agenteval.rules.completion.values import (
    Given,
    absent,
    acceptable,
    given,
    is_after,
    last_value,
    uncertain,
    user_values,
    values_by_user,
    values_of,
)
from agenteval.rules.completion.withheld import may_be_misgiven, may_be_refused
from agenteval.rules.completion.wording import quotable

Levels = Mapping[Uptake, bool | None]

_OVERLAPPING = {
    SlotType.DATE: {SlotType.DATE, SlotType.DATETIME},
    SlotType.TIME: {SlotType.TIME, SlotType.DATETIME},
    SlotType.DATETIME: {SlotType.DATE, SlotType.TIME, SlotType.DATETIME},
}
"""Types whose values are, or hold, values of one another."""

_NOT_STATED: Levels = dict.fromkeys(Uptake, False)
_STATED: Levels = {**_NOT_STATED, Uptake.STATED: True}


@dataclass(frozen=True, slots=True)
class SlotOutcome:
    """What is known of a slot; `verdict` is None when it is unscored.

    `levels`: whether the slot counts as filled under each uptake, None when unknown. `quote` is where the value is
    (or the refusal, the invention); `evidence` all quotes; `asked`: the agent asked for it. `noted`: what is noteworthy
    of the judge's answer."""

    slot: Slot
    verdict: SlotVerdict | None
    decided_by: str
    levels: Levels = field(default_factory=lambda: dict.fromkeys(Uptake))
    reason: str = ""
    value: str | None = None
    quote: Span | None = None
    history: tuple[Span, ...] = ()
    evidence: tuple[Span, ...] = ()
    asked: bool = False
    reasked: bool = False
    cause: Cause | None = None
    noted: Mapping[str, Json] = field(default_factory=dict)

    @property
    def status(self) -> str:
        """As results name it."""
        return self.verdict.value if self.verdict else "unscored"

    @property
    def turn(self) -> int | None:
        """Of its last quote."""
        return max((span.turn for span in self.evidence), default=None)


# ---- before any model ------------------------------------------------------------------------------------------------


def by_code(slot: Slot, dialog: Dialog, others: Sequence[Slot], uptake: Uptake) -> SlotAnswer | None:
    """What code decides for certain, with or without a model."""
    try:
        if slot.expected_value is not None:
            return _expected_by_code(slot, dialog, others)
    except TextTooLong:
        return None
    if (dialog.silent and uptake is not Uptake.STATED) or absent(slot, dialog):
        return _missing(slot, dialog, others)
    return None


def _expected_by_code(slot: Slot, dialog: Dialog, others: Sequence[Slot]) -> SlotAnswer | None:
    stated = _given(slot, dialog, others)
    if stated is None:
        if _may_be_given(slot, dialog, others):
            return None
        other = last_value(slot, dialog, others)
        if other is None:
            return _missing(slot, dialog, others)
        return _answer(SlotVerdict.INVALID, user=(_user(dialog, other),))
    if not taken.replied_after(dialog, stated.turn) and stated.value.speaker == "user":
        return _answer(SlotVerdict.STATED_ONLY, user=(_user(dialog, stated.value),))
    return None


def _given(slot: Slot, dialog: Dialog, others: Sequence[Slot]) -> Given | None:
    """Where the expected value is stated, unless the user may have given it up."""
    stated = given(slot, dialog, others)
    return None if stated is None or may_be_changed(slot, dialog, stated, others) else stated


def _may_be_given(slot: Slot, dialog: Dialog, others: Sequence[Slot]) -> bool:
    """Of an expected value that is not stated for certain: whether it may be for all that code can tell."""
    if given(slot, dialog, others) is not None:
        return True
    return uncertain(slot, dialog, others) or may_be_reworded(slot, dialog)


def _missing(slot: Slot, dialog: Dialog, others: Sequence[Slot]) -> SlotAnswer | None:
    """None when the user may have declined to give it, or given what is none."""
    if may_be_refused(slot, dialog) or may_be_misgiven(slot, dialog):
        return None
    ask = taken.last_ask(slot, dialog, others)
    if ask is None:
        return _answer(SlotVerdict.MISSING)
    quote = AgentQuote(ask.turn, quotable(dialog[ask.turn].reply_text, ask.start))
    return _answer(SlotVerdict.MISSING, agent=quote, part=Part.ASKED)


def _user(dialog: Dialog, said: Span) -> UserQuote:
    return UserQuote(said.turn, quotable(dialog[said.turn].sent_message, said.start))


def _answer(
    status: SlotVerdict, user: tuple[UserQuote, ...] = (), agent: AgentQuote | None = None, part: Part = Part.NONE
) -> SlotAnswer:
    return SlotAnswer("", user, agent, None, part, False, status)


# ---- conclusion ------------------------------------------------------------------------------------------------------


def conclude(slot: Slot, dialog: Dialog, answer: Judged[SlotAnswer] | Unscored, others: Sequence[Slot]) -> SlotOutcome:
    try:
        if slot.expected_value is None and isinstance(answer, Unscored) and answer.cause is Cause.NEEDS_JUDGE:
            told = _only_value(slot, dialog, others)
            if told is not None:
                return replace(conclude(replace(slot, expected_value=(told,)), dialog, answer, others), slot=slot)
        stated = _given(slot, dialog, others) if slot.expected_value is not None else None
        if isinstance(answer, Judged):
            if _is_unverifiable(slot, dialog, answer, stated, others):
                return SlotOutcome(slot, None, "", reason=_UNVERIFIABLE, cause=Cause.EVIDENCE)
            return replace(_judged(slot, dialog, answer, stated), noted=provenance(answer))
        if stated is not None and answer.cause is Cause.NEEDS_JUDGE:
            seen = taken.by_code(slot, dialog, stated, others)
            if seen is not None:
                return _uptake_by_code(slot, dialog, stated, seen, others)
    except TextTooLong as error:
        return SlotOutcome(slot, None, "code", reason=str(error), cause=Cause.TOO_LONG)
    unknown = SlotOutcome(slot, None, "", reason=answer.detail, cause=answer.cause)
    if stated is None:
        return unknown
    levels: Levels = {**unknown.levels, Uptake.STATED: True}
    return replace(unknown, levels=levels, value=stated.text, quote=stated.value, evidence=stated.spans)


_HOUSE_NUMBER = re.compile(r"\d{1,4}\s?号")
_TELLING = {SlotType.PHONE, SlotType.EMAIL, SlotType.ID_CARD, SlotType.URL, *_OVERLAPPING}


def _only_value(slot: Slot, dialog: Dialog, others: Sequence[Slot]) -> str | None:
    """The last value that the user gave, where its kind tells that it is this slot's: no other slot has such values."""
    if slot.type not in _TELLING or (
        slot.type in _OVERLAPPING and any(other.type in _OVERLAPPING[slot.type] for other in others)
    ):
        return None
    values = values_by_user(slot, dialog, others)
    return values[-1].text if values and not _HOUSE_NUMBER.fullmatch(values[-1].text) else None


def _uptake_by_code(
    slot: Slot, dialog: Dialog, stated: Given, seen: taken.Reaction, others: Sequence[Slot]
) -> SlotOutcome:
    """Code sees that a value was confirmed, but not that it was not: asking has many words."""
    filled = seen.verdict is SlotVerdict.FILLED
    earlier = [value for value in user_values(slot, dialog, others) if is_after(stated.value, value)]
    confirmed = True if seen.used or seen.part is not Part.NONE else None
    return SlotOutcome(
        slot,
        seen.verdict,
        "code",
        {Uptake.STATED: True, Uptake.ACCEPTED: True, Uptake.CONFIRMED: confirmed} if filled else _STATED,
        value=stated.text,
        quote=stated.value,
        history=tuple(dict.fromkeys((*([seen.older] if seen.older else []), *earlier))),
        evidence=(*stated.spans, *([seen.agent] if seen.agent else [])),
        asked=seen.part is Part.ASKED,
        reasked=seen.reasked,
    )


_UNVERIFIABLE = "a value was given, but code cannot compare it with the expected one"


def _is_unverifiable(
    slot: Slot, dialog: Dialog, answer: Judged[SlotAnswer], stated: Given | None, others: Sequence[Slot]
) -> bool:
    """A model does not know the expected value, so what it finds in other words cannot be said to be that."""
    if slot.expected_value is None or stated is not None or not answer.by.startswith("model:"):
        return False
    return answer.value.gives_value and _may_be_given(slot, dialog, others)


def _judged(slot: Slot, dialog: Dialog, answer: Judged[SlotAnswer], stated: Given | None) -> SlotOutcome:
    found = answer.value
    verdict = found.status
    value, history = _value(found)
    quote = value.span if value else None
    if answer.by.startswith("model:"):
        verdict = _checked(slot, dialog, found, stated)
    if stated is not None and answer.reviewed is None:
        quote = stated.value
    text = None if quote is None or verdict in _WITHOUT_VALUE else _typed(slot, quote.text)
    spans = dict.fromkeys(q.span for q in found.quotes if q.span is not None)
    is_unread = verdict is SlotVerdict.MISSING and answer.by == "code" and dialog.silent
    return SlotOutcome(
        slot,
        verdict,
        answer.by,
        _unread(slot, dialog) if is_unread else _levels(slot, dialog, found, verdict, text),
        reason=found.reason,
        value=text,
        quote=quote,
        history=history,
        evidence=(*spans, *(stated.spans if stated and not spans else ())),
        asked=found.part is Part.ASKED,
        reasked=found.reasked,
    )


_WITHOUT_VALUE = {SlotVerdict.MISSING, SlotVerdict.DECLINED}


def _checked(slot: Slot, dialog: Dialog, found: SlotAnswer, stated: Given | None) -> SlotVerdict:
    """A model's verdict, as far as code does not know better."""
    verdict = found.status
    if slot.expected_value is not None:
        if stated is None:
            return verdict if verdict in (SlotVerdict.DECLINED, SlotVerdict.FABRICATED) else SlotVerdict.MISSING
        if verdict in (SlotVerdict.MISSING, SlotVerdict.FABRICATED, SlotVerdict.DECLINED, SlotVerdict.INVALID):
            return SlotVerdict.STATED_ONLY
    elif found.gives_value and (value := _value(found)[0]) is not None and not acceptable(slot, value.text):
        return SlotVerdict.INVALID
    if verdict is SlotVerdict.FILLED and not taken.replied_after(dialog, found.given_turn):
        return SlotVerdict.STATED_ONLY
    return verdict


def _value(found: SlotAnswer) -> tuple[Quote | None, tuple[Span, ...]]:
    """The quote that the verdict is about, and the earlier values."""
    user = sorted(found.user, key=lambda quote: quote.turn)
    if found.status in (SlotVerdict.MISSING, SlotVerdict.FABRICATED):
        return (found.agent, ()) if found.status is SlotVerdict.FABRICATED else (None, ())
    earlier = tuple(quote.span for quote in user[:-1] if quote.span is not None)
    if found.part is Part.OFFERED:
        return found.agent, earlier
    return (user[-1] if user else found.tool), earlier


def _typed(slot: Slot, quote: str) -> str:
    """The value itself, where code can tell it from the words around it."""
    try:
        values = values_of(slot, quote)
    except TextTooLong:
        return quote
    return values[-1].text if values else quote


def _unread(slot: Slot, dialog: Dialog) -> Levels:
    """Where the agent says nothing it collects nothing; whether the user said it is known only where code can tell."""
    told = slot.expected_value is not None or absent(slot, dialog)
    return _NOT_STATED if told else {**_NOT_STATED, Uptake.STATED: None}


def _levels(slot: Slot, dialog: Dialog, found: SlotAnswer, verdict: SlotVerdict, value: str | None) -> Levels:
    match verdict:
        case SlotVerdict.FILLED:
            confirmed = found.part is not Part.NONE or (value is not None and taken.used(slot, value, dialog))
            return {Uptake.STATED: True, Uptake.ACCEPTED: True, Uptake.CONFIRMED: confirmed}
        case SlotVerdict.STATED_ONLY | SlotVerdict.STALE | SlotVerdict.CONTRADICTED:
            return _STATED
        case _:
            return _NOT_STATED
