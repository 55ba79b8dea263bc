"""Where rules meet the panel."""

import asyncio
import threading
from collections.abc import Awaitable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import count
from typing import ClassVar

import pytest

from agenteval.domain.forms import Form
from agenteval.domain.outcome import OutcomeCause, ResultStatus, RuleResult, SuccessLevel
from agenteval.domain.questions import Answers, Ask, Cause, Judged, Question, Unscored
from agenteval.domain.scenario import Case, EffectivePolicy, Layer, Policy, RuleLogic, RuleSpec
from agenteval.domain.transcript import Dialog, Turn, TurnStatus
from agenteval.engine.evaluate import Evaluation, evaluate
from agenteval.engine.time_limit import TimeLimit
from agenteval.judge.aside import MUCH, aside
from agenteval.judge.panel import ByCode, Panel, Said, Step
from agenteval.rules import MAX_ROUNDS, EvalRule
from agenteval.rules.build import BoundRule
from tests.fakes.clock import FakeClock
from tests.fakes.scripted_panel import ScriptedStep


@dataclass(frozen=True, slots=True)
class Word(Form):
    word: str


@dataclass(frozen=True)
class Chain(EvalRule):
    """Asks one question after the other, each only when the one before is answered."""

    name: ClassVar[str] = "chain"
    version: ClassVar[str] = "1"
    length: int = 1

    def questions(self) -> list[Question[Word]]:
        return [Question(f"step:{i}", Word, f"question {i}") for i in range(self.length)]

    def ask(self, case: Case, dialog: Dialog, known: Answers) -> Iterable[Ask]:
        questions = self.questions()
        answered = sum(question in known for question in questions)
        return questions[: answered + 1]

    def evaluate(self, case: Case, dialog: Dialog, answers: Answers) -> RuleResult:
        judged = [q for q in self.questions() if isinstance(answers.get(q), Judged)]
        return self.scored(len(judged) / self.length, passed=True, reason=f"{len(judged)} answers")


class Later(Chain):
    async def _late(self, answers: Answers) -> RuleResult:
        return super().evaluate(Case("c", ("x",)), DIALOG, answers)

    def evaluate(self, case: Case, dialog: Dialog, answers: Answers) -> Awaitable[RuleResult]:  # type: ignore[override]
        return self._late(answers)


class BrokenAsk(Chain):
    def ask(self, case: Case, dialog: Dialog, known: Answers) -> Iterable[Ask]:
        raise KeyError("no such thing")


class BrokenEnd(Chain):
    def evaluate(self, case: Case, dialog: Dialog, answers: Answers) -> RuleResult:
        return self.scored(2, passed=True, reason="out of range")


class BrokenDetail(Chain):
    def evaluate(self, case: Case, dialog: Dialog, answers: Answers) -> RuleResult:
        return self.scored(1, passed=True, reason="fine", detail={"rule": self})


DIALOG = Dialog((Turn(0, "你好", "您好"),))
CASE = Case("c", ("你好",))


def bound(rule: EvalRule, label: str = "r", *, layer: Layer | None = None, hard: bool = False) -> BoundRule:
    return BoundRule(rule, RuleSpec("chain"), label, layer, hard)


async def judged(
    *rules: BoundRule, dialog: Dialog = DIALOG, step: Step | None = None, logic: RuleLogic = RuleLogic.ALL
) -> Evaluation:
    step = step or ScriptedStep(lambda _: {"word": "yes"})
    policy = EffectivePolicy.of(Policy(rule_logic=logic))
    return await evaluate(CASE, dialog, rules, Panel(step), policy, time=TimeLimit(FakeClock(), None))


async def test_it_asks_until_nothing_new_comes() -> None:
    step = ScriptedStep(lambda _: {"word": "yes"})
    evaluation = await judged(bound(Chain(length=3)), step=step)
    assert [ask.item for ask in step.asked if isinstance(ask, Question)] == ["step:0", "step:1", "step:2"]
    assert evaluation.results[0].score == 1
    assert set(evaluation.asks) == {ask.key for ask in step.asked}


async def test_but_at_most_four_times() -> None:
    step = ScriptedStep(lambda _: {"word": "yes"})
    await judged(bound(Chain(length=9)), step=step)
    assert len(step.asked) == MAX_ROUNDS


async def test_two_rules_that_ask_the_same_share_the_answer() -> None:
    step = ScriptedStep(lambda _: {"word": "yes"})
    await judged(bound(Chain(), "a"), bound(Chain(), "b"), step=step)
    assert len(step.asked) == 1


async def test_a_result_is_placed_in_its_case() -> None:
    rule = BoundRule(Chain(), RuleSpec("chain", weight=Fraction(3)), "mine", Layer.L2, hard=True, implicit=True)
    (result,) = (await judged(rule)).results
    found = Chain().scored(1, passed=True, reason="1 answers")
    place = replace(found, label="mine", layer=Layer.L2, weight=Fraction(3), hard=True, implicit=True)
    assert result == place


async def test_a_rule_may_conclude_later() -> None:
    assert (await judged(bound(Later()))).results[0].score == 1


async def test_a_broken_rule_fails_only_itself() -> None:
    for broken in (BrokenAsk(), BrokenEnd(), BrokenDetail()):
        evaluation = await judged(bound(broken, "broken"), bound(Chain(), "fine"))
        failed, fine = evaluation.results
        assert (failed.status, failed.cause) == (ResultStatus.FAILED_TO_SCORE, Cause.RULE_ERROR)
        assert failed.bounds == (Fraction(0), Fraction(1))
        assert fine.score == 1
        assert evaluation.outcome.success_level is None


async def test_a_broken_rule_leaves_its_critical_items_open() -> None:
    class BrokenCritical(BrokenAsk):
        @property
        def critical_items(self) -> tuple[str, ...]:
            return ("step:confirm",)

    evaluation = await judged(bound(BrokenCritical(), "broken"), bound(Chain(), "fine"), logic=RuleLogic.ANY)
    assert evaluation.results[0].open_vetoes == ("step:confirm",)
    assert evaluation.outcome.level_bounds == (SuccessLevel.FAILURE, SuccessLevel.SUCCESS)


async def test_what_was_not_delivered_is_not_judged() -> None:
    step = ScriptedStep(lambda _: {"word": "yes"})
    dialog = Dialog((Turn(0, "你好", status=TurnStatus.NOT_DELIVERED, error="connection refused"),))
    evaluation = await judged(bound(Chain()), dialog=dialog, step=step)
    assert step.asked == []
    assert evaluation.results[0].status is ResultStatus.SKIPPED
    assert "connection refused" in evaluation.results[0].reason
    assert evaluation.outcome.cause is OutcomeCause.NOT_DELIVERED


async def test_what_an_agent_said_before_it_failed_is_judged() -> None:
    dialog = Dialog((Turn(0, "你好", "您好"), Turn(1, "订票", status=TurnStatus.TIMEOUT)))
    evaluation = await judged(bound(Chain()), dialog=dialog)
    assert evaluation.results[0].score == 1
    assert evaluation.outcome.success_level is SuccessLevel.FAILURE


class Stuck(ScriptedStep):
    """Answers nothing, ever."""

    async def answer(self, dialog: Dialog, asks: Sequence[Ask], *, until_s: float | None = None) -> Said:
        with suppress(TimeoutError):
            async with asyncio.timeout_at(until_s):
                await asyncio.Event().wait()
        return Said()


async def test_when_the_time_is_up_what_is_open_is_not_scored_and_what_is_known_stays() -> None:
    known = ScriptedStep(lambda ask: {"word": "yes"} if isinstance(ask, Question) and ask.item == "step:0" else None)
    stuck = Stuck(lambda _: None)
    time = TimeLimit(FakeClock(), 0.02)
    evaluation = await evaluate(
        CASE, DIALOG, [bound(Chain(length=2))], Panel(known, stuck), EffectivePolicy.of(), time=time
    )
    first, second = (evaluation.answers[ask] for ask in evaluation.asks.values())
    assert isinstance(first, Judged)
    assert second == Unscored(Cause.MODEL_ERROR, "the case's time limit of 0.02 s was used up")


async def test_a_rule_that_never_concludes_fails_when_the_time_is_up() -> None:
    class Never(Later):
        async def _late(self, answers: Answers) -> RuleResult:
            await asyncio.Event().wait()
            raise AssertionError

    time = TimeLimit(FakeClock(), 0.02)
    evaluation = await evaluate(
        CASE, DIALOG, [bound(Never())], Panel(ScriptedStep(lambda _: {"word": "y"})), EffectivePolicy.of(), time=time
    )
    assert evaluation.results[0].cause is Cause.MODEL_ERROR
    assert evaluation.results[0].reason == "the case's time limit of 0.02 s was used up"


@dataclass(frozen=True)
class Coded(Chain):
    """Asks all at once; code knows every answer, or none."""

    known: bool = True

    def questions(self) -> list[Question[Word]]:
        return [Question(f"step:{i}", Word, f"question {i}", code=self.code) for i in range(self.length)]

    def code(self, dialog: Dialog) -> Word | None:
        return Word("yes") if self.known else None

    def ask(self, case: Case, dialog: Dialog, known: Answers) -> Iterable[Ask]:
        return self.questions()


@pytest.mark.parametrize("waits", [True, False], ids=["with a model", "without"])
async def test_code_that_has_no_time_left_keeps_what_it_decided(waits: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its clock goes on by 0.4 s with each look."""
    monkeypatch.setattr("agenteval.judge.panel.monotonic", partial(next, count(0, 0.4)))
    panel, step = ByCode(), ScriptedStep(lambda _: {"word": "no"})
    steps = (panel, step) if waits else (panel,)
    evaluation = await evaluate(
        CASE,
        DIALOG,
        [bound(Coded(length=4))],
        Panel(*steps, waits=waits),
        EffectivePolicy.of(),
        time=TimeLimit(FakeClock(), 1),
    )
    found = [evaluation.answers[ask] for ask in evaluation.asks.values()]
    assert [isinstance(answer, Judged) for answer in found] == [True, True, False, False]
    assert {answer.cause for answer in found if isinstance(answer, Unscored)} == {Cause.TIME_LIMIT}
    assert step.asked == []


async def test_code_ends_when_nobody_waits_for_it_any_more() -> None:
    begun, go_on, looked_at = threading.Event(), threading.Event(), list[str]()

    class Slow(Coded):
        def code(self, dialog: Dialog) -> Word:
            begun.set()
            looked_at.append("one")
            go_on.wait(5)
            return Word("yes")

    dialog = Dialog((Turn(0, "你好", "字" * MUCH),))
    judging = asyncio.create_task(judged(bound(Slow(length=9)), dialog=dialog, step=ByCode()))
    while not begun.is_set():  # noqa: ASYNC110 - it is set in a thread
        await asyncio.sleep(0.001)
    judging.cancel()
    with pytest.raises(asyncio.CancelledError):
        await judging
    go_on.set()
    await aside(lambda: None)  # after it, in the same thread
    assert looked_at == ["one"]


async def test_without_a_model_nothing_is_a_models_fault_when_the_time_is_up() -> None:
    rule, time = Coded(length=1, known=False), TimeLimit(FakeClock(), 0)
    evaluation = await evaluate(
        CASE, DIALOG, [bound(rule)], Panel(ByCode(), waits=False), EffectivePolicy.of(), time=time
    )
    (answer,) = (evaluation.answers[ask] for ask in evaluation.asks.values())
    assert answer == Unscored(Cause.NEEDS_JUDGE)


@pytest.mark.parametrize("place", ["ask", "code", "evaluate"])
@pytest.mark.parametrize("characters", [MUCH // 2, MUCH + 1])
async def test_code_works_on_a_long_dialog_while_the_loop_is_free_for_others(place: str, characters: int) -> None:
    """A rule waits until the loop has run, which it can only beside it."""
    loop_ran = threading.Event()

    def wait(where: str) -> None:
        if where == place:
            waited.append(loop_ran.wait(timeout=5 if characters > MUCH else 0))

    class Slow(Chain):
        def ask(self, case: Case, dialog: Dialog, known: Answers) -> Iterable[Ask]:
            wait("ask")
            return [Question("code", Word, "q", code=self.code)]

        def code(self, dialog: Dialog) -> Word:
            wait("code")
            return Word("yes")

        def evaluate(self, case: Case, dialog: Dialog, answers: Answers) -> RuleResult:
            wait("evaluate")
            return self.scored(1, passed=True, reason="done")

    waited: list[bool] = []
    dialog = Dialog((Turn(0, "你好", {"text": "字" * characters}),))
    judging = asyncio.create_task(judged(bound(Slow()), dialog=dialog, step=ByCode()))
    await asyncio.sleep(0)
    loop_ran.set()
    await judging
    assert waited[0] is (characters > MUCH)
