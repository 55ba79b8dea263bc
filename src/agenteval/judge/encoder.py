"""Likeness, ranking and moderation: by the EMBEDDING and MODERATION models where there are any, else by the local
scorer, which settles only what it was measured to settle."""

from collections.abc import Sequence
from math import sqrt
from typing import Any

from agenteval.domain.errors import ModelError
from agenteval.domain.ports import Call, Embedder, Moderator, Role, Usage
from agenteval.domain.questions import (
    Ask,
    Cause,
    Flags,
    Judged,
    Likeness,
    Moderation,
    Ranked,
    Ranking,
    Similarity,
    Unscored,
)
from agenteval.domain.transcript import Dialog
from agenteval.judge.local import LocalScorer, clear_winner
from agenteval.judge.panel import Answered, Said

Verdict = Judged[Any] | Unscored


class Encoder:
    def __init__(
        self, scorer: LocalScorer, embedder: Embedder | None = None, moderator: Moderator | None = None
    ) -> None:
        self._scorer = scorer
        self._embedder = embedder
        self._moderator = moderator

    async def answer(self, dialog: Dialog, asks: Sequence[Ask]) -> Said:
        answers: dict[str, Verdict] = {}
        calls: list[Call] = []
        alike = [ask for ask in asks if isinstance(ask, Similarity)]
        if alike and self._embedder is not None:
            answers.update(await self._embedded(self._embedder, alike, calls))
        else:
            answers.update({ask.key: likeness for ask in alike if (likeness := self._alike(ask))})
        answers.update({ask.key: ranked for ask in asks if isinstance(ask, Ranking) and (ranked := self._ranked(ask))})
        texts = [ask for ask in asks if isinstance(ask, Moderation)]
        if texts and self._moderator is not None:
            answers.update(await self._moderated(self._moderator, texts, calls))
        return Said(answers, calls)

    async def learn(self, dialog: Dialog, asks: Sequence[Ask], answers: Answered) -> None:
        return None

    def _alike(self, ask: Similarity) -> Judged[Likeness] | None:
        score = self._scorer.similarity(ask.a, ask.b)
        if score is None or score < self._scorer.pass_threshold:
            return None
        return Judged(Likeness(score, self._scorer.name, self._scorer.pass_threshold), f"encoder:{self._scorer.name}")

    def _ranked(self, ask: Ranking) -> Judged[Ranked] | None:
        best = clear_winner(self._scorer, ask.text, dict(ask.candidates))
        return None if best is None else Judged(Ranked(best, self._scorer.name), f"encoder:{self._scorer.name}")

    async def _embedded(self, embedder: Embedder, asks: Sequence[Similarity], calls: list[Call]) -> dict[str, Verdict]:
        texts = list(dict.fromkeys(text for ask in asks for text in ask))
        call_id = f"embedding:{asks[0].key[:24]}"
        try:
            embedded = await embedder.embed(texts)
        except ModelError as error:
            calls.append(Call(call_id, Role.EMBEDDING, embedder.id, call_id, Usage(), error=str(error)))
            return {ask.key: Unscored(Cause.MODEL_ERROR, str(error), (call_id,)) for ask in asks}
        vectors = dict(zip(texts, embedded.vectors, strict=True))
        calls.append(Call(call_id, Role.EMBEDDING, embedder.id, call_id, embedded.usage))
        return {
            ask.key: Judged(
                Likeness(_cosine(vectors[ask.a], vectors[ask.b]), embedder.id), f"model:{embedder.id}", (call_id,)
            )
            for ask in asks
        }

    async def _moderated(
        self, moderator: Moderator, asks: Sequence[Moderation], calls: list[Call]
    ) -> dict[str, Verdict]:
        call_id = f"moderation:{asks[0].key[:24]}"
        try:
            found = await moderator.moderate([ask.text for ask in asks])
        except ModelError as error:
            calls.append(Call(call_id, Role.MODERATION, moderator.id, call_id, Usage(), error=str(error)))
            return {ask.key: Unscored(Cause.MODEL_ERROR, str(error), (call_id,)) for ask in asks}
        calls.append(Call(call_id, Role.MODERATION, moderator.id, call_id, Usage()))
        return {
            ask.key: Judged(Flags(tuple(categories)), f"model:{moderator.id}", (call_id,))
            for ask, categories in zip(asks, found, strict=True)
        }


def _cosine(a: Sequence[float], b: Sequence[float]) -> float:
    """Clipped to 0..1; 0 for a vector of nothing."""
    norms = sqrt(sum(x * x for x in a) * sum(x * x for x in b))
    dot = sum(x * y for x, y in zip(a, b, strict=True))
    return min(max(dot / norms, 0.0), 1.0) if norms else 0.0
