"""The words of reports: both languages complete, and every fixed set of values has its words."""

import re
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path

import pytest

from agenteval.domain.outcome import ResultStatus
from agenteval.domain.questions import Cause
from agenteval.domain.records import RunStatus
from agenteval.domain.scenario import RuleLogic, VerdictPolicy
from agenteval.domain.transcript import TurnStatus
from agenteval.reporting import labels
from agenteval.reporting.labels import WORDS, Labels
from agenteval.reporting.level import Level

SOURCES = Path(labels.__file__).parent


def placeholders(text: str) -> set[str]:
    return set(re.findall(r"{(\w+)}", text))


def test_both_languages_say_everything_with_the_same_values_put_in() -> None:
    for key, (zh, en) in WORDS.items():
        assert zh.strip(), key
        assert en.strip(), key
        assert placeholders(zh) == placeholders(en), key
    differ = [zh != en for zh, en in WORDS.values()]
    assert sum(differ) > 0.95 * len(differ)


def test_chinese_words_are_chinese_and_english_ones_are_not() -> None:
    same = {"latency.p95", "L1", "L2", "L3"}
    han = re.compile("[\u4e00-\u9fff]")
    assert not [key for key, (_, en) in WORDS.items() if han.search(en)]
    words = {key: zh for key, (zh, _) in WORDS.items() if re.search(r"[A-Za-z]{2}", re.sub(r"{\w+}", "", zh))}
    assert all(han.search(zh) for key, zh in words.items() if key not in same)


@pytest.mark.parametrize(
    ("prefix", "values"),
    [
        ("cause", Cause),
        ("level", Level),
        ("status.run", RunStatus),
        ("policy", VerdictPolicy),
        ("logic", RuleLogic),
        ("turn", [status for status in TurnStatus if status is not TurnStatus.OK]),
        ("status", [status for status in ResultStatus if status is not ResultStatus.SCORED]),
    ],
)
def test_every_value_has_words(prefix: str, values: Iterable[StrEnum]) -> None:
    assert [value for value in values if f"{prefix}.{value}" not in WORDS] == []


def test_every_level_of_an_attempt_without_an_outcome_has_its_note() -> None:
    levels = [Level.OPEN, Level.INTERRUPTED, Level.SUPERSEDED, Level.AWAITING_JUDGE, Level.NOT_RUN]
    assert [level for level in levels if f"{level}.note" not in WORDS] == []


def test_every_word_that_is_used_exists_and_every_fixed_one_is_used() -> None:
    source = "\n".join(path.read_text(encoding="utf-8") for path in SOURCES.rglob("*.py") if path.name != "labels.py")
    used = set(re.findall(r"""labels\(\s*["']([\w.]+)["']""", source))
    assert used <= WORDS.keys()
    families = {key.partition(".")[0] for key in WORDS if "." in key}
    loose = {key for key in WORDS if "." not in key or key.startswith("why.")} - {"comma"}
    assert {key for key in loose if f'"{key}"' not in source and key not in families} == set()


def test_an_unknown_value_is_shown_as_it_is() -> None:
    assert Labels("zh").get("item.of_a_plugin", "of_a_plugin") == "of_a_plugin"
    assert Labels("zh").listed(["甲", "乙"]) == "甲、乙"
