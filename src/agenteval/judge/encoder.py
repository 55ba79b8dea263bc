"""Likeness, ranking and moderation: by the EMBEDDING and MODERATION models where there are any, else by the local
scorer, which settles only what it was measured to settle."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from math import isfinite, sqrt
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
    Question,
    Ranked,
    Ranking,
    Similarity,
    Unscored,
)
from agenteval.domain.transcript import Dialog
from agenteval.judge.faults import CUT_OFF, ModelFaults
from agenteval.judge.local import LocalScorer, ranked
from agenteval.judge.panel import Said

Verdict = Judged[Any] | Unscored


class Encoder:
    def __init__(
        self, scorer: LocalScorer, embedder: Embedder | None = None, moderator: Moderator | None = None
    ) -> None:
        self._scorer = scorer
        self._embedder = embedder
        self._moderator = moderator

    async def answer(self, dialog: Dialog, asks: Sequence[Ask], *, until_s: float | None = None) -> Said:
        asks = [ask for ask in asks if not isinstance(ask, Question)]
        if not asks:
            return Said()
        answers: dict[str, Verdict] = {}
        calls: list[Call] = []
        alike = [ask for ask in asks if isinstance(ask, Similarity)]
        texts = [ask for ask in asks if isinstance(ask, Moderation)]
        answers.update({ask.key: ranked for ask in asks if isinstance(ask, Ranking) and (ranked := self._ranked(ask))})
        if self._embedder is None:
            answers.update({ask.key: likeness for ask in alike if (likeness := self._alike(ask))})
        if alike or texts:
            with suppress(TimeoutError):
                async with asyncio.timeout_at(until_s):
                    if alike and self._embedder is not None:
                        answers.update(await self._embedded(self._embedder, alike, calls))
                    if texts and self._moderator is not None:
                        answers.update(await self._moderated(self._moderator, texts, calls))
        return Said(answers, calls)

    def _alike(self, ask: Similarity) -> Judged[Likeness] | None:
        score = self._scorer.similarity(ask.a, ask.b)
        if score is None or score < self._scorer.pass_threshold:
            return None
        return Judged(Likeness(score, self._scorer.name, self._scorer.pass_threshold), f"encoder:{self._scorer.name}")

    def _ranked(self, ask: Ranking) -> Judged[Ranked] | None:
        found = ranked(self._scorer, ask.text, dict(ask.candidates))
        return None if found is None else Judged(found, f"encoder:{self._scorer.name}")

    async def _embedded(self, embedder: Embedder, asks: Sequence[Similarity], calls: list[Call]) -> dict[str, Verdict]:
        texts = list(dict.fromkeys(text for ask in asks for text in ask))
        call = _call(Role.EMBEDDING, embedder.id, asks[0])
        try:
            with ModelFaults():
                embedded = await embedder.embed(texts)
                vectors = dict(zip(texts, embedded.vectors, strict=True))
                scores = {ask.key: _cosine(vectors[ask.a], vectors[ask.b]) for ask in asks}
        except asyncio.CancelledError:
            calls.append(replace(call, error=CUT_OFF))
            raise
        except ModelError as error:
            calls.append(replace(call, error=str(error)))
            return {ask.key: Unscored(Cause.MODEL_ERROR, str(error), (call.id,)) for ask in asks}
        calls.append(replace(call, usage=embedded.usage, latency_ms=embedded.latency_ms))
        nothing = Unscored(Cause.MODEL_ERROR, f"{embedder.id} gave a text a vector without a direction", (call.id,))
        return {
            key: nothing if score is None else Judged(Likeness(score, embedder.id), f"model:{embedder.id}", (call.id,))
            for key, score in scores.items()
        }

    async def _moderated(
        self, moderator: Moderator, asks: Sequence[Moderation], calls: list[Call]
    ) -> dict[str, Verdict]:
        call = _call(Role.MODERATION, moderator.id, asks[0])
        try:
            with ModelFaults():
                moderated = await moderator.moderate([ask.text for ask in asks])
                flags = {
                    ask.key: Flags(tuple(categories))
                    for ask, categories in zip(asks, moderated.categories, strict=True)
                }
        except asyncio.CancelledError:
            calls.append(replace(call, error=CUT_OFF))
            raise
        except ModelError as error:
            calls.append(replace(call, error=str(error)))
            return {ask.key: Unscored(Cause.MODEL_ERROR, str(error), (call.id,)) for ask in asks}
        calls.append(replace(call, usage=moderated.usage, latency_ms=moderated.latency_ms))
        return {key: Judged(found, f"model:{moderator.id}", (call.id,)) for key, found in flags.items()}


def _call(role: Role, model: str, first: Similarity | Moderation) -> Call:
    id_ = f"{role}:{first.key[:24]}"
    return Call(id_, role, model, id_, Usage())


def _cosine(a: Sequence[float], b: Sequence[float]) -> float | None:
    """Clipped to 0..1; None when one of them has no direction: nothing but zeros, or not finite."""
    norms = sqrt(sum(x * x for x in a) * sum(x * x for x in b))
    dot = sum(x * y for x, y in zip(a, b, strict=True))
    return min(max(dot / norms, 0.0), 1.0) if norms and isfinite(norms) else None
