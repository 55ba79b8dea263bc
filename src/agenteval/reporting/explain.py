"""Why an outcome is what it is: which rules counted, what each layer said, what the rule logic made of it."""

from collections.abc import Iterator, Sequence

from agenteval.domain.exact import at_least
from agenteval.domain.outcome import CaseOutcome, OutcomeCause, ResultStatus, RuleResult, Source, SuccessLevel
from agenteval.domain.records import AttemptView
from agenteval.domain.scenario import EffectivePolicy, RuleLogic, VerdictPolicy
from agenteval.domain.transcript import TurnStatus
from agenteval.reporting import figures
from agenteval.reporting.labels import Labels
from agenteval.reporting.reading import Entry, cause_text, critical_items

NAMED = 10
"""Cases of a policy that are named."""


def policy_in_words(policy: EffectivePolicy, labels: Labels) -> str:
    """How a case is decided: layers, rule logic, hard rules."""
    success, partial = (figures.percent(t, labels) for t in (policy.success_threshold, policy.partial_threshold))
    by = labels(f"policy.{policy.verdict_policy}", success=success, partial=partial)
    return labels("semicolon").join([by, logic_in_words(policy, labels), labels("policy.hard")])


class HowDecided:
    """The policies that decided the attempts of a report; when there are several, with the cases of each."""

    def __init__(self, labels: Labels) -> None:
        self._labels = labels
        self._cases: dict[str, list[str]] = {}

    def add(self, entry: Entry) -> None:
        if entry.attempt is None or entry.attempt.outcome is None:
            return
        cases = self._cases.setdefault(policy_in_words(entry.attempt.outcome.policy, self._labels), [])
        if len(cases) <= NAMED and entry.place.case.id not in cases:
            cases.append(entry.place.case.id)

    def lines(self) -> list[str]:
        if len(self._cases) == 1:
            return list(self._cases)
        shown = {
            policy: [*cases[:NAMED], *(["…"] if len(cases) > NAMED else [])] for policy, cases in self._cases.items()
        }
        return [self._labels("colon").join([self._labels.listed(cases), policy]) for policy, cases in shown.items()]


def logic_in_words(policy: EffectivePolicy, labels: Labels) -> str:
    return labels(f"logic.{policy.rule_logic}", threshold=figures.number(policy.rule_pass_threshold))


def why(attempt: AttemptView, labels: Labels) -> list[str]:
    """The sentences that lead to the level, in the order in which judgement decides."""
    outcome = attempt.outcome
    if outcome is None:
        return []
    decisive = list(_decisive(attempt, outcome, labels))
    if outcome.verdict_conflict and outcome.rules_passed:
        decisive.append(labels("why.conflict"))
    elif outcome.verdict_conflict and outcome.policy.verdict_policy is VerdictPolicy.RULES:
        decisive.append(labels("why.layers_pass"))
    if outcome.layers_disagree:
        decisive.append(labels("why.layers_disagree"))
    return decisive


def _decisive(attempt: AttemptView, outcome: CaseOutcome, labels: Labels) -> Iterator[str]:
    match outcome.cause:
        case OutcomeCause.NOT_DELIVERED:
            errors = [turn.error for turn in attempt.dialog if turn.status is TurnStatus.NOT_DELIVERED]
            yield labels("why.not_delivered", error=labels.listed(errors) or figures.NONE)
            return
        case OutcomeCause.TARGET_ERROR:
            for turn in attempt.dialog:
                if turn.status in (TurnStatus.TIMEOUT, TurnStatus.ERROR):
                    error = turn.error or labels(f"turn.{turn.status}")
                    yield labels("why.target_error", turn=turn.index + 1, error=error)
            return
        case OutcomeCause.NO_RULES:
            yield labels("why.no_rules")
            return
        case OutcomeCause.UNSCORED:
            yield from _unsettled(attempt.results, outcome, labels)
        case None:
            if outcome.source is Source.REVIEW:
                yield labels("why.review")
            hard = list(_failed_hard(attempt.results, labels))
            if hard or outcome.source is Source.HARD:
                yield labels("why.hard", names=labels.listed(hard)) if hard else labels("why.hard_only")
                return
    yield from _layers(outcome, labels)
    yield from _logic(outcome, labels)


def _unsettled(results: Sequence[RuleResult], outcome: CaseOutcome, labels: Labels) -> Iterator[str]:
    open_rules = [r for r in results if r.status in (ResultStatus.FAILED_TO_SCORE, ResultStatus.SKIPPED)]
    named = [labels("aside", what=r.label, note=cause_text(r, labels)) if r.cause else r.label for r in open_rules]
    yield labels("why.unsettled", names=labels.listed(named))
    if outcome.passed:
        yield labels("why.passes_anyway")


def _failed_hard(results: Sequence[RuleResult], labels: Labels) -> Iterator[str]:
    """What fails a case by itself."""
    yield from (r.label for r in results if r.passed is False and (r.hard or r.implicit))
    for result in results:
        if result.vetoes:
            yield labels("why.critical", rule=result.label, items=labels.listed(critical_items(result)))


def _layers(outcome: CaseOutcome, labels: Labels) -> Iterator[str]:
    policy = outcome.policy
    if policy.verdict_policy is VerdictPolicy.RULES:
        return
    layers: list[str] = []
    if outcome.l1_intent is not None:
        layers.append(labels("why.l1", state=labels("passed" if outcome.l1_intent else "failed")))
    if outcome.l2_completion is not None:
        enough = at_least(outcome.l2_completion, policy.success_threshold)
        bar = policy.success_threshold if enough else policy.partial_threshold
        sign = "≥" if at_least(outcome.l2_completion, bar) else "<"
        value, threshold = (figures.percent(of, labels) for of in (outcome.l2_completion, bar))
        layers.append(labels("why.l2", value=value, sign=sign, threshold=threshold))
    if layers:
        yield labels("why.layers", layers=labels.listed(layers))


def _logic(outcome: CaseOutcome, labels: Labels) -> Iterator[str]:
    policy = outcome.policy
    if outcome.rules_passed is None:
        return
    logic = logic_in_words(policy, labels)
    if policy.rule_logic is RuleLogic.WEIGHTED and outcome.weighted_score is not None:
        logic = labels("logic.weighted_was", logic=logic, value=figures.number(outcome.weighted_score))
    yield labels("why.logic", logic=logic, state=labels("passed" if outcome.rules_passed else "failed"))
    if outcome.rules_passed:
        return
    if _by(outcome, Source.STRICT):
        yield labels("why.strict")
    elif _by(outcome, Source.LAYERED) and outcome.success_level is SuccessLevel.PARTIAL and _done(outcome):
        yield labels("why.lowered")


def _by(outcome: CaseOutcome, source: Source) -> bool:
    """Whether this decided the level, be it with what people said."""
    return outcome.source is source or (
        outcome.source is Source.REVIEW and outcome.policy.verdict_policy.value == source.value
    )


def _done(outcome: CaseOutcome) -> bool:
    """Whether the layers alone would have made it a success."""
    return outcome.l2_completion is None or at_least(outcome.l2_completion, outcome.policy.success_threshold)
