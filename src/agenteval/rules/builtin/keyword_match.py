"""keyword_match: words and patterns in the agent's replies."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from agenteval.domain.evidence import Match, Span
from agenteval.domain.outcome import ONE, RuleResult
from agenteval.domain.questions import Answers, Cause
from agenteval.domain.regex import TextTooLong, compile_pattern
from agenteval.domain.scenario import Case
from agenteval.domain.text import Language, fold, is_blank
from agenteval.domain.transcript import Dialog, Turn
from agenteval.rules import EvalRule, register_rule
from agenteval.rules.params import Scope
from agenteval.rules.reasons import say
from agenteval.rules.replies import agent_span, answered, find_word, no_reply


class Condition(NamedTuple):
    """One thing that counts; `met` is None when it could not be found out."""

    list: str
    items: tuple[str, ...]
    met: bool | None
    found: Span | None


@register_rule
@dataclass(frozen=True)
class KeywordMatch(EvalRule):
    """Words that the agent's replies must hold (`all_of`), of which one must be there (`any_of`), or that must not be
    there (`none_of`), and RE2 patterns that must match (`regex`).

    Score: conditions met / conditions, where each item of `all_of`, `none_of` and `regex` is one and `any_of` is one.
    It passes at 1. Words are compared whatever their case and width, also inside longer words; patterns see the reply
    as it is. Words know no negation: 退款 is also in "不能退款". List what must not be said in `none_of`, or ask
    `llm_score`. An empty reply meets nothing.
    """

    name = "keyword_match"
    version = "1"

    all_of: tuple[str, ...] = ()
    any_of: tuple[str, ...] = ()
    none_of: tuple[str, ...] = ()
    regex: tuple[str, ...] = ()
    evaluation_scope: Scope = "last_turn"

    def __post_init__(self) -> None:
        if not (self.all_of or self.any_of or self.none_of or self.regex):
            raise ValueError("there is no condition: give all_of, any_of, none_of or regex")
        for name in ("all_of", "any_of", "none_of", "regex"):
            for i, item in enumerate(getattr(self, name)):
                if is_blank(item):
                    raise ValueError(f"{name}[{i}] is blank")
        for i, pattern in enumerate(self.regex):
            try:
                compile_pattern(pattern)
            except ValueError as error:
                raise ValueError(f"regex[{i}]: {error}") from None

    def evaluate(self, case: Case, dialog: Dialog, answers: Answers) -> RuleResult:
        turns = answered(dialog, self.evaluation_scope)
        if not turns:
            return self.scored(0, passed=False, reason=no_reply(dialog, self.evaluation_scope))
        conditions = list(self._conditions(turns))
        states = [c.met for c in conditions]
        met, required = states.count(True), len(states)
        possible = required - states.count(False)
        evidence = [c.found for c in conditions if c.found]
        reason = _reason(conditions, met, dialog.language)
        detail = {
            "met": met,
            "required": required,
            "conditions": [{"list": c.list, "items": list(c.items), "met": c.met} for c in conditions],
        }
        if met < possible:
            return self.failed_to_score(
                Cause.TOO_LONG,
                reason,
                low=Fraction(met, required),
                high=Fraction(possible, required),
                passed=None if possible == required else False,
                evidence=evidence,
                detail=detail,
            )
        score = ONE if met == required else Fraction(met, required)
        return self.scored(score, passed=met == required, reason=reason, evidence=evidence, detail=detail)

    def _conditions(self, turns: tuple[Turn, ...]) -> Iterator[Condition]:
        folded = [(turn, fold(turn.reply_text)) for turn in turns]
        for word in self.all_of:
            found = _find(word, folded)
            yield Condition("all_of", (word,), found is not None, found)
        if self.any_of:
            found = next(filter(None, (_find(word, folded) for word in self.any_of)), None)
            yield Condition("any_of", self.any_of, found is not None, found)
        for word in self.none_of:
            found = _find(word, folded)
            yield Condition("none_of", (word,), found is None, found)
        for pattern in self.regex:
            yield _matched(pattern, turns)


def _find(word: str, folded: list[tuple[Turn, str]]) -> Span | None:
    sought = fold(word)
    for turn, text in folded:
        if sought in text and (place := find_word(word, turn.reply_text)):
            exact = turn.reply_text[slice(*place)] == word
            return agent_span(turn, *place, Match.EXACT if exact else Match.NORMALISED)
    return None


def _matched(pattern: str, turns: tuple[Turn, ...]) -> Condition:
    too_long = False
    for turn in turns:
        try:
            place = compile_pattern(pattern).search(turn.reply_text)
        except TextTooLong:
            too_long = True
            continue
        if place:
            return Condition("regex", (pattern,), True, agent_span(turn, *place))
    return Condition("regex", (pattern,), None if too_long else False, None)


_HEADINGS = {
    ("all_of", False): ("缺少", "missing"),
    ("any_of", False): ("以下一项都没有", "none found of"),
    ("none_of", False): ("不应出现却出现", "found though unwanted"),
    ("regex", False): ("不匹配", "no match for"),
    ("regex", None): ("回复过长，无法匹配", "the reply is too long to be searched for"),
}


def _reason(conditions: list[Condition], met: int, language: Language) -> str:
    parts = [say(language, f"满足 {met}/{len(conditions)} 项条件", f"{met} of {len(conditions)} conditions met")]
    for (name, state), heading in _HEADINGS.items() if met < len(conditions) else ():
        items = [item for c in conditions if (c.list, c.met) == (name, state) for item in c.items]
        if items:
            parts.append(say(language, *heading) + say(language, f"：{'、'.join(items)}", f": {', '.join(items)}"))
    return say(language, f"{'；'.join(parts)}。", f"{'; '.join(parts)}.")
