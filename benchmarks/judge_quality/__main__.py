"""How well the judge agrees with people: `python -m benchmarks.judge_quality GOLD.jsonl [--judge builtin|model]`.

GOLD.jsonl holds labelled dialogs, a JSON object a line (docs/how-to/measure-judge-quality.md). They are judged like the
cases of a run: code first, then the judge. For each measure, language and variant: the number of labelled items, how
many the judge decides, and of these the accuracy, Cohen's kappa and the F1 of the label no.

- `slots_expected`: whether the user gave the value that is expected (`uptake: stated`); `slots`: the same, when nobody
  tells the value;
- `intents`: what the agent acted on last, among all intents; `expected_intent`: whether one drawn intent, for half of
  the dialogs a right one, is what the agent acted on;
- `steps`: whether the agent did it; `completeness`: whether all that the user wanted was met; `success`: the level of a
  case of all three layers with the default policy.

Intents and the other measures of what the agent does leave out dialogs in which no reply was recorded.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import orjson

from agenteval.bootstrap import app
from agenteval.cli.loop import run_async
from agenteval.settings import Settings, load
from benchmarks import batch
from benchmarks.judge_quality.figures import Item, lines, report
from benchmarks.judge_quality.gold import Row, chosen, read
from benchmarks.judge_quality.judging import judged


async def live(settings: Settings, rows: Sequence[Row]) -> batch.Worked[list[Item]]:
    async with app(settings) as wired:
        return batch.Worked(await judged(wired, rows), ())


def wrong(items: Sequence[Item]) -> bytes:
    """JSONL, a line for each item that was judged otherwise than people did."""
    misjudged = [item for item in items if item.given is not None and not item.right]
    return b"".join(orjson.dumps(item, default=str) + b"\n" for item in misjudged)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gold", type=Path, metavar="GOLD.jsonl", help="labelled dialogs")
    parser.add_argument("--judge", choices=("builtin", "model"), default="builtin", help="who decides (%(default)s)")
    parser.add_argument("--half", choices=("tuning", "test"), help="only this random half of the dialogs")
    parser.add_argument("--sample", type=int, metavar="N", help="only so many dialogs, as many of each language")
    parser.add_argument("--wrong", type=Path, metavar="F", help="write the items that were judged wrongly")
    batch.add_options(parser)
    given = parser.parse_args()
    rows = chosen(read(given.gold), given.half, given.sample)
    with TemporaryDirectory() as folder:
        database_url = f"{folder}/benchmark.db"
        if batch.by_files(given):
            settings = load(batch=True).model_copy(update={"database_url": database_url})
            files = [*given.batch_in, *given.answers]
            final = bool(given.answers)
            worked = run_async(batch.work_by_files(settings, lambda wired: judged(wired, rows, final=final), files))
        else:
            settings = load() if given.judge == "model" else Settings(database_url=database_url)
            if given.judge == "model" and settings.judge is None:
                parser.error("the settings name no judge model; see docs/how-to/use-a-judge-model.md")
            worked = run_async(live(settings, rows))
    if batch.waits(given, worked):
        return
    if given.wrong:
        given.wrong.write_bytes(wrong(worked.result))
    reported = report(worked.result)
    if given.json:
        sys.stdout.buffer.write(orjson.dumps(reported, option=orjson.OPT_INDENT_2) + b"\n")
    else:
        print(*lines(reported), sep="\n")


if __name__ == "__main__":
    main()
