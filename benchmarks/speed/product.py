"""The product on the same conversations: `python -m benchmarks.speed.product plan|work RULE DATABASE N [--url URL]`.

`plan` stores a run of N cases; `work` goes on with it as `agenteval run --resume` does, in a process of its own. The
conversations are replayed, judged by RULE and stored. Without URL there is no judge model. Prints what it cost as JSON.
"""

import argparse
import asyncio
import sys
from collections.abc import Callable, Iterator, Mapping, ValuesView
from dataclasses import asdict, dataclass

import orjson

from agenteval.bootstrap import app
from agenteval.cli.loop import run_async
from agenteval.domain.scenario import Case, RuleSpec, Scenario
from agenteval.domain.target import Target
from agenteval.domain.transcript import Dialog, Turn
from agenteval.engine.progress import Progress
from agenteval.rules import RULES
from agenteval.services.runs import Plan
from agenteval.settings import ModelSettings, Settings
from agenteval.storage import runs
from benchmarks.speed.conversations import conversation, number_of
from benchmarks.speed.phase import Phase, on_one_core, phase
from benchmarks.speed.server import reset

SPECS = {
    "conversation_completeness": RuleSpec("conversation_completeness"),
    "keyword_match": RuleSpec("keyword_match", {"none_of": ("guarantee", "保证")}),
}
REPORT_EVERY = 10_000


@dataclass(slots=True)
class Worked(Phase):
    """`scored`: cases whose rule came to a result."""

    scored: int = 0


class Replayed(Mapping[str, Dialog]):
    """The dialogs by case id, made when they are asked for: as many as there are, none is kept in memory."""

    def __init__(self, n: int) -> None:
        self._n = n

    def __len__(self) -> int:
        return self._n

    def __iter__(self) -> Iterator[str]:
        return (conversation(number).id for number in range(self._n))

    def __getitem__(self, case_id: str) -> Dialog:
        turns = conversation(number_of(case_id)).turns
        return Dialog(tuple(Turn(i, said, reply) for i, (said, reply) in enumerate(turns)))

    def values(self) -> ValuesView[Dialog]:
        """One of them: what looks at all before a run looks at their type, and the floor makes each only once too."""
        first = conversation(0).id
        return {first: self[first]}.values()


async def plan(settings: Settings, rule: str, target: Target, n: int) -> Phase:
    spec = SPECS[rule]
    with phase() as measured:
        cases = (Case(each.id, tuple(said for said, _ in each.turns), (spec,)) for each in map(conversation, range(n)))
        planned = Plan([Scenario("speed", tuple(cases))], target, target_source={"channel": "replay"})
        async with app(settings) as wired:
            await wired.runs.create(planned, asyncio.Event())
    return measured


async def work(settings: Settings, rule: str, target: Target, url: str, shown: Callable[[Progress], None]) -> Worked:
    async with app(settings) as wired:
        run = await runs.latest(wired.store)
        await wired.runs.reopen(run, target, asyncio.Event())
        if url:
            reset(url)  # the call that checked the model is not counted
        RULES.get(rule)  # a plug-in is loaded at start-up, as the floor is
        with phase() as measured:
            await wired.runs.work(run, target, asyncio.Event(), shown)
        summary = await wired.runs.summary(run)
    return Worked(**asdict(measured), scored=summary.pass_rate.n)


def reporter(every: int) -> Callable[[Progress], None]:
    """Tells on stderr how far a long run is."""
    told = 0

    def changed(progress: Progress) -> None:
        nonlocal told
        if progress.done - told >= every:
            told = progress.done
            print(f"  {told} of {progress.total}", file=sys.stderr, flush=True)

    return changed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=["plan", "work"])
    parser.add_argument("rule", choices=sorted(SPECS))
    parser.add_argument("database")
    parser.add_argument("n", type=int)
    parser.add_argument("--url", default="")
    parser.add_argument("--timeout-s", type=float, default=60)
    given = parser.parse_args()
    on_one_core()
    judge = ModelSettings(base_url=given.url, model="fake", timeout_s=given.timeout_s) if given.url else None
    settings = Settings(database_url=given.database, judge=judge)
    dialogs: Mapping[str, Dialog] = Replayed(given.n)
    if not given.url:  # to make the dialogs, which a run has loaded before, would be a tenth of what is measured
        dialogs = {case_id: dialogs[case_id] for case_id in dialogs}
    target = Target("replayed", "replay", {"dialogs": dialogs})
    measured = run_async(
        plan(settings, given.rule, target, given.n)
        if given.verb == "plan"
        else work(settings, given.rule, target, given.url, reporter(REPORT_EVERY))
    )
    sys.stdout.buffer.write(orjson.dumps(asdict(measured)))


if __name__ == "__main__":
    main()
