from time import process_time

import pytest

from agenteval.domain.regex import MAX_PATTERN, Pattern, TextTooLong, compile_pattern


@pytest.mark.parametrize(
    ("pattern", "text", "span"),
    [
        (r"1[3-9]\d{9}", "电话 13800138000。", (3, 14)),
        (r"[\u4e00-\u9fa5]{2,4}先生", "您好，王小明先生", (3, 8)),
        (r"\p{Han}+", "ok 好的", (3, 5)),
        (r"(?i)order\s*#\d+", "Your ORDER #42", (5, 14)),
        ("退款", "😀 可以退款", (4, 6)),
        (r"\\u4e00", r"a literal \u4e00", (10, 16)),
        ("退款", "可以换货", None),
    ],
)
def test_finds_the_first_match_in_characters(pattern: str, text: str, span: tuple[int, int] | None) -> None:
    assert compile_pattern(pattern).search(text) == span


def test_fullmatch_wants_the_whole_text() -> None:
    assert compile_pattern(r"\d{4}").fullmatch("2024")
    assert not compile_pattern(r"\d{4}").fullmatch("in 2024")


@pytest.mark.parametrize("pattern", ["(?=a)b", "(?<!不)能", r"(a)\1", "(a", "a{1001}", "*", "[", r"\pL{900}"])
def test_a_pattern_that_cannot_be_used_is_named_with_advice(pattern: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="no look-around and no back-references"):
        compile_pattern(pattern)
    assert capfd.readouterr() == ("", "")


def test_a_long_pattern_is_refused() -> None:
    assert compile_pattern("a" * MAX_PATTERN).fullmatch("a" * MAX_PATTERN)
    with pytest.raises(ValueError, match="at most 1,000 characters"):
        compile_pattern("a" * (MAX_PATTERN + 1))


REDOS = (
    *(
        "(a+)+$",
        "(a*)*b",
        "(a|a)*$",
        "(a|aa)+$",
        "(.*a){20}",
        "([a-zA-Z]+)*$",
        "(a?){50}a{50}",
        "^(([a-z])+.)+[A-Z]([a-z])+$",
    ),
    *(r"(\w+\s?)*$", r"^(\w*)*@", r"(x+x+)+y", r"((a+)+)+$", r"(?:a?b?){500}c", "a[ab]{100}c", "((a|b){1,30}){1,30}c"),
    *(r"\s+$", r"(\d+)*\.", "(.+)+#", "(.*)*x", "a.*b.*c.*d.*e", "(a{1,30}){1,30}$", "(?i)(á|a)+$", r"\b(a|b)+\b!"),
    *("(^a+)+$", "(a+){10}y", "(?:(?:a|b)*c?)*d", "(.{1,50}){1,20}!", "[^x]*x[^y]*y", "(ab?)*c", r"\p{L}*\p{N}"),
)


@pytest.mark.parametrize("pattern", REDOS)
def test_no_pattern_takes_long(pattern: str) -> None:
    compiled: Pattern = compile_pattern(pattern)
    started = process_time()
    for text in ("a" * 4_000 + "!", "ab" * 2_000, "中" * 1_300):
        compiled.search(text)
    assert process_time() - started < 2


def test_a_text_that_would_take_too_long_is_refused_at_once() -> None:
    started = process_time()
    with pytest.raises(TextTooLong, match="1,000,000 characters"):
        compile_pattern("(?:a?b?){1000}c").search("ab" * 500_000)
    assert process_time() - started < 0.5
    assert compile_pattern("c").search("ab" * 500_000) is None
