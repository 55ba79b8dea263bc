"""The user's intents as they are counted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, NamedTuple

from agenteval.domain.evidence import Span
from agenteval.domain.json_value import Json
from agenteval.domain.outcome import ONE, ZERO
from agenteval.domain.questions import Unscored
from agenteval.domain.text import fold
from agenteval.domain.transcript import Dialog
from agenteval.rules.completeness.forms import JudgedIntent, Judgement, ReasonCode, State, Verdict, Wanted


@dataclass(frozen=True, slots=True)
class Item:
    """An intent and what became of it. `quote`: the user's words; None when the scenario's author gave the intent.
    `noted`: what is noteworthy of the answer that judged it. `verdict`: None when it does not count, or is unknown."""

    text: str
    quote: Span | None
    judgement: Judgement | Unscored
    weight: Fraction = ONE
    noted: Mapping[str, Json] = field(default_factory=dict)
    verdict: Verdict | None = field(init=False)

    def __post_init__(self) -> None:
        judged = self.judgement
        verdict = judged.verdict if isinstance(judged, Judgement) and judged.state is State.ACTIVE else None
        object.__setattr__(self, "verdict", verdict)

    @property
    def unknown(self) -> bool:
        return isinstance(self.judgement, Unscored)

    @property
    def counts(self) -> bool:
        """Whether it is active, as far as is known."""
        return self.unknown or self.verdict is not None

    @property
    def evidence(self) -> list[Span]:
        if isinstance(self.judgement, Unscored):
            return []
        quotes = (self.judgement.agent_quote, self.judgement.tool_quote)
        return [quote.span for quote in quotes if quote and quote.span]

    @property
    def spans(self) -> list[Span]:
        return [*([self.quote] if self.quote else []), *self.evidence]

    def detail(self) -> dict[str, Any]:
        known = self.judgement if isinstance(self.judgement, Judgement) else None
        return {
            "intent": self.text,
            "quote": self.quote.text if self.quote else None,
            "turn_index": self.quote.turn if self.quote else None,
            "weight": float(self.weight),
            "state": known.state if known else None,
            "verdict": self.verdict,
            "reason_code": known.reason_code if known and self.verdict else None,
            "reason": known.reason if known else None,
            "evidence": [{"turn_index": s.turn, "speaker": s.speaker, "quote": s.text} for s in self.evidence],
            "cause": self.judgement.cause if isinstance(self.judgement, Unscored) else None,
            **self.noted,
        }


class Score(NamedTuple):
    """The bounds of the score, equal when every intent was judged. `may_leave`: perhaps no intent is active."""

    low: Fraction
    high: Fraction
    may_leave: bool


def score(items: Sequence[Item], partial_credit: Fraction) -> Score | None:
    """Σ weight·value / Σ weight over the active intents; None when none is active and none unknown.

    An unknown intent may be met, unmet or not active. Leaving it out moves the score less than the other two do, so the
    bounds are those of all unmet and all met.
    """
    by_verdict: dict[Verdict | None, Fraction] = {}
    for item in items:
        if item.counts:
            known = by_verdict.get(item.verdict)
            by_verdict[item.verdict] = item.weight if known is None else known + item.weight
    total = sum(by_verdict.values(), ZERO)
    if not total:
        return None
    unknown = by_verdict.pop(None, ZERO)
    reached = by_verdict.get(Verdict.MET, ZERO)
    if Verdict.PARTLY_MET in by_verdict:
        reached += by_verdict[Verdict.PARTLY_MET] * partial_credit
    low = reached / total
    return Score(low, (reached + unknown) / total if unknown else low, not by_verdict)


def corrected(judgement: Judgement, dialog: Dialog) -> Judgement:
    """A tool result outranks the agent's claim: what rests on a call that failed, and that no later call of the same
    tool made good, has failed."""
    quote = judgement.tool_quote
    if judgement.verdict is Verdict.UNMET or quote is None or quote.span is None:
        return judgement
    turn, number = quote.span.turn, quote.span.source
    cited, *later = [call for at in dialog.turns[turn:] for call in at.tool_calls[number if at.index == turn else 0 :]]
    if cited.ok is not False or any(call.ok and call.name == cited.name for call in later):
        return judgement
    return replace(judgement, verdict=Verdict.UNMET, reason_code=ReasonCode.FAILED)


def distinct(intents: Sequence[Wanted]) -> list[Wanted]:
    """Each intent once. Of duplicates the met one stands, then one without a verdict, then the latest.

    Only the text tells duplicates: of "周一和周二的访问量" two intents have the same quote.
    """
    groups: dict[str, list[Wanted]] = {}
    for intent in intents:
        groups.setdefault(name_of(intent), []).append(intent)
    return [max(group, key=lambda intent: (_standing(intent), intent.quote.turn)) for group in groups.values()]


def name_of(intent: Wanted) -> str:
    """Intents with the same name are one."""
    return fold("".join(intent.text.split()))


def _standing(intent: Wanted) -> int:
    if not isinstance(intent, JudgedIntent):
        return 1
    is_met = intent.judgement.state is State.ACTIVE and intent.judgement.verdict is Verdict.MET
    return 2 if is_met else 0
