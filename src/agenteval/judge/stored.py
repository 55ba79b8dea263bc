"""Answers that were given in a run, taken as they are."""

from collections.abc import Mapping, Sequence
from typing import Any

from agenteval.domain.forms import FormError
from agenteval.domain.questions import Ask, Cause, Judged, Unscored, judged_from_json
from agenteval.domain.records import StoredAnswer
from agenteval.domain.transcript import Dialog
from agenteval.judge.panel import Said


class Stored:
    """What was said to the same questions about this dialog, a failure included: it failed then."""

    def __init__(self, answers: Sequence[StoredAnswer]) -> None:
        self._answers: Mapping[str, StoredAnswer] = {answer.key: answer for answer in answers}

    async def answer(self, dialog: Dialog, asks: Sequence[Ask], *, until_s: float | None = None) -> Said:
        found = {ask.key: _told(ask, self._answers[ask.key]) for ask in asks if ask.key in self._answers}
        return Said({key: answer for key, answer in found.items() if answer is not None})


def _told(ask: Ask, kept: StoredAnswer) -> Judged[Any] | Unscored | None:
    """None when the form has become stricter since."""
    if kept.cause is not None:
        return Unscored(Cause(kept.cause), kept.answer["detail"], tuple(kept.answer["calls"]))
    try:
        return judged_from_json(ask, kept.answer)
    except FormError:
        return None
