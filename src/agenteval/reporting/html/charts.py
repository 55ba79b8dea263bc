"""Pictures of a run as inline SVG. Each tells by shape or sign what it tells by colour, and in words on hovering."""

from array import array
from bisect import bisect_right
from fractions import Fraction
from math import ceil, floor, log10

from agenteval.domain.run_summary import RunSummary
from agenteval.domain.statistics import percentile_nearest_rank
from agenteval.reporting import figures
from agenteval.reporting.html.elements import Html, joined, tag
from agenteval.reporting.html.svg import coordinate, line, rect, svg, text
from agenteval.reporting.labels import Labels

WIDTH = 560

# ---- outcomes --------------------------------------------------------------------------------------------------------


def outcome_bar(summary: RunSummary, labels: Labels) -> Html:
    """How many attempts came out as what, as one bar with its legend."""
    levels = figures.levels(summary)
    total = sum(n for _, n in levels)
    x = 0.0
    parts: list[Html] = []
    legend: list[Html] = []
    for level, n in levels:
        name = labels(f"level.{level}")
        width = WIDTH * n / total if total else 0
        if n:
            parts.append(rect((x, 0), (max(width - 2, 1), 28), f"fill-{level}", f"{name} {n}"))
        if width > 30:
            parts.append(text((x + width / 2 - 1, 19), f"{level.mark} {n}", f"on-{level}", "middle"))
        x += width
        share = figures.percent(Fraction(n, total), labels) if total else figures.NONE
        chip = tag("span", f"{level.mark} {name}", class_=f"chip {level}")
        legend.append(tag("li", chip, f" {n} ", tag("small", share)))
    return joined(svg(*parts, size=(WIDTH, 28), label=labels("levels")), tag("ul", *legend, class_="legend"))


# ---- from intent to pass ---------------------------------------------------------------------------------------------

_ROW, _LEFT, _BAR = 44, 170, 240


def funnel(summary: RunSummary, labels: Labels) -> Html:
    """The four measures one below the other: bar, 95 % interval, worst case."""
    rows = [_funnel_row(i, figure, labels) for i, figure in enumerate(figures.figures(summary, labels))]
    bottom = _ROW * len(rows)
    ticks = [(_LEFT + _BAR * i / 4, labels("percent", value=25 * i)) for i in range(5)]
    axis = [
        joined(line((x, 0), (x, bottom), "grid"), text((x, bottom + 14), name, "muted", "middle")) for x, name in ticks
    ]
    return svg(*axis, *rows, size=(WIDTH, bottom + 20), label=labels("funnel"))


def _funnel_row(i: int, figure: figures.Figure, labels: Labels) -> Html:
    y = i * _ROW + 10
    of, right = figure.of, _LEFT + _BAR + 14
    parts = [text((0, y + 16), figure.label, "strong"), rect((_LEFT, y), (_BAR, 24), "track")]
    if of.value is None:
        return joined(*parts, text((right, y + 17), figures.NONE, "muted"))
    parts.append(rect((_LEFT, y), (max(_BAR * float(of.value), 1), 24), "bar"))
    if of.interval is not None:
        low, high = _LEFT + _BAR * of.interval.low, _LEFT + _BAR * of.interval.high
        parts.append(line((low, y + 12), (high, y + 12), "whisker"))
        parts += [line((x, y + 7), (x, y + 17), "whisker") for x in (low, high)]
    if of.worst_case is not None and of.worst_case != of.value:
        parts.append(_diamond(_LEFT + _BAR * float(of.worst_case), y + 12))
    parts.append(text((right, y + 10), figure.value, "strong"))
    parts.append(text((right, y + 25), labels("measured_of", n=of.n, of=of.of), "muted"))
    hint = f"{figure.label} {figure.value} · {figure.interval} · {labels('worst_case')} {figure.worst_case}"
    return tag("g", tag("title", hint), *parts)


def _diamond(x: float, y: float) -> Html:
    corners = ((x, y - 6), (x + 6, y), (x, y + 6), (x - 6, y))
    points = " ".join(",".join(map(coordinate, corner)) for corner in corners)
    return tag("polygon", points=points, class_="diamond")


# ---- latency ---------------------------------------------------------------------------------------------------------

_BARS = 20
_TALL = 80
_BASE = 122


def histogram(latencies_ms: "array[float]", labels: Labels) -> Html:
    """Replies by latency, up to twice the 95th percentile; the last bar holds all that took longer."""
    if not latencies_ms:
        return tag("p", labels("latency.none"), class_="note")
    ordered = sorted(latencies_ms)
    p95 = percentile_nearest_rank(ordered, 95) or 0.0
    step_ms = _step_ms(min(ordered[-1], 2 * p95))
    edges = [step_ms * i for i in range(1, _BARS)]
    counts = [0] * _BARS
    for value in ordered:
        counts[bisect_right(edges, value)] += 1
    used = max(i for i, n in enumerate(counts) if n) + 1
    wide = WIDTH / used
    parts = [line((0, _BASE), (WIDTH, _BASE), "axis")]
    for i, n in enumerate(counts[:used]):
        tall = _TALL * n / max(counts)
        span = figures.milliseconds(step_ms * i)
        span = f"≥ {span}" if i == _BARS - 1 else f"{span} – {figures.milliseconds(step_ms * (i + 1))}"
        hint = labels("colon").join([span, labels("replies", n=n)])
        parts.append(rect((i * wide, _BASE - tall), (max(wide - 2, 1), tall), "bar", hint))
    every = ceil(used / 6)
    for i in range(0, used if used < _BARS else used - 2, every):
        parts.append(text((i * wide, _BASE + 16), figures.milliseconds(step_ms * i), "muted"))
    if used == _BARS:
        parts.append(text((WIDTH, _BASE + 16), f"≥ {figures.milliseconds(edges[-1])}", "muted", "end"))
    parts += [_percentile(percent, ordered, wide / step_ms, labels) for percent in (50, 95)]
    return svg(*parts, size=(WIDTH, _BASE + 22), label=labels("latency"))


def _percentile(percent: int, ordered: list[float], scale: float, labels: Labels) -> Html:
    value = percentile_nearest_rank(ordered, percent) or 0.0
    x = min(value * scale, WIDTH - 1)
    top = 30 if percent == 50 else 14
    words = f"{labels(f'latency.p{percent}')} {figures.milliseconds(value)}"
    on_left = x > WIDTH - 120
    label = text((x - 5 if on_left else x + 5, top), words, "strong", "end" if on_left else "start")
    return joined(line((x, top - 10), (x, _BASE), "percentile"), label)


def _step_ms(top_ms: float) -> float:
    """A round width for the bars, with which they reach `top_ms`."""
    least = max(top_ms, 1) / (_BARS - 1)
    scale = 10.0 ** floor(log10(least))
    return next(scale * factor for factor in (1, 2, 5, 10) if scale * factor >= least)
