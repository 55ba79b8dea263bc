"""The one place that writes numbers for people. What was not measured is a dash, never a digit."""

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import count
from math import floor

from agenteval.domain.outcome import SuccessLevel
from agenteval.domain.paired import PairedTest
from agenteval.domain.questions import Cause
from agenteval.domain.review import KindFigures, ReviewFigures
from agenteval.domain.run_summary import Measure, MeasureName, Repeated, RunSummary, Share, UsageTotal
from agenteval.domain.statistics import Interval
from agenteval.reporting.labels import Labels
from agenteval.reporting.level import Level
from agenteval.reporting.report import RunReport

NONE = "—"
DIGITS = 4
SMALL_N = 20
MEASURES = tuple(name.value for name in MeasureName)


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the summary in words. `value` and `interval` hold a dash when nothing was measured, and `note` then
    says why; `worst_case` only when there was nothing to measure."""

    name: str
    label: str
    value: str
    measured: str
    worst_case: str
    interval: str
    note: str
    of: Measure


def number(value: Fraction, digits: int = DIGITS) -> str:
    """At most so many decimals. Only an exact 0 or 1 is written as one: what is below a bound never looks as if it
    were on it."""
    unit = Fraction(1, 10**digits)
    rounded = floor(value / unit + Fraction(1, 2)) * unit
    if rounded in (0, 1) and rounded != value and 0 < value < 1:
        rounded = unit if rounded == 0 else 1 - unit
    return f"{Decimal(rounded.numerator) / Decimal(rounded.denominator):f}"


def apart(a: Fraction, b: Fraction) -> int:
    """How many decimals show that two numbers differ; `DIGITS` at least."""
    return next(digits for digits in count(DIGITS) if a == b or number(a, digits) != number(b, digits))


def score(value: Fraction | None) -> str:
    return NONE if value is None else number(value)


def percent(value: Fraction | None, labels: Labels, digits: int = DIGITS) -> str:
    """`digits`: decimals of the value, two more than those of the percentage."""
    return NONE if value is None else labels("percent", value=_hundredths(value, digits))


def _hundredths(value: Fraction, digits: int) -> str:
    return number(Fraction(number(value, digits)) * 100, digits)


def share(of: Share, labels: Labels) -> str:
    """ "80 % (4 of 5)"; the dash when nothing was measured."""
    if of.value is None:
        return NONE
    return labels("aside", what=percent(of.value, labels), note=labels("of", n=of.count, of=of.n))


def interval(of: Measure, labels: Labels) -> str:
    if of.interval is None:
        return NONE
    low, high = (_hundredths(Fraction(bound), 3) for bound in (of.interval.low, of.interval.high))
    return labels("percent", value=f"{low}–{high}")


def points(difference: Fraction | None, labels: Labels) -> str:
    """A difference of two rates, in percentage points with its sign."""
    return NONE if difference is None else labels("points", value=_signed(difference))


def points_interval(of: Interval | None, labels: Labels) -> str:
    if of is None:
        return NONE
    return labels("points", value=f"{_signed(Fraction(of.low), 3)} … {_signed(Fraction(of.high), 3)}")


def _signed(difference: Fraction, digits: int = DIGITS) -> str:
    amount = _hundredths(abs(difference), digits)
    return amount if amount == "0" else f"{'-' if difference < 0 else '+'}{amount}"


def p_value(test: PairedTest | None, p: Fraction | None) -> str:
    """With its standard error when it was simulated."""
    if test is None or p is None:
        return NONE
    return number(p) if test.error is None else f"{number(p)} ± {test.error:.4f}"


def figures(summary: RunSummary, labels: Labels) -> list[Figure]:
    """L1, L2, L3 and passing, in this order."""
    return [_figure(name, getattr(summary, name), summary, labels) for name in MEASURES]


def _figure(name: str, of: Measure, summary: RunSummary, labels: Labels) -> Figure:
    return Figure(
        name=name,
        label=labels(name),
        value=percent(of.value, labels),
        measured=labels("of", n=of.n, of=of.of),
        worst_case=percent(of.worst_case, labels),
        interval=interval(of, labels),
        note=_note(of, summary, labels),
        of=of,
    )


def _note(of: Measure, summary: RunSummary, labels: Labels) -> str:
    if not of.of:
        return labels("not_in_run")
    if of.value is None:
        why = causes(summary, labels) or labels("no_causes" if summary.attempts else "not_yet")
        return labels("colon").join([labels("not_measured"), why])
    return labels("small_n") if of.effective_n < SMALL_N else ""


def causes(summary: RunSummary, labels: Labels) -> str:
    """Why rules were not measured, in words, without counts; a summary does not know of which model there was none."""
    names = ["needs_model" if cause == Cause.NEEDS_JUDGE else f"cause.{cause}" for cause in summary.causes]
    return labels.listed([labels.get(name, name) for name in names])


def milliseconds(value: float | None) -> str:
    if value is None:
        return NONE
    if value < 10:
        return f"{value:.1f}".removesuffix(".0") + " ms"
    return f"{value:.0f} ms" if value < 1000 else f"{value / 1000:.2f} s"


def latency(summary: RunSummary, labels: Labels) -> str:
    if not summary.latency_n:
        return labels("latency.none")
    taken = (("latency.p50", summary.latency_p50_ms), ("latency.p95", summary.latency_p95_ms))
    measured = labels("latency.measured", n=summary.latency_n, of=summary.latency_of)
    return labels("aside", what=" · ".join(f"{labels(name)} {milliseconds(ms)}" for name, ms in taken), note=measured)


def usage(of: UsageTotal, labels: Labels) -> str:
    if not of.calls:
        return labels("usage.none")
    parts = [labels("usage.calls", n=of.calls)]
    if of.input_tokens is None or of.output_tokens is None:
        parts.append(labels("usage.no_tokens"))
    else:
        tokens = labels("usage.tokens", input=f"{of.input_tokens:,}", output=f"{of.output_tokens:,}")
        parts.append(_with_rest(tokens, of.without_tokens, labels))
    if of.cost is None:
        parts.append(labels("usage.no_cost"))
    else:
        parts.append(_with_rest(labels("usage.cost", cost=number(of.cost)), of.without_cost, labels))
    return labels.listed(parts)


def _with_rest(what: str, unknown: int, labels: Labels) -> str:
    return labels("aside", what=what, note=labels("usage.without", n=unknown)) if unknown else what


def levels(summary: RunSummary) -> list[tuple[Level, int]]:
    """How many attempts came out as what, best first; those without a level together."""
    counts = [(Level(level.value), summary.levels.get(level, 0)) for level in sorted(SuccessLevel, reverse=True)]
    return [*counts, (Level.UNSETTLED, summary.levels.get(None, 0))]


def notes(report: RunReport, labels: Labels) -> list[tuple[str, str]]:
    """What stands beside the measures, where there is anything to say."""
    summary = report.summary
    counts = labels("counts", cases=summary.cases, attempts=summary.attempts)
    if summary.unmade:
        counts = labels("counts.unmade", made=counts, n=summary.unmade)
    rows = [
        (labels("cases"), counts),
        (labels("latency"), latency(summary, labels)),
        (labels("usage"), usage(summary.usage, labels)),
    ]
    rows += [(labels("repeats"), _repeated(repeated, labels)) for repeated in summary.repeated if repeated.k > 1]
    rows += [
        (labels(name), labels("aside", what=percent(of.value, labels), note=labels(f"{name}.n", n=of.n)))
        for name, of in (("agent_varies", summary.agent_varies), ("judge_varies", summary.judge_varies))
        if of.value is not None
    ]
    hints = [labels(name, n=n) for name in ("conflicts", "layers_disagree") if (n := getattr(summary, name))]
    hints += [labels("flaky", cases=labels.listed(list(summary.flaky)))] if summary.flaky else []
    rows += [(labels("hint"), hint) for hint in hints]
    return rows + [(labels("review"), line) for line in reviewed(report.review, labels)]


def reviewed(review: ReviewFigures | None, labels: Labels) -> list[str]:
    """What people said of a run, and how far its judge is to be trusted."""
    if review is None:
        return []
    people = labels.listed([f"{name} {n}" for name, n in review.people.items()])
    lines = [labels("aside", what=labels("review.n", n=review.reviewed), note=people)]
    lines += [labels("review.sampled", n=review.sampled)]
    return lines + [
        labels("colon").join([labels(f"review.kind.{kind}"), labels("semicolon").join(_kind(of, labels))])
        for kind, of in review.kinds.items()
    ]


def _kind(of: KindFigures, labels: Labels) -> list[str]:
    found = of.agreement
    kappa = NONE if found.kappa is None else f"{float(found.kappa):.2f}"
    told = [labels("review.agreement", same=found.same, n=found.n, kappa=kappa)] if found.n else []
    told += [labels("review.overruled", n=of.overruled)] if of.overruled else []
    told += [labels("review.left_out", n=found.left_out)] if found.left_out else []
    if of.corrected is not None:
        bounds = of.corrected.interval
        told.append(
            labels(
                "review.corrected",
                rate=percent(of.rate, labels),
                n=of.judged,
                corrected=percent(Fraction(of.corrected.rate), labels),
                interval=f"{percent(Fraction(bounds.low), labels)} – {percent(Fraction(bounds.high), labels)}",
                sample=of.corrected.reviewed,
            )
        )
    return told


def _repeated(repeated: Repeated, labels: Labels) -> str:
    measured = labels("of", n=repeated.n, of=repeated.of)
    values = (("pass_hat_k", repeated.pass_hat_k), ("pass_at_k", repeated.pass_at_k))
    parts = [f"{labels(name, k=repeated.k)}{labels('colon')}{percent(value, labels)}" for name, value in values]
    return labels("aside", what=" · ".join(parts), note=measured)
