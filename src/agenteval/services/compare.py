"""Runs beside each other: two of them case by case, or all of one target in their order."""

from collections.abc import Iterator, Mapping
from random import Random

from agenteval.domain.comparison import CaseOutcomes, RunComparison, Setting, compare
from agenteval.domain.errors import NotFound
from agenteval.domain.json_value import Json, below, canonical
from agenteval.domain.records import Run
from agenteval.storage import attempts, runs
from agenteval.storage.store import Store


async def comparison(store: Store, before: Run, after: Run) -> RunComparison:
    """The same every time: what must be simulated is drawn by the ids of the runs. Nobody rewrote the cases of runs
    that hold the same dialogs: what was set when one was rescored is a setting."""
    bits = Random(f"{before.id} {after.id}").getrandbits  # noqa: S311 - a simulation, not a secret
    same_dialogs = await _origin(store, before) == await _origin(store, after)
    return RunComparison(
        before=before,
        after=after,
        comparison=compare(await _outcomes(store, before), await _outcomes(store, after), bits),
        settings=tuple(_differences("", _settings(before), _settings(after))),
        changed_cases=() if same_dialogs else tuple(await runs.changed_cases(store, before.id, after.id)),
    )


def _settings(run: Run) -> Mapping[str, Json]:
    """Where nothing was set by rescoring, this is no other setting than those that were."""
    return {"set": {}, **run.config}


async def _origin(store: Store, run: Run) -> str:
    """The run that talked to the agent."""
    origin = run.id
    while run.rescored_from:
        origin = run.rescored_from
        try:
            run = await runs.get(store, origin)
        except NotFound:  # only the rescored run was taken into this database
            break
    return origin


async def _outcomes(store: Store, run: Run) -> CaseOutcomes:
    found = {}
    async for case_id, facts in attempts.facts(store, run.id):
        if outcomes := [fact.outcome for fact in facts if fact.counts]:
            found[case_id] = outcomes
    return found


def _differences(pointer: str, before: Json, after: Json) -> Iterator[Setting]:
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for name in {**before, **after}:
            yield from _differences(below(pointer, name), before.get(name), after.get(name))
    elif canonical(before) != canonical(after):
        yield Setting(pointer, before, after)
