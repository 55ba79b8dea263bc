"""What the agent acted on, whoever says so, and how that compares with what was expected."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import Any, NamedTuple

from agenteval.domain.evidence import Span
from agenteval.domain.forms import YesNo
from agenteval.domain.json_value import Json
from agenteval.domain.outcome import ONE, ZERO
from agenteval.domain.questions import Answers, Cause, Judged, Lead, Ranked, Ranking, Unscored, View, provenance
from agenteval.domain.text import is_blank
from agenteval.domain.transcript import Dialog, Turn
from agenteval.rules.intents.asserted import Spans, affirmed, asserted, cut
from agenteval.rules.intents.forms import CONTRADICTION, NOTHING, ONLY_ASKED, ActedOn, AgentIntents
from agenteval.rules.intents.taxonomy import Entry, candidates, siblings
from agenteval.rules.replies import agent_span, find_word


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
    def word(self) -> str:
        """As in AgentIntents."""
        return ONLY_ASKED if self.question else ", ".join(self.names) or NOTHING

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


def rankings(dialog: Dialog, view: View, entries: Mapping[str, Entry]) -> list[Ranking]:
    """What the agent did not deny as a whole, then in each of its replies; and so what it asserted; what the user said,
    as a whole and message by message; and what both said."""
    replies = _replies(dialog, view)
    texts = [text for part in (affirmed, asserted) for text in _texts(replies, part)]
    texts += [*_messages(dialog, view), _both(dialog, view)]
    return [Ranking(text, candidates(entries)) for text in dict.fromkeys(texts) if not is_blank(text)]


def ranked_reading(
    expected: Sequence[str], dialog: Dialog, view: View, entries: Mapping[str, Entry], answers: Answers
) -> Reading | None:
    """The clear winner over all that the agent did not deny, questions included, for a fitting one is right. A single
    reply must show it too, with a keyword if the intent has any, and is the evidence. An intent that was not expected
    must be the winner of what the agent asserts as well, and no reply may show an expected one. Else what both sides
    speak of decides, if that can be told.
    """
    return _of_agent(expected, dialog, view, entries, answers) or _of_both(expected, dialog, view, entries, answers)


def _of_agent(
    expected: Sequence[str], dialog: Dialog, view: View, entries: Mapping[str, Entry], answers: Answers
) -> Reading | None:
    replies = _replies(dialog, view)
    won = _Winners(replies, affirmed, entries, answers)
    if won.best not in expected:
        if won.best is None or any(won.shows(name, turn) for turn in replies for name in expected):
            return None
        asserting = _Winners(replies, asserted, entries, answers)
        if asserting.best != won.best:
            return None
        won = asserting
    shown = won.shown()
    return Reading((Acted(won.best, shown, None),), decided_by=won.by) if won.best and shown else None


def _of_both(
    expected: Sequence[str], dialog: Dialog, view: View, entries: Mapping[str, Entry], answers: Answers
) -> Reading | None:
    """What is ahead over the words of both sides, and among the first three for each of them: an agent that
    understood speaks of what the user does. A reply is most like it. An intent that was not expected is that only when
    no reply and no message is most like an expected one."""
    replies = _replies(dialog, view)

    def most_like(text: str) -> Ranked | None:
        answer = answers.get(Ranking(text, candidates(entries)))
        return answer.value if isinstance(answer, Judged) else None

    whole, *singles = map(most_like, _texts(replies, affirmed))
    said, *messages = map(most_like, _messages(dialog, view))
    both = most_like(_both(dialog, view))
    if whole is None or said is None or both is None or both.lead is Lead.FIRST:
        return None
    if any(both.best not in (side.best, *side.next) for side in (whole, said)):
        return None
    firsts = {found.best for found in (*singles, *messages) if found}
    if both.best not in expected and firsts.intersection(expected):
        return None
    shown = next((t for t, single in zip(replies, singles, strict=True) if single and single.best == both.best), None)
    if shown is None or any(entries[name].keywords for name in (both.best, *expected) if name in entries):
        return None  # keywords are there to be said
    span = agent_span(shown, 0, len(shown.reply_text))
    return Reading((Acted(both.best, span, None),), decided_by=f"encoder:{both.scorer}")


class _Winners:
    """The clear winners of one part of what the agent said: `best` of the whole, and those of single replies."""

    def __init__(
        self, replies: Sequence[Turn], part: Callable[[str], Spans], entries: Mapping[str, Entry], answers: Answers
    ) -> None:
        self._replies, self._part, self._entries = replies, part, entries
        whole, *singles = (answers.get(Ranking(text, candidates(entries))) for text in _texts(replies, part))
        self._singles = [_clear(each) for each in singles]
        self.best = _clear(whole)
        self.by = whole.by if isinstance(whole, Judged) else ""

    def shows(self, name: str, turn: Turn) -> bool:
        """Whether a reply leads to this intent, or says one of its keywords."""
        single = self._singles[self._replies.index(turn)]
        return single == name or self._keyword_clause(name, turn) is not None

    def shown(self) -> Span | None:
        """The reply that shows the winner; of an intent with keywords, the clause that says one."""
        for turn, single in zip(self._replies, self._singles, strict=True):
            if self.best is not None and single == self.best:
                if not self._entries[self.best].keywords:
                    return agent_span(turn, 0, len(turn.reply_text))
                if clause := self._keyword_clause(self.best, turn):
                    return agent_span(turn, *clause)
        return None

    def _keyword_clause(self, name: str, turn: Turn) -> tuple[int, int] | None:
        said = turn.reply_text
        return next(
            (
                (start, start + len(said[start:end].rstrip()))
                for start, end in self._part(said)
                for keyword in self._entries[name].keywords
                if find_word(keyword, said[start:end])
            ),
            None,
        )


def _clear(answer: Judged[Ranked] | Unscored | None) -> str | None:
    return answer.value.best if isinstance(answer, Judged) and answer.value.lead is Lead.CLEAR else None


def _replies(dialog: Dialog, view: View) -> list[Turn]:
    return [turn for turn in view.turns(dialog) if turn.answered]


def _texts(replies: Sequence[Turn], part: Callable[[str], Spans]) -> list[str]:
    singles = [cut(turn.reply_text, part(turn.reply_text)) for turn in replies]
    return ["\n".join(singles), *singles]


def _messages(dialog: Dialog, view: View) -> list[str]:
    """All that the user said, then each message."""
    messages = [turn.sent_message for turn in view.turns(dialog)]
    return ["\n".join(messages), *messages]


def _both(dialog: Dialog, view: View) -> str:
    return "\n".join([_messages(dialog, view)[0], _texts(_replies(dialog, view), affirmed)[0]])
