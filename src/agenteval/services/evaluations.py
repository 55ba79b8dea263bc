"""Recorded dialogs judged by one rule. No agent is talked to, and nothing is kept but what models answered."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass

from agenteval.datasets.dialogs import RecordedDialog
from agenteval.domain.outcome import RuleResult
from agenteval.domain.ports import Call, Clock
from agenteval.domain.scenario import Case, RuleSpec
from agenteval.engine.drain import drain
from agenteval.engine.time_limit import CASE_LIMIT_S, TimeLimit
from agenteval.rules.build import build
from agenteval.services.judging import Judging
from agenteval.services.runs import Evaluator
from agenteval.storage.memo import StoredMemo
from agenteval.storage.store import Store
from agenteval.storage.writer import Writer


@dataclass(frozen=True, slots=True)
class JudgedDialog:
    """What the rule says of one dialog, and the calls it took."""

    recorded: RecordedDialog
    result: RuleResult
    calls: tuple[Call, ...]


class Evaluations:
    def __init__(self, store: Store, clock: Clock, judging: Judging) -> None:
        self._store = store
        self._clock = clock
        self._judging = judging

    async def judge(self, spec: RuleSpec, dialogs: Iterable[RecordedDialog]) -> list[JudgedDialog]:
        """In the order of `dialogs`. Raises InputError when there is no such rule, ModelError when a model that it may
        ask cannot be reached or refuses the key."""
        rule = build(spec)
        await self._judging.models.check(rule.roles)
        judged: dict[int, JudgedDialog] = {}
        async with Writer(self._store) as sink:
            evaluator = Evaluator(self._judging.panel(StoredMemo(self._store, sink, self._clock)))

            async def attempt(numbered: tuple[int, RecordedDialog]) -> None:
                n, recorded = numbered
                case = Case(recorded.id, tuple(turn.sent_message for turn in recorded.dialog), (spec,))
                evaluation = await evaluator.judge(case, recorded.dialog, TimeLimit(self._clock, CASE_LIMIT_S))
                judged[n] = JudgedDialog(recorded, evaluation.results[0], evaluation.calls)

            await drain(_numbered(dialogs), attempt, workers=self._judging.concurrency, stop=asyncio.Event())
        return [judged[n] for n in sorted(judged)]


async def _numbered(dialogs: Iterable[RecordedDialog]) -> AsyncIterator[tuple[int, RecordedDialog]]:
    for numbered in enumerate(dialogs):
        yield numbered
