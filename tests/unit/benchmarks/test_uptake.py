"""The labelled slots, and what the built-in judge says of them."""

from collections import Counter
from pathlib import Path

import orjson
import pytest

from agenteval.rules.completion.forms import SlotVerdict
from agenteval.settings import Settings
from benchmarks.uptake import LANGUAGES, Verdict, judge, lines, measure, read

PRECISION = 0.95


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_status_is_labelled(language: str) -> None:
    dialogs = read(language)
    labels = Counter(label for each in dialogs for label in each.labels.values())
    assert len({each.recorded.id for each in dialogs}) == len(dialogs) >= 40
    assert set(labels) == set(SlotVerdict)
    assert labels[SlotVerdict.FILLED] >= sum(labels.values()) / 3


@pytest.mark.parametrize("language", LANGUAGES)
async def test_what_code_decides_is_right(language: str, tmp_path: Path) -> None:
    verdicts = await judge(Settings(database_url=str(tmp_path / "uptake.db")), read(language))
    measured = measure(verdicts)
    precision = {status: figures["precision"] for status, figures in measured["statuses"].items()}
    assert {status for status, share in precision.items() if share["n"]} >= {"filled", "stated_only", "missing"}
    too_low = {status: share for status, share in precision.items() if share["n"] and share["value"] < PRECISION}
    assert not too_low, "\n".join(lines(measured))


def test_undecided_slots_lower_the_recall_alone() -> None:
    pairs = [("filled", "filled"), ("filled", "unscored"), ("stale", "filled"), ("missing", "missing")]
    measured = measure([Verdict("en", f"d{i}", "s", label, given) for i, (label, given) in enumerate(pairs)])
    filled = measured["statuses"]["filled"]
    assert (filled["precision"]["value"], filled["recall"]["value"]) == (0.5, 0.5)
    assert filled["precision"]["interval"] == [0.095, 0.905]
    assert measured["statuses"]["stale"]["precision"]["value"] is None
    assert (measured["slots"], measured["undecided"]) == (4, 1)
    assert [wrong["dialog"] for wrong in orjson.loads(orjson.dumps(measured))["wrong"]] == ["d2"]
