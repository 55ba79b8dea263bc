"""apology: the agent apologises when something went wrong."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from importlib.resources import files

from agenteval.domain.clauses import is_negated
from agenteval.domain.forms import AgentQuote, Form
from agenteval.domain.outcome import RuleResult
from agenteval.domain.ports import Role
from agenteval.domain.questions import Answers, Ask, Question, Unscored
from agenteval.domain.scenario import Case
from agenteval.domain.text import is_blank
from agenteval.domain.transcript import Dialog
from agenteval.rules import EvalRule, register_rule
from agenteval.rules.reasons import say, unscored_text
from agenteval.rules.replies import find_word, no_reply

GUIDE = files("agenteval_apology").joinpath("apology.md").read_text("utf-8").strip()
APOLOGY = re.compile(r"抱歉|对不起|不好意思|\b(?:sorry|apologi[sz]e|apologies)\b", re.IGNORECASE)


class Verdict(StrEnum):
    APOLOGISED = "apologised"
    MISSING = "missing"
    NOT_NEEDED = "not_needed"


@dataclass(frozen=True, slots=True)
class ApologyAnswer(Form):
    """What the judge must answer; AgentEval makes the JSON Schema from it, reads it and looks up every quote."""

    reason: str
    verdict: Verdict
    quote: AgentQuote | None

    def __post_init__(self) -> None:
        if self.verdict is Verdict.APOLOGISED and self.quote is None:
            raise ValueError("apologised needs a quote of the agent's apology")


@register_rule
@dataclass(frozen=True)
class Apology(EvalRule):
    """The agent apologises when something went wrong for the user.

    Score: 1 when it does, 0 when it does not; not applicable when nothing went wrong. The usual words, and those in
    `words`, are an apology without a model; everything else needs a judge.
    """

    name = "apology"
    version = "1"
    roles = frozenset({Role.JUDGE})

    words: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for i, word in enumerate(self.words):
            if is_blank(word):
                raise ValueError(f"words[{i}] is blank")

    @cached_property
    def _question(self) -> Question[ApologyAnswer]:
        return Question(
            item="apology",
            form=ApologyAnswer,
            text="The agent's apology.",
            guide=GUIDE,
            code=self._by_words,
        )

    def ask(self, case: Case, dialog: Dialog, known: Answers) -> Iterable[Ask]:
        return () if dialog.silent else (self._question,)

    def evaluate(self, case: Case, dialog: Dialog, answers: Answers) -> RuleResult:
        if dialog.silent:
            return self.scored(0, passed=False, reason=no_reply(dialog, "full_dialog"))
        judged = answers[self._question]
        if isinstance(judged, Unscored):
            return self.failed_to_score(judged.cause, unscored_text(dialog.language, judged))
        answer = judged.value
        if answer.verdict is Verdict.NOT_NEEDED:
            return self.not_applicable(answer.reason)
        passed = answer.verdict is Verdict.APOLOGISED
        return self.scored(
            1 if passed else 0,
            passed=passed,
            reason=answer.reason or say(dialog.language, "智能体已致歉。", "The agent apologised."),
            evidence=(answer.quote.span,) if answer.quote and answer.quote.span else (),
        )

    def _by_words(self, dialog: Dialog) -> ApologyAnswer | None:
        """Decides without a model where it can, else leaves it to the judge."""
        for turn in dialog:
            text = turn.reply_text if turn.answered else ""
            places = [match.span() for match in APOLOGY.finditer(text)]
            places += [place for word in self.words if (place := find_word(word, text))]
            for start, end in places:
                if not is_negated(text, start):
                    return ApologyAnswer("", Verdict.APOLOGISED, AgentQuote(turn.index, text[start:end]))
        return None
