"""Runs beside each other: two of them case by case, or all of one target in their order."""

from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import TypeAlias

from agenteval.domain.comparison import CaseOutcomes, RunComparison, Setting, compare
from agenteval.domain.errors import NotFound
from agenteval.domain.json_value import Json, below, canonical
from agenteval.domain.records import Run
from agenteval.domain.review import UNCLEAR, latest
from agenteval.storage import attempts, reviews, runs
from agenteval.storage.store import Store

OVERRULED = "items_overruled_by_people"

Identities: TypeAlias = Sequence[runs.CaseIdentity]


async def comparison(store: Store, before: Run, after: Run) -> RunComparison:
    """Paired by scenario and case id. The same every time: what must be simulated is drawn by the ids of the runs.
    Nobody rewrote the cases of runs that hold the same dialogs: what was set when one was rescored is a setting."""
    bits = Random(f"{before.id} {after.id}").getrandbits  # noqa: S311 - a simulation, not a secret
    ours, theirs = await runs.identities(store, before.id), await runs.identities(store, after.id)
    same_dialogs = await _origin(store, before) == await _origin(store, after)
    return RunComparison(
        before=before,
        after=after,
        comparison=compare(
            await _outcomes(store, before, _names(ours, theirs, theirs)),
            await _outcomes(store, after, _names(theirs, ours, theirs)),
            bits,
        ),
        settings=tuple(_differences("", await _settings(store, before), await _settings(store, after))),
        changed_cases=() if same_dialogs else tuple(_rewritten(ours, theirs)),
    )


async def _settings(store: Store, run: Run) -> Mapping[str, Json]:
    """Where nothing was set by rescoring, this is no other setting than those that were. What people overruled is one:
    it changes outcomes, and the agent has no part in it."""
    last = latest(await reviews.of_run(store, run.id)).values()
    overruled = sum(review.word not in (review.machine, UNCLEAR) for review in last)
    return {"set": {}, **run.config, **({OVERRULED: overruled} if overruled else {})}


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


def _names(of: Identities, other: Identities, later: Identities) -> Mapping[str, str]:
    """What the cases of a run are called, by their ids: what both runs have as in the later one; what the other lacks
    by its full name if another case has its id there."""
    ids = {case.full_name: case.case_id for case in later}
    common, taken = {case.full_name for case in other}, {case.case_id for case in other}
    return {
        case.case_id: ids[case.full_name]
        if case.full_name in common
        else case.full_name
        if case.case_id in taken
        else case.case_id
        for case in of
    }


def _rewritten(before: Identities, after: Identities) -> Iterator[str]:
    """The ids of cases that both have, but not with the same content."""
    contents = {case.full_name: case.content for case in before}
    return (case.case_id for case in after if contents.get(case.full_name, case.content) != case.content)


async def _outcomes(store: Store, run: Run, names: Mapping[str, str]) -> CaseOutcomes:
    found = {}
    async for case_id, facts in attempts.facts(store, run.id):
        if outcomes := [fact.outcome for fact in facts if fact.counts]:
            found[names[case_id]] = outcomes
    return found


def _differences(pointer: str, before: Json, after: Json) -> Iterator[Setting]:
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for name in {**before, **after}:
            yield from _differences(below(pointer, name), before.get(name), after.get(name))
    elif canonical(before) != canonical(after):
        yield Setting(pointer, before, after)
