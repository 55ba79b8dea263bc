"""How well slots are judged: `python -m benchmarks.uptake [--judge builtin|model] [--lang zh|en] [--sample N]`.

`data/uptake_*.yaml` holds dialogs written and labelled by hand in which agents ignore, ask again for, contradict or
invent values, keep stale ones, or take them up after all. Each status has its precision, over the slots that the judge
gives it, and its recall, over those that carry it as their label, both with an interval (Wilson, by dialog). What the
judge leaves undecided lowers the recall and is counted apart. `model`: the judge that the settings name, or, with
`--batch-out` and `--answers`, any that answers a file.
"""

import argparse
import asyncio
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import orjson
import yaml

from agenteval.bootstrap import App, app
from agenteval.cli.loop import run_async
from agenteval.datasets.dialogs import RecordedDialog
from agenteval.domain.scenario import RuleSpec
from agenteval.domain.statistics import interval
from agenteval.domain.transcript import Dialog, Turn
from agenteval.rules.completion.forms import SlotVerdict
from agenteval.services.evaluations import Evaluations
from agenteval.settings import Settings, load
from benchmarks import batch

DATA = Path(__file__).parent / "data"
LANGUAGES = ("zh", "en")
UNDECIDED = "unscored"


@dataclass(frozen=True, slots=True)
class Labelled:
    """`slots` are as the rule takes them, `labels` their statuses by name."""

    language: str
    recorded: RecordedDialog
    slots: Sequence[Mapping[str, Any]]
    labels: Mapping[str, SlotVerdict]


class Verdict(NamedTuple):
    """A slot's label and the status that it was given."""

    language: str
    dialog: str
    slot: str
    label: str
    given: str


def read(language: str) -> list[Labelled]:
    entries = yaml.safe_load((DATA / f"uptake_{language}.yaml").read_text(encoding="utf-8"))
    return [_labelled(language, entry) for entry in entries]


def _labelled(language: str, entry: Mapping[str, Any]) -> Labelled:
    dialog = Dialog(tuple(Turn(i, user, agent) for i, (user, agent) in enumerate(entry["dialog"])))
    parameters = [
        {"name": name, **{key: value for key, value in slot.items() if key not in {"status", "why"}}}
        for name, slot in entry["slots"].items()
    ]
    labels = {name: SlotVerdict(slot["status"]) for name, slot in entry["slots"].items()}
    return Labelled(language, RecordedDialog(entry["id"], dialog), parameters, labels)


async def judge(settings: Settings, dialogs: Sequence[Labelled]) -> list[Verdict]:
    """Raises ModelError when the judge of the settings cannot be reached."""
    async with app(settings) as wired:
        return await judge_by(wired, dialogs)


async def judge_by(wired: App, dialogs: Sequence[Labelled]) -> list[Verdict]:
    evaluations = Evaluations(wired.store, wired.clock, wired.judging)
    judged = await asyncio.gather(
        *(
            evaluations.judge(
                RuleSpec("task_completion", {"mode": "slot", "required_slots": each.slots}), [each.recorded]
            )
            for each in dialogs
        )
    )
    return [
        Verdict(each.language, each.recorded.id, name, label, one.result.detail["slots"][name]["status"])
        for each, [one] in zip(dialogs, judged, strict=True)
        for name, label in each.labels.items()
    ]


def _drawn(dialogs: list[Labelled], n: int | None) -> list[Labelled]:
    """The same every time."""
    return dialogs if n is None else Random(0).sample(dialogs, min(n, len(dialogs)))  # noqa: S311 - a sample, no secret


def measure(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """The figures of each status, and the verdicts that differ from their labels."""
    return {
        "statuses": {
            status.value: {
                "precision": _share(v for v in verdicts if v.given == status),
                "recall": _share(v for v in verdicts if v.label == status),
            }
            for status in SlotVerdict
        },
        "slots": len(verdicts),
        "undecided": sum(v.given == UNDECIDED for v in verdicts),
        "wrong": [v._asdict() for v in verdicts if v.given not in {v.label, UNDECIDED}],
    }


def _share(verdicts: Iterable[Verdict]) -> dict[str, Any]:
    """How many of these are right; the value is None when there are none."""
    by_dialog = [[Fraction(v.given == v.label) for v in group] for _, group in groupby(verdicts, lambda v: v.dialog)]
    values = [value for dialog in by_dialog for value in dialog]
    if (bounds := interval(by_dialog)) is None:
        return {"value": None, "right": 0, "n": 0, "interval": None}
    right = int(sum(values))
    return {
        "value": round(right / len(values), 3),
        "right": right,
        "n": len(values),
        "interval": [round(bounds.low, 3), round(bounds.high, 3)],
    }


def lines(measured: Mapping[str, Any]) -> Iterable[str]:
    for status, figures in measured["statuses"].items():
        yield f"  {status:<14}" + "   ".join(f"{name} {_text(share)}" for name, share in figures.items())
    yield f"  undecided     {measured['undecided']} of {measured['slots']}"
    for wrong in measured["wrong"]:
        yield f"  wrong: {wrong['dialog']}, {wrong['slot']}: {wrong['given']}, labelled {wrong['label']}"


def _text(share: Mapping[str, Any]) -> str:
    if share["value"] is None:
        return f"{'-':<30}"
    low, high = share["interval"]
    return f"{share['value']:.3f} {share['right']:>4}/{share['n']:<4} [{low:.3f}, {high:.3f}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--judge", choices=("builtin", "model"), default="builtin", help="who decides (%(default)s)")
    parser.add_argument("--lang", choices=LANGUAGES, help="only this language")
    parser.add_argument("--sample", type=int, metavar="N", help="only so many dialogs of each language")
    batch.add_options(parser)
    arguments = parser.parse_args()
    languages = [language for language in LANGUAGES if arguments.lang in {None, language}]
    dialogs = [each for language in languages for each in _drawn(read(language), arguments.sample)]
    with TemporaryDirectory() as folder:
        database_url = f"{folder}/uptake.db"
        if batch.by_files(arguments):
            settings = load(batch=True).model_copy(update={"database_url": database_url})
            files = [*arguments.batch_in, *arguments.answers]
            worked = run_async(batch.work_by_files(settings, lambda wired: judge_by(wired, dialogs), files))
            if batch.waits(arguments, worked):
                return
            verdicts = worked.result
        else:
            settings = load() if arguments.judge == "model" else Settings(database_url=database_url)
            if arguments.judge == "model" and settings.judge is None:
                parser.error("the settings name no judge model; see docs/how-to/use-a-judge-model.md")
            verdicts = run_async(judge(settings, dialogs))
    measured = {
        language: measure(found) for language in LANGUAGES if (found := [v for v in verdicts if v.language == language])
    }
    if arguments.json:
        sys.stdout.buffer.write(orjson.dumps(measured, option=orjson.OPT_INDENT_2) + b"\n")
        return
    for language, figures in measured.items():
        print(language, *lines(figures), sep="\n")


if __name__ == "__main__":
    main()
