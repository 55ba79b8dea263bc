"""semantic_similarity: the last reply means what a reference answer says."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from agenteval.domain.exact import at_least, exact, measured, reaches
from agenteval.domain.outcome import ONE, ZERO, RuleResult
from agenteval.domain.ports import Role
from agenteval.domain.questions import Answers, Ask, Cause, Judged, Likeness, Similarity
from agenteval.domain.review import ReviewItem
from agenteval.domain.scenario import Case
from agenteval.domain.text import Language, fold, is_blank
from agenteval.domain.transcript import Dialog
from agenteval.rules import EvalRule, register_rule
from agenteval.rules.params import Rate
from agenteval.rules.reasons import say, unscored_text
from agenteval.rules.replies import answered, no_reply

_CLOSE = Fraction(1, 20)
"""A likeness so near to the threshold is worth a look."""


@register_rule
@dataclass(frozen=True)
class SemanticSimilarity(EvalRule):
    """How near the last reply is to `reference` in meaning.

    Score: cosine of the embeddings, clipped to 0..1; it passes at `threshold`. Equal texts score 1 and an empty reply 0
    without a model. Without an EMBEDDING model the built-in scorer stands in under its own name and threshold: it can
    tell that two texts say the same, never that they do not, which needs a model. Cosines of different models do not
    compare, and a reply that denies the reference is still near to it: use `llm_score` where that matters.
    """

    name = "semantic_similarity"
    version = "1"
    roles = frozenset({Role.EMBEDDING})

    reference: str
    threshold: Rate = Fraction(4, 5)

    def __post_init__(self) -> None:
        if is_blank(self.reference):
            raise ValueError("reference is blank")

    def ask(self, case: Case, dialog: Dialog, known: Answers) -> Iterable[Ask]:
        question = self._question(dialog)
        return () if question is None else (question,)

    def evaluate(self, case: Case, dialog: Dialog, answers: Answers) -> RuleResult:
        if not answered(dialog, "last_turn"):
            return self.scored(0, passed=at_least(ZERO, self.threshold), reason=no_reply(dialog, "last_turn"))
        question = self._question(dialog)
        if question is None:
            return self._by(Likeness(1.0, "equal"), dialog.language)
        answer = answers[question]
        if isinstance(answer, Judged):
            return self._by(answer.value, dialog.language)
        if answer.cause is Cause.NEEDS_JUDGE:
            reason = say(
                dialog.language,
                "未评分：需要 EMBEDDING 模型；内置比较只能确认两段文字说法相同。",
                "Not scored: needs an EMBEDDING model; the built-in scorer can only tell that two texts say the same.",
            )
        else:
            reason = say(dialog.language, "未评分：", "Not scored: ") + unscored_text(dialog.language, answer)
        return self.failed_to_score(answer.cause, reason, passed=reaches(ZERO, ONE, self.threshold))

    def review_items(self, case: Case, dialog: Dialog, answers: Answers) -> Iterable[ReviewItem]:
        question = self._question(dialog)
        if question is None:
            return
        answer = answers[question]
        if isinstance(answer, Judged):
            result = self._by(answer.value, dialog.language)
            close = result.score is not None and abs(result.score - self.threshold) <= _CLOSE
            yield ReviewItem(question, "same" if result.passed else "different", result.passed, close=close)
        else:
            yield ReviewItem(question, None)

    def _question(self, dialog: Dialog) -> Similarity | None:
        """None when code decides: nothing was said, or the very words of the reference."""
        turns = answered(dialog, "last_turn")
        if not turns or fold(turns[0].reply_text) == fold(self.reference):
            return None
        return Similarity(turns[0].reply_text, self.reference)

    def _by(self, likeness: Likeness, language: Language) -> RuleResult:
        score = min(max(measured(likeness.score), ZERO), ONE)
        threshold = self.threshold if likeness.bar is None else exact(likeness.bar)
        passed = at_least(score, threshold)
        figures = f"{float(score):.4g} {'>=' if passed else '<'} {float(threshold):g}"
        return self.scored(
            score,
            passed=passed,
            reason=say(
                language,
                f"与参考答案的相似度：{figures}（{likeness.scorer}）。",
                f"Likeness to the reference: {figures} ({likeness.scorer}).",
            ),
            detail={"similarity": float(score), "threshold": float(threshold), "scorer": likeness.scorer},
        )
