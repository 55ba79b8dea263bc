"""Answers remembered across runs, one by one: changing a rule asks that rule again and nothing else."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from agenteval.domain.forms import FormError
from agenteval.domain.json_value import Json, canonical
from agenteval.domain.ports import Memo
from agenteval.domain.questions import DIALOG, Ask, Judged, Question, View, judged_from_json
from agenteval.domain.transcript import Dialog, Turn
from agenteval.judge.panel import Said, Step


class MemoStep:
    """Asks `step` for what is not remembered, and remembers what its models answer. `identities` tells for each kind of
    ask what an answer depends on beside the ask and the dialog (model, parameters, frame); a kind without an entry is
    not remembered."""

    def __init__(self, memo: Memo, identities: Mapping[type, Json], step: Step) -> None:
        self._memo = memo
        self._identities = {kind: orjson.Fragment(canonical(identity)) for kind, identity in identities.items()}
        self._step = step

    async def answer(self, dialog: Dialog, asks: Sequence[Ask], *, until_s: float | None = None) -> Said:
        keys = self._keys(dialog, asks)
        known = await self._memo.get(list(keys.values())) if keys else {}
        recalled: dict[str, Judged[Any]] = {}
        if known:
            by_key = {ask.key: ask for ask in asks}
            read = {key: _recalled(by_key[key], known[memo]) for key, memo in keys.items() if memo in known}
            recalled = {key: answer for key, answer in read.items() if answer is not None}
            asks = [ask for ask in asks if ask.key not in recalled]
        if not asks:
            return Said(recalled)
        said = await self._step.answer(dialog, asks, until_s=until_s)
        new = {
            keys[key]: answer.stored
            for key, answer in said.answers.items()
            if key in keys and isinstance(answer, Judged) and answer.by.startswith("model:")
        }
        if new:
            await self._memo.put(new)
        return Said({**recalled, **said.answers}, said.calls) if recalled else said

    def _keys(self, dialog: Dialog, asks: Sequence[Ask]) -> dict[str, str]:
        """Memo keys by ask key."""
        seen: dict[View, str] = {}
        keys = {}
        for ask in asks:
            if (identity := self._identities.get(type(ask))) is None:
                continue
            if isinstance(ask, Question):
                if (shown := seen.get(ask.view)) is None:
                    shown = seen[ask.view] = _shown(dialog, ask.view)
                parts: list[object] = [identity, ask.wording, ask.samples, shown]
            else:
                parts = [identity, ask.key]
            keys[ask.key] = hashlib.sha256(canonical(parts)).hexdigest()
        return keys


def _recalled(ask: Ask, kept: Json) -> Judged[Any] | None:
    """None when the form has become stricter since the answer was kept: it is asked again, and replaced."""
    try:
        return judged_from_json(ask, kept)
    except FormError:
        return None


def _shown(dialog: Dialog, view: View) -> str:
    """What a judge sees, by its exact characters: spans count them."""
    if view == DIALOG:
        return dialog.digest
    turns = [(turn.index, turn.sent_message, _of_agent(turn) if view.agent else None) for turn in view.turns(dialog)]
    return hashlib.sha256(canonical(turns)).hexdigest()


def _of_agent(turn: Turn) -> Json:
    calls = [[call.name, call.arguments, call.result, call.ok] for call in turn.tool_calls]
    return [turn.status, turn.reply_text, calls]
