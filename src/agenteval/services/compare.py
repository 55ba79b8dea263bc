"""Runs beside each other: two of them case by case, or all of one target in their order."""

from collections.abc import Iterator, Mapping
from random import Random

from agenteval.domain.comparison import CaseOutcomes, RunComparison, Setting, compare
from agenteval.domain.json_value import Json, below, canonical
from agenteval.domain.records import Run
from agenteval.storage import attempts, runs
from agenteval.storage.store import Store


async def comparison(store: Store, before: Run, after: Run) -> RunComparison:
    """The same every time: what must be simulated is drawn by the ids of the runs."""
    bits = Random(f"{before.id} {after.id}").getrandbits  # noqa: S311 - a simulation, not a secret
    return RunComparison(
        before=before,
        after=after,
        comparison=compare(await _outcomes(store, before), await _outcomes(store, after), bits),
        settings=tuple(_differences("", before.config, after.config)),
        changed_cases=tuple(await runs.changed_cases(store, before.id, after.id)),
    )


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
