"""The HTML report: evidence marked where it stands, and large runs cut with notice."""

import re
from dataclasses import replace
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenteval.domain.evidence import Speaker
from agenteval.domain.run_summary import Share
from agenteval.domain.text import visible
from agenteval.reporting import html
from agenteval.reporting.html import html_report
from agenteval.reporting.html.dialog import LONGEST, Mark, marked, marks_of
from agenteval.reporting.html.elements import Html, tag
from agenteval.reporting.labels import Labels
from tests.fakes.reports import chinese_report, english_report, report_of, seed_case, text_of

ZH, EN = Labels("zh"), Labels("en")


def mark(text: str, words: str, label: str) -> Mark:
    return Mark(text.index(words), text.index(words) + len(words), words, label)


def plain(markup: str) -> str:
    return unescape(re.sub(r"<[^>]*>", "", markup))


def test_overlapping_marks_are_cut_where_either_begins_or_ends() -> None:
    text = "预约成功！师傅明天上门。"
    marks = [mark(text, "预约成功！师傅", "a"), mark(text, "师傅明天", "b")]
    assert marked(text, marks, ZH) == (
        '<mark title="a">预约成功！</mark><mark title="a\nb" class="many">师傅</mark><mark title="b">明天</mark>上门。'
    )


def test_words_that_do_not_stand_there_are_not_marked() -> None:
    assert marked("abc", [Mark(0, 3, "abd", "x"), Mark(2, 9, "c", "x"), Mark(2, 2, "", "x")], EN) == "abc"


@given(
    st.text(st.characters(exclude_characters="\r", codec="utf-8"), max_size=30),
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=6),
)
def test_marking_changes_no_word(text: str, places: list[tuple[int, int]]) -> None:
    marks = [Mark(start, end, text[start:end], f"m{i}") for i, (start, end) in enumerate(places)]
    shown = marked(text, marks, EN)
    assert plain(shown) == visible(text)
    covered = {i for start, end in places if end <= len(text) for i in range(start, end)}
    marked_text = "".join(plain(piece) for piece in re.findall(r"<mark.*?</mark>", shown, re.DOTALL))
    assert (
        marked_text == "".join(visible(text[i]) if text[i] != "\r" else text[i] for i in sorted(covered))
        or "\r" in text
    )


def test_a_giant_text_is_cut_with_notice() -> None:
    shown = marked("x" * (LONGEST + 5), [Mark(LONGEST - 1, LONGEST + 3, "xxxx", "m")], EN)
    assert "… 5 more characters, see the JSON report" in shown
    assert '<mark title="m">x</mark>' in shown


def test_marks_carry_the_names_of_what_they_show() -> None:
    marks = marks_of(seed_case().attempts[0].results)
    assert [m.label for m in marks[2, Speaker.USER, 0]] == ["task_completion · phone"]
    assert [m.label for m in marks[0, Speaker.AGENT, 0]] == ["intent_classification · appointment_booking", "llm_score"]


def test_text_is_escaped_and_markup_is_not() -> None:
    inner = tag("b", "<i>")
    assert tag("p", inner, "&", None, title='"', hidden=True, open=False) == (
        '<p title="&quot;" hidden><b>&lt;i&gt;</b>&amp;</p>'
    )
    assert isinstance(inner, Html)


async def test_what_failed_comes_first_and_is_open() -> None:
    page = await text_of(html_report(chinese_report(), "zh"))
    cases = re.findall(r'<details class="case (\w+)"( open)?>', page)
    assert [level for level, _ in cases] == [
        *["failure"] * 4, *["unsettled"] * 2, "partial", "interrupted", "not_run", *["success"] * 2,
    ]  # fmt: skip
    assert [bool(opened) for _, opened in cases] == [True] + [False] * 10


async def test_evidence_is_marked_at_its_turn_and_slots_link_to_it() -> None:
    page = await text_of(html_report(chinese_report(), "zh"))
    assert '<mark title="task_completion · phone">电话是 13800138000</mark>' in page
    assert '<mark title="task_completion · confirm_booking\ntask_completion" class="many">预约成功</mark>' in page
    anchors = set(re.findall(r' id="([^"]+)"', page))
    links = set(re.findall(r' href="#([^"]+)"', page))
    assert links
    assert links <= anchors
    assert "4/5 缺 appointment_time" in page


@pytest.mark.parametrize("lang", ["zh", "en"])
async def test_each_picture_is_there_and_says_what_it_is(lang: str) -> None:
    labels = ZH if lang == "zh" else EN
    page = await text_of(html_report(chinese_report(), labels.lang))
    titles = re.findall(r"<svg[^>]*><title>([^<]*)</title>", page)
    assert titles == [labels(name) for name in ("funnel", "levels", "latency", "heat")]


async def test_a_rate_in_the_heat_map_is_not_rounded_onto_a_bound() -> None:
    report = chinese_report()
    rates = {"user_name": Share(199, 200, 0), "phone": Share(1, 200, 0), "address": Share(200, 200, 0)}
    page = await text_of(html_report(replace(report, summary=replace(report.summary, slots=rates)), "zh"))
    heat = page[page.index(f"<title>{ZH('heat')}</title>") :]
    assert re.findall(r">(\d+%)</text>", heat)[:3] == ["99%", "1%", "100%"]


async def test_a_large_run_is_cut_with_notice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html, "SHOWN", 5)
    monkeypatch.setattr(html, "LISTED", 8)
    cases = [seed_case("0.1" if n >= 18 else "0.7", n=n) for n in range(20)]
    page = await text_of(html_report(report_of(*cases), "en"))
    assert re.findall(r'<details class="case (\w+)"', page) == ["partial", "partial", "success", "success", "success"]
    assert "The worst 5 attempts are shown in full; the other 15 are listed" in page
    assert page.count('<tr><td><span class="chip success">') == 8
    assert "7 more attempts are not listed" in page


async def test_repeats_are_told_apart() -> None:
    page = await text_of(html_report(english_report(), "en"))
    assert "book-table (Book a table) · repeat 2" in page
    assert '<html lang="en">' in page
