"""A quote counts only where it verifiably stands."""

from collections.abc import Sequence

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from agenteval.domain.clauses import clauses
from agenteval.domain.evidence import Match, Rejected, Span, Speaker, locate
from agenteval.domain.text import quote_form
from tests.fakes.timing import growth

U, A, T = Speaker.USER, Speaker.AGENT, Speaker.TOOL


class Dialog:
    """Turns as (user, agent, *tool results)."""

    def __init__(self, *turns: Sequence[str]) -> None:
        self._turns = turns

    @property
    def turns(self) -> range:
        return range(len(self._turns))

    def texts(self, turn: int, speaker: Speaker) -> Sequence[str]:
        user, agent, *tools = self._turns[turn]
        return {U: [user], A: [agent], T: tools}[speaker]


def in_agent(text: str, quote: str) -> Span | Rejected:
    return locate(Dialog(("", text)), quote, 0, A)


DIALOG = Dialog(
    ("我想订一间房", "好的，请问几位入住？"),
    ("2 位，9月1日入住", "已为您预订 2 位，ﬁve-star hotel。", '{"ok": true}', '{"ok": false}'),
    ("谢谢", "不客气，订单号 G101。"),
)


class TestWhere:
    def test_exact_in_the_cited_turn(self) -> None:
        assert locate(DIALOG, "9月1日", 1, U) == Span(1, U, 0, 4, 8, "9月1日", Match.EXACT)

    def test_normalised_span_is_the_source_verbatim(self) -> None:
        assert locate(DIALOG, "已为您预订2位, five-star hotel.", 1, A) == Span(
            1, A, 0, 0, 25, "已为您预订 2 位，ﬁve-star hotel。", Match.NORMALISED
        )

    def test_moved_to_the_turn_where_it_was_said(self) -> None:
        assert locate(DIALOG, "订单号 G101", 0, A) == Span(2, A, 0, 4, 12, "订单号 G101", Match.EXACT, moved=True)

    def test_a_turn_that_does_not_exist_is_corrected_too(self) -> None:
        found = locate(DIALOG, "谢谢", 99, U)
        assert isinstance(found, Span)
        assert (found.turn, found.moved) == (2, True)

    def test_the_nearest_turn_wins(self) -> None:
        dialog = Dialog(("好", ""), ("", ""), ("x", ""), ("", ""), ("好", ""))
        found = locate(dialog, "好", 3, U)
        assert isinstance(found, Span)
        assert found.turn == 4

    def test_second_tool_result(self) -> None:
        found = locate(DIALOG, '"ok": false', 1, T)
        assert isinstance(found, Span)
        assert (found.source, found.start) == (1, 1)

    def test_cited_turn_normalised_wins_over_another_turn_exact(self) -> None:
        found = locate(Dialog(("退 款", ""), ("退款", "")), "退款", 0, U)
        assert isinstance(found, Span)
        assert (found.turn, found.match) == (0, Match.NORMALISED)


class TestRejected:
    @pytest.mark.parametrize("quote", ["", "  ", "...", "。，！", "\u200b", "……"])
    def test_empty(self, quote: str) -> None:
        found = in_agent("好。，！...……", quote)
        assert isinstance(found, Rejected)
        assert found.cause == "empty"

    def test_an_emoji_is_a_quote(self) -> None:
        assert isinstance(in_agent("好的👍", "👍"), Span)

    def test_wrong_speaker_names_the_place(self) -> None:
        found = locate(DIALOG, "订单号 G101", 2, U)
        assert isinstance(found, Rejected)
        assert found.cause == "wrong_speaker"
        assert "agent said in turn 2" in found.detail

    @pytest.mark.parametrize(
        ("text", "quote"),
        [
            ("已为您预订3位", "已为您预订2位"),
            ("I can't refund", "I can refund"),
            ("the train leaves", "rain"),
            ("call 13800138000", "138"),
            ("costs 1,500", "500"),
            ("costs 1.5", "1"),
            ("订单 G101", "101"),
            ("已预订", "已预定"),
            ("booked", "booked it"),
            ("甲乙", "乙...甲"),
            ("的房间好", "的…好"),
        ],
    )
    def test_not_found(self, text: str, quote: str) -> None:
        found = in_agent(text, quote)
        assert isinstance(found, Rejected)
        assert found.cause == "not_found"

    @pytest.mark.parametrize(
        ("text", "quote"),
        [
            ("抱歉，不能退款", "能退款"),
            ("抱歉，不能退款", "退款"),
            ("尚未预订", "预订"),
            ("没有为您预订", "为您预订"),
            ("没有为您预订", "预订"),
            ("无法退款", "退款"),
            ("非会员可退", "会员可退"),
            ("请别取消", "取消"),
            ("能不能退款", "能退款"),
            ("未成功预订", "成功预订"),
            ("不 能 退款", "能退款"),
            ("I can not refund", "refund"),
            ("I don't want a refund", "want a refund"),
            ("I don’t have a booking", "have a booking"),
            ("It has not been booked", "booked"),
            ("I cannot refund it", "refund it"),
            ("I was unable to book it", "book it"),
            ("There is no refund", "refund"),
            ("We never refund", "refund"),
            ("我可以帮您，但不能为您退款", "我可以...退款"),
            ("The hotel is nice but it is not available", "The hotel is ... available"),
            ("I did not, as agreed, book it", "I did ... book it"),
            ("不能退款，已改签", "能退款……已改签"),
            ("I have not, unfortunately, booked it", "booked it"),
            ("I cannot, at this time, confirm it", "confirm it"),
            ("我们无法，很抱歉，为您预订", "预订"),
            ("請別取消", "取消"),
            ("我們無法，很抱歉，為您預訂", "為您預訂"),
        ],
    )
    def test_negation_cut(self, text: str, quote: str) -> None:
        found = in_agent(text, quote)
        assert isinstance(found, Rejected)
        assert found.cause == "negation_cut"

    def test_a_negated_quote_in_the_cited_turn_is_not_moved_away(self) -> None:
        found = locate(Dialog(("", "不能退款"), ("", "退款很快")), "退款", 0, A)
        assert isinstance(found, Rejected)
        assert found.cause == "negation_cut"
        assert "turn 0" in found.detail


class TestAccepted:
    @pytest.mark.parametrize(
        ("text", "quote"),
        [
            ("没问题，已预订", "已预订"),
            ("没问题已预订", "已预订"),
            ("不，我要退款", "我要退款"),
            ("不客气，可以退款", "可以退款"),
            ("特别好", "好"),
            ("不仅预订了，还付款了", "预订了"),
            ("不得不退款", "退款"),
            ("要不要退款", "退款"),
            ("我不能退款", "不能退款"),
            ("No problem, booked", "booked"),
            ("I not only booked it", "booked it"),
            ("No, book it", "book it"),
            ("I did not, I have booked it", "I have booked it"),
            ("无法，已为您预订", "已为您预订"),
            ("別擔心，預訂好了", "預訂好了"),
            ("do not refund. Refund", "Refund"),
            ("不能退款，但可以退款一半", "退款一半"),
        ],
    )
    def test_no_negation_was_cut(self, text: str, quote: str) -> None:
        found = in_agent(text, quote)
        assert isinstance(found, Span)
        assert found.text == quote

    def test_a_later_place_without_negation_counts(self) -> None:
        found = in_agent("不能退款。支付宝可退款", "可退款")
        assert isinstance(found, Span)
        assert found.start == 8

    @pytest.mark.parametrize(
        ("text", "quote", "span"),
        [
            ("已为您预订北京饭店，2间，9月1日入住", "已为您预订...9月1日", "已为您预订北京饭店，2间，9月1日"),
            ("已为您预订北京饭店，2间", "已为您预订……2间", "已为您预订北京饭店，2间"),
            (
                "Booked a room for two at the Hilton",
                "Booked a room [...] at the hilton",
                "Booked a room for two at the Hilton",
            ),
            ("Booked a room", "Booked a…", "Booked a"),
            ("好的，没问题，已预订", "好的...已预订", "好的，没问题，已预订"),
            ("预订失败。预订了，已付款", "预订…已付款", "预订了，已付款"),
        ],
    )
    def test_elided(self, text: str, quote: str, span: str) -> None:
        found = in_agent(text, quote)
        assert isinstance(found, Span)
        assert (found.text, found.match) == (span, Match.ELIDED)

    def test_an_ellipsis_of_the_text_itself_is_no_gap(self) -> None:
        found = in_agent("嗯……好", "嗯……好")
        assert isinstance(found, Span)
        assert found.match is Match.EXACT


WORDS = st.text(st.sampled_from("订房退款改签北京饭店二三天abc 12é"), min_size=1, max_size=12)
# Not joined by commas: between digits they would make one number.
TEXT = st.lists(WORDS.filter(lambda w: bool(w.strip())), min_size=1, max_size=6).map("；".join)


class TestProperties:
    @given(TEXT, st.data())
    def test_whole_clauses_are_found_where_they_stand(self, text: str, data: st.DataObject) -> None:
        spans = clauses(text)
        first = data.draw(st.integers(0, len(spans) - 1))
        last = data.draw(st.integers(first, len(spans) - 1))
        quote = text[spans[first][0] : spans[last][1]].strip()
        assume(text.count(quote) == 1)
        found = in_agent(text, quote)
        assert isinstance(found, Span)
        assert (found.start, found.text, found.match) == (text.index(quote), quote, Match.EXACT)

    @given(TEXT, st.text(st.sampled_from("订房退款 ab12，。é…."), min_size=1, max_size=6))
    def test_a_span_is_its_source_and_says_the_quote(self, text: str, quote: str) -> None:
        found = in_agent(text, quote)
        if isinstance(found, Span):
            assert found.text == text[found.start : found.end]
            if found.match is not Match.ELIDED:
                assert quote_form(found.text) == quote_form(quote)

    @given(TEXT, st.integers(1, 10**6), st.integers(1, 10**6))
    def test_another_number_is_never_accepted(self, text: str, said: int, quoted: int) -> None:
        text = f"{text}，{said}元"
        assume(quote_form(f"，{quoted}元") not in quote_form(text))
        assert isinstance(in_agent(text, f"，{quoted}元"), Rejected)

    @given(
        TEXT,
        st.sampled_from(["不", "没有", "未", "无法", "别", "不能", "did not ", "cannot ", "can't ", "never "]),
        st.data(),
    )
    def test_a_dropped_negation_is_never_accepted(self, text: str, negation: str, data: st.DataObject) -> None:
        statement = data.draw(st.sampled_from(["退掉甲单", "refund order X"]))
        said = f"{text}，{negation}{statement}，{text}"
        for quote in (statement, f"{text}，{statement}", f"{text}...{statement}"):
            assert isinstance(in_agent(said, quote), Rejected)


def test_a_long_dialog_is_searched_quickly() -> None:
    filler = "您好，我想预订朝阳区的酒店，价格在五百元左右。" * 90

    def search(turns: int) -> None:
        dialog = Dialog(*((f"{filler}{i}", filler) for i in range(turns)))
        for turn in (0, turns // 2, turns - 1):
            assert isinstance(locate(dialog, f"左右。{turn}", turn, U), Span)
        for quote in ("nowhere to be found", "nowhere else"):
            assert isinstance(locate(dialog, quote, 0, U), Rejected)

    assert growth(search, 20) < 9


@pytest.mark.parametrize(
    ("unit", "quote"),
    [
        ("aa", "aa...aa"),
        ("订不", "订不...订不"),
        ("不能", "能...能不"),
        ("未能，好", "好未...好未"),
    ],
)
def test_hostile_texts_take_linear_time(unit: str, quote: str) -> None:
    assert growth(lambda times: in_agent(unit * times, quote), 2_500) < 9


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("Your visit is **not** booked for Monday.", "booked for Monday"),
        ("Your visit is _not_ booked for Monday.", "booked for Monday"),
        ('It was not "booked for Monday".', "booked for Monday"),
        ("您的预约**没有**成功预约", "成功预约"),
        ("沒有預約成功", "預約成功"),
    ],
)
def test_marks_between_a_negation_and_what_it_denies_hide_nothing(text: str, quote: str) -> None:
    found = in_agent(text, quote)
    assert isinstance(found, Rejected)
    assert found.cause == "negation_cut"
