"""Which questions share a call, and which part of a long dialog a call shows."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from agenteval.domain.questions import Question, View
from agenteval.domain.transcript import Turn
from agenteval.judge.compile import estimated_tokens, transcript_lines

MAX_ITEMS = 40
OVERLAP_TURNS = 2
"""Turns that two neighbouring windows of a long dialog share, so that a question and its answer are seen together."""


class Batch(NamedTuple):
    """Questions of one call: the same view, the same number of votes."""

    questions: tuple[Question[Any], ...]
    view: View
    samples: int


def group(questions: Sequence[Question[Any]]) -> list[Batch]:
    """As few calls as the questions allow: an isolated question is alone, at most MAX_ITEMS are together."""
    shared: dict[tuple[View, int, str], list[Question[Any]]] = {}
    for question in questions:
        alone = question.key if question.isolate else ""
        shared.setdefault((question.view, question.samples, alone), []).append(question)
    return [
        Batch(tuple(together[i : i + MAX_ITEMS]), view, samples)
        for (view, samples, _), together in shared.items()
        for i in range(0, len(together), MAX_ITEMS)
    ]


def windows(turns: Sequence[Turn], sizes: Sequence[int], view: View, budget_tokens: int) -> list[View] | None:
    """`view` as it is when its `turns`, of these `sizes`, fit into the budget, else overlapping windows that together
    show all of it; None when a single turn does not fit."""
    if sum(sizes) <= budget_tokens:
        return [view]
    if any(size > budget_tokens for size in sizes):
        return None
    found: list[View] = []
    start = 0
    while True:
        end, used = start, 0
        while end < len(turns) and used + sizes[end] <= budget_tokens:
            used += sizes[end]
            end += 1
        found.append(replace(view, first=turns[start].index, last=turns[end - 1].index))
        if end == len(turns):
            return found
        start = max(start + 1, end - OVERLAP_TURNS)


def turn_tokens(turns: Sequence[Turn], view: View) -> list[int]:
    """Estimated tokens of each turn as `view` shows it."""
    return [estimated_tokens("\n".join(transcript_lines(turn, view))) for turn in turns]
