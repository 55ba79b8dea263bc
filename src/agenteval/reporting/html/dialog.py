"""A dialog as chat bubbles, with the evidence marked where it stands."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from agenteval.domain.evidence import Speaker
from agenteval.domain.json_value import as_text
from agenteval.domain.outcome import RuleResult
from agenteval.domain.records import AttemptView
from agenteval.domain.text import is_blank
from agenteval.domain.transcript import ToolCall, Turn, TurnStatus
from agenteval.reporting import figures
from agenteval.reporting.html.elements import Html, joined, tag
from agenteval.reporting.items import items
from agenteval.reporting.labels import Labels
from agenteval.reporting.reading import reply_text

LONGEST = 20_000
"""Characters of one text that are shown."""


class Mark(NamedTuple):
    """Words that stand for something: `label` says for what; `against`: they speak against it."""

    start: int
    end: int
    text: str
    label: str
    against: bool = False

    def stands_in(self, text: str) -> bool:
        return text[self.start : self.end] == self.text


Marks = Mapping[tuple[int, Speaker, int], Sequence[Mark]]
"""By turn, speaker and number of the text."""


def dialog(attempt: AttemptView, anchor: str, labels: Labels) -> Html:
    marks = marks_of(attempt.results)
    turns = [_turn(turn, marks, f"{anchor}-t{turn.index + 1}", labels) for turn in attempt.dialog]
    if attempt.sending is not None:
        turns.append(tag("p", labels("interrupted.sending", message=attempt.sending), class_="note"))
    return tag("div", *turns, class_="dialog")


def marks_of(results: Iterable[RuleResult]) -> Marks:
    """Each rule's evidence, labelled by the rule and by the slots, steps and intents that it shows."""
    found: dict[tuple[int, Speaker, int], list[Mark]] = {}
    for result in results:
        names: dict[tuple[int, str], dict[str, None]] = {}
        against: set[tuple[int, str]] = set()
        for item in items(result.detail):
            against |= {(said.turn, said.text) for said in item.against}
            for said in item.evidence:
                names.setdefault((said.turn, said.text), {})[item.name] = None
        for span in result.evidence:
            label = " · ".join([result.label, *names.get((span.turn, span.text), ())])
            place = (span.turn, span.speaker, span.source)
            bad = span.speaker is Speaker.AGENT and (span.turn, span.text) in against
            found.setdefault(place, []).append(Mark(span.start, span.end, span.text, label, bad))
    return found


def marked(text: str, marks: Sequence[Mark], labels: Labels) -> Html:
    """The text with its marks, which may overlap: it is cut where any of them begins or ends. A mark whose words do not
    stand there is left out: nothing is highlighted by guess."""
    shown = text[:LONGEST]
    true = [mark for mark in marks if 0 <= mark.start < mark.end <= len(text) and mark.stands_in(text)]
    edges = {min(edge, len(shown)) for mark in true for edge in (mark.start, mark.end)}
    borders = sorted({0, len(shown), *edges})
    parts: list[str] = []
    for start, end in pairwise(borders):
        here = [mark for mark in true if mark.start <= start and end <= mark.end]
        over = dict.fromkeys(mark.label for mark in here)
        kind = "against" if any(mark.against for mark in here) else "many" if len(over) > 1 else None
        piece = shown[start:end]
        parts.append(tag("mark", piece, title="\n".join(over), class_=kind) if over else piece)
    if len(shown) < len(text):
        parts.append(tag("span", labels("cut", n=len(text) - len(shown)), class_="note"))
    return joined(*parts)


def _turn(turn: Turn, marks: Marks, anchor: str, labels: Labels) -> Html:
    head = [labels("turn_n", n=turn.index + 1)]
    head += [] if turn.latency_ms is None else [figures.milliseconds(turn.latency_ms)]
    user = marks.get((turn.index, Speaker.USER, 0), ())
    calls = [
        _call(call, marks.get((turn.index, Speaker.TOOL, i), ()), labels) for i, call in enumerate(turn.tool_calls)
    ]
    return tag(
        "section",
        tag("h5", " · ".join(head)),
        _bubble("user", marked(turn.sent_message, user, labels), user, labels) if turn.sent_message else None,
        *calls,
        _reply(turn, marks.get((turn.index, Speaker.AGENT, 0), ()), labels),
        class_="turn",
        id=anchor,
    )


def _reply(turn: Turn, marks: Sequence[Mark], labels: Labels) -> Html:
    if turn.status is not TurnStatus.OK or is_blank(turn.reply_text):
        return _bubble("agent silent", joined(reply_text(turn, labels)), (), labels)
    body = marked(turn.reply_text, marks, labels)
    if not isinstance(turn.reply, str) and as_text(turn.reply) != turn.reply_text:
        whole = tag("pre", marked(as_text(turn.reply), (), labels))
        body = joined(body, tag("details", tag("summary", labels("reply.structured")), whole))
    return _bubble("agent", body, marks, labels)


def _bubble(side: str, body: Html, marks: Sequence[Mark], labels: Labels) -> Html:
    who = labels("user" if side == "user" else "agent")
    words = tag("div", tag("b", who, class_="who"), body, class_="text")
    return tag("div", words, _proves(marks), class_=f"bubble {side}")


def _proves(marks: Sequence[Mark]) -> Html | None:
    """What the marks stand for, in words."""
    labelled = {mark.label: mark.against for mark in marks}
    tags = [tag("span", label, class_="tag against" if bad else "tag") for label, bad in labelled.items()]
    return tag("div", *tags, class_="proves") if tags else None


def _call(call: ToolCall, marks: Sequence[Mark], labels: Labels) -> Html:
    state = {True: "ok", False: "failed", None: None}[call.ok]
    head = joined(tag("code", call.name), " ", tag("span", labels(f"tool.{state}"), class_=state) if state else None)
    rows = [tag("dt", labels("tool.arguments")), tag("dd", marked(as_text(call.arguments), (), labels))]
    rows += [tag("dt", labels("tool.result")), tag("dd", marked(as_text(call.result), marks, labels))]
    return tag(
        "div",
        tag("div", tag("b", labels("tool"), class_="who"), head, class_="call-head"),
        tag("dl", *rows),
        _proves(marks),
        class_="call",
    )
