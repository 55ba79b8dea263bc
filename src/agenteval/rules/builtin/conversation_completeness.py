"""conversation_completeness: every intent of the user was met in the course of the dialog."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from pydantic import ConfigDict

from agenteval.domain.exact import at_least, reaches
from agenteval.domain.outcome import ONE, ZERO, RuleResult
from agenteval.domain.ports import Role
from agenteval.domain.questions import Answers, Ask, Cause, Unscored
from agenteval.domain.review import ReviewItem
from agenteval.domain.scenario import Case
from agenteval.domain.text import Language, fold, is_blank
from agenteval.domain.transcript import Dialog
from agenteval.rules import EvalRule, register_rule
from agenteval.rules.completeness import wording
from agenteval.rules.completeness.forms import NO_RESPONSE, Verdict
from agenteval.rules.completeness.inquiry import Findings, Inquiry, closed
from agenteval.rules.completeness.items import Item, score
from agenteval.rules.params import Rate, Samples, Weight


@dataclass(frozen=True, slots=True)
class Given:
    """An intent that the scenario's author knows the user to have."""

    __pydantic_config__: ClassVar[ConfigDict] = {"extra": "forbid"}

    text: str
    weight: Weight = ONE


@register_rule
@dataclass(frozen=True)
class ConversationCompleteness(EvalRule):
    """How many of the user's intents were met in the whole dialog.

    The judge lists the intents from the user's messages, each with a verbatim quote, and says for each whether it is
    `met`, `partly_met` (worth `partial_credit`) or `unmet`, with a reason code and the evidence; code counts. Intents
    withdrawn, replaced or under a condition that did not occur are listed, not counted. Score: Σ weight·value / Σ
    weight over the active intents; it passes at `threshold`. Without an active intent, which a second list must
    confirm, it is not applicable. `intents` given by the author (a text, or `{text, weight}`) leave only the verdicts
    to the judge. `stable_intents` lists the intents from the user's messages alone, so that two versions of an agent
    are scored on one list; `samples` above 1 does so too, and votes on each verdict.
    """

    name = "conversation_completeness"
    version = "1"
    roles = frozenset({Role.JUDGE})

    intents: tuple[str | Given, ...] = ()
    stable_intents: bool = False
    partial_credit: Rate = ZERO
    threshold: Rate = ONE
    samples: Samples = 1
    examples: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        seen: set[str] = set()
        for given in self._given:
            if is_blank(given.text):
                raise ValueError("intents: an intent is blank")
            if (name := fold(given.text)) in seen:
                raise ValueError(f"intents: {given.text!r} is given twice")
            seen.add(name)

    def ask(self, case: Case, dialog: Dialog, known: Answers) -> Iterable[Ask]:
        return self._findings(dialog, known).asks

    def evaluate(self, case: Case, dialog: Dialog, answers: Answers) -> RuleResult:
        findings = self._findings(dialog, answers)
        if findings.asks:
            return self._concluded(dialog.language, findings)
        if self._nothing_asked(dialog):
            return self.not_applicable(wording.none_active(dialog.language, ()), detail=_detail())
        items = [Item(given.text, None, NO_RESPONSE, given.weight) for given in self._given]
        return self.scored(
            ZERO,
            passed=at_least(ZERO, self.threshold),
            reason=wording.silent(dialog),
            detail=_detail(items),
        )

    def review_items(self, case: Case, dialog: Dialog, answers: Answers) -> Iterable[ReviewItem]:
        for item in self._findings(dialog, answers).items:
            judgement = None if isinstance(item.judgement, Unscored) else item.judgement
            word = None if judgement is None else judgement.word
            ask = closed(item.text, item.quote, self.examples, self.samples)
            yield ReviewItem(ask, word, _is_met(item), judgement)

    @property
    def _given(self) -> list[Given]:
        return [given if isinstance(given, Given) else Given(given) for given in self.intents]

    def _nothing_asked(self, dialog: Dialog) -> bool:
        """No word of the user, and no intent from the author."""
        return not self.intents and all(is_blank(turn.sent_message) for turn in dialog)

    def _findings(self, dialog: Dialog, answers: Answers) -> Findings:
        """What the answers give; without a question when no model is needed."""
        return answers.found(self, lambda: self._inquired(dialog, answers))

    def _inquired(self, dialog: Dialog, answers: Answers) -> Findings:
        if dialog.silent or self._nothing_asked(dialog):
            return Findings()
        inquiry = Inquiry(dialog, answers, self.examples, self.samples)
        for given in self._given:
            inquiry.judge_given(given.text, given.weight)
        if not self.intents:
            inquiry.list_and_judge(in_one=not self.stable_intents and self.samples == 1)
        return inquiry.findings

    def _concluded(self, language: Language, findings: Findings) -> RuleResult:
        items, dropped = findings.items, findings.dropped
        detail = {**findings.noted, **_detail(items, dropped)}
        evidence = [span for item in items for span in item.spans]
        bounds = score(items, self.partial_credit)
        failure = findings.failure
        if bounds is None and dropped and failure is None:
            failure = Unscored(Cause.EVIDENCE, "; ".join(dropped))
        if failure is not None:
            reason = wording.unlisted(language, failure)
            return self.failed_to_score(
                failure.cause,
                reason,
                passed=reaches(ZERO, ONE, self.threshold),
                may_leave=True,
                evidence=evidence,
                detail=detail,
            )
        if bounds is None:
            return self.not_applicable(wording.none_active(language, items), detail=detail)
        causes = [item.judgement.cause for item in items if isinstance(item.judgement, Unscored)]
        if not causes:
            reason = wording.scored(language, bounds.low, items, len(dropped))
            passed = at_least(bounds.low, self.threshold)
            return self.scored(bounds.low, passed=passed, reason=reason, evidence=evidence, detail=detail)
        return self.failed_to_score(
            causes[0],
            wording.unsettled(language, bounds, items, len(dropped)),
            low=bounds.low,
            high=bounds.high,
            passed=reaches(bounds.low, bounds.high, self.threshold),
            may_leave=bounds.may_leave,
            evidence=evidence,
            detail=detail,
        )


def _is_met(item: Item) -> bool | None:
    return None if item.verdict is None else item.verdict is Verdict.MET


def _detail(items: Sequence[Item] = (), dropped: Sequence[str] = ()) -> dict[str, Any]:
    return {
        "intents": [item.detail() for item in items],
        "unmet_intents": [item.text for item in items if item.verdict not in (None, Verdict.MET)],
        "dropped": list(dropped),
    }
