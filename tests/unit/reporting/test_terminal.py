"""What a person sees on a terminal, and what a file gets in its place."""

import io
import re
from collections import Counter

import pytest
from rich.cells import cell_len

from agenteval.domain.text import Language
from agenteval.reporting.report import RunReport
from agenteval.reporting.terminal import LISTED, print_report, print_side_by_side
from tests.fakes.reports import chinese_report, english_report, report_of, seed_case


async def shown(lang: Language = "zh", encoding: str = "utf-8") -> str:
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding=encoding, newline="")
    await print_report(chinese_report(), lang, out)
    out.flush()
    return raw.getvalue().decode(encoding)


def row(text: str, start: str) -> str:
    return next(line for line in text.splitlines() if start in line)


async def test_the_summary_goes_from_l1_to_passing() -> None:
    text = await shown()
    places = [text.index(name) for name in ("L1 意图准确率", "L2 平均完成度", "L3 成功率", "通过率  ")]
    assert places == sorted(places)
    assert row(text, "L1 意图准确率").split() == [
        "L1", "意图准确率", "75%", "4/5", "60%", "30.1–95.4%",
    ]  # fmt: skip
    assert "样本少，区间很宽（L1 意图准确率、L2 平均完成度、L3 成功率、通过率）" in text
    assert "内置评审，无模型" in text


async def test_a_slot_shows_status_value_turn_and_quote() -> None:
    text = await shown()
    assert row(text, "✓  phone").split() == ["✓", "phone", "已填充", "13800138000", "3", "电话是", "13800138000"]
    assert "4/5 缺 appointment_time" in " ".join(text.split())
    assert "缺失" in row(text, "✗  appointment_time")


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True

    @property
    def text(self) -> str:
        return re.sub("\x1b.*?m", "", self.getvalue())


NUMBERS = re.compile(r"\d+(?:[.,]\d+)*")
WIDE = 250


@pytest.mark.parametrize("lang", ["zh", "en"])
@pytest.mark.parametrize("shows", ["chinese", "english", "large", "side by side"])
async def test_every_number_stays_whole_however_narrow_the_terminal(
    monkeypatch: pytest.MonkeyPatch, lang: Language, shows: str
) -> None:
    async def at(width: int) -> str:
        monkeypatch.setenv("COLUMNS", str(width))
        out = Terminal()
        match shows:
            case "side by side":
                await print_side_by_side([chinese_report(), english_report()], lang, out)
            case "large":
                await print_report(report_of(*(seed_case(n=n) for n in range(500))), lang, out)
            case _:
                await print_report(english_report() if shows == "english" else chinese_report(), lang, out)
        return out.text

    def numbers(text: str) -> Counter[str]:
        return Counter(NUMBERS.findall(text))

    wide = numbers(await at(WIDE))
    for width in range(30, 121, 30 if shows == "large" else 3):
        text = await at(width)
        assert numbers(text) >= wide, width  # a narrow one repeats the names of columns, some of which hold a number
        assert numbers(text).keys() == wide.keys(), width
        assert max(cell_len(line) for line in text.splitlines()) <= width


@pytest.mark.parametrize("width", [40, 120])
async def test_a_narrow_terminal_names_each_value(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    out = Terminal()
    await print_report(english_report(), "en", out)
    assert ("  95 % interval: 14.4–99.3 %\n" in out.text) == (width == 40)
    assert ("    ✗  date\n      Status: stated only (asked again)\n" in out.text) == (width == 40)


async def test_rule_scores_of_a_passing_case_are_told() -> None:
    assert "✓ task_completion 1" in row(await on_page(english_report()), "✓ success  book")


async def on_page(report: RunReport) -> str:
    out = io.StringIO()
    await print_report(report, "en", out)
    return out.getvalue()


async def test_chinese_columns_stand_below_one_another() -> None:
    lines = (await shown()).splitlines()
    rows = [line for line in lines if line.strip().startswith(("✓  user_name", "✓  address"))][:2]

    def column(line: str, word: str) -> int:
        return sum(2 if character > "\u2e7f" else 1 for character in line[: line.index(word)])

    assert column(rows[0], "2     我叫张三") == column(rows[1], "4     朝阳区")


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "gbk"])
async def test_nothing_is_lost_where_the_encoding_lacks_characters(encoding: str) -> None:
    text = await shown("en", encoding)
    assert "appointment_time" in text
    assert "\ufffd" not in text
    if encoding == "gbk":
        assert "电话是" in text
    else:
        assert "\\u7535\\u8bdd" in text.replace("\n", "").replace(" ", "")
        assert "x failure" in text


async def test_a_file_gets_no_colours() -> None:
    assert "\x1b" not in await shown()


async def test_a_large_run_lists_the_worst_and_says_so() -> None:
    cases = [seed_case("0.1" if n == 70 else "0.7", n=n) for n in range(80)]
    out = io.StringIO()
    await print_report(report_of(*cases), "en", out)
    text = out.getvalue()
    assert f"{80 - LISTED} more attempts are not listed" in text
    assert "◐ partial" in text


async def test_an_empty_run() -> None:
    out = io.StringIO()
    await print_report(report_of(), "en", out)
    assert "This run has no cases." in out.getvalue()


async def test_runs_side_by_side() -> None:
    out = io.StringIO()
    await print_side_by_side([chinese_report(), english_report()], "en", out)
    text = out.getvalue()
    assert row(text, "Measure").split() == ["Measure", "demo-good", "bistro"]
    assert "75 % (4 of 5 measured)" in text
    assert "L2 80 % · 4/5 missing appointment_time" in text
