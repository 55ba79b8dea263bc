"""A run as JSON: everything there is, written case by case, as one document or as a line for each attempt.
`report.schema.json` beside this file describes it.

Nulls are what was not measured. Numbers that are compared with a threshold stand twice: as a decimal, and exactly as
"numerator/denominator". Turns are counted from 0, as everywhere in data.
"""

from collections.abc import AsyncIterator, Mapping
from datetime import datetime
from fractions import Fraction
from importlib.resources import files
from typing import Any

import orjson

from agenteval.domain.evidence import Span
from agenteval.domain.outcome import CaseOutcome, ResultStatus, RuleResult
from agenteval.domain.ports import Call
from agenteval.domain.records import AttemptView, CaseView, Run, RunCase
from agenteval.domain.review import ReviewFigures
from agenteval.domain.run_summary import Disagreement, Measure, RunSummary, Share, UsageTotal
from agenteval.domain.scenario import EffectivePolicy
from agenteval.domain.transcript import Turn
from agenteval.reporting.figures import MEASURES
from agenteval.reporting.report import RunReport

FORMAT = "agenteval.report/1"


def schema() -> str:
    """The JSON Schema of the report."""
    return files("agenteval.reporting").joinpath("report.schema.json").read_text(encoding="utf-8")


async def json_report(report: RunReport) -> AsyncIterator[str]:
    head = {
        "format": FORMAT,
        "run": _run(report.run),
        "summary": _summary(report.summary),
        "review": report.review and review_members(report.review),
    }
    yield _dump(head)[:-1] + ',"cases":['
    separator = "\n"
    async for view in report.cases():
        yield separator + _dump({**_case(view.place), "attempts": _attempts(view)})
        separator = ",\n"
    yield "\n]}\n"


async def jsonl_report(report: RunReport) -> AsyncIterator[str]:
    """A line for each attempt: `{"run_id", "case", "attempt"}`, case and attempt as in the JSON report. A case without
    any has one line, whose attempt is null."""
    async for view in report.cases():
        case = _case(view.place)
        for attempt in _attempts(view) or (None,):
            yield _dump({"run_id": report.run.id, "case": case, "attempt": attempt}) + "\n"


def _dump(value: object) -> str:
    return orjson.dumps(value, default=_plain, option=orjson.OPT_NON_STR_KEYS).decode()


def _plain(value: object) -> object:
    match value:
        case Fraction():
            return _exact(value)
        case Mapping():
            return dict(value)
        case _:
            raise TypeError(f"not JSON: {type(value).__name__}")


def _exact(value: Fraction | None) -> str | None:
    return None if value is None else f"{value.numerator}/{value.denominator}"


def _decimal(value: Fraction | None) -> float | None:
    return None if value is None else float(value)


def _time(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat()


def _fields(value: Any, *names: str) -> dict[str, Any]:
    return {name: getattr(value, name) for name in names}


# ---- the run ---------------------------------------------------------------------------------------------------------


def _run(run: Run) -> dict[str, Any]:
    times = {"created_at": _time(run.created_at), "finished_at": _time(run.finished_at)}
    return {**_fields(run, "id", "name", "status", "error", "repeats", "config"), **times}


def _summary(summary: RunSummary) -> dict[str, Any]:
    return {
        **_fields(summary, "cases", "attempts", "unmade", "flaky", "conflicts", "layers_disagree"),
        "levels": {"unsettled" if level is None else level.value: n for level, n in summary.levels.items()},
        **{name: measure_members(getattr(summary, name)) for name in MEASURES},
        "repeated": [
            {
                **_fields(repeated, "k", "n", "of"),
                "pass_hat_k": _decimal(repeated.pass_hat_k),
                "pass_at_k": _decimal(repeated.pass_at_k),
            }
            for repeated in summary.repeated
        ],
        **{name: _disagreement(getattr(summary, name)) for name in ("agent_varies", "judge_varies")},
        **_fields(summary, "latency_p50_ms", "latency_p95_ms", "latency_n", "latency_of", "confusion", "causes"),
        "slots": {name: _share(share) for name, share in summary.slots.items()},
        "steps": {name: _share(share) for name, share in summary.steps.items()},
        "usage": _usage(summary.usage),
    }


def measure_members(measure: Measure) -> dict[str, Any]:
    """What stands in a report for one rate."""
    bounds = measure.interval
    return {
        "value": _decimal(measure.value),
        "exact": _exact(measure.value),
        **_fields(measure, "n", "of"),
        "worst_case": _decimal(measure.worst_case),
        "low": bounds and bounds.low,
        "high": bounds and bounds.high,
    }


def _disagreement(of: Disagreement) -> dict[str, Any]:
    return {"value": _decimal(of.value), "n": of.n}


def _share(share: Share) -> dict[str, Any]:
    return {"value": _decimal(share.value), **_fields(share, "count", "n", "unmeasured")}


def _usage(usage: UsageTotal) -> dict[str, Any]:
    counts = _fields(usage, "calls", "input_tokens", "output_tokens", "without_tokens", "without_cost")
    return {**counts, "cost": _decimal(usage.cost)}


def review_members(review: ReviewFigures) -> dict[str, Any]:
    """What people said of a run, and how far its judge is to be trusted."""
    return {
        **_fields(review, "reviewed", "sampled", "people"),
        "kinds": {
            kind: {
                **_fields(of.agreement, "n", "same", "left_out"),
                "kappa": _decimal(of.agreement.kappa),
                **_fields(of, "overruled", "judged"),
                "rate": _decimal(of.rate),
                "corrected": of.corrected
                and {
                    **_fields(of.corrected, "rate", "reviewed"),
                    "low": of.corrected.interval.low,
                    "high": of.corrected.interval.high,
                    "sensitivity": _decimal(of.corrected.sensitivity),
                    "specificity": _decimal(of.corrected.specificity),
                },
            }
            for kind, of in review.kinds.items()
        },
    }


# ---- a case ----------------------------------------------------------------------------------------------------------


def _case(place: RunCase) -> dict[str, Any]:
    case = place.case
    return {
        **_fields(case, "id", "name", "description", "tags", "messages"),
        "type": case.kind,
        "scenario": place.scenario,
        "eval_rules": [
            {**_fields(spec, "type", "label", "params", "layer", "hard"), "weight": _decimal(spec.weight)}
            for spec in case.eval_rules
        ],
        "expectation": case.expectation,
    }


def _attempts(view: CaseView) -> list[dict[str, Any]]:
    return [_attempt(attempt, superseded=view.superseded(attempt)) for attempt in view.attempts]


def _attempt(attempt: AttemptView, *, superseded: bool) -> dict[str, Any]:
    return {
        **_fields(attempt.key, "id", "repeat", "attempt"),
        **_fields(attempt, "status", "conversation_id", "sending"),
        "superseded": superseded,
        "started_at": _time(attempt.started_at),
        "finished_at": _time(attempt.finished_at),
        "outcome": attempt.outcome and outcome_members(attempt.outcome),
        "results": [result_members(result) for result in attempt.results],
        "turns": [_turn(turn) for turn in attempt.dialog],
        "answers": [_fields(answer, "key", "item", "text", "by", "cause", "answer") for answer in attempt.answers],
        "calls": [_call(call) for call in attempt.calls],
        "reviews": [
            {**_fields(review, "id", "item", "label", "kind", "machine", "word", "note", "by"), "at": _time(review.at)}
            for review in attempt.reviews
        ],
    }


def outcome_members(outcome: CaseOutcome) -> dict[str, Any]:
    """What stands in a report for the outcome of an attempt; exact numbers are fractions."""
    return {
        **_fields(
            outcome, "success_level", "level_bounds", "passed", "source", "cause", "has_l1", "l1_intent", "has_l2"
        ),
        "l2_completion": _decimal(outcome.l2_completion),
        "l2_completion_exact": _exact(outcome.l2_completion),
        "l2_bounds": outcome.l2_bounds and [_exact(bound) for bound in outcome.l2_bounds],
        "weighted_score": _decimal(outcome.weighted_score),
        "weighted_score_exact": _exact(outcome.weighted_score),
        **_fields(outcome, "rules_passed", "verdict_conflict", "layers_disagree"),
        "policy": _policy(outcome.policy),
    }


def _policy(policy: EffectivePolicy) -> dict[str, Any]:
    thresholds = ("rule_pass_threshold", "success_threshold", "partial_threshold")
    return {
        **_fields(policy, "rule_logic", "verdict_policy"),
        **{name: _decimal(getattr(policy, name)) for name in thresholds},
    }


def result_members(result: RuleResult) -> dict[str, Any]:
    """What stands in a report for one result; exact numbers are fractions."""
    return {
        **_fields(result, "rule", "version", "label", "layer", "hard", "implicit", "status", "cause", "passed"),
        "weight": _decimal(result.weight),
        "score": _decimal(result.score),
        "score_exact": _exact(result.score),
        **_bounds(result),
        **_fields(result, "may_leave", "vetoes", "open_vetoes", "reason", "detail"),
        "evidence": [_span(span) for span in result.evidence],
    }


def _bounds(result: RuleResult) -> dict[str, Any]:
    """Between which values the score must lie; null where there is none to be had."""
    if result.status not in (ResultStatus.SCORED, ResultStatus.FAILED_TO_SCORE):
        return {"low": None, "high": None}
    low, high = result.bounds
    return {"low": _decimal(low), "high": _decimal(high)}


def _span(span: Span) -> dict[str, Any]:
    return {"turn_index": span.turn, **_fields(span, "speaker", "source", "start", "end", "text", "match", "moved")}


def _turn(turn: Turn) -> dict[str, Any]:
    parts = ("index", "sent_message", "reply", "latency_ms", "status", "error")
    return {
        **_fields(turn, *parts),
        "tool_calls": [_fields(call, "name", "arguments", "result", "ok") for call in turn.tool_calls],
    }


def _call(call: Call) -> dict[str, Any]:
    return {
        **_fields(call, "id", "role", "model", "prompt_hash", "latency_ms", "raw", "error"),
        **_fields(call.usage, "input_tokens", "output_tokens"),
        "cost": _decimal(call.usage.cost),
    }
