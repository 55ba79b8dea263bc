"""The few shapes of SVG that the pictures are made of."""

from typing import TypeAlias

from agenteval.reporting.html.elements import Html, tag

Point: TypeAlias = tuple[float, float]
"""x and y, or width and height."""


def svg(*children: Html, size: Point, label: str, fixed: bool = False) -> Html:
    """A picture as wide as there is place, up to its size; or, when `fixed`, of its size."""
    width, height = map(coordinate, size)
    style = f"width:{width}px" if fixed else f"max-width:{width}px"
    return tag("svg", tag("title", label), *children, viewBox=f"0 0 {width} {height}", role="img", style=style)


def coordinate(value: float) -> str:
    """At most one decimal."""
    return f"{value:.1f}".removesuffix(".0")


def rect(corner: Point, size: Point, class_: str, title: str = "") -> Html:
    (x, y), (width, height) = map(coordinate, corner), map(coordinate, size)
    inside = tag("title", title) if title else None
    return tag("rect", inside, x=x, y=y, width=width, height=height, rx=2, class_=class_)


def text(at: Point, words: str, class_: str = "", anchor: str = "start") -> Html:
    x, y = map(coordinate, at)
    return tag("text", words, x=x, y=y, class_=class_ or None, text_anchor=anchor)


def line(start: Point, end: Point, class_: str) -> Html:
    (x1, y1), (x2, y2) = map(coordinate, start), map(coordinate, end)
    return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)
