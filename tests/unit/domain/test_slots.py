"""Values that code finds and compares without a model."""

from collections.abc import Hashable
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenteval.domain.moments import Date, Daypart, Offset, Time, Weekday
from agenteval.domain.slots import Moment, Money, SlotType, differ, find, matches, same, valid
from tests.fakes.timing import growth

S = SlotType


def values(kind: SlotType, text: str) -> list[Hashable]:
    return [found.value for found in find(kind, text)]


class TestNumbers:
    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ("三间", 3),
            ("晚上八点四个人", 4),
            ("十二个人", 12),
            ("二十", 20),
            ("两百五", 250),
            ("两百五十", 250),
            ("一千零五", 1005),
            ("三万二", 32000),
            ("十万零三百", 100300),
            ("一亿两千万", 120000000),
            ("二〇二六", 2026),
            ("2.5万", 25000),
            ("１２３", 123),
            ("1,234,567.5", Fraction("1234567.5")),
            ("零下-5", -5),
            ("三点五", Fraction("3.5")),
            ("三点五个小时", Fraction("3.5")),
            ("今晚七点四位", 4),
            ("two rooms", 2),
            ("twenty-one", 21),
            ("two hundred and fifty", 250),
            ("three thousand five hundred", 3500),
            ("a dozen eggs", 12),
            ("half a dozen", 6),
            ("two dozen", 24),
            ("half a million", 500_000),
            ("two and a half hours", Fraction("2.5")),
            ("a million and a half", 1_500_000),
            ("3 and a half", Fraction("3.5")),
            ("1.5 million", 1_500_000),
            ("nineteen hundred", 1900),
            ("two thousand twenty-six", 2026),
            ("1万5千", 15_000),
            ("1万2345", 12_345),
            ("3千5", 3500),
            ("5千3百2十", 5320),
            ("一个半小时", Fraction("1.5")),
            ("2个半小时", Fraction("2.5")),
            ("5km", 5),
        ],
    )
    def test_value(self, text: str, value: int | Fraction) -> None:
        assert values(S.NUMBER, text)[-1] == value

    @pytest.mark.parametrize(
        "text",
        [
            "G101",
            "2026-09-01",
            "15:00",
            "3pm",
            "21st",
            "一下",
            "万一",
            "十分好",
            "周三",
            "someone",
            "1.2.3",
            "三四百",
            "十几个",
            "三十几个人",
            "二十多个",
            "one two three",
            "nineteen ninety",
            "twenty twenty-six",
            "on May 3",
            "9月4日",
            "三点半",
            "下午3点",
            "",
        ],
    )
    def test_no_number(self, text: str) -> None:
        assert values(S.NUMBER, text) == []

    def test_a_range_gives_both_ends(self) -> None:
        assert values(S.NUMBER, "150-200元") == [150, 200]

    @given(st.integers(0, 99_999_999))
    def test_chinese_numerals_read_back(self, number: int) -> None:
        assert values(S.NUMBER, f"共{_in_chinese(number)}个") == [number]

    @given(st.integers(0, 10**12))
    def test_separators_read_back(self, number: int) -> None:
        assert values(S.NUMBER, f"共{number:,}个") == [number]


class TestMoney:
    @pytest.mark.parametrize(
        ("text", "amount", "currency"),
        [
            ("100元", 100, "CNY"),
            ("￥1,500.50", "1500.5", "CNY"),
            ("五百块钱", 500, "CNY"),
            ("两块五", "2.5", "CNY"),
            ("3万元", 30000, "CNY"),
            ("5 万元", 50000, "CNY"),
            ("$20", 20, "USD"),
            ("USD 30", 30, "USD"),
            ("20 dollars", 20, "USD"),
            ("fifty dollars", 50, "USD"),
            ("HK$5", 5, "HKD"),
            ("30欧元", 30, "EUR"),
            ("$5 million", 5_000_000, "USD"),
            ("$5M", 5_000_000, "USD"),
            ("$2.5bn", 2_500_000_000, "USD"),
            ("5 thousand dollars", 5000, "USD"),
            ("1.5 million dollars", 1_500_000, "USD"),
            ("half a million dollars", 500_000, "USD"),
            ("1万5千元", 15_000, "CNY"),
            ("¥1万2", 12_000, "CNY"),
            ("2块3毛5", "2.35", "CNY"),
            ("三块五毛", "3.5", "CNY"),
        ],
    )
    def test_value(self, text: str, amount: int | str, currency: str) -> None:
        assert values(S.MONEY, f"大约 {text}。") == [Money(Fraction(amount), currency)]

    def test_a_plain_number_is_no_money_but_meets_an_expected_amount(self) -> None:
        assert find(S.MONEY, "500") == []
        assert [f.text for f in matches("500元", "预算五百，两个人", S.MONEY)] == ["五百"]
        assert matches("500元", "500美元", S.MONEY) == []

    @pytest.mark.parametrize("text", ["50个人", "50位", "住50天", "50 people", "50 nights"])
    def test_a_count_is_no_amount(self, text: str) -> None:
        assert matches("50元", text, S.MONEY) == []


class TestPhone:
    @pytest.mark.parametrize(
        "text",
        [
            "13800138000",
            "138 0013 8000",
            "138-0013-8000",
            "+86 138 0013 8000",
            "+8613800138000",
            "86-13800138000",
            "１３８００１３８０００",
        ],
    )
    def test_one_number_in_many_writings(self, text: str) -> None:
        assert [f.text for f in matches("13800138000", f"电话是{text}，2位", S.PHONE)] == [text]

    @pytest.mark.parametrize(
        "text",
        [
            *("010-62345678", "400-123-4567", "(415) 555-0100", "415.555.0100", "+44 20 7946 0000", "6234 5678"),
            *("07700 900461", "07700 900 461", "0161 496 0733", "020 7946 0958"),
        ],
    )
    def test_valid(self, text: str) -> None:
        assert [f.text for f in find(S.PHONE, f"打 {text} 吧")] == [text]

    @pytest.mark.parametrize(
        "text",
        [
            "1380013800",
            "138001380001",
            "12345",
            "2026-09-01",
            "20260901",
            "2025-2026",
            "11010519491231002X",
            "A13800138000",
        ],
    )
    def test_invalid(self, text: str) -> None:
        assert not valid(S.PHONE, text)

    def test_a_number_followed_by_another_stays_itself(self) -> None:
        assert values(S.PHONE, "13800138000 3位") == ["13800138000"]

    def test_area_code_may_be_missing_but_no_digit_may_differ(self) -> None:
        assert same(S.PHONE, "01062345678", "62345678")
        assert not same(S.PHONE, "13800138000", "13800138001")


class TestDates:
    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ("2026-09-01", Date(2026, 9, 1)),
            ("2026/9/1", Date(2026, 9, 1)),
            ("2026年9月1日", Date(2026, 9, 1)),
            ("二〇二六年九月一号", Date(2026, 9, 1)),
            ("9月1日", Date(None, 9, 1)),
            ("9月13", Date(None, 9, 13)),
            ("9月", Date(None, 9, None)),
            ("3号", Date(None, None, 3)),
            ("9/1", Date(None, 9, 1, swappable=True)),
            ("25/12", Date(None, 12, 25)),
            ("9/1/2026", Date(2026, 9, 1, swappable=True)),
            ("9/9", Date(None, 9, 9)),
            ("the twelfth of March", Date(None, 3, 12)),
            ("March the twenty-first, 2027", Date(2027, 3, 21)),
            ("Sept 1", Date(None, 9, 1)),
            ("September 1st, 2026", Date(2026, 9, 1)),
            ("1 September 2026", Date(2026, 9, 1)),
            ("the 14th", Date(None, None, 14)),
            ("明天", Offset(1)),
            ("大后天", Offset(3)),
            ("今晚", Offset(0)),
            ("tomorrow", Offset(1)),
            ("the day after tomorrow", Offset(2)),
            ("下周三", Weekday(2, 1)),
            ("这个星期天", Weekday(6, 0)),
            ("周五", Weekday(4, None)),
            ("周末", Weekday(7, None)),
            ("next Monday", Weekday(0, 1)),
            ("Monday next week", Weekday(0, 1)),
            ("Friday", Weekday(4, None)),
        ],
    )
    def test_value(self, text: str, value: Hashable) -> None:
        assert values(S.DATE, text) == [value]

    @pytest.mark.parametrize(
        "text",
        [
            *(
                "中关村大街27号",
                "中关村大街 27 号",
                "长安街二十七号",
                "南京路8号",
                "大柳树村3号",
                "朝阳区8号",
                "3单元8号",
            ),
            *("27 号楼", "3号线", "12号机", "8号公寓", "8号登机口", "9号柜台", "45号", "5th Avenue", "12 May Street"),
        ],
    )
    def test_the_number_of_a_house_or_a_thing_is_no_date(self, text: str) -> None:
        assert values(S.DATE, text) == []

    @pytest.mark.parametrize(
        "text", ["8号", "这个月 8 号", "我知道8号有空", "订8号机票", "8号车票", "挂8号门诊", "周五8号"]
    )
    def test_a_day_of_the_month_alone(self, text: str) -> None:
        assert values(S.DATE, text)[-1] == Date(None, None, 8)

    @pytest.mark.parametrize(
        "text", ["13月1号楼", "2月30日", "2026-13-01", "3号楼", "you may go", "1.5", "500", "31/31", "satisfied"]
    )
    def test_no_date(self, text: str) -> None:
        assert values(S.DATE, text) == []

    @pytest.mark.parametrize(
        ("one", "other", "agree"),
        [
            ("9月1日", "2026-09-01", True),
            ("9月1日", "2026-09-02", False),
            ("2025-09-01", "2026-09-01", False),
            ("the 14th", "March 14th", True),
            ("9月", "1号", False),
            ("周三", "下周三", True),
            ("这周三", "下周三", False),
            ("明天", "tomorrow", True),
            ("明天", "周三", False),
        ],
    )
    def test_partial_dates_agree_in_what_both_say(self, one: str, other: str, agree: bool) -> None:
        assert same(S.DATE, values(S.DATE, one)[0], values(S.DATE, other)[0]) is agree

    @pytest.mark.parametrize(
        ("one", "other", "different"),
        [("12/03/2027", "12 March", False), ("12/03", "3 December", False), ("12/03", "12 April", True)],
    )
    def test_figures_that_may_be_day_and_month_or_month_and_day(self, one: str, other: str, different: bool) -> None:
        assert differ(S.DATE, values(S.DATE, one)[0], values(S.DATE, other)[0]) is different

    @given(st.dates())
    def test_all_writings_of_a_day_are_the_same(self, day: object) -> None:
        year, month, date = str(day).split("-")
        for text in (
            f"{year}年{int(month)}月{int(date)}日",
            f"{int(month)}/{int(date)}/{year}",
            f"{int(month)}月{int(date)}号",
        ):
            assert matches(str(day), f"改到{text}吧", S.DATE)


class TestTimes:
    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ("下午3点", Time(15, 0, True)),
            ("时间：15:00", Time(15, 0, True)),
            ("Time:3点", Time(3, 0, False)),
            ("15:00", Time(15, 0, True)),
            ("3 pm", Time(15, 0, True)),
            ("10:20 a.m.", Time(10, 20, True)),
            ("12 am", Time(0, 0, True)),
            ("12:30pm", Time(12, 30, True)),
            ("三点半", Time(3, 30, False)),
            ("下午三点一刻", Time(15, 15, True)),
            ("3点20分", Time(3, 20, False)),
            ("晚上八点", Time(20, 0, True)),
            ("有八点的位子", Time(8, 0, False)),
            ("中午十二点", Time(12, 0, True)),
            ("凌晨1点", Time(1, 0, True)),
            ("下午一点", Time(13, 0, True)),
            ("half past three", Time(3, 30, False)),
            ("quarter to one", Time(12, 45, False)),
            ("four in the evening", Time(16, 0, True)),
            ("3 o'clock", Time(3, 0, False)),
            ("09:30", Time(9, 30, True)),
            ("明早", Daypart("morning")),
            ("周五九点", Time(9, 0, False)),
            ("周三十点二十", Time(10, 20, False)),
            ("on Saturday at eight, please", Time(8, 0, False)),
            ("Friday at 9 is great", Time(9, 0, False)),
            ("at 9 in the morning", Time(9, 0, True)),
            ("half 3 pm", Time(15, 30, True)),
            ("ten past 3 pm", Time(15, 10, True)),
            ("10 minutes to 4 pm", Time(15, 50, True)),
            ("quarter to 1 pm", Time(12, 45, True)),
            ("下午三点差一刻", Time(14, 45, True)),
            ("下午差五分3点", Time(14, 55, True)),
            ("come at 12 am", Time(0, 0, True)),
            ("晚上12点", Time(0, 0, True)),
        ],
    )
    def test_value(self, text: str, value: Hashable) -> None:
        assert values(S.TIME, text) == [value]

    @pytest.mark.parametrize(
        "text",
        ["25:00", "3:75", "有一点问题", "一点建议", "3小时", "早点来", "1:2:3", "at 9 Rose Hill", "at 5.5 percent"],
    )
    def test_no_time(self, text: str) -> None:
        assert values(S.TIME, text) == []

    @pytest.mark.parametrize(
        ("one", "other", "agree"),
        [
            ("3点", "15:00", True),
            ("上午3点", "15:00", False),
            ("三点半", "15:00", False),
            ("3 pm", "下午三点", True),
            ("12:00", "12 am", False),
            ("12:00", "中午12点", True),
        ],
    )
    def test_an_hour_without_its_half_of_the_day_may_be_either(self, one: str, other: str, agree: bool) -> None:
        assert same(S.TIME, values(S.TIME, one)[0], values(S.TIME, other)[0]) is agree

    @given(st.times())
    def test_clock_reads_back(self, clock: object) -> None:
        hour, minute = (int(part) for part in str(clock).split(":")[:2])
        assert values(S.TIME, f"{hour:02}:{minute:02}")[0] == Time(hour, minute, hour > 12 or hour < 10)

    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ("明天下午3点", Moment(Offset(1), Time(15, 0, True))),
            ("明晚8点", Moment(Offset(1), Time(20, 0, True))),
            ("三月十三号晚八点", Moment(Date(None, 3, 13), Time(20, 0, True))),
            ("周五早9:30", Moment(Weekday(4, None), Time(9, 30, True))),
            ("2026-09-01T15:00", Moment(Date(2026, 9, 1), Time(15, 0, True))),
            ("3 pm next Monday", Moment(Weekday(0, 1), Time(15, 0, True))),
            ("March 14th at 4 pm", Moment(Date(None, 3, 14), Time(16, 0, True))),
        ],
    )
    def test_datetime(self, text: str, value: Hashable) -> None:
        assert values(S.DATETIME, text) == [value]

    def test_a_datetime_needs_both_side_by_side(self) -> None:
        assert not valid(S.DATETIME, "明天")
        assert not valid(S.DATETIME, "明天我有事，要到下午3点")
        assert matches("9月1日下午3点", "2026年9月1日15:00", S.DATETIME)


class TestOthers:
    @pytest.mark.parametrize(
        ("kind", "text", "value"),
        [
            (S.EMAIL, "邮箱是A.b@Example.com。", "a.b@example.com"),
            (S.EMAIL, "ａ＠ｂ．com", "a@b.com"),
            (S.URL, "见https://Example.com/A?b=1。", "example.com/A?b=1"),
            (S.URL, "www.example.cn/", "example.cn"),
            (S.URL, "example.com", "example.com"),
            (S.ID_CARD, "身份证11010519491231002x", "11010519491231002X"),
            (S.TEXT, "  靠窗 ", "靠窗"),
        ],
    )
    def test_value(self, kind: SlotType, text: str, value: Hashable) -> None:
        assert values(kind, text) == [value]

    @pytest.mark.parametrize(
        ("kind", "text"),
        [
            (S.EMAIL, "a@b"),
            (S.EMAIL, "@b.com"),
            (S.URL, "a@b.com"),
            (S.URL, "e.g. this"),
            (S.ID_CARD, "110105194913310021"),
            (S.ID_CARD, "1101051949123100211"),
            (S.TEXT, " "),
        ],
    )
    def test_invalid(self, kind: SlotType, text: str) -> None:
        assert not valid(kind, text)


class TestMatches:
    @pytest.mark.parametrize(
        ("expected", "text", "found"),
        [
            ("朝阳区建国路88号", "我住朝阳区建国路 88 号。", ["朝阳区建国路 88 号"]),
            ("朝阳区建国路 88 号", "朝阳区建国路８８号", ["朝阳区建国路８８号"]),
            ("New York", "to NEW  YORK please", ["NEW  YORK"]),
            ("New York", "to NewYork", []),
            ("art", "start", []),
            ("12", "1 2", []),
            ("12", "312", []),
            ("张三", "我叫张三，张三丰的张三", ["张三", "张三", "张三"]),
            ("", "x", []),
        ],
    )
    def test_word_for_word(self, expected: str, text: str, found: list[str]) -> None:
        assert [f.text for f in matches(expected, text)] == found

    @pytest.mark.parametrize(
        ("kind", "expected", "text", "found"),
        [
            (S.NUMBER, "2", "两位，二号桌，G2", ["两", "二"]),
            (S.NUMBER, "two", "2 people and 12 dogs", ["2"]),
            (S.NUMBER, "50-100", "20-50元", []),
            (S.NUMBER, "50-100元", "50到100，或 50，不许超过 100", ["50到100"]),
            (S.DATE, "2026-09-01", "9月1日入住，9月3日离店", ["9月1日"]),
            (S.DATE, "国庆", "国庆出发", ["国庆"]),
            (S.TIME, "15:00", "下午三点或四点", ["下午三点"]),
            (S.EMAIL, "A@b.com", "a@B.com", ["a@B.com"]),
        ],
    )
    def test_typed(self, kind: SlotType, expected: str, text: str, found: list[str]) -> None:
        assert [f.text for f in matches(expected, text, kind)] == found

    @given(
        st.sampled_from(S),
        st.text(st.sampled_from("一二十百点半月日周下年明天12309:/-.,@$元块 apmMonTh　３，"), max_size=25),
    )
    def test_places_are_slices_and_every_value_is_itself(self, kind: SlotType, text: str) -> None:
        for found in find(kind, text):
            assert found.text == text[found.start : found.end]
            assert found.text
            assert same(kind, found.value, found.value)
            hash(found.value)


@pytest.mark.parametrize("unit", ["1", "1,", "十", "one ", "a.", "a@", "1:", "+1", "(1", "年月", "下个", "http://"])
def test_hostile_texts_take_linear_time(unit: str) -> None:
    assert growth(lambda times: [find(kind, unit * times) for kind in S], 5_000 // len(unit)) < 9


def _in_chinese(number: int) -> str:
    if number >= 10_000:
        high, low = divmod(number, 10_000)
        zero = "零" if 0 < low < 1000 else ""
        return _in_chinese(high) + "万" + zero + (_in_chinese(low) if low else "")
    digits, units = "零一二三四五六七八九", ["", "十", "百", "千"]
    written = ""
    for place in range(3, -1, -1):
        digit = number // 10**place % 10
        if digit:
            written += digits[digit] + units[place]
        elif written and not written.endswith("零") and number % 10 ** (place + 1):
            written += "零"
    return written or "零"


@pytest.mark.parametrize(
    ("kind", "one", "other", "sure"),
    [
        (S.DATE, "9月1日", "9月2日", True),
        (S.DATE, "9月1日", "2号", True),
        (S.DATE, "9月1日", "2026-09-01", False),
        (S.DATE, "9月", "1号", False),
        (S.DATE, "明天", "9月1日", False),
        (S.DATE, "明天", "后天", True),
        (S.DATE, "周三", "9月1日", False),
        (S.DATE, "周三", "周四", True),
        (S.DATE, "周末", "周六", False),
        (S.DATE, "周末", "周三", True),
        (S.TIME, "下午", "15:00", False),
        (S.TIME, "3点", "15:00", False),
        (S.TIME, "下午", "上午", True),
        (S.TIME, "12:00", "晚上12点", False),
        (S.TIME, "12 pm", "12 am", True),
        (S.DATETIME, "明天15:00", "9月1日16:00", True),
        (S.DATETIME, "明天15:00", "9月1日15:00", False),
        (S.PHONE, "13800138000", "13800138001", True),
        (S.MONEY, "50元", "60元", True),
    ],
)
def test_values_differ_only_where_they_can_be_compared(kind: SlotType, one: str, other: str, sure: bool) -> None:
    first, second = values(kind, one)[0], values(kind, other)[0]
    assert differ(kind, first, second) is differ(kind, second, first) is sure
    assert not (sure and same(kind, first, second))


@pytest.mark.parametrize(
    ("kind", "plain", "hidden"),
    [
        (S.PHONE, "13800138000", "1\u200b3800138000"),
        (S.DATE, "9月1日", "9\u2060月\ufeff1日"),
        (S.MONEY, "￥300", "￥3\xad00"),
        (S.NUMBER, "二十", "二\u200d十"),
    ],
)
def test_what_nobody_sees_hides_no_value_and_its_place_is_that_in_the_text(
    kind: SlotType, plain: str, hidden: str
) -> None:
    (found,) = find(kind, f"\u200b好的，{hidden}，谢谢")
    (shown,) = find(kind, f"好的，{plain}，谢谢")
    assert (found.value, found.text, found.start) == (shown.value, hidden, shown.start + 1)
