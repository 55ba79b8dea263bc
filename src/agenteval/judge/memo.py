"""Answers remembered across runs, one by one: changing a rule asks that rule again and nothing else."""

import hashlib
from collections.abc import Mapping, Sequence

from agenteval.domain.json_value import Json, canonical
from agenteval.domain.ports import Memo
from agenteval.domain.questions import Ask, Judged, Question, View, judged_from_json, judged_to_json
from agenteval.domain.transcript import Dialog
from agenteval.judge.compile import transcript_lines
from agenteval.judge.panel import Answered, Said


class MemoStep:
    """Remembers what models answered. `identities` tells for each kind of ask what an answer depends on beside the ask
    and the dialog (model, parameters, frame); a kind without an entry is not remembered."""

    def __init__(self, memo: Memo, identities: Mapping[type, Json]) -> None:
        self._memo = memo
        self._identities = identities

    async def answer(self, dialog: Dialog, asks: Sequence[Ask]) -> Said:
        keys = self._keys(dialog, asks)
        known = await self._memo.get(list(keys.values())) if keys else {}
        by_key = {ask.key: ask for ask in asks}
        return Said({key: judged_from_json(by_key[key], known[memo]) for key, memo in keys.items() if memo in known})

    async def learn(self, dialog: Dialog, asks: Sequence[Ask], answers: Answered) -> None:
        new = {
            memo: judged_to_json(answer)
            for key, memo in self._keys(dialog, asks).items()
            if isinstance(answer := answers.get(key), Judged) and answer.by.startswith("model:")
        }
        if new:
            await self._memo.put(new)

    def _keys(self, dialog: Dialog, asks: Sequence[Ask]) -> dict[str, str]:
        """Memo keys by ask key."""
        seen: dict[View, str] = {}
        keys = {}
        for ask in asks:
            if (identity := self._identities.get(type(ask))) is None:
                continue
            parts: list[object] = [identity, ask.key]
            if isinstance(ask, Question):
                if ask.view not in seen:
                    seen[ask.view] = _shown(dialog, ask.view)
                parts = [identity, ask.wording, ask.samples, seen[ask.view]]
            keys[ask.key] = hashlib.sha256(canonical(parts)).hexdigest()
        return keys


def _shown(dialog: Dialog, view: View) -> str:
    lines = [line for turn in view.turns(dialog) for line in transcript_lines(turn, view)]
    return hashlib.sha256(canonical(lines)).hexdigest()
