"""A judge that answers as its script says, as the last step of a panel.

    Panel(ByCode(), ScriptedStep(lambda ask: {"reason": "...", "verdict": "met"}))

What it says goes through `judge.verify` like a model's words: a flawed answer is asked for once more, then it is final.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from agenteval.domain.outcome import RuleResult
from agenteval.domain.questions import Ask, Judged, Question, Unscored
from agenteval.domain.scenario import Case, EffectivePolicy, RuleSpec
from agenteval.domain.transcript import Dialog
from agenteval.engine.evaluate import evaluate
from agenteval.engine.time_limit import TimeLimit
from agenteval.judge.panel import ByCode, Panel, Said, Step
from agenteval.judge.verify import Seen, Verified, verify
from agenteval.rules.build import bind
from tests.fakes.clock import FakeClock


class Tries(NamedTuple):
    """What is said at first, and what when asked again."""

    first: object
    second: object


Answer: TypeAlias = Any
"""Raw JSON as a model gives it, `Tries` of such, a finished `Judged` or `Unscored`, or None: leaves it open."""


@dataclass
class ScriptedStep:
    """`asked` is every ask that came, in order."""

    script: Callable[[Ask], Answer]
    asked: list[Ask] = field(default_factory=list)

    async def answer(self, dialog: Dialog, asks: Sequence[Ask], *, until_s: float | None = None) -> Said:
        self.asked.extend(asks)
        said = {ask.key: answer for ask in asks if (answer := self._answer(dialog, ask)) is not None}
        return Said(said)

    def _answer(self, dialog: Dialog, ask: Ask) -> Judged[Any] | Unscored | None:
        match self.script(ask):
            case None:
                return None
            case Judged() | Unscored() as finished:
                return finished
            case raw if isinstance(ask, Question):
                verified = verified_twice(ask, raw, dialog)
                if verified.flaws:
                    return Unscored(verified.flaws[0].cause, verified.flaws[0].message)
                return Judged(verified.value, "model:scripted", dropped=verified.dropped)
            case value:
                return Judged(value, "encoder:scripted")


def verified_twice(question: Question[Any], raw: object, dialog: Dialog) -> Verified:
    """Verified as the model judge does: when the first try is flawed, the second is the last."""
    first, second = raw if isinstance(raw, Tries) else (raw, raw)
    seen = Seen(dialog, question.view)
    verified = verify(question, first, seen)
    rejected = {flaw.path: flaw.raw for flaw in verified.flaws}
    return verify(question, second, seen, rejected=rejected) if rejected else verified


async def concluded(
    rule: str, params: Mapping[str, Any], dialog: Dialog, script: Callable[[Ask], Answer]
) -> tuple[RuleResult, ScriptedStep]:
    """What `rule` says of `dialog` when the judge answers by `script`, and all that the judge was asked."""
    step = ScriptedStep(script)
    return await result_by(rule, params, dialog, step), step


async def result_by(rule: str, params: Mapping[str, Any], dialog: Dialog, judge: Step) -> RuleResult:
    case = Case("case", tuple(turn.sent_message for turn in dialog), eval_rules=(RuleSpec(rule, params),))
    panel, time = Panel(ByCode(), judge), TimeLimit(FakeClock(), None)
    evaluation = await evaluate(case, dialog, bind(case), panel, EffectivePolicy.of(), time=time)
    return evaluation.results[0]
