"""What the agent acted on, whoever says so, and how that compares with what was expected."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import Any, NamedTuple

from agenteval.domain.evidence import Span
from agenteval.domain.forms import YesNo
from agenteval.domain.json_value import Json
from agenteval.domain.outcome import ONE, ZERO
from agenteval.domain.questions import Answers, Cause, Judged, Ranking, Unscored, View, provenance
from agenteval.domain.transcript import Dialog
from agenteval.rules.intents.forms import CONTRADICTION, ActedOn, AgentIntents
from agenteval.rules.intents.taxonomy import siblings
from agenteval.rules.replies import agent_span


class Verdict(StrEnum):
    CORRECT = "correct"
    PARTIAL = "partial"
    INCORRECT = "incorrect"

    @property
    def points(self) -> Fraction:
        return {Verdict.CORRECT: ONE, Verdict.PARTIAL: Fraction(1, 2), Verdict.INCORRECT: ZERO}[self]


class Acted(NamedTuple):
    """An intent that the agent acted on, where that shows, and the user's words that ask for it, if there are any."""

    intent: str
    shown: Span
    asked: Span | None


@dataclass(frozen=True, slots=True)
class Reading:
    """`acted`: the latest first; empty with `question` set: all the agent did was to ask a fitting question.
    `dropped` tells of intents that were listed without evidence, `noted` what else is noteworthy of the answer."""

    acted: tuple[Acted, ...] = ()
    second: str = ""
    question: Span | None = None
    reason: str = ""
    decided_by: str = "code"
    dropped: tuple[str, ...] = ()
    noted: Mapping[str, Json] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        return [act.intent for act in self.acted]

    @property
    def evidence(self) -> list[Span]:
        spans = [span for act in self.acted for span in (act.shown, act.asked) if span]
        return [*spans, self.question] if self.question else spans

    def detail(self) -> dict[str, Any]:
        return {
            "acted_on": [
                {
                    "intent": act.intent,
                    "turn_index": act.shown.turn,
                    "quote": act.shown.text,
                    "speaker": act.shown.speaker,
                    "user_quote": act.asked.text if act.asked else None,
                }
                for act in self.acted
            ],
            "second": self.second or None,
            "question": self.question.text if self.question else None,
            "judge_reason": self.reason,
            "decided_by": self.decided_by,
            "dropped": list(self.dropped),
            **self.noted,
        }


SILENT = Reading()
"""No reply at all."""


def judged_reading(judged: Judged[AgentIntents]) -> Reading | Unscored:
    found = judged.value
    if found.only_asked is YesNo.YES and judged.dropped:
        return Unscored(Cause.SCHEMA, CONTRADICTION, judged.calls)
    return Reading(
        acted=tuple(_acted(act) for act in found.intents),
        second=found.second or "",
        question=found.question.span if found.question and found.only_asked is YesNo.YES else None,
        reason=found.reason,
        decided_by=judged.by,
        dropped=judged.dropped,
        noted=provenance(judged),
    )


def _acted(act: ActedOn) -> Acted:
    quote = act.agent_quote or act.tool_quote
    if quote is None or quote.span is None:
        raise ValueError(f"no verified quote for the intent {act.intent}")
    asked = act.user_quote if act.asked_by_user is YesNo.YES else None
    return Acted(act.intent.value, quote.span, asked.span if asked else None)


def compare(expected: str, reading: Reading) -> Verdict:
    """Correct: the agent acted on the expected intent and on no later one unasked, or asked a fitting question.
    Partial: it is the second reading of the final one, or its sibling."""
    if not reading.acted:
        return Verdict.CORRECT if reading.question else Verdict.INCORRECT
    if expected in reading.names:
        later = reading.acted[: reading.names.index(expected)]
        if all(act.asked for act in later):
            return Verdict.CORRECT
    if expected == reading.second or siblings(expected, reading.names[0]):
        return Verdict.PARTIAL
    return Verdict.INCORRECT


# ---- without a model -------------------------------------------------------------------------------------------------


def rankings(dialog: Dialog, view: View, candidates: tuple[tuple[str, tuple[str, ...]], ...]) -> list[Ranking]:
    """What the agent said as a whole, then each of its replies. The user's words are no sign of what the agent did."""
    replies = [turn.reply_text for turn in view.turns(dialog) if turn.answered]
    return [Ranking(text, candidates) for text in ["\n".join(replies), *replies]]


def ranked_reading(
    expected: Sequence[str], dialog: Dialog, view: View, asked: Sequence[Ranking], answers: Answers
) -> Reading | None:
    """The clear winner over all replies. A single reply must show it too and is the evidence; and none of them may
    show an expected intent instead, for then the agent has acted on several. Else nothing is known."""
    whole, *singles = ((a.value.best, a.by) if isinstance(a := answers[ask], Judged) else None for ask in asked)
    replies = [turn for turn in view.turns(dialog) if turn.answered]
    if whole is None or whole not in singles:
        return None
    best, by = whole
    if best not in expected and any(single and single[0] in expected for single in singles):
        return None
    shown = replies[singles.index(whole)]
    return Reading((Acted(best, agent_span(shown, 0, len(shown.reply_text)), None),), decided_by=by)
