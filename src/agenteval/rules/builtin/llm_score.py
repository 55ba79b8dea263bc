"""llm_score: a judge's points on free criteria."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Self

from agenteval.domain.exact import at_least, reaches
from agenteval.domain.forms import AgentQuote, Form, Quote, Quotes, spoken
from agenteval.domain.outcome import ZERO, RuleResult
from agenteval.domain.ports import Role
from agenteval.domain.questions import DIALOG, LAST_TURN, Answers, Ask, Question, Unscored, provenance
from agenteval.domain.review import ReviewItem
from agenteval.domain.scenario import Case
from agenteval.domain.text import is_blank
from agenteval.domain.transcript import Dialog
from agenteval.rules import EvalRule, register_rule
from agenteval.rules.params import Points, Samples, Scope
from agenteval.rules.prompts import prompt, with_examples
from agenteval.rules.reasons import say, unscored_text
from agenteval.rules.replies import answered, no_reply

MAX_SCORE = 10


@dataclass(frozen=True, slots=True)
class Grade(Form):
    kind: ClassVar[str] = "score"

    reason: str
    quote: AgentQuote
    score: int

    def __post_init__(self) -> None:
        if not 0 <= self.score <= MAX_SCORE:
            raise ValueError(f"score must be a whole number from 0 to {MAX_SCORE}, not {self.score}")

    @property
    def word(self) -> str:
        return str(self.score)

    @classmethod
    def verdicts(cls) -> Mapping[str, tuple[type[Quote], ...]]:
        return {str(points): (AgentQuote,) for points in range(MAX_SCORE + 1)}

    @classmethod
    def by_person(cls, word: str, quotes: Quotes, reason: str) -> Self:
        quote = spoken(quotes, AgentQuote)
        if quote is None:
            raise ValueError("points need the agent's words")
        return cls(reason, quote, int(word))


@register_rule
@dataclass(frozen=True)
class LlmScore(EvalRule):
    """A judge model's points, 0 to 10, for the last turn (or the full dialog) on criteria in your own words.

    Score: points / 10; it passes at `min_score` points. The judge must quote the agent. Made for qualities such as
    tone or clarity; what was understood or done is better measured by the rules for intents, slots and steps.
    `samples` takes several votes; `examples` are texts that each show a reply and its points. An empty reply scores 0
    without a model.
    """

    name = "llm_score"
    version = "1"
    roles = frozenset({Role.JUDGE})

    criteria: str
    min_score: Points = Fraction(7)
    evaluation_scope: Scope = "last_turn"
    samples: Samples = 1
    examples: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if is_blank(self.criteria):
            raise ValueError("criteria is blank")
        for i, example in enumerate(self.examples):
            if is_blank(example):
                raise ValueError(f"examples[{i}] is blank")

    @cached_property
    def _question(self) -> Question[Grade]:
        return Question(
            item="score",
            form=Grade,
            text=self.criteria.strip(),
            guide=with_examples(prompt("llm_score"), self.examples),
            view=LAST_TURN if self.evaluation_scope == "last_turn" else DIALOG,
            samples=self.samples,
        )

    def ask(self, case: Case, dialog: Dialog, known: Answers) -> Iterable[Ask]:
        return (self._question,) if answered(dialog, self.evaluation_scope) else ()

    def review_items(self, case: Case, dialog: Dialog, answers: Answers) -> Iterable[ReviewItem]:
        if answered(dialog, self.evaluation_scope):
            judged = answers[self._question]
            if isinstance(judged, Unscored):
                yield ReviewItem(self._question, None)
            else:
                points = Fraction(judged.value.score)
                close = abs(points - self.min_score) <= 1
                good = at_least(points, self.min_score)
                yield ReviewItem(self._question, judged.value.word, good, judged.value, close=close)

    def evaluate(self, case: Case, dialog: Dialog, answers: Answers) -> RuleResult:
        if not answered(dialog, self.evaluation_scope):
            passed = at_least(ZERO, self.min_score)
            return self.scored(0, passed=passed, reason=no_reply(dialog, self.evaluation_scope))
        judged = answers[self._question]
        if isinstance(judged, Unscored):
            reason = say(dialog.language, "未评分：", "Not scored: ") + unscored_text(dialog.language, judged)
            return self.failed_to_score(judged.cause, reason, passed=reaches(ZERO, Fraction(MAX_SCORE), self.min_score))
        grade = judged.value
        passed = at_least(Fraction(grade.score), self.min_score)
        figures = f"{grade.score}/{MAX_SCORE} ({'>=' if passed else '<'} {float(self.min_score):g})"
        return self.scored(
            Fraction(grade.score, MAX_SCORE),
            passed=passed,
            reason=figures + (say(dialog.language, "：", ": ") + grade.reason if grade.reason else ""),
            evidence=() if grade.quote.span is None else (grade.quote.span,),
            detail={"points": grade.score, "min_score": float(self.min_score), **provenance(judged)},
        )
