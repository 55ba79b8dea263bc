"""The user's intents as they are counted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from math import lcm
from typing import Any, NamedTuple

from agenteval.domain.evidence import Span
from agenteval.domain.json_value import Json
from agenteval.domain.outcome import ONE
from agenteval.domain.questions import Unscored
from agenteval.domain.quick_init import quick_init
from agenteval.domain.text import fold
from agenteval.domain.transcript import Dialog
from agenteval.rules.completeness.forms import JudgedIntent, Judgement, ReasonCode, State, Verdict, Wanted


@quick_init
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


_share = lru_cache(maxsize=1024)(Fraction)  # the same few in most dialogs; to make one takes 1 µs


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
    unit = lcm(*[item.weight.denominator for item in items])  # whole numbers of 1/unit are added in a tenth of the time
    met = partly = unknown = total = 0
    for item in items:
        if item.counts:
            weight = item.weight.numerator * (unit // item.weight.denominator)
            total += weight
            if item.verdict is None:
                unknown += weight
            elif item.verdict is Verdict.MET:
                met += weight
            elif item.verdict is Verdict.PARTLY_MET:
                partly += weight
    if not total:
        return None
    low = _share(met, total)
    if partly:
        low += _share(partly, total) * partial_credit
    return Score(low, low + _share(unknown, total) if unknown else low, unknown == total)


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
    return [group[0] if len(group) == 1 else max(group, key=_rank) for group in groups.values()]


def name_of(intent: Wanted) -> str:
    """Intents with the same name are one."""
    return fold("".join(intent.text.split()))


def _rank(intent: Wanted) -> tuple[int, int]:
    if not isinstance(intent, JudgedIntent):
        return 1, intent.quote.turn
    is_met = intent.judgement.state is State.ACTIVE and intent.judgement.verdict is Verdict.MET
    return 2 if is_met else 0, intent.quote.turn
