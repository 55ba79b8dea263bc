"""intent_classification: the agent understood what the user wants (the first layer)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Annotated, ClassVar

from annotated_types import Ge
from pydantic import ConfigDict

from agenteval.domain.exact import at_least, reaches
from agenteval.domain.outcome import ONE, RuleResult
from agenteval.domain.ports import Role
from agenteval.domain.questions import DIALOG, Answers, Ask, Cause, Judged, Question, Unscored, View, until_turn
from agenteval.domain.review import ReviewItem
from agenteval.domain.scenario import Case, Layer
from agenteval.domain.transcript import Dialog, TurnStatus
from agenteval.rules import EvalRule, register_rule
from agenteval.rules.intents.finding import Finding, Match, Point, of_list, of_one, of_turns
from agenteval.rules.intents.forms import AgentIntents, form_of
from agenteval.rules.intents.reading import SILENT, Reading, Verdict, judged_reading, ranked_reading, rankings
from agenteval.rules.intents.taxonomy import Entry, Taxonomy, check, listed, shuffled
from agenteval.rules.params import Rate, Samples
from agenteval.rules.prompts import prompt, with_examples
from agenteval.rules.reasons import say


@dataclass(frozen=True, slots=True)
class ExpectedTurn:
    """The intent that the agent should act on in the turn `turn_index`, counted from 0."""

    __pydantic_config__: ClassVar[ConfigDict] = {"extra": "forbid"}

    turn_index: Annotated[int, Ge(0)]
    intent: str


@register_rule
@dataclass(frozen=True)
class IntentClassification(EvalRule):
    """Whether the agent acted on the intent that was expected.

    The judge is blind: it sees `intent_taxonomy` (shuffled, with `other`) and the dialog, and lists what the agent
    acted on, with quotes; code compares. `expected_intent`: 1 when the agent acted on it and on no later one unasked,
    or asked a fitting clarifying question; 0.5 when it is the second reading of the agent's final intent, or its
    sibling in a dotted taxonomy (`repair.book`, `repair.cancel`); else 0. Passes at 1, or at 0.5 with `accept_partial`.
    A list of intents passes by `match`: `any` one of them, or `all` (the score is found / expected). `expected_intents`
    gives per-turn accuracy instead, each judged on the dialog up to its turn, and passes at `min_turn_accuracy`.
    Without a judge model it is decided from the agent's replies alone, denials left out, where one intent clearly leads
    and, if it has keywords, one of them is said; it fails only by what the agent asserts, not by its questions and
    offers. Failing that, and without keywords, by the intent that the words of both sides are most like, where it is
    among the first three for each side alone. For dialogs in which the agent rightly acts on several, give a list.
    """

    name = "intent_classification"
    version = "1"
    layer = Layer.L1
    roles = frozenset({Role.JUDGE})

    intent_taxonomy: Taxonomy
    expected_intent: str | tuple[str, ...] | None = None
    expected_intents: tuple[ExpectedTurn, ...] = ()
    match: Match = "any"
    accept_partial: bool = False
    min_turn_accuracy: Rate = ONE
    samples: Samples = 1
    examples: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check(self.intent_taxonomy)
        expected = self._expected or tuple(entry.intent for entry in self.expected_intents)
        if not expected or (self.expected_intent is not None and self.expected_intents):
            raise ValueError("give either expected_intent or expected_intents")
        for name in expected:
            if name not in self._entries:
                raise ValueError(f"the expected intent {name!r} is not in intent_taxonomy")
        if len(set(self._expected)) < len(self._expected):
            raise ValueError("expected_intent names an intent twice")
        turns = [entry.turn_index for entry in self.expected_intents]
        if len(set(turns)) < len(turns):
            raise ValueError(f"expected_intents has a turn_index twice: {sorted(turns)}")
        if self.accept_partial and not isinstance(self.expected_intent, str):
            raise ValueError("accept_partial applies to a single expected_intent")

    def warnings(self, case: Case) -> Iterable[str]:
        for entry in self.expected_intents:
            if entry.turn_index >= len(case.messages):
                yield f"expected_intents: there is no turn {entry.turn_index}, the last one is {len(case.messages) - 1}"

    def ask(self, case: Case, dialog: Dialog, known: Answers) -> Iterable[Ask]:
        for point in self._points(dialog):
            if not _silent(dialog, point.view):
                question = self._question(point.view)
                yield question
                if self._rankable(point, known.get(question)):
                    yield from rankings(dialog, point.view, self._entries)

    def evaluate(self, case: Case, dialog: Dialog, answers: Answers) -> RuleResult:
        points = self._points(dialog)
        if not points:
            return self.not_applicable(
                say(dialog.language, "对话没有任何预期意图所在的轮次。", "The dialog has none of the expected turns.")
            )
        findings = [self._finding(point, dialog, answers) for point in points]
        return self._result(of_turns(points, findings, dialog.language) if self.expected_intents else findings[0])

    def review_items(self, case: Case, dialog: Dialog, answers: Answers) -> Iterable[ReviewItem]:
        for point in self._points(dialog):
            if not _silent(dialog, point.view):
                reading, finding = self._reading(point, dialog, answers), self._finding(point, dialog, answers)
                word = None if isinstance(reading, Unscored) else reading.word
                good = finding.low == ONE if finding.settled else None
                question = self._question(point.view)
                answer = answers[question]
                form = answer.value if isinstance(answer, Judged) else None
                close = bool(finding.detail.get("second"))
                yield ReviewItem(question, word, good, form, tuple(finding.evidence), close=close)

    # ---- what is asked -----------------------------------------------------------------------------------------------

    @cached_property
    def _expected(self) -> tuple[str, ...]:
        match self.expected_intent:
            case None:
                return ()
            case str(name):
                return (name,)
            case names:
                return names

    @cached_property
    def _entries(self) -> Mapping[str, Entry]:
        return shuffled(self.intent_taxonomy)

    def _points(self, dialog: Dialog) -> list[Point]:
        """A turn that the dialog lacks was missed by an agent that failed before it; else it was never due."""
        if not self.expected_intents:
            return [Point(DIALOG, self._expected)]
        ended_early = len(dialog) > 0 and dialog[-1].status is not TurnStatus.OK
        return [
            Point(until_turn(entry.turn_index), (entry.intent,))
            for entry in self.expected_intents
            if entry.turn_index < len(dialog) or ended_early
        ]

    def _question(self, view: View) -> Question[AgentIntents]:
        return Question(
            item="intent" if view.last is None else f"intent:{view.last}",
            form=form_of(tuple(self._entries)),
            text=f"The intents to choose from:\n{listed(self._entries)}",
            guide=with_examples(prompt(self.name), self.examples),
            view=view,
            isolate=True,
            samples=self.samples,
        )

    def _rankable(self, point: Point, answer: Judged[AgentIntents] | Unscored | None) -> bool:
        """The local scorer names one intent; whether the agent acted on all of several it cannot say."""
        one = len(point.expected) == 1 or self.match == "any"
        return one and isinstance(answer, Unscored) and answer.cause is Cause.NEEDS_JUDGE

    # ---- what it gives -----------------------------------------------------------------------------------------------

    def _finding(self, point: Point, dialog: Dialog, answers: Answers) -> Finding:
        reading = self._reading(point, dialog, answers)
        if isinstance(self.expected_intent, tuple):
            return of_list(point.expected, self.match, reading, dialog.language)
        return of_one(point.expected[0], reading, dialog.language)

    def _reading(self, point: Point, dialog: Dialog, answers: Answers) -> Reading | Unscored:
        if _silent(dialog, point.view):
            return SILENT
        match answers[self._question(point.view)]:
            case Judged() as judged:
                return judged_reading(judged)
            case unscored:
                if not self._rankable(point, unscored):
                    return unscored
                return ranked_reading(point.expected, dialog, point.view, self._entries, answers) or unscored

    def _result(self, finding: Finding) -> RuleResult:
        needed = self._needed
        if finding.settled:
            return self.scored(
                finding.low,
                passed=at_least(finding.low, needed),
                reason=finding.reason,
                evidence=finding.evidence,
                detail=finding.detail,
            )
        return self.failed_to_score(
            finding.cause,
            finding.reason,
            low=finding.low,
            high=finding.high,
            passed=reaches(finding.low, finding.high, needed),
            evidence=finding.evidence,
            detail=finding.detail,
        )

    @property
    def _needed(self) -> Fraction:
        if self.expected_intents:
            return self.min_turn_accuracy
        return Verdict.PARTIAL.points if self.accept_partial else ONE


def _silent(dialog: Dialog, view: View) -> bool:
    """Whether the agent said nothing: at all, or in the one turn that is to be right."""
    turns = dialog.turns if view.last is None else dialog.turns[view.last : view.last + 1]
    return not any(turn.answered for turn in turns)
