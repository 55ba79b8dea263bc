"""Forms of a text."""

import sys
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agenteval.domain import text as t
from tests.fakes.timing import growth

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

    @given(
        st.text(
            st.sampled_from("好的退款，。：；！？（）“”‘’…、【】《》〉〜Ａｂ１ aB\u3000\xa0\n") | st.characters(),
            max_size=30,
        )
    )
    def test_usual_text_is_folded_as_any_other(self, text: str) -> None:
        assert t.fold(text) == t.fold(text + "\u200b")

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

    @pytest.mark.parametrize(
        ("before", "unit", "after"),
        [("a", "\u0316\u0301", ""), ("", "¨¸", ""), ("a", "  ", "\u0301"), ("", "a ", ""), ("", "，\u200b", "")],
    )
    def test_a_long_text_is_fast_even_when_hostile(self, before: str, unit: str, after: str) -> None:
        def work(times: int) -> None:
            text = before + unit * times + after
            t.fold(text)
            t.quote_form_map(text)
            t.visible(text)

        assert growth(work, 5_000) < 9


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
