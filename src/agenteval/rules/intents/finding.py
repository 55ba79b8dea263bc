"""What each comparison gives, as bounds on the score."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Literal, NamedTuple

from agenteval.domain.evidence import Span
from agenteval.domain.outcome import ONE, ZERO
from agenteval.domain.questions import Cause, Unscored, View
from agenteval.domain.text import Language
from agenteval.rules.intents import wording
from agenteval.rules.intents.forms import NOTHING
from agenteval.rules.intents.reading import Reading, Verdict, compare
from agenteval.rules.reasons import say, turn_text, unscored_text

Match = Literal["any", "all"]


class Point(NamedTuple):
    """One comparison: what the agent did as far as `view` shows, with what was expected of it."""

    view: View
    expected: tuple[str, ...]


class Finding(NamedTuple):
    """Equal bounds: it is settled; else `cause` tells why not."""

    low: Fraction
    high: Fraction
    reason: str
    detail: Mapping[str, Any]
    evidence: Sequence[Span] = ()
    cause: Cause = Cause.EVIDENCE

    @property
    def settled(self) -> bool:
        return self.low == self.high


def of_one(expected: str, reading: Reading | Unscored, language: Language) -> Finding:
    if isinstance(reading, Unscored):
        return _unjudged({"expected": expected, "verdict": None}, reading, language)
    if reading.dropped:  # it may be the one that was expected, or a later one that nobody asked for
        detail = {"expected": expected, "verdict": None, **reading.detail()}
        return Finding(ZERO, ONE, wording.unproven(language, expected, reading), detail, reading.evidence)
    verdict = compare(expected, reading)
    predicted = expected if verdict is Verdict.CORRECT else next(iter(reading.names), NOTHING)
    detail = {"expected": expected, "verdict": verdict, "predicted": predicted, **reading.detail()}
    reason = wording.single(language, expected, reading, verdict)
    return Finding(verdict.points, verdict.points, reason, detail, reading.evidence)


def of_list(expected: Sequence[str], match: Match, reading: Reading | Unscored, language: Language) -> Finding:
    detail = {"expected": list(expected), "match": match}
    if isinstance(reading, Unscored):
        return _unjudged(detail, reading, language)
    found = len(expected) if reading.question else sum(name in reading.names for name in expected)
    points = Fraction(found, len(expected)) if match == "all" else Fraction(found > 0)
    reason = wording.several(language, expected, reading)
    if reading.dropped and points < ONE:  # it may be one of those that were expected
        reason += wording.dropped(language, len(reading.dropped))
    high = ONE if reading.dropped else points
    return Finding(points, high, reason, {**detail, **reading.detail()}, reading.evidence)


def _unjudged(detail: Mapping[str, Any], unscored: Unscored, language: Language) -> Finding:
    reason = say(language, "意图未能判定：", "Intent not judged: ") + unscored_text(language, unscored)
    return Finding(ZERO, ONE, reason, detail, cause=unscored.cause)


def of_turns(points: Sequence[Point], findings: Sequence[Finding], language: Language) -> Finding:
    """The share of the turns that are right; each counts 1 or 0."""
    right = sum(finding.low == ONE for finding in findings)
    open_ = sum(not finding.settled for finding in findings)
    total = len(findings)
    heading = say(language, f"{total} 轮中 {right} 轮意图正确。", f"Intent correct in {right} of {total} turns.")
    others = [
        f"{turn_text(language, point.view.last or 0)}{say(language, '：', ': ')}{finding.reason}"
        for point, finding in zip(points, findings, strict=True)
        if finding.low < ONE
    ]
    return Finding(
        Fraction(right, total),
        Fraction(right + open_, total),
        say(language, "", " ").join([heading, *others]),
        {"turns": [{"turn_index": p.view.last, **f.detail} for p, f in zip(points, findings, strict=True)]},
        [span for finding in findings for span in finding.evidence],
        next((finding.cause for finding in findings if not finding.settled), Cause.EVIDENCE),
    )
