"""Results that contradict themselves are refused where they are made."""

from fractions import Fraction
from typing import Any

import pytest

from agenteval.domain.outcome import ResultStatus, RuleResult

HALF = Fraction(1, 2)


@pytest.mark.parametrize(
    ("status", "members", "told"),
    [
        (ResultStatus.SCORED, {"passed": True}, "polite: a score exists exactly when the result is scored"),
        (ResultStatus.SKIPPED, {"score": HALF}, "polite: a score exists exactly when the result is scored"),
        (ResultStatus.SCORED, {"score": HALF}, "polite: scored, but neither passed nor failed"),
        (ResultStatus.SCORED, {"score": 3 * HALF, "passed": True}, "0 <= low <= high <= 1"),
        (ResultStatus.FAILED_TO_SCORE, {"low": HALF, "high": Fraction(0)}, "0 <= low <= high <= 1"),
    ],
)
def test_a_result_that_contradicts_itself(status: ResultStatus, members: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        RuleResult("polite", status, **members)
