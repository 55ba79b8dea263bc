"""What people say of the items of a judged dialog: a slot, a step, an intent, a score, a finding."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from enum import StrEnum
from fractions import Fraction
from typing import Any

from agenteval.domain.agreement import Agreement, CorrectedRate
from agenteval.domain.evidence import Span, Speaker
from agenteval.domain.forms import AgentQuote, Form, Quote, Quotes, ToolQuote, UserQuote
from agenteval.domain.json_value import Json
from agenteval.domain.questions import Ask, Flags, Likeness, Moderation, Question, Similarity

UNCLEAR = "unclear"
"""What a person says of an item that cannot be told from the dialog. It counts in no agreement."""


class Queue(StrEnum):
    """Why a person should look at an item, the most urgent first: it was not measured; the judge's votes differ; the
    intent is wrong although the task was completed; the result is next to its threshold; it is in the random sample, by
    which the judge is measured."""

    UNSCORED = "unscored"
    DISAGREEMENT = "disagreement"
    LAYERS_DISAGREE = "layers_disagree"
    LOW_MARGIN = "low_margin"
    SAMPLE = "sample"


@dataclass(frozen=True, slots=True)
class ReviewItem:
    """Something that a person can confirm or overrule. `word`: the verdict as the result tells it, None when it was not
    measured; `good`: whether it speaks for the agent; `answer` and `shown`: what it rests on. `close`: it nearly came
    out otherwise."""

    ask: Ask
    word: str | None
    good: bool | None = None
    answer: Any = None
    shown: tuple[Span, ...] = ()
    close: bool = False

    @property
    def name(self) -> str:
        return self.ask.item if isinstance(self.ask, Question) else type(self.ask).__name__.lower()

    @property
    def kind(self) -> str:
        return self.ask.form.kind if isinstance(self.ask, Question) else self.name

    @property
    def verdicts(self) -> Mapping[str, tuple[type[Quote], ...]]:
        """What a person may answer, and whose words have to show it; nothing when no person is asked."""
        match self.ask:
            case Question():
                return self.ask.form.verdicts()  # type: ignore[no-any-return]
            case Similarity():
                return {"same": (), "different": ()}
            case Moderation():
                return {"fine": (), "flagged": ()}
            case _:
                return {}

    @property
    def quotes(self) -> Quotes:
        """Those that the verdict rests on; of each speaker the last."""
        spans = ((_QUOTES[span.speaker], span) for span in self.shown)
        return {kind: kind(span.turn, span.text, span) for kind, span in spans} | dict(_quotes(self.answer))

    def missing(self, word: str) -> list[type[Quote]]:
        """Whose words have to be told for this verdict, beside those that the answer rests on."""
        if self.confirms(word):
            return []
        return [kind for kind in self.verdicts.get(word, ()) if kind not in self.quotes]

    def confirms(self, word: str) -> bool:
        """Whether the answer can stand as it is."""
        return isinstance(self.answer, Form) and self.answer.word == word == self.word

    def answered(self, word: str, quotes: Quotes, reason: str) -> Any:
        """The value of a person's answer. Raises ValueError when it contradicts itself."""
        match self.ask:
            case Question(form=form):
                return form.by_person(word, quotes, reason)
            case Similarity():
                return Likeness(float(word == "same"), "person", bar=1.0)
            case _:
                return Flags(() if word == "fine" else ("review",))


_QUOTES: Mapping[Speaker, type[Quote]] = {kind.speaker: kind for kind in (UserQuote, AgentQuote, ToolQuote)}


def _quotes(value: Any) -> Iterator[tuple[type[Quote], Quote]]:
    """The quotes in an answer by their kind."""
    if isinstance(value, Quote):
        yield type(value), value
    elif isinstance(value, tuple):
        for part in value:
            yield from _quotes(part)
    elif isinstance(value, Form):
        for member in fields(value):  # type: ignore[arg-type]
            yield from _quotes(getattr(value, member.name))


@dataclass(frozen=True, slots=True)
class Statement:
    """What a person says of an item. `words` show it, by who said them: words of the dialog, or "#2" for all of the
    second turn; where there are none, those that the machine found stand. `run_id`, when it is told, is the run that
    it is meant for; `where` it was written, for errors."""

    case_id: str
    repeat: int
    label: str
    item: str
    word: str
    words: Mapping[Speaker, str] = field(default_factory=dict)
    note: str = ""
    run_id: str = ""
    where: str = ""


@dataclass(frozen=True, slots=True)
class Review:
    """What one person said of an item of an attempt. `key` is that of its question, `label` that of its rule; the last
    review of an item counts. `machine` and `machine_good` are the machine's verdict, `value` the answer as JSON (None:
    UNCLEAR)."""

    id: str
    attempt_id: str
    key: str
    label: str
    kind: str
    item: str
    machine: str | None
    machine_good: bool | None
    word: str
    good: bool | None
    value: Json
    note: str
    by: str
    at: datetime


def latest(reviews: Iterable[Review]) -> dict[tuple[str, str], Review]:
    """Those that count, by attempt and question, of `reviews` from the oldest on."""
    return {(review.attempt_id, review.key): review for review in reviews}


@dataclass(frozen=True, slots=True)
class KindFigures:
    """What reviews of one kind of item tell. `rate` is the judge's share of good items of `judged`; `corrected` is the
    same freed of its errors, from the random sample alone."""

    agreement: Agreement
    overruled: int
    rate: Fraction | None = None
    judged: int = 0
    corrected: CorrectedRate | None = None


@dataclass(frozen=True, slots=True)
class ReviewFigures:
    """`people` by how many items each decided last. `kinds`: slot, step, intent, ... `sampled`: so many of the random
    sample are reviewed, from its beginning."""

    reviewed: int
    sampled: int
    people: Mapping[str, int]
    kinds: Mapping[str, KindFigures]
