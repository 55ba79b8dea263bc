"""Whether the agent's side shows a step, and where.

Code decides steps with a `tool` or with `keywords`. The recorded call comes first: one that succeeded is the step (and
what the agent says of it from then on shows it, too); one that failed outranks the words, and words that claim success
against it are `claim_contradicted`. Where other calls were recorded but none by that name, words alone do not do it. In
a dialog without any recorded call, whose channel may report none, the keywords decide: one of them in a reply, in a
clause that neither denies nor promises nor supposes nor asks, unless to ask is the step. A call whose success the step
demands and nothing reports is left to the keywords, then to the judge.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from agenteval.domain.clauses import is_asked, is_negated, is_promised, is_supposed, is_taken_by_others
from agenteval.domain.evidence import Match, Span, Speaker
from agenteval.domain.forms import AgentQuote, YesNo
from agenteval.domain.json_value import Json
from agenteval.domain.questions import Cause, Judged, Unscored, provenance
from agenteval.domain.text import occurrences
from agenteval.domain.transcript import Dialog
from agenteval.rules.completion.forms import (
    ConditionAnswer,
    Shown,
    StepAnswer,
    StepVerdict,
    ToolStepAnswer,
)
from agenteval.rules.completion.items import Step, ToolUse
from agenteval.rules.completion.wording import quotable

LONGEST_RESULT = 200
"""Characters of a tool result that are shown as evidence."""


class StepStatus(StrEnum):
    """`done` is credited. `out_of_order`: done, but not in the longest chain. `left`: its condition does not hold, or
    the slot that satisfies it was declined."""

    DONE = "done"
    OUT_OF_ORDER = "out_of_order"
    DONE_WITHOUT_PREREQUISITE = "done_without_prerequisite"
    NOT_DONE = "not_done"
    CLAIM_CONTRADICTED = "claim_contradicted"
    LEFT = "left"
    UNSCORED = "unscored"


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """What is known of a step by itself: `turns` that show it, None when unknown; `applies` None when its condition is
    not judged. `noted`: what is noteworthy of the judge's answers."""

    step: Step
    verdict: StepVerdict | None
    decided_by: str
    applies: bool | None = True
    turns: frozenset[int] | None = None
    reason: str = ""
    evidence: tuple[Span, ...] = ()
    condition: tuple[Span, ...] = ()
    cause: Cause | None = None
    noted: Mapping[str, Json] = field(default_factory=dict)


# ---- before any model ------------------------------------------------------------------------------------------------


def by_code(step: Step, dialog: Dialog) -> StepAnswer | None:
    claims = tuple(_claims(step, dialog))
    if step.tool is not None:
        return _by_tool(step, step.tool, dialog, claims)
    if step.keywords or _mute(dialog):
        return StepAnswer("", claims, StepVerdict.DONE if claims else StepVerdict.NOT_DONE)
    return None


def _mute(dialog: Dialog) -> bool:
    """No words and no calls: the agent's side shows nothing."""
    return dialog.silent and not any(turn.tool_calls for turn in dialog)


def _claims(step: Step, dialog: Dialog) -> Iterator[Shown]:
    """For each reply that says a keyword the first place where it does."""
    for turn in dialog:
        reply = turn.reply_text if turn.answered else ""
        places = sorted(place for keyword in step.keywords for place in occurrences(keyword, reply))
        said = next((start for start, end in places if _states(step, reply, start, end)), None)
        if said is not None:
            yield Shown(AgentQuote(turn.index, quotable(reply, said)), None)


def _states(step: Step, reply: str, start: int, end: int) -> bool:
    if is_negated(reply, start, end) or is_promised(reply, start):
        return False
    if is_supposed(reply, start, end) or is_taken_by_others(reply, start, end):
        return False
    return bool(_TO_ASK.search(f"{step.name} {step.description}")) or not is_asked(reply, start)


_TO_ASK = re.compile(
    r"(?<![a-z])(?:asks?|asking|asked|inquir\w*|enquir\w*)(?![a-z])|[询追提查]问|請問|请问|問清|问清|问明|反问",
    re.IGNORECASE,
)


def _by_tool(step: Step, tool: ToolUse, dialog: Dialog, claims: tuple[Shown, ...]) -> ToolStepAnswer | None:
    calls = [(turn.index, call.ok) for turn in dialog for call in turn.tool_calls if call.name == tool.name]
    done = tuple(turn for turn, ok in calls if _fits(tool, ok))
    unclear = any(_is_unclear(tool, ok) for _, ok in calls)
    failed = tuple(turn for turn, ok in calls if not _may_fit(tool, ok))
    if done:
        later = tuple(claim for claim in claims if claim.agent and claim.agent.turn >= done[0])
        return ToolStepAnswer("", later, StepVerdict.DONE, done)
    if failed and not unclear:
        verdict = StepVerdict.CLAIM_CONTRADICTED if claims else StepVerdict.NOT_DONE
        return ToolStepAnswer("", claims, verdict, failed)
    if unclear and not step.keywords:
        return None
    if not calls and any(turn.tool_calls for turn in dialog):
        return ToolStepAnswer("", (), StepVerdict.NOT_DONE, ())
    return ToolStepAnswer("", claims, StepVerdict.DONE if claims else StepVerdict.NOT_DONE, ())


def _fits(tool: ToolUse, ok: bool | None) -> bool:
    return ok is not False if tool.ok is None else ok is tool.ok


def _may_fit(tool: ToolUse, ok: bool | None) -> bool:
    return _fits(tool, ok) or _is_unclear(tool, ok)


def _is_unclear(tool: ToolUse, ok: bool | None) -> bool:
    return tool.ok is not None and ok is None


# ---- conclusion ------------------------------------------------------------------------------------------------------


def conclude(
    step: Step,
    dialog: Dialog,
    answer: Judged[StepAnswer] | Unscored | None,
    condition: Judged[ConditionAnswer] | Unscored | None,
) -> StepOutcome:
    """`answer` is None for a step that a slot satisfies, `condition` for one that always applies."""
    noted = {name: value for asked in (condition, answer) if asked for name, value in provenance(asked).items()}
    outcome = StepOutcome(step, None, "", noted=noted)
    match condition:
        case Judged(value=told):
            shown = tuple(quote.span for quote in told.quotes if quote.span is not None)
            outcome = replace(outcome, applies=told.holds is YesNo.YES, condition=shown)
        case Unscored():
            outcome = replace(outcome, applies=None, reason=condition.detail, cause=condition.cause)
    match answer:
        case Judged(value=found, by=by, reviewed=reviewed):
            turns, evidence = _shown(step, dialog, found)
            if found.status is not StepVerdict.DONE:
                turns = frozenset()
            elif not turns and reviewed:
                turns = found.turns
            elif not turns:
                detail = "what is quoted is the result of a failed call, or no such call was recorded"
                return replace(outcome, decided_by=by, reason=detail, cause=Cause.EVIDENCE)
            reason = found.reason or outcome.reason
            return replace(outcome, verdict=found.status, decided_by=by, turns=turns, reason=reason, evidence=evidence)
        case Unscored():
            return replace(outcome, reason=answer.detail, cause=answer.cause)
    return outcome


def _shown(step: Step, dialog: Dialog, found: StepAnswer) -> tuple[frozenset[int], tuple[Span, ...]]:
    """The turns that show the step, and the quotes. The result of a failed call shows no deed, nor do words beside it;
    the turn of a call counts only where such a call was recorded that may have succeeded."""
    quotes = tuple(quote.span for quote in found.quotes if quote.span is not None)
    turns = {quote.turn for quote in quotes if not _is_failure(dialog, quote)}
    if not isinstance(found, ToolStepAnswer) or step.tool is None:
        return frozenset(turns), quotes
    name = step.tool.name
    quoted = {quote.turn for quote in quotes if quote.speaker is Speaker.TOOL}
    called = {turn.index: [c.ok for c in turn.tool_calls if c.name == name] for turn in dialog}
    may_be = {turn for turn, oks in called.items() if any(_may_fit(step.tool, ok) for ok in oks)}
    failed = {turn for turn, oks in called.items() if oks} - may_be
    recorded = (may_be | failed).intersection(found.calls)
    results = [result for turn in sorted(recorded - quoted) for result in _results(dialog, turn, name)]
    return frozenset((turns | recorded) - failed), (*quotes, *results)


def _is_failure(dialog: Dialog, quote: Span) -> bool:
    return quote.speaker is Speaker.TOOL and dialog[quote.turn].tool_calls[quote.source].ok is False


def _results(dialog: Dialog, turn: int, name: str) -> Iterator[Span]:
    texts = dialog.texts(turn, Speaker.TOOL)
    for source, (call, text) in enumerate(zip(dialog[turn].tool_calls, texts, strict=True)):
        if call.name == name and text:
            shown = text[:LONGEST_RESULT]
            yield Span(turn, Speaker.TOOL, source, 0, len(shown), shown, Match.EXACT)
