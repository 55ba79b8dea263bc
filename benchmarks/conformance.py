"""What faulty answers of a judge model come to: `python -m benchmarks.conformance [--json]`.

The answers are those of the tests (`tests/cases/judge_answers.yaml`, `judge_text.yaml`), each with the result that it
must come to. Keys: `cases`; `right`; `wrong`, another result; `crashed`, an error instead of one; `differing`: what
differs, by the ids of the last two.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from agenteval.cli.loop import run_async
from tests.fakes.faulty_answers import ANSWERS, TEXTS, wrong_of_answer, wrong_of_text
from tests.fakes.scripted_case import Bench, bench


async def measure(answers: Sequence[Mapping[str, Any]], texts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    differing: dict[str, list[str]] = {}
    crashed = 0
    async with bench() as judges:
        for faulty in (*answers, *texts):
            try:
                wrong = await _wrong(judges, faulty)
            except Exception as error:  # noqa: BLE001 - what breaks is counted
                crashed += 1
                wrong = [f"{type(error).__name__}: {error}"]
            if wrong:
                differing[faulty["id"]] = wrong
    cases = len(answers) + len(texts)
    return {
        "cases": cases,
        "right": cases - len(differing),
        "wrong": len(differing) - crashed,
        "crashed": crashed,
        "differing": differing,
    }


async def _wrong(judges: Bench, faulty: Mapping[str, Any]) -> list[str]:
    return await wrong_of_answer(judges, faulty) if "answers" in faulty else wrong_of_text(faulty)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    given = parser.parse_args()
    measured = run_async(measure(ANSWERS, TEXTS))
    if given.json:
        sys.stdout.buffer.write(orjson.dumps(measured, option=orjson.OPT_INDENT_2) + b"\n")
        return
    print(*(f"{key:<8}{measured[key]:>5}" for key in ("cases", "right", "wrong", "crashed")), sep="\n")
    print(*(f"{id_}: {'; '.join(wrong)}" for id_, wrong in measured["differing"].items()), sep="\n")


if __name__ == "__main__":
    main()
