"""What holds for every format: hostile text stays text, nothing is lost, no digit stands for what was not measured."""

import asyncio
import html
import io
import re
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import jsonschema_rs
import orjson
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from agenteval.domain.questions import Cause
from agenteval.domain.records import AttemptStatus, RunStatus
from agenteval.domain.scenario import EffectivePolicy, Policy, VerdictPolicy
from agenteval.domain.text import Language, is_blank, visible
from agenteval.domain.transcript import Turn
from agenteval.reporting.json_report import schema
from agenteval.reporting.labels import Labels
from agenteval.reporting.report import RunReport
from agenteval.reporting.terminal import print_report
from tests.fakes.reports import (
    Format,
    attempt_at,
    chinese_report,
    contradicted_case,
    english_report,
    redelivered_case,
    render,
    report_of,
    report_saying,
    scored,
    seed_case,
    text_of,
    unscored_report,
)

MARKDOWN = MarkdownIt("commonmark").enable("table").enable("strikethrough")
SCHEMA = jsonschema_rs.validator_for(orjson.loads(schema()))
PLAIN = "plain"

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</title></style></details></mark><h1>",
    "' onmouseover='alert(1)",
    "# heading\n## another\n\n---\n\nsetext\n===",
    "![image](http://x/y.png) [link](javascript:alert(1)) <http://x> http://x.example www.x.example",
    "| a | b |\n|---|---|\n| 1 | 2 |",
    "```\n````text\n~~~\n`````",
    "\\` `code` \\| ``|`` **bold** _it_ __it__ ~~s~~ &lt; &#35; $x$",
    "- item\n+ item\n1. item\n1) item\n> quote\n    code",
    "[ref]: http://x 'title'\n\n[ref]",
    "]]><!--<![CDATA[ --> &amp; <?xml?> <!DOCTYPE x>",
    "\x1b[31mred\x1b[0m\x1b]8;;http://x\x07\x00\x08\r\n\rover",
    "\u202eevil\u202c \u200bzero\ufeff \u2028 \x85 \ufffe\uffff",
    "[bold red]markup[/] :smile: [link=http://x]x[/link]",
    '=HYPERLINK("http://x")',
    "e" + "\u0301" * 300,
    "{name} {0} %s %(x)s $1",
)
TEXTS = st.one_of(
    st.sampled_from(HOSTILE),
    st.text(min_size=2, max_size=40),
    st.text(alphabet="<>&\"'`|\\*_[]()!#-=+.~\n\r\t 1a:/@{}", min_size=2, max_size=30),
).filter(lambda text: not is_blank(text) and not visible(text).isspace())


def rendered(report: RunReport, format_: Format, lang: Language = "en") -> str:
    return asyncio.run(text_of(render(report, format_, lang)))


def on_terminal(report: RunReport, lang: Language = "en", encoding: str = "utf-8") -> str:
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding=encoding, newline="")
    asyncio.run(print_report(report, lang, out))
    out.flush()
    return raw.getvalue().decode(encoding)


def each_hostile(test: Callable[[str], None]) -> Any:
    """Every hostile text, then drawn ones."""
    drawn: Any = given(text=TEXTS)(test)
    for text in HOSTILE:
        drawn = example(text=text)(drawn)
    return settings(max_examples=20)(drawn)


@pytest.mark.parametrize("status", AttemptStatus)
@pytest.mark.parametrize("form", Format)
def test_every_format_shows_an_attempt_without_an_outcome(form: Format, status: AttemptStatus) -> None:
    case = seed_case()
    waiting = replace(case.attempts[0], status=status, outcome=None, results=())
    for lang in ("zh", "en"):
        assert case.place.case.id in rendered(report_of(replace(case, attempts=(waiting,))), form, lang)


def test_what_the_agent_said_against_a_value_stands_beside_the_verdict() -> None:
    report = report_of(contradicted_case())
    told = 'agent, turn 2: "at 555-0132"'
    assert told in on_terminal(report)
    assert f"555-0123; {told}" in rendered(report, Format.MARKDOWN)
    assert f"task_completion: phone: contradicted: {told}" in html.unescape(rendered(report, Format.JUNIT))
    page = rendered(report, Format.HTML)
    assert '<a href="#a0-t2" class="against">agent, turn 2' in page
    assert re.search(r'<mark title="task_completion · phone" class="against">at 555-0132</mark>', page)
    assert re.search(r'<mark title="task_completion · phone">555-0123</mark>', page)


def test_several_policies_stand_with_their_cases() -> None:
    one = contradicted_case()
    strict = EffectivePolicy.of(Policy(verdict_policy=VerdictPolicy.STRICT))
    other = [
        replace(
            case,
            attempts=tuple(replace(a, outcome=replace(a.outcome, policy=strict)) for a in case.attempts if a.outcome),
        )
        for case in map(contradicted_case, range(1, 13))
    ]
    assert "\nL1 passed and L2" in on_terminal(report_of(one))
    report = report_of(one, *other)
    for shown in (on_terminal(report), rendered(report, Format.MARKDOWN), rendered(report, Format.HTML)):
        assert "case-001: L1 passed and L2" in shown
        assert "case-010, case-011, …: L1 passed and L2" in shown


def test_details_of_a_rule_are_words_not_json() -> None:
    conditions = [{"list": "none_of", "items": ["refund", "money"], "met": False}]
    result = scored("keyword_match", "0", False, detail={"conditions": conditions, "met": 0})
    case = seed_case()
    judged = replace(case, attempts=(attempt_at(case.place.case, [Turn(0, "hi", "ok")], [result]),))
    shown = "list: none\\_of, items: refund, money, met: false"
    assert shown.replace("\\", "") in rendered(report_of(judged), Format.MARKDOWN).replace("\\", "")
    assert "none_of, items: refund, money" in rendered(report_of(judged), Format.HTML)


# ---- Markdown --------------------------------------------------------------------------------------------------------


def markdown_structure(source: str) -> Counter[str]:
    tokens = MARKDOWN.parse(source)
    return Counter(token.type for token in tokens) + Counter(
        child.type for token in tokens for child in token.children or () if child.type != "text"
    )


@each_hostile
def test_markdown_has_only_the_structure_that_the_report_gives_it(text: str) -> None:
    assert markdown_structure(rendered(report_saying(text), Format.MARKDOWN)) == markdown_structure(
        rendered(report_saying(PLAIN), Format.MARKDOWN)
    )


@each_hostile
def test_markdown_shows_all_that_was_said(text: str) -> None:
    tokens = MARKDOWN.parse(rendered(report_saying(text), Format.MARKDOWN))
    fences = [token.content for token in tokens if token.type == "fence"]
    assert visible(text).replace("\r\n", "\n") + "\n" in fences
    one_line = " ".join(visible(text).split())
    inlines = ["".join(child.content for child in token.children or ()) for token in tokens if token.type == "inline"]
    assert one_line in inlines


# ---- HTML ------------------------------------------------------------------------------------------------------------


class Page(HTMLParser):
    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.structure: Counter[str] = Counter()
        self.words: list[str] = []
        self.links: list[str] = []
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.structure[" ".join([tag, *(name for name, _ in attrs)])] += 1
        self.links += [value or "" for name, value in attrs if name in ("href", "src", "action", "srcset")]

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    def handle_comment(self, data: str) -> None:
        self.structure["comment"] += 1

    def unknown_decl(self, data: str) -> None:
        self.structure["declaration"] += 1


@each_hostile
def test_html_has_only_the_structure_that_the_report_gives_it(text: str) -> None:
    page, plain = (Page(rendered(report_saying(said), Format.HTML)) for said in (text, PLAIN))
    assert page.structure == plain.structure
    assert visible(text) in "".join(page.words)


@pytest.mark.parametrize("report", [chinese_report(), english_report(), report_saying(HOSTILE[0])])
def test_html_asks_nothing_of_anybody(report: RunReport) -> None:
    source = rendered(report, Format.HTML)
    page = Page(source)
    assert all(link == "data:," or link.startswith("#") for link in page.links)
    assert "url(" not in source
    assert "@import" not in source
    assert not any(tag.split()[0] in ("script", "iframe", "object", "img", "base", "form") for tag in page.structure)
    assert "default-src 'none'" in source.replace("&#x27;", "'")


# ---- XML, JSON, terminal ---------------------------------------------------------------------------------------------


@each_hostile
def test_junit_is_well_formed_and_has_only_its_own_elements(text: str) -> None:
    hostile, plain = (ET.fromstring(rendered(report_saying(said), Format.JUNIT)) for said in (text, PLAIN))
    assert [element.tag for element in hostile.iter()] == [element.tag for element in plain.iter()]
    shown = re.sub("[\ufffe\uffff]", lambda m: f"\\u{ord(m.group()):04x}", visible(text))
    assert shown in (hostile.findtext(".//testcase[2]/system-out") or "")


@each_hostile
def test_json_keeps_every_text_as_it_is(text: str) -> None:
    report = orjson.loads(rendered(report_saying(text), Format.JSON))
    SCHEMA.validate(report)
    attempt = report["cases"][0]["attempts"][1]
    assert report["run"]["name"] == text
    assert attempt["turns"][0]["reply"] == text
    assert attempt["turns"][0]["tool_calls"][0]["result"] == text
    assert attempt["results"][0]["detail"]["slots"][text]["quote"] == text
    assert "\\u4f60" not in rendered(report_saying("你好"), Format.JSON)


@each_hostile
def test_a_terminal_gets_no_control_characters(text: str) -> None:
    shown = on_terminal(report_saying(text))
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]", shown)
    assert re.sub(r"\s", "", visible(text)) in re.sub(r"\s", "", shown)


# ---- nothing measured ------------------------------------------------------------------------------------------------

UNSCORED = unscored_report(*Cause)


def cells(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in table.splitlines()]


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_no_digit_stands_where_nothing_was_measured(lang: Language) -> None:
    html = rendered(UNSCORED, Format.HTML, lang)
    values = re.findall(r'class="(?:value|score)">([^<]*)<', html) + re.findall(r"<small>L[12]</small>([^<]*)<", html)
    assert len(values) == 4 + 3 * len(Cause) + 2 * len(Cause)
    assert not re.search(r"\d", "".join(values))
    assert 'class="bar"' not in re.search(r"<svg.*?</svg>", html, re.DOTALL)[0]  # type: ignore[index]

    markdown = rendered(UNSCORED, Format.MARKDOWN, lang)
    summary = markdown[markdown.index("| ---") :].split("\n\n")[0]
    assert [row[1] + row[3] + row[4] for row in cells(summary)[1:]] == ["—0%—" if lang == "zh" else "—0 %—"] * 4
    assert not re.search(r"(?:得分：|Score: )[^—]", markdown)

    lines = [line.split() for line in on_terminal(UNSCORED, lang).splitlines()]
    figures = [line for line in lines if line[:1] in (["L1"], ["L2"], ["L3"], ["通过率"], ["Pass"]) and "—" in line]
    assert len(figures) == 4
    assert all(line.count("—") == 2 for line in figures)

    junit = ET.fromstring(rendered(UNSCORED, Format.JUNIT, lang))
    assert all("—" in p.attrib["value"] for p in junit.iter("property") if p.attrib["name"].startswith("rule."))
    assert junit.attrib["errors"] == str(len(Cause))


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_an_attempt_that_a_later_one_stands_in_for_counts_nowhere(lang: Language) -> None:
    report = report_of(redelivered_case())
    junit = ET.fromstring(rendered(report, Format.JUNIT, lang))
    assert [junit.attrib[name] for name in ("tests", "failures", "errors", "skipped")] == ["2", "0", "0", "1"]
    told = Labels(lang)("superseded.note")
    assert [skipped.attrib["message"] for skipped in junit.iter("skipped")] == [told]
    assert told in rendered(report, Format.HTML, lang)
    assert Labels(lang)("level.superseded") in on_terminal(report, lang)
    data = orjson.loads(rendered(report, Format.JSON))
    SCHEMA.validate(data)
    assert [attempt["superseded"] for attempt in data["cases"][0]["attempts"]] == [True, False]
    assert (data["summary"]["success_rate"]["n"], data["summary"]["success_rate"]["of"]) == (1, 1)


@pytest.mark.parametrize("status", RunStatus)
@pytest.mark.parametrize("lang", ["zh", "en"])
def test_figures_of_a_run_that_has_not_ended_well_are_called_provisional(lang: Language, status: RunStatus) -> None:
    report = report_of(redelivered_case(), status=status)
    told = Labels(lang)("provisional")
    shown = [rendered(report, format_, lang) for format_ in Format if format_ is not Format.JSON]
    for text in (*shown, " ".join(on_terminal(report, lang).split())):
        assert (told in text) == (status is not RunStatus.COMPLETED)


def test_what_was_not_measured_is_null_in_json() -> None:
    report = orjson.loads(rendered(UNSCORED, Format.JSON))
    for name in ("intent_accuracy", "avg_completion", "success_rate", "pass_rate"):
        measure = report["summary"][name]
        assert (measure["value"], measure["exact"], measure["low"], measure["high"]) == (None, None, None, None)
        assert (measure["n"], measure["of"]) == (0, len(Cause))
    for case in report["cases"]:
        outcome = case["attempts"][0]["outcome"]
        assert [outcome[name] for name in ("success_level", "l1_intent", "l2_completion", "weighted_score")] == [
            None
        ] * 4
        assert all(
            result["score"] is None and result["score_exact"] is None for result in case["attempts"][0]["results"]
        )


@pytest.mark.parametrize("format_", list(Format))
@pytest.mark.parametrize("lang", ["zh", "en"])
def test_what_is_missing_is_named_in_every_format(format_: Format, lang: Language) -> None:
    shown = rendered(chinese_report(), format_, lang)
    for said in (
        "appointment_time",
        "confirm_booking",
        "电话是 13800138000",
        "朝阳区建国路 88 号",
        "查酒店",
        "HTTP 429",
    ):
        assert said in shown, said
    if format_ is not Format.JSON:
        assert "4/5" in shown


@pytest.mark.parametrize("format_", ["terminal", Format.HTML, Format.MARKDOWN])
def test_a_rule_of_which_a_critical_item_failed_has_no_tick(format_: Format | str) -> None:
    vetoed = scored("task_completion", "9/10", True, vetoes=("slot:phone",))
    attempt = replace(seed_case().attempts[0], results=(vetoed,))
    report = report_of(replace(seed_case(), attempts=(attempt,)))
    text = on_terminal(report, "en") if format_ == "terminal" else rendered(report, Format(format_), "en")
    text = re.sub(r"<[^>]*>|\\", "", text)
    assert re.search(r"✗\s*task_completion", text)
    assert not re.search(r"✓\s*task_completion", text)
