"""What an agent must have said for a step with keywords to be done."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
import yaml

from agenteval.rules.completion.items import Step
from agenteval.rules.completion.steps import by_code
from tests.fakes.scripted_case import dialog_of

CLAIMS: Mapping[str, Sequence[str]] = yaml.safe_load(
    Path(__file__).parents[3].joinpath("cases/claims.yaml").read_text("utf-8")
)


@pytest.mark.parametrize(("status", "marked"), [(status, said) for status in CLAIMS for said in CLAIMS[status]])
def test_a_step_is_done_only_where_the_agent_claims_it(status: str, marked: str) -> None:
    before, keyword, after = marked.replace("]", "[").split("[")
    answer = by_code(Step("step", "", keywords=(keyword,)), dialog_of([["", before + keyword + after]]))
    assert answer is not None
    assert answer.status == status
