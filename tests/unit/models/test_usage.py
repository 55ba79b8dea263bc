from fractions import Fraction
from typing import Any

import pytest

from agenteval.domain.ports import Usage
from agenteval.models.usage import usage_of
from agenteval.settings import ModelSettings


def settings(**prices: Any) -> ModelSettings:
    return ModelSettings.model_validate({"base_url": "http://x/v1", "model": "m", **prices})


def test_cost_is_exact() -> None:
    priced = settings(input_price=0.15, output_price="0.6")
    # 1,000,003 x 0.15 / 1e6 + 7 x 0.6 / 1e6 = 0.15000045 + 0.0000042
    assert usage_of({"prompt_tokens": 1_000_003, "completion_tokens": 7}, priced).cost == Fraction("0.15000465")


def test_free_is_known_and_is_not_unknown() -> None:
    assert usage_of({"prompt_tokens": 5, "completion_tokens": 1}, settings(input_price=0, output_price=0)).cost == 0


@pytest.mark.parametrize("prices", [{}, {"input_price": 1}, {"output_price": 1}])
def test_without_both_prices_the_cost_is_unknown(prices: dict[str, int]) -> None:
    assert usage_of({"prompt_tokens": 5, "completion_tokens": 1}, settings(**prices)) == Usage(5, 1, None)


@pytest.mark.parametrize(
    "reported", [None, {}, [], "many", {"prompt_tokens": None}, {"prompt_tokens": -1}, {"total": 3}]
)
def test_what_the_provider_does_not_tell_is_none_and_not_zero(reported: object) -> None:
    assert usage_of(reported, settings(input_price=1, output_price=1)) == Usage(None, None, None)


def test_half_a_report_has_no_cost() -> None:
    told = {"prompt_tokens": 5, "completion_tokens": 2.5}
    assert usage_of(told, settings(input_price=1, output_price=1)) == Usage(5, None, None)
