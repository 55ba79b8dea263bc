"""Forms of a text, and what a clause denies, promises or asks."""

import sys
import time
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agenteval.domain import text as t

ODD = (
    "eEéßẞŉİıſςΣᾳͅ\u0301\u0316\u0327\u0344\u0338\u3099かｶﾞﾟ゛¨´ﬁ㎞①½ⅷ각ᄀ\u1161\u11a8ㅏᅠ"
    "“”「」《》…。，、？!？\u200b\u200d\ufeff\u2060 \u3000\n\t订房G1０1👍\ud800"
)
odd_text = st.text(st.sampled_from(ODD), max_size=30) | st.text(max_size=30)


class TestForms:
    @pytest.mark.parametrize(
        ("raw", "folded"),
        [
            ("ＡＢＣ１２３", "abc123"),
            ("Straße", "strasse"),
            ("cafe\u0301", "café"),
            ("退\u200b款\ufeff", "退款"),
            ("ﬁne ㎞ ①", "fine km 1"),
            ("你好，世界！", "你好,世界!"),
            ("", ""),
        ],
    )
    def test_fold(self, raw: str, folded: str) -> None:
        assert t.fold(raw) == folded

    def test_fold_keeps_what_it_does_not_unify(self) -> None:
        assert t.fold("说。 “a  b”") == "说。 “a  b”"

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("我想，订 2 间房。", "我想,订2间房."),
            ("It’s “done”", 'it\'s "done"'),
            ("《红楼梦》", "<红楼梦>"),
            ("北京——上海", "北京--上海"),
            ("ＨＥＬＬＯ　world", "hello world"),
            ("等等……", "等等......"),
            ("「好」", '"好"'),
        ],
    )
    def test_quote_form_unifies(self, one: str, other: str) -> None:
        assert t.quote_form(one) == t.quote_form(other)

    @pytest.mark.parametrize(
        ("one", "other"), [("能退款", "不能退款"), ("15", "16"), ("can", "can't"), ("退款?", "退款")]
    )
    def test_quote_form_keeps_apart(self, one: str, other: str) -> None:
        assert t.quote_form(one) != t.quote_form(other)

    @settings(max_examples=400)
    @given(odd_text)
    def test_forms_are_idempotent(self, text: str) -> None:
        assert t.fold(t.fold(text)) == t.fold(text)
        assert t.quote_form(t.quote_form(text)) == t.quote_form(text)

    @settings(max_examples=400)
    @given(odd_text)
    def test_quote_form_forgets_whitespace_and_the_way_letters_are_composed(self, text: str) -> None:
        bare = t.quote_form(text)
        assert bare == t.quote_form("".join(text.split()))
        assert bare == t.quote_form(unicodedata.normalize("NFC", "".join(text.split())))
        assert not any(c.isspace() for c in bare)

    @settings(max_examples=400)
    @given(odd_text)
    def test_the_map_gives_the_same_form_and_rising_places(self, text: str) -> None:
        form, origins = t.quote_form_map(text)
        assert form == t.quote_form(text)
        assert len(form) == len(origins)
        assert list(origins) == sorted(origins)
        for start in {*origins}:
            last = max(i for i, o in enumerate(origins) if o == start)
            end = origins[last + 1] if last + 1 < len(origins) else len(text)
            assert t.quote_form(text[start:end]) == form[origins.index(start) : last + 1]

    def test_every_character_alone_has_a_form_that_joins_nothing_before_it(self) -> None:
        """What the map relies on: only characters of the class `_marks` may combine with the one before."""
        assigned = [chr(c) for c in range(sys.maxunicode + 1) if unicodedata.category(chr(c)) not in {"Cn", "Co", "Cs"}]
        seconds = set()
        for c in assigned:
            parts = unicodedata.decomposition(c).split()
            if len(parts) == 2 and not parts[0].startswith("<") and unicodedata.normalize("NFC", c) == c:
                seconds.add(chr(int(parts[1], 16)))
        piece = t._pieces()
        for c in assigned:
            form = t.quote_form(c)
            if form and (unicodedata.combining(form[0]) or form[0] in seconds or "\u1160" <= form[0] <= "\u11ff"):
                match = piece.match("\ue000" + c)
                assert match is not None
                assert match.end() == 2, hex(ord(c))

    @pytest.mark.parametrize(
        ("text", "form", "origins"),
        [
            ("a ﬁx", "afix", (0, 2, 2, 3)),
            ("5㎞ ①", "5km1", (0, 1, 1, 3)),
            ("Straße!", "strasse!", (0, 1, 2, 3, 4, 4, 5, 6)),
            ("cafe\u0301 x", "caféx", (0, 1, 2, 3, 6)),
            ("订 2\u200b间", "订2间", (0, 2, 4)),
            ("好。", "好.", (0, 1)),
        ],
    )
    def test_map(self, text: str, form: str, origins: tuple[int, ...]) -> None:
        assert t.quote_form_map(text) == (form, origins)

    def test_a_megabyte_is_fast_even_when_hostile(self) -> None:
        hostile = (
            "a" + "\u0316\u0301" * 100_000,
            "¨¸" * 100_000,
            "a" + " " * 200_000 + "\u0301",
            "a " * 100_000,
            "，\u200b" * 100_000,
        )
        began = time.perf_counter()
        for text in hostile:
            t.fold(text)
            t.quote_form_map(text)
            t.clauses(text)
            t.visible(text)
        assert time.perf_counter() - began < 8  # quadratic work takes minutes


class TestOccurrences:
    @pytest.mark.parametrize(
        ("quote", "text", "found"),
        [
            ("138", "13800138000", []),
            ("138", "call 138.", ["138"]),
            ("rain", "the train, the rain", ["rain"]),
            ("1", "1.5 或 1,500 或 1", ["1"]),
            ("房", "订房退房", ["房", "房"]),
            ("88号", "建国路 88 号", ["88 号"]),
            ("fi", "ﬁne", []),
            ("e", "cafe\u0301", []),
            ("café", "cafe\u0301 noir", ["cafe\u0301"]),
            ("2间", "订2间。", ["2间"]),
            ("101", "G101", []),
            ("...", "好", []),
            ("", "好", []),
        ],
    )
    def test_spans(self, quote: str, text: str, found: list[str]) -> None:
        assert [text[a:b] for a, b in t.occurrences(quote, text)] == found

    def test_the_span_ends_before_the_gap(self) -> None:
        assert list(t.occurrences("退款", "我要退 款 \u200b 吧")) == [(2, 5)]

    @given(
        st.text(st.sampled_from("ab1é退款 ，。\u0301\u200bßﬁ"), max_size=20),
        st.text(st.sampled_from("ab1退款é"), min_size=1, max_size=3),
    )
    def test_every_span_has_the_form_of_the_quote(self, text: str, quote: str) -> None:
        for start, end in t.occurrences(quote, text):
            assert t.quote_form(text[start:end]) == t.quote_form(quote)


class TestEdges:
    @pytest.mark.parametrize(
        ("text", "blank"),
        [("", True), (" \n\u3000\t", True), ("\u200b\ufeff \u2060", True), ("。", False), ("👍", False), ("0", False)],
    )
    def test_is_blank(self, text: str, blank: bool) -> None:
        assert t.is_blank(text) is blank

    @pytest.mark.parametrize(
        ("raw", "cleaned"),
        [
            ("a\0b", "ab"),
            ("\ud83d", "\ufffd"),
            ("好\udc00x", "好\ufffdx"),
            ("\ud83d\ude00", "😀"),
            ("\ufeff好\ud800", "\ufeff好\ufffd"),
            ("ok😀", "ok😀"),
        ],
    )
    def test_clean(self, raw: str, cleaned: str) -> None:
        assert t.clean(raw) == cleaned

    @given(st.text(st.characters() | st.sampled_from("\0\ud800\udfff"), max_size=20))
    def test_cleaned_text_can_be_stored(self, text: str) -> None:
        cleaned = t.clean(text)
        assert "\0" not in cleaned
        assert cleaned.encode().decode() == cleaned == t.clean(cleaned)

    @pytest.mark.parametrize(
        ("text", "language"),
        [
            ("你好", "zh"),
            ("Hello", "en"),
            ("", "en"),
            ("订 G101 吧", "zh"),
            ("请帮我预订 Hilton Garden Inn Tokyo", "zh"),
            ("I want to eat 宫保鸡丁 at 北京饭店 tonight", "en"),
            ("Please visit 北京", "en"),
            ("123", "en"),
        ],
    )
    def test_language(self, text: str, language: str) -> None:
        assert t.language(text) == language

    @pytest.mark.parametrize(
        ("raw", "shown"),
        [
            ("a\x1b[31mred", "a\\u001b[31mred"),
            ("退\u200b款", "退\\u200b款"),
            ("\u202egnp.exe", "\\u202egnp.exe"),
            ("a\tb\nc\r\nd", "a\tb\nc\r\nd"),
            ("over\rwritten", "over\\u000dwritten"),
            ("\U000e0041", "\\ue0041"),
            ("\ud800", "\\ud800"),
            ("好 👍 é", "好 👍 é"),
        ],
    )
    def test_visible(self, raw: str, shown: str) -> None:
        assert t.visible(raw) == shown

    @given(st.text(max_size=30))
    def test_nothing_invisible_is_left(self, text: str) -> None:
        assert not any(unicodedata.category(c) in {"Cc", "Cs"} and c not in "\t\n\r" for c in t.visible(text))
        assert t.visible(t.visible(text)) == t.visible(text)


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
        assert [text[a:b] for a, b in t.clauses(text)] == parts

    @given(st.text(st.sampled_from("ab 1，。,.!？?:-\n但不过所以but"), max_size=40))
    def test_the_clauses_are_the_text(self, text: str) -> None:
        assert "".join(text[a:b] for a, b in t.clauses(text)) == text

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
        assert t.is_negated(*_place(marked))

    @pytest.mark.parametrize("marked", ASSERTED)
    def test_not_negated(self, marked: str) -> None:
        assert not t.is_negated(*_place(marked))

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
        assert t.is_promised(*_place(marked))

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
        assert not t.is_promised(*_place(marked))

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
        assert t.is_asked(*_place(marked))

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
        assert not t.is_asked(*_place(marked))

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
        assert t.is_negated(text, start, start + len(words)) is negated

    def test_a_place_in_a_long_text_is_judged_by_its_own_clause(self) -> None:
        text = "不能退款。" * 2_000 + "已预订" + "，不能退款。" * 2_000
        assert not t.is_negated(text, text.index("预订"))


def _place(marked: str) -> tuple[str, int]:
    """The text without brackets, and where the bracketed words begin."""
    return marked.replace("[", "").replace("]", ""), marked.index("[")


@pytest.mark.parametrize(("text", "word"), [("It is _not_ booked", "booked"), ("沒有預約成功", "預約成功")])
def test_a_negation_is_seen_in_markdown_and_in_traditional_characters(text: str, word: str) -> None:
    assert t.is_negated(text, text.index(word))
