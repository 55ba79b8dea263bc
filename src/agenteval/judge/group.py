"""Which questions share a call, and which part of a long dialog a call shows."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from agenteval.domain.questions import Question, View
from agenteval.domain.transcript import Turn
from agenteval.judge.compile import estimated_tokens, transcript

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


class Window(NamedTuple):
    """A part of a dialog, and the transcript of it that a call shows."""

    view: View
    shown: str


def windows(turns: Sequence[Turn], whole: Window, budget_tokens: int) -> list[Window] | None:
    """The `whole` of these `turns` as it is when it fits into the budget, else overlapping windows that together show
    all of it; None when a single turn does not fit."""
    if estimated_tokens(whole.shown) + len(turns) <= budget_tokens:  # no less than all `sizes`, and known sooner
        return [whole]
    view = whole.view
    sizes = turn_tokens(turns, view)
    if sum(sizes) <= budget_tokens:
        return [whole]
    if any(size > budget_tokens for size in sizes):
        return None
    found: list[Window] = []
    start = 0
    while True:
        end, used = start, 0
        while end < len(turns) and used + sizes[end] <= budget_tokens:
            used += sizes[end]
            end += 1
        part = turns[start:end]
        found.append(Window(view._replace(first=part[0].index, last=part[-1].index), transcript(part, view)))
        if end == len(turns):
            return found
        start = max(start + 1, end - OVERLAP_TURNS)


def turn_tokens(turns: Sequence[Turn], view: View) -> list[int]:
    """Estimated tokens of each turn as `view` shows it."""
    return [estimated_tokens(transcript([turn], view)) for turn in turns]
