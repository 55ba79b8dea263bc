"""Faulty answers of judge models (`cases/judge_answers.yaml`), and texts of them (`cases/judge_text.yaml`), each with
what it must come to. The checks tell all that differs."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from agenteval.domain.errors import UnparsableAnswer
from agenteval.judge.parse import parse
from tests.fakes.scripted_case import Bench, load
from tests.golden.shown import differences, shown, wanted

FOLDER = Path(__file__).parents[1] / "cases"
ANSWERS = load(FOLDER / "judge_answers.yaml")
TEXTS: list[dict[str, Any]] = yaml.safe_load((FOLDER / "judge_text.yaml").read_text(encoding="utf-8"))


async def wrong_of_answer(judges: Bench, faulty: Mapping[str, Any]) -> list[str]:
    """Over the wire, through client, judge and rule."""
    (rule,) = faulty["rule"]
    entry = {**faulty, "case": {"eval_rules": [faulty["rule"]]}}
    evaluation = (await judges.judge(entry)).evaluation
    result = wanted({"level": None, "rules": {rule: faulty["expect"]}})["rules"]
    wrong = differences(shown(evaluation, {"conflict": None, "rules": result})["rules"], result)
    calls = faulty.get("calls", len(faulty["answers"]))
    return wrong + ([f"{len(evaluation.calls)} calls, expected {calls}"] if len(evaluation.calls) != calls else [])


def wrong_of_text(faulty: Mapping[str, Any]) -> list[str]:
    text = faulty["text"] and faulty["text"] * faulty.get("repeat", 1)
    expect = faulty["expect"]
    try:
        got: Any = parse(text, faulty["keys"], finish_reason=faulty.get("finish_reason"))
    except UnparsableAnswer as error:
        as_expected = "error" in expect and expect["error"] in error.message and "\n" not in error.message
        return [] if as_expected else [f"{error.message!r}, expected {expect}"]
    wanted = (expect.get("data"), expect.get("repaired", False))
    return [] if got == wanted else [f"{got}, expected {expect}"]
