"""Rules judge a dialog. A rule is two pure functions: `ask` returns questions as data, `evaluate` turns the answers
into a result. It never calls a model, and it never raises for what an agent said.

A rule is a frozen dataclass whose fields are its parameters. `@register_rule` marks it; built-ins are found in
`agenteval.rules.builtin`, third parties by the entry point group `agenteval.rules`.
"""

from collections.abc import Awaitable, Iterable, Mapping
from fractions import Fraction
from typing import Any, ClassVar

from pydantic import ConfigDict

from agenteval.domain.evidence import Span
from agenteval.domain.exact import measured
from agenteval.domain.outcome import ONE, ZERO, ResultStatus, RuleResult
from agenteval.domain.ports import Role
from agenteval.domain.questions import Answers, Ask, Cause, Judged, Question
from agenteval.domain.review import ReviewItem
from agenteval.domain.scenario import Case, Layer
from agenteval.domain.transcript import Dialog
from agenteval.plugins import Registry

MAX_ROUNDS = 4
"""How often `ask` is called until nothing new comes."""


class EvalRule:
    """Base of all rules.

    `name` is unique and the module's stem; `version` is kept on every result; `layer` and `hard` are the defaults that
    a scenario may override; `roles` are the models that its questions may go to. A parameter that cannot be used is a
    `ValueError` from `__post_init__`, naming the item.
    """

    # Where text is wanted, a number will do: in YAML a phone number needs no quotes.
    __pydantic_config__: ClassVar[ConfigDict] = {"extra": "forbid", "coerce_numbers_to_str": True}

    name: ClassVar[str]
    version: ClassVar[str]
    layer: ClassVar[Layer | None] = None
    hard: ClassVar[bool] = False
    roles: ClassVar[frozenset[Role]] = frozenset()

    @property
    def critical_items(self) -> tuple[str, ...]:
        """What may become a veto, named as in `RuleResult.vetoes`: all of it is open when the rule fails as a whole."""
        return ()

    @property
    def unknown(self) -> Mapping[str, Any]:
        """The `detail` of a result when the rule was not run or fails as a whole: its items are not measured then."""
        return {}

    def ask(self, case: Case, dialog: Dialog, known: Answers) -> Iterable[Ask]:
        """What must be known. Called again with what is known until nothing new comes, at most MAX_ROUNDS times."""
        return ()

    def evaluate(self, case: Case, dialog: Dialog, answers: Answers) -> RuleResult | Awaitable[RuleResult]:
        """The result. Every question that was asked has an answer, if only Unscored."""
        raise NotImplementedError

    def review_items(self, case: Case, dialog: Dialog, answers: Answers) -> Iterable[ReviewItem]:
        """What people can review. `answers` as for `evaluate`."""
        for ask in self.ask(case, dialog, answers):
            if isinstance(ask, Question) and ask.form.verdicts():
                answer = answers[ask]
                if isinstance(answer, Judged):
                    yield ReviewItem(ask, answer.value.word, answer=answer.value)
                else:
                    yield ReviewItem(ask, None)

    def warnings(self, case: Case) -> Iterable[str]:
        """What an author of `case` should look at, though it can be run."""
        return ()

    def scored(
        self,
        score: Fraction | float,
        *,
        passed: bool,
        reason: str,
        evidence: Iterable[Span] = (),
        detail: Mapping[str, Any] | None = None,
        vetoes: Iterable[str] = (),
    ) -> RuleResult:
        return RuleResult(
            rule=self.name,
            version=self.version,
            status=ResultStatus.SCORED,
            score=measured(score),
            passed=passed,
            reason=reason,
            evidence=tuple(evidence),
            detail=detail or {},
            vetoes=tuple(vetoes),
        )

    def failed_to_score(
        self,
        cause: Cause,
        reason: str,
        *,
        low: Fraction = ZERO,
        high: Fraction = ONE,
        passed: bool | None = None,
        may_leave: bool = False,
        evidence: Iterable[Span] = (),
        detail: Mapping[str, Any] | None = None,
        vetoes: Iterable[str] = (),
        open_vetoes: Iterable[str] = (),
    ) -> RuleResult:
        """Not measured, and why; never a number. `low`, `high`, `passed`: what is certain all the same."""
        return RuleResult(
            rule=self.name,
            version=self.version,
            status=ResultStatus.FAILED_TO_SCORE,
            low=low,
            high=high,
            passed=passed,
            cause=cause,
            may_leave=may_leave,
            reason=reason,
            evidence=tuple(evidence),
            detail=detail or {},
            vetoes=tuple(vetoes),
            open_vetoes=tuple(open_vetoes),
        )

    def not_applicable(self, reason: str, *, detail: Mapping[str, Any] | None = None) -> RuleResult:
        return RuleResult(
            rule=self.name,
            version=self.version,
            status=ResultStatus.NOT_APPLICABLE,
            reason=reason,
            detail=detail or {},
        )


RULES: Registry[EvalRule] = Registry("rules", EvalRule)
register_rule = RULES.register
