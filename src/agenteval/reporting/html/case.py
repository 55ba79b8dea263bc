"""One attempt: a line that can be opened, and inside why it came out so, each rule, and the dialog."""

from collections.abc import Sequence

from agenteval.domain.outcome import RuleResult
from agenteval.reporting import figures
from agenteval.reporting.explain import why
from agenteval.reporting.html.dialog import dialog
from agenteval.reporting.html.elements import Html, joined, tag
from agenteval.reporting.items import Item, Said, items, more_detail
from agenteval.reporting.labels import Labels
from agenteval.reporting.level import GOOD_MARKS, Level
from agenteval.reporting.reading import Entry, facts, failing, holds, overview

_GOOD = {True: "ok", False: "bad", None: "unknown"}


def chip(level: Level, labels: Labels) -> Html:
    return tag("span", f"{level.mark} {labels(f'level.{level}')}", class_=f"chip {level}")


def attempt(entry: Entry, anchor: str, labels: Labels, *, opened: bool) -> Html:
    """`anchor` stands inside, so that a link to it opens the case."""
    name, l1, l2 = overview(entry, labels)
    summary = tag(
        "summary",
        chip(entry.level, labels),
        tag("span", tag("b", name), tag("small", entry.place.scenario), class_="name"),
        tag("span", tag("small", "L1"), l1, class_="fact"),
        tag("span", tag("small", "L2"), l2, class_="fact wide"),
        tag("span", labels.listed(failing(entry, labels)), class_="failing"),
    )
    return tag("details", summary, _body(entry, anchor, labels), class_=f"case {entry.level}", open=opened)


def row(entry: Entry, labels: Labels) -> Html:
    """An attempt in a line, for those that are not shown in full."""
    cells = [tag("td", cell) for cell in (*overview(entry, labels), labels.listed(failing(entry, labels)))]
    return tag("tr", tag("td", chip(entry.level, labels)), *cells)


def _body(entry: Entry, anchor: str, labels: Labels) -> Html:
    if entry.attempt is None:
        return tag("div", tag("p", labels("not_run.note"), class_="note"), class_="body", id=anchor)
    sentences = why(entry.attempt, labels) if entry.attempt.outcome else [labels(f"{entry.level}.note")]
    reasons = tag("ul", *(tag("li", sentence) for sentence in sentences), class_="why") if sentences else None
    tags = entry.place.case.tags
    return tag(
        "div",
        tag("p", entry.place.case.description, class_="note") if entry.place.case.description else None,
        tag("p", *(tag("span", name, class_="tag") for name in tags), class_="tags") if tags else None,
        reasons,
        tag(
            "div",
            tag("div", *(_result(result, anchor, labels) for result in entry.results), class_="results"),
            dialog(entry.attempt, anchor, labels),
            class_="columns",
        ),
        class_="body",
        id=anchor,
    )


def _result(result: RuleResult, anchor: str, labels: Labels) -> Html:
    good = _GOOD[holds(result)]
    found, rest = items(result.detail), more_detail(result.detail, labels)
    return tag(
        "section",
        tag(
            "h4",
            tag("span", GOOD_MARKS[holds(result)], class_=f"cell {good}"),
            tag("span", result.label, class_="label"),
            tag("span", figures.score(result.score), class_="score"),
        ),
        tag("p", " · ".join(facts(result, labels)), class_="facts"),
        tag("p", result.reason, class_="reason") if result.reason else None,
        _items(found, anchor, labels) if found else None,
        _rest(rest, labels) if rest else None,
        class_="result",
    )


def _items(found: Sequence[Item], anchor: str, labels: Labels) -> Html:
    columns = ("item", "status", "value", "turn", "quote")
    head = tag("tr", *(tag("th", labels(name)) for name in columns))
    body = [_item(item, anchor, labels) for item in found]
    return tag("div", tag("table", tag("thead", head), tag("tbody", *body)), class_="scroll")


def _item(item: Item, anchor: str, labels: Labels) -> Html:
    sign = tag("span", "–" if item.state == "left" else GOOD_MARKS[item.good], class_=f"cell {item.state}")
    turn = item.turn_text()
    return tag(
        "tr",
        tag("td", sign, " ", item.name),
        tag("td", item.status_text(labels)),
        tag("td", item.value),
        tag("td", tag("a", turn, href=f"#{anchor}-t{turn}") if turn else None),
        tag(
            "td",
            tag("q", item.quote) if item.quote else None,
            *(_against(said, f"#{anchor}-t{said.turn + 1}", labels) for said in item.against),
            tag("span", item.reason, class_="note") if item.reason else None,
        ),
    )


def _against(said: Said, link: str, labels: Labels) -> Html:
    return tag("a", labels("against", turn=said.turn + 1, text=said.text), href=link, class_="against")


def _rest(rest: Sequence[tuple[str, str]], labels: Labels) -> Html:
    rows = [joined(tag("dt", name), tag("dd", text)) for name, text in rest]
    return tag("details", tag("summary", labels("detail")), tag("dl", *rows), class_="rest")
