"""An attempt as people are told of it: its level, its layers, its rules; and a run as its heading tells of it.

Nothing is decided here: this puts into words what rules and judgement have left in their results.
"""

from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC

from agenteval.domain.json_value import Json, as_text
from agenteval.domain.outcome import ONE, ZERO, OutcomeCause, ResultStatus, RuleResult
from agenteval.domain.ports import Role
from agenteval.domain.questions import Cause
from agenteval.domain.records import AttemptStatus, AttemptView, Run, RunCase, RunStatus
from agenteval.domain.scenario import Layer
from agenteval.domain.text import is_blank
from agenteval.domain.transcript import Turn, TurnStatus
from agenteval.reporting import figures
from agenteval.reporting.items import counted, items, noted
from agenteval.reporting.labels import Labels
from agenteval.reporting.level import GOOD_MARKS, Level
from agenteval.reporting.report import RunReport


@dataclass(frozen=True, slots=True)
class Entry:
    """One attempt at a case, or a case without any; `repeat` and `nth` tell it from the others, when there are any. Of
    one that a later attempt stands in for only the dialog is told."""

    place: RunCase
    attempt: AttemptView | None
    repeat: int | None = None
    nth: int | None = None

    @property
    def order(self) -> tuple[int, int, int]:
        """As attempts stand in a run."""
        key = self.attempt.key if self.attempt else None
        return self.place.n, key.repeat if key else 0, key.attempt if key else 0

    @property
    def level(self) -> Level:
        if self.attempt is None:
            return Level.NOT_RUN
        outcome = self.attempt.outcome
        if outcome is None:
            return _WITHOUT_OUTCOME[self.attempt.status]
        if outcome.success_level is not None:
            return Level(outcome.success_level.value)
        return Level.NO_RULES if outcome.cause is OutcomeCause.NO_RULES else Level.UNSETTLED

    @property
    def results(self) -> tuple[RuleResult, ...]:
        return () if self.attempt is None else self.attempt.results

    @property
    def needs_reasons(self) -> bool:
        """Whether a short report, too, has to explain it: it is no success, or something is missing all the same."""
        if self.level in (Level.FAILURE, Level.UNSETTLED, Level.PARTIAL):
            return True
        return any(item.counts and not item.good for result in self.results for item in items(result.detail))

    def name(self, labels: Labels) -> str:
        """The case, and which of its attempts this is when there are several."""
        case = self.place.case
        name = labels("aside", what=case.id, note=case.name) if case.name and case.name != case.id else case.id
        which = [labels(key, n=n) for key, n in (("repeat", self.repeat), ("attempt", self.nth)) if n is not None]
        return " · ".join([name, *which])


_WITHOUT_OUTCOME = {
    AttemptStatus.OPEN: Level.OPEN,
    AttemptStatus.INTERRUPTED: Level.INTERRUPTED,
    AttemptStatus.FINISHED: Level.SUPERSEDED,
    AttemptStatus.AWAITING_JUDGE: Level.AWAITING_JUDGE,
}


async def entries(report: RunReport) -> AsyncIterator[Entry]:
    """Every attempt in order; a case without any is one entry, too. One that waited for the judge until a later one
    judged its dialog again is none: the agent was asked once."""
    async for case in report.cases():
        if not case.attempts:
            yield Entry(case.place, None)
        superseded = {attempt.key for attempt in case.attempts if case.superseded(attempt)}
        waited = AttemptStatus.AWAITING_JUDGE
        listed = [one for one in case.attempts if one.key not in superseded or one.status is not waited]
        made = Counter(attempt.key.repeat for attempt in listed)
        for attempt in listed:
            repeat, nth = attempt.key.repeat, attempt.key.attempt
            told = replace(attempt, results=(), outcome=None) if attempt.key in superseded else attempt
            yield Entry(case.place, told, repeat if len(made) > 1 else None, nth if made[repeat] > 1 else None)


class Worst:
    """Of the entries added those to look at first, at most `limit`; `count` is how many were added."""

    def __init__(self, limit: int) -> None:
        self.count = 0
        self._limit = limit
        self._kept: list[Entry] = []

    def add(self, entry: Entry) -> None:
        self.count += 1
        self._kept.append(entry)
        if len(self._kept) > 2 * self._limit:
            self._kept = self.entries()

    def entries(self) -> list[Entry]:
        """Worst first; among equals as in the run."""
        return sorted(self._kept, key=lambda entry: entry.level.severity)[: self._limit]


def reply_text(turn: Turn, labels: Labels) -> str:
    """What the agent said, or why it said nothing."""
    if turn.status is not TurnStatus.OK:
        return labels("aside", what=labels(f"turn.{turn.status}"), note=turn.error or figures.NONE)
    if turn.reply is None:
        return labels("reply.none")
    return labels("reply.blank") if is_blank(turn.reply_text) else turn.reply_text


def turn_lines(turn: Turn, labels: Labels) -> Iterator[str]:
    """What was said and done in a turn, in plain text."""
    yield f"[{turn.index + 1}] {labels('user')}{labels('colon')}{turn.sent_message}"
    for call in turn.tool_calls:
        yield f"[{turn.index + 1}] {labels('tool')} {call.name}({as_text(call.arguments)}) → {as_text(call.result)}"
    yield f"[{turn.index + 1}] {labels('agent')}{labels('colon')}{reply_text(turn, labels)}"


# ---- layers and rules ------------------------------------------------------------------------------------------------


def l1_text(entry: Entry, labels: Labels) -> str:
    outcome = entry.attempt.outcome if entry.attempt else None
    if outcome is None or outcome.l1_intent is None:
        return figures.NONE
    return labels("passed") if outcome.l1_intent else labels("failed")


def l2_text(entry: Entry, labels: Labels) -> str:
    """The completion, and what of it is missing."""
    outcome = entry.attempt.outcome if entry.attempt else None
    if outcome is None or not outcome.has_l2:
        return figures.NONE
    parts = [figures.percent(outcome.l2_completion, labels)]
    parts += [text for r in entry.results if r.layer is Layer.L2 and (text := counted(r, labels))]
    return " · ".join(parts)


def header(run: Run, labels: Labels) -> list[tuple[str, str]]:
    """What a reader has to know first: what was evaluated, by whom, when."""
    config = run.config
    rows = [
        (
            labels("target"),
            labels("aside", what=as_text(config.get("target_name")), note=as_text(config.get("channel"))),
        ),
        (labels("judge"), judge_text(run, labels)),
        (labels("time"), time_text(run)),
        (labels("run"), f"{run.id} · {labels(f'status.run.{run.status}')}"),
    ]
    return rows + ([(labels("error"), run.error)] if run.error else [])


def provisional(run: Run, labels: Labels) -> str:
    """What to mind of a run that has not ended as it should; empty for one that has."""
    return "" if run.status is RunStatus.COMPLETED else labels("provisional")


def judge_text(run: Run, labels: Labels) -> str:
    models = run.config.get("models")
    judge = models.get("judge") if isinstance(models, Mapping) else None
    return as_text(judge.get("id")) if isinstance(judge, Mapping) else labels("built_in_judge")


def time_text(run: Run) -> str:
    """When it began, in UTC, and how long it took in whole seconds."""
    began = f"{run.created_at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    return f"{began} · {(run.finished_at - run.created_at).total_seconds():.0f} s" if run.finished_at else began


def setup(run: Run, labels: Labels) -> list[tuple[str, str]]:
    """The snapshot, member by member, nested ones by dotted names; without what the header shows."""
    config = {name: value for name, value in run.config.items() if name not in {"target_name", "channel"}}
    return [(name, text or labels("none")) for name, text in _flat("", config)]


def _flat(prefix: str, config: Mapping[str, Json]) -> Iterator[tuple[str, str]]:
    for name, value in config.items():
        if isinstance(value, Mapping) and value:
            yield from _flat(f"{prefix}{name}.", value)
        else:
            yield f"{prefix}{name}", as_text(value)


def broken(entry: Entry, labels: Labels) -> list[str]:
    """The turns in which the agent itself failed, or said nothing."""
    turns = entry.attempt.dialog if entry.attempt else ()
    states = [
        (turn, turn.status if turn.status is not TurnStatus.OK else "empty") for turn in turns if not turn.answered
    ]
    return [f"{labels('turn_n', n=turn.index + 1)} {labels(f'turn.{state}')}" for turn, state in states]


def failing(entry: Entry, labels: Labels) -> list[str]:
    """What went wrong: the agent itself, then rules that did not pass or of which a critical item failed."""
    return broken(entry, labels) + [result.label for result in entry.results if result.passed is False or result.vetoes]


def told(entry: Entry, labels: Labels) -> list[str]:
    """Where the agent itself failed or said nothing, then each rule that was asked."""
    asked = [r for r in entry.results if r.status in (ResultStatus.SCORED, ResultStatus.FAILED_TO_SCORE)]
    return broken(entry, labels) + [_in_short(result, labels) for result in asked]


def _in_short(result: RuleResult, labels: Labels) -> str:
    """Whether a rule passed, its name, its score; of one that passed also what fails the case all the same."""
    short = f"{GOOD_MARKS[holds(result)]} {result.label} {figures.score(result.score)}"
    if result.passed and result.vetoes:
        return labels("aside", what=short, note=critical_text(result, labels))
    return short


def overview(entry: Entry, labels: Labels) -> tuple[str, str, str]:
    """An attempt in a line, beside its level: name, L1, L2."""
    return entry.name(labels), l1_text(entry, labels), l2_text(entry, labels)


def facts(result: RuleResult, labels: Labels) -> list[str]:
    """A rule's verdict, and how it enters the case, in a few words each."""
    weight = f"{labels('weight')} {figures.number(result.weight)}"
    critical = critical_text(result, labels) if result.vetoes else ""
    told = [result_status(result, labels), open_bounds(result, labels), critical, counts_as(result, labels), weight]
    return [text for text in told if text] + noted(result.detail, labels)


def critical_text(result: RuleResult, labels: Labels) -> str:
    return labels("critical_failed", items=labels.listed(critical_items(result)))


def critical_items(result: RuleResult) -> list[str]:
    """The names of the critical items that failed, without their kinds."""
    return [item.partition(":")[2] or item for item in result.vetoes]


def holds(result: RuleResult) -> bool | None:
    """Whether a rule passed, and no critical item of it failed."""
    return False if result.vetoes else result.passed


def result_status(result: RuleResult, labels: Labels) -> str:
    """passed, failed, or why there is neither."""
    if result.status is not ResultStatus.SCORED:
        status = labels(f"status.{result.status}")
        return labels("aside", what=status, note=cause_text(result, labels)) if result.cause else status
    return labels("status.passed" if result.passed else "status.failed")


MODELS = {"semantic_similarity": Role.EMBEDDING, "safety": Role.MODERATION}
"""The rules that need another model than a judge, for results do not tell."""


def cause_text(result: RuleResult, labels: Labels) -> str:
    return labels(f"cause.{_cause(result)}")


def _cause(result: RuleResult) -> str:
    """Why it was not measured; when for want of a model, of which."""
    return f"needs_{MODELS.get(result.rule, Role.JUDGE)}" if result.cause is Cause.NEEDS_JUDGE else str(result.cause)


def counts_as(result: RuleResult, labels: Labels) -> str:
    """How a rule enters the case: hard or by the rule logic, and in which layer."""
    kind = "implicit" if result.implicit else "hard" if result.hard else "soft"
    return " · ".join([*([result.layer.value] if result.layer else []), labels(kind)])


def open_bounds(result: RuleResult, labels: Labels) -> str:
    """What is certain of a score that was not measured; empty when nothing is."""
    low, high = result.bounds
    if result.status is not ResultStatus.FAILED_TO_SCORE or (low, high) == (ZERO, ONE):
        return ""
    return labels("between", low=figures.score(low), high=figures.score(high))


def unscored(report: RunReport, results: Iterable[RuleResult], labels: Labels) -> list[str]:
    """Why rules were not measured, how often in the whole run, which of them in `results`, and what to do about it.
    Causes that the run counts together stand apart without a number when they are a want of several models."""
    rules: dict[str, dict[str, dict[str, None]]] = {}
    for result in results:
        if result.cause:
            rules.setdefault(str(result.cause), {}).setdefault(_cause(result), {})[result.label] = None
    lines = []
    for counted_as, n in report.summary.causes.items():
        found = rules.get(counted_as, {counted_as: {}})
        for cause, named in found.items():
            words = labels.get(f"cause.{cause}", cause)
            head = labels("aside", what=words, note=labels("times", n=n)) if len(found) == 1 else words
            told = [labels.listed(list(named)), _advice(cause, report.run, labels)]
            lines.append(labels("colon").join([head, labels("semicolon").join(filter(None, told))]))
    return lines


def _advice(cause: str, run: Run, labels: Labels) -> str:
    """What to do about it, when something can be done."""
    late = cause == Cause.PENDING and run.status is RunStatus.COMPLETED
    return labels.get("advice.too_late" if late else f"advice.{cause}", "")
