"""The output of `agenteval evaluate conversation_completeness`: one JSON object for one dialog."""

from typing import Any

from agenteval.domain.outcome import ResultStatus, RuleResult


def output(result: RuleResult) -> dict[str, Any]:
    """All of the result's `detail` beside its verdict. `score` in 0..1 to 4 digits. A dialog without an active intent
    scores 1.0 with `applicable` false, and belongs in no mean; what could not be judged scores null and has `bounds`
    and a `cause`."""
    unmeasured = result.status in {ResultStatus.FAILED_TO_SCORE, ResultStatus.SKIPPED}
    score = 1.0 if not result.applicable else None if result.score is None else float(round(result.score, 4))
    return {
        "score": score,
        "reason": result.reason,
        "unmet_intents": [],
        "intents": [],
        "dropped": [],
        **result.detail,
        "applicable": result.applicable,
        "passed": result.passed,
        "bounds": [float(round(bound, 4)) for bound in result.bounds] if unmeasured else None,
        "cause": result.cause,
    }
