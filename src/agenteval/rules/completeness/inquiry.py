"""What is asked about a dialog, step by step, and what the answers give."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any

from agenteval.domain.evidence import Span
from agenteval.domain.json_value import Json
from agenteval.domain.outcome import ONE
from agenteval.domain.questions import USER_TURNS, Answers, Cause, Judged, Question, Unscored, provenance
from agenteval.domain.transcript import Dialog
from agenteval.rules.completeness.forms import Found, JudgedIntent, Judgement, Listed, Wanted
from agenteval.rules.completeness.items import Item, corrected, distinct, name_of
from agenteval.rules.prompts import prompt, with_examples

_LISTING, _JUDGING = prompt("conversation_completeness").split("\n\n")
_FIRST = "List what the user asks for."
_AGAIN = "Go through the user's messages one by one: is anything asked for?"
_LONGEST_NAME = 200  # characters of an intent's text within a question


@dataclass
class Findings:
    """`asks`: every question so far, in order. `items`: the intents with a verdict or without one for good. `dropped`
    tells of intents that could not be verified. `noted`: what else is noteworthy of the list. `failure`: why there is
    none."""

    asks: list[Question[Any]] = field(default_factory=list)
    items: list[Item] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    noted: dict[str, Json] = field(default_factory=dict)
    failure: Unscored | None = None


class Inquiry:
    """Asks about a dialog as far as the answers lead."""

    def __init__(self, dialog: Dialog, answers: Answers, examples: tuple[str, ...], samples: int) -> None:
        self._dialog = dialog
        self._answers = answers
        self._examples = examples
        self._samples = samples
        self.findings = Findings()

    def judge_given(self, text: str, weight: Fraction) -> None:
        self._judge_alone(text, None, weight)

    def list_and_judge(self, *, in_one: bool) -> None:
        """`in_one`: the verdicts come with the list. Windows of a long dialog give but a list; each of its intents is
        then judged by a question of its own. When none is active, a second list of another wording has to agree."""
        question = _listing_with_verdicts(self._examples) if in_one else _listing(_FIRST, self._examples)
        listed = self._listed(question)
        found = self.findings
        if found.failure or found.dropped or any(item.counts for item in found.items) or self._waits:
            return
        self._listed(_listing(_AGAIN, self._examples), known=listed)

    @property
    def _waits(self) -> bool:
        return any(ask not in self._answers for ask in self.findings.asks)

    def _ask(self, question: Question[Any]) -> Judged[Any] | Unscored | None:
        self.findings.asks.append(question)
        return self._answers.get(question)

    def _listed(self, question: Question[Any], known: Sequence[Wanted] = ()) -> Sequence[Wanted]:
        """The intents of a list, judged unless they are `known`."""
        answer = self._ask(question)
        if isinstance(answer, Unscored):
            self.findings.failure = answer
        if not isinstance(answer, Judged):
            return ()
        self.findings.dropped.extend(answer.dropped)
        self.findings.noted |= provenance(answer)
        in_one = question.form is Found and answer.turns_seen is None
        intents = distinct(answer.value.intents)
        names = {name_of(intent) for intent in known}
        for intent in intents:
            if names and name_of(intent) in names:
                continue
            if not in_one or self._is_reviewed(intent):
                self._judge_alone(intent.text, intent.quote.span)
            elif isinstance(intent, JudgedIntent):
                verdict = corrected(intent.judgement, self._dialog)
                self.findings.items.append(Item(intent.text, intent.quote.span, verdict))
            else:
                unverified = Unscored(Cause.EVIDENCE, "the verdict could not be verified")
                self.findings.items.append(Item(intent.text, intent.quote.span, unverified))
        return intents

    def _judge_alone(self, text: str, quote: Span | None, weight: Fraction = ONE) -> None:
        match self._ask(self._closed(text, quote)):
            case Judged(value=Judgement() as judgement) as answer:
                verdict = corrected(judgement, self._dialog)
                self.findings.items.append(Item(text, quote, verdict, weight, provenance(answer)))
            case Unscored() as unscored:
                self.findings.items.append(Item(text, quote, unscored, weight))

    def _is_reviewed(self, intent: Wanted) -> bool:
        reviewed = self._answers.reviewed  # of hardly any dialog; a key takes longer than the rest of this
        return bool(reviewed) and self._closed(intent.text, intent.quote.span).key in reviewed

    def _closed(self, text: str, quote: Span | None) -> Question[Judgement]:
        return closed(text, quote, self._examples, self._samples)


def closed(text: str, quote: Span | None, examples: tuple[str, ...], samples: int) -> Question[Judgement]:
    """Asks about one intent."""
    name = " ".join(text.split())[:_LONGEST_NAME]
    where = f", asked in turn {quote.turn}" if quote else ""
    return Question(
        item=f"intent:{name}",
        form=Judgement,
        text=f'Judge the intent "{name}"{where}.',
        guide=with_examples(_JUDGING, examples),
        samples=samples,
    )


@lru_cache(maxsize=64)
def _listing_with_verdicts(examples: tuple[str, ...]) -> Question[Found]:
    """The same for every dialog, so it is made, and its key computed, once."""
    guide = with_examples(f"{_LISTING}\n{_JUDGING}", examples)
    return Question("intents", Found, "List what the user asks for and judge each.", guide)


@lru_cache(maxsize=64)
def _listing(text: str, examples: tuple[str, ...]) -> Question[Listed]:
    return Question("intents", Listed, text, with_examples(_LISTING, examples), view=USER_TURNS)
