"""What comes of a judged dialog with what people said of it. Nobody is asked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from agenteval.domain.outcome import CaseOutcome, Source
from agenteval.domain.questions import Judged, Reviewed, value_from_json
from agenteval.domain.review import Review, ReviewItem
from agenteval.domain.scenario import Case, EffectivePolicy
from agenteval.domain.transcript import Dialog
from agenteval.engine.evaluate import Evaluation, evaluate
from agenteval.engine.time_limit import TimeLimit
from agenteval.judge.panel import Panel
from agenteval.rules.build import BoundRule


@dataclass(frozen=True)
class ReviewedCase:
    """A dialog and its judgement by the machine alone."""

    case: Case
    dialog: Dialog
    rules: Sequence[BoundRule]
    panel: Panel
    time: TimeLimit
    machine: Evaluation

    @classmethod
    async def of(
        cls, case: Case, dialog: Dialog, rules: Sequence[BoundRule], panel: Panel, time: TimeLimit
    ) -> "ReviewedCase":
        machine = await evaluate(case, dialog, rules, panel, EffectivePolicy.of(case.policy), time=time)
        return cls(case, dialog, rules, panel, time, machine)

    @cached_property
    def items(self) -> Mapping[tuple[str, str], ReviewItem]:
        """What people can review, by the rule's label and the item's name."""
        return self.items_of(self.machine)

    def items_of(self, evaluation: Evaluation) -> Mapping[tuple[str, str], ReviewItem]:
        return {
            (bound.label, item.name): item
            for bound in self.rules
            for item in bound.rule.review_items(self.case, self.dialog, evaluation.answers)
        }

    async def with_reviews(self, reviews: Sequence[Review]) -> Evaluation:
        """The machine's judgement but for what people said, the last of each item."""
        last = {review.key: review for review in reviews}
        asks = {item.ask.key: item.ask for item in self.items.values()} if last else {}
        people = {
            key: Judged(
                value_from_json(asks[key], review.value),
                by=f"person:{review.by}",
                reviewed=Reviewed(review.machine, review.note),
            )
            for key, review in last.items()
            if key in asks and review.value is not None
        }
        if not people:
            return self.machine
        policy = EffectivePolicy.of(self.case.policy)
        found = await evaluate(self.case, self.dialog, self.rules, self.panel, policy, time=self.time, reviews=people)
        return replace(found, outcome=_by_review(self.machine.outcome, found.outcome))


def _by_review(machine: CaseOutcome, found: CaseOutcome) -> CaseOutcome:
    changed = (machine.success_level, machine.passed) != (found.success_level, found.passed)
    return replace(found, source=Source.REVIEW) if changed else found
