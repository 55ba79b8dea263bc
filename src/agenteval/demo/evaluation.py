"""Both demo agents talked to over HTTP and judged, as `agenteval run` does it."""

import asyncio
from collections.abc import Mapping, Sequence
from enum import StrEnum
from importlib.resources import files

from agenteval.bootstrap import App
from agenteval.datasets.scenarios import loads
from agenteval.demo.agents import FaultyRepairAgent, RepairAgent, serving
from agenteval.domain.json_value import Json
from agenteval.domain.records import Run
from agenteval.domain.scenario import Scenario
from agenteval.domain.target import Target
from agenteval.domain.text import Language
from agenteval.rules.build import bind
from agenteval.services.runs import Plan


class Part(StrEnum):
    """The runs of the demo. `good` and `faulty` agent are on the same scenarios. `needs_judge` is a dialog that only a
    model can judge: its scenario does not tell code what to look for."""

    GOOD = "good"
    FAULTY = "faulty"
    NEEDS_JUDGE = "needs_judge"


async def evaluate(app: App, languages: Sequence[Language], stop: asyncio.Event) -> Mapping[Part, Run]:
    """The runs as they ended; after `stop` there are fewer, or the last one is interrupted."""
    scenarios = [scenario(f"{language}_repair.yaml") for language in languages]
    plans: Mapping[Part, tuple[type[RepairAgent], list[Scenario]]] = {
        Part.GOOD: (RepairAgent, scenarios),
        Part.FAULTY: (FaultyRepairAgent, scenarios),
        Part.NEEDS_JUDGE: (RepairAgent, [scenario("seed_6_3.json")]),
    }
    runs: dict[Part, Run] = {}
    for part, (agent, cases) in plans.items():
        if not stop.is_set() and (run := await _run(app, agent, cases, stop)):
            runs[part] = run
    return runs


async def _run(app: App, agent: type[RepairAgent], scenarios: Sequence[Scenario], stop: asyncio.Event) -> Run | None:
    async with serving(agent) as url:
        params: dict[str, Json] = {"url": url}
        target = Target(agent.name, "http", params)
        source: Json = {"name": target.name, "channel": target.channel, "params": params}
        run = await app.runs.create(Plan(scenarios, target, source), stop)
        return run and await app.runs.work(run, target, stop)


def scenario(file: str) -> Scenario:
    text = (files("agenteval.demo") / "scenarios" / file).read_text(encoding="utf-8")
    return loads(text, file, "json" if file.endswith(".json") else "yaml", bind).scenario
