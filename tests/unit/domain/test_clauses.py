"""What a clause denies, promises or asks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenteval.domain import clauses as c
from tests.fakes.timing import growth


class TestClauses:
    @pytest.mark.parametrize(
        ("text", "parts"),
        [
            ("已预订，请放心。谢谢", ["已预订，", "请放心。", "谢谢"]),
            ("不能退款但可以改签", ["不能退款", "但可以改签"]),
            ("I could not book it, but I called. Fine!", ["I could not book it, ", "but I called. ", "Fine!"]),
            ("It costs 1,500.50 at 3:30 for you", ["It costs 1,500.50 at 3:30 for you"]),
            ("没找到，所以改订了", ["没找到，", "所以改订了"]),
            ("", []),
        ],
    )
    def test_split(self, text: str, parts: list[str]) -> None:
        assert [text[a:b] for a, b in c.clauses(text)] == parts

    @given(st.text(st.sampled_from("ab 1，。,.!？?:-\n但不过所以but"), max_size=40))
    def test_the_clauses_are_the_text(self, text: str) -> None:
        assert "".join(text[a:b] for a, b in c.clauses(text)) == text

    @pytest.mark.parametrize("unit", ["，\u200b", "a, ", "not, a or ", "未能，", "! - ", "n't be to, "])
    def test_a_long_text_is_fast_even_when_hostile(self, unit: str) -> None:
        def work(size: int) -> None:
            text = unit * (size // len(unit))
            c.clauses(text)
            for start in range(0, len(text), len(text) // 20):
                c.is_negated(text, start)
                c.is_promised(text, start)
                c.is_asked(text, start)

        assert growth(work, 40_000) < 9

    NEGATED = (
        "不能[退款]",
        "我们无法为您[预订]",
        "很抱歉，尚未[预订]",
        "没有为您[预订]成功",
        "[预订]失败",
        "[预订]未成功",
        "[预订]不了",
        "别[取消]",
        "I could not [book] it",
        "I'm unable to [book] it",
        "We never [booked] it",
        "I haven't [booked] it",
        "I haven’t [booked] it",
        "I failed to [book] it",
        "The [booking] failed",
        "Your [booking] was not completed",
        "The room cannot be [booked]",
        "No [booking] was made",
        "您没有已[预订]的酒店",
        "未来三天都不能[预订]",
        "[退款]还没到账",
        "[退款]尚未完成",
        "Nothing was [booked]",
        "Your [booking] and payment could not be processed",
        "不客气的话也不能[退款]",
        "No problem but I did not [book] it",
    )
    ASSERTED = (
        "没问题，已[预订]",
        "没问题已为您[预订]",
        "不客气已经[预订]好了",
        "不好意思久等了已[预订]",
        "不仅[预订]了酒店",
        "会员卡已[预订]",
        "不，我[预订]了",
        "非常高兴为您[预订]了",
        "未来酒店[预订]好了",
        "特别为您[预订]了",
        "不满意的订单已[取消]",
        "没有找到但[预订]了另一家",
        "不是A，而是[预订]了B",
        "No problem, it's [booked]",
        "No problem your room is [booked]",
        "I not only [booked] it",
        "Don't worry your room is [booked]",
        "I did not find it, so I [booked] another",
        "No, I [booked] it",
        "I did not find the first but [booked] the second",
        "I have [booked] the room that is not near the street",
        "The note is [booked]",
        "Your room is [booked] and will not be charged",
        "I have [cancelled] it as you did not pay",
        "订单[预订]成功，不会产生额外费用",
    )

    @pytest.mark.parametrize("marked", NEGATED)
    def test_negated(self, marked: str) -> None:
        assert c.is_negated(*_place(marked))

    @pytest.mark.parametrize("marked", ASSERTED)
    def test_not_negated(self, marked: str) -> None:
        assert not c.is_negated(*_place(marked))

    @pytest.mark.parametrize(
        "marked",
        [
            "我会为您[预订]",
            "我们将为您[预订]",
            "马上[预订]",
            "稍后为您[预订]",
            "正在为您[预订]",
            "让我[预订]",
            "将军饭店稍后会[预订]",
            "如需[取消]请告诉我",
            "我可以帮您[预订]",
            "I can [book] it",
            "I'd be happy to [book] it",
            "I will [book] it",
            "I'll [book] it",
            "I’ll [book] it",
            "I am going to [book] it",
            "Let me [book] it",
            "If you want to [cancel], call us",
        ],
    )
    def test_promised(self, marked: str) -> None:
        assert c.is_promised(*_place(marked))

    @pytest.mark.parametrize(
        "marked",
        [
            "会员服务已[预订]",
            "会议室[预订]好了",
            "将军饭店[预订]成功",
            "已将订单[取消]",
            "音乐会[预订]成功",
            "稍后见，已[预订]",
            "我会留意，房间已[预订]",
            "将近十点[预订]了",
            "I [booked] it and will call you",
            "I will call you, it is [booked]",
            "I can confirm that it is [booked]",
            "The willow room is [booked]",
            "I have [booked] it",
        ],
    )
    def test_not_promised(self, marked: str) -> None:
        assert not c.is_promised(*_place(marked))

    @pytest.mark.parametrize(
        "marked",
        [
            "是否已[预订]？",
            "要不要帮您[预订]",
            "您[预订]了吗",
            "请问[预订]几间？",
            "已[预订]，对吗？",
            "需要[预订]么？",
            "Would you like me to [book] it?",
            "Would you like me to [book] it, or wait?",
            "Shall I [book] it",
            "I want to know whether you [booked] it",
            "You [booked] it, right?",
            "Okay, do you want me to [book] it?",
            "What did you [book]?",
        ],
    )
    def test_asked(self, marked: str) -> None:
        assert c.is_asked(*_place(marked))

    @pytest.mark.parametrize(
        "marked",
        [
            "已[预订]，还有其他需要吗？",
            "还需要什么吗？已[预订]。",
            "已经[预订]好了呢",
            "It is [booked]. Anything else?",
            "Need more? It is [booked].",
            "I [booked] it, what else can I do?",
            "It is [booked] for you!",
        ],
    )
    def test_not_asked(self, marked: str) -> None:
        assert not c.is_asked(*_place(marked))

    @pytest.mark.parametrize(
        ("text", "words", "negated"),
        [
            ("My fridge is not cooling", "is not cooling", False),
            ("It does not start, sorry", "does not start", False),
            ("电脑无法开机了", "无法开机", False),
            ("昨天付款失败了", "付款失败", False),
            ("It is not cooling, not leaking either", "cooling, not leaking", True),
            ("I did not say it does not start", "does not start", True),
            ("预订失败", "预订", True),
        ],
    )
    def test_a_negation_within_the_words_denies_nothing(self, text: str, words: str, negated: bool) -> None:
        start = text.index(words)
        assert c.is_negated(text, start, start + len(words)) is negated

    def test_a_place_in_a_long_text_is_judged_by_its_own_clause(self) -> None:
        text = "不能退款。" * 2_000 + "已预订" + "，不能退款。" * 2_000
        assert not c.is_negated(text, text.index("预订"))


def _place(marked: str) -> tuple[str, int]:
    """The text without brackets, and where the bracketed words begin."""
    return marked.replace("[", "").replace("]", ""), marked.index("[")


@pytest.mark.parametrize(("text", "word"), [("It is _not_ booked", "booked"), ("沒有預約成功", "預約成功")])
def test_a_negation_is_seen_in_markdown_and_in_traditional_characters(text: str, word: str) -> None:
    assert c.is_negated(text, text.index(word))
