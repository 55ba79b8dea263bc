"""Who answers a rule's questions. The order of authority is the order of the steps: each takes what it can answer, the
rest goes on, and what is left at the end needs a judge model."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from threading import Event
from time import monotonic
from typing import Any, Protocol, TypeAlias

from agenteval.domain.errors import StorageError
from agenteval.domain.forms import FormError
from agenteval.domain.ports import Call
from agenteval.domain.questions import Ask, Cause, Judged, Question, Unscored
from agenteval.domain.quick_init import quick_init
from agenteval.domain.transcript import Dialog
from agenteval.judge.aside import aside, is_much
from agenteval.judge.verify import verify_code

GRACE_S = 1.0
"""For code, though the dialog took up all of the case's time."""
_OUT_OF_TIME = Unscored(Cause.TIME_LIMIT, "the case's time limit was used up before code came to it")

Answered: TypeAlias = Mapping[str, Judged[Any] | Unscored]


@quick_init
@dataclass(frozen=True, slots=True)
class Said:
    """What a step answered, by question key, and the model calls it took."""

    answers: Answered = field(default_factory=dict)
    calls: Sequence[Call] = ()


class Step(Protocol):
    async def answer(self, dialog: Dialog, asks: Sequence[Ask], *, until_s: float | None = None) -> Said:
        """Answers to some of `asks`. An Unscored is an answer too: it failed, and nobody after it is asked. Whoever
        waits for others ends when the loop's clock passes `until_s`, with what it has, and tells all calls it made."""
        ...


class Panel:
    """`waits`: for models, so that what is without an answer when the time is up might have one later."""

    def __init__(self, *steps: Step, waits: bool = True) -> None:
        self._steps = steps
        self._waits = waits

    async def answer(self, dialog: Dialog, asks: Sequence[Ask], *, until_s: float | None = None) -> Said:
        """An answer to every one of `asks`; only to some when it waits and the loop's clock passed `until_s`. A step
        that breaks answers nothing: what nobody after it answers either has its fault as the cause. Raises StorageError
        alone."""
        answers: dict[str, Judged[Any] | Unscored] = {}
        calls: list[Call] = []
        left = list(asks)
        unanswered = Unscored(Cause.NEEDS_JUDGE)
        for step in self._steps:
            if not left:
                break
            try:
                said = await step.answer(dialog, left, until_s=until_s)
            except StorageError:
                raise
            except Exception as error:  # noqa: BLE001 - what breaks on one dialog does not end the run
                unanswered = Unscored(Cause.MODEL_ERROR, f"{type(error).__name__}: {error}")
                continue
            calls.extend(said.calls)
            if said.answers:
                answers.update(said.answers)
                left = [ask for ask in left if ask.key not in said.answers]
            if self._waits and until_s is not None and asyncio.get_running_loop().time() >= until_s:
                return Said(answers, calls)
        for ask in left:
            answers[ask.key] = unanswered
        return Said(answers, calls)


class ByCode:
    """Questions that their own `code` decides. Its quotes are verified like a model's; what cannot be quoted (a
    negation stands before it) is not decided. What it has not come to when the time is up is not asked of others: no
    model was at fault, and the next time would be no longer."""

    async def answer(self, dialog: Dialog, asks: Sequence[Ask], *, until_s: float | None = None) -> Said:
        questions = [ask for ask in asks if isinstance(ask, Question) and ask.code]
        if not questions:
            return Said()
        left_s = inf if until_s is None else max(until_s - asyncio.get_running_loop().time(), GRACE_S)
        given_up = Event()

        def work() -> Said:
            until_s = monotonic() + left_s  # by the system's clock: the loop's stands still while this works
            return self._decided(dialog, questions, lambda: monotonic() < until_s and not given_up.is_set())

        try:
            return await aside(work) if is_much(dialog, len(questions)) else work()
        finally:
            given_up.set()  # a thread would go on, and hold up the end of the program

    def _decided(self, dialog: Dialog, questions: Sequence[Question[Any]], in_time: Callable[[], bool]) -> Said:
        decided = {q.key: self._decide(dialog, q) if in_time() else _OUT_OF_TIME for q in questions}
        return Said({key: answer for key, answer in decided.items() if answer is not None})

    def _decide(self, dialog: Dialog, question: Question[Any]) -> Judged[Any] | Unscored | None:
        try:
            value = question.code(dialog) if question.code else None
            return None if value is None else Judged(verify_code(dialog, value), by="code")
        except FormError:
            return None
        except Exception as error:  # noqa: BLE001 - a plug-in's code is foreign
            return Unscored(Cause.RULE_ERROR, f"{type(error).__name__}: {error}")
