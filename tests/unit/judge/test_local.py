"""A wrong pass is the worst a scorer without a model can do; the next worst is a guess."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agenteval.domain.questions import Lead, Ranked
from agenteval.judge import local
from agenteval.judge.local import (
    LONGEST_TEXT,
    CharNgrams,
    LocalScorer,
    SentenceEncoder,
    cosine,
    local_scorer,
    ngrams,
    rank,
    ranked,
)

PAIRS: Sequence[Mapping[str, Any]] = [
    orjson.loads(line)
    for line in (Path(__file__).parents[3] / "benchmarks/data/similarity_pairs.jsonl").read_bytes().splitlines()
]
TAXONOMY = {
    "repair.book": ["预约上门维修", "预约、上门、维修时间"],
    "repair.cancel": ["取消维修", "取消、撤销"],
    "inquiry": ["咨询价格", "价格、收费、多少钱"],
}


class Fixed:
    """Scores every candidate by a table: the seam between scorers and `rank`."""

    name = "fixed"
    pass_threshold = 1.0
    intent_margin = 0.2
    intent_floor = 0.5
    joint_margin = 0.1

    def __init__(self, *scores: float) -> None:
        self._scores = scores
        self.seen: list[str] = []

    def similarity(self, a: str, b: str) -> float | None:
        return None

    def similarities(self, text: str, candidates: Sequence[str]) -> Sequence[float]:
        self.seen = list(candidates)
        return self._scores[: len(candidates)]


def clear_winner(scorer: LocalScorer, text: str, candidates: Mapping[str, Sequence[str]]) -> str | None:
    found = ranked(scorer, text, candidates)
    return found.best if found and found.lead is Lead.CLEAR else None


def passes(a: str, b: str) -> bool:
    scorer = CharNgrams()
    score = scorer.similarity(a, b)
    return score is not None and score >= scorer.pass_threshold


@pytest.mark.parametrize("pair", [pair for pair in PAIRS if not pair["same"]], ids=lambda pair: str(pair["id"]))
def test_no_near_miss_passes(pair: Mapping[str, Any]) -> None:
    assert not passes(pair["a"], pair["b"])


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("您的预约已确认，时间是明天上午10点。", "您的预约已确认 时间是明天上午１０点"),
        ("Train G101, second class: 553 yuan.", "train G101; SECOND class 553 yuan"),
        ("海底捞（西单店），电话010-66112233", "海底捞(西单店)，电话：010-66112233。"),
        ("OK", "ok."),
        ("👍", " 👍 "),
    ],
)
def test_the_same_words_pass_whatever_their_typography(a: str, b: str) -> None:
    assert passes(a, b)
    assert passes(b, a)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("It costs 3.5 yuan.", "It costs 35 yuan."),
        ("It costs .5 yuan.", "It costs 5 yuan."),
        ("最低气温-5度", "最低气温5度"),
        ("It is $40.", "It is €40."),
        ("满意度50%", "满意度50"),
        ("已预订。", "已预订？"),
        ("👍", "👎"),
        ("We're open.", "Were open."),
        ("from the red car to the blue car", "from the blue car to the red car"),
        ("有", "没有"),
        ("", ""),
        ("。", "，"),
        ("答案", ""),
    ],
)
def test_what_may_change_the_answer_does_not_pass(a: str, b: str) -> None:
    assert not passes(a, b)


def test_n_grams_alone_would_pass_two_swapped_words() -> None:
    a, b = "from the red car to the blue car", "from the blue car to the red car"
    assert cosine(ngrams(a), ngrams(b)) == pytest.approx(1)


def test_the_clearest_intent_comes_first() -> None:
    ranking = rank(CharNgrams(), "好的，已为您预约上门维修，时间是明天上午十点。", TAXONOMY)
    assert ranking[0][0] == "repair.book"
    assert [score for _, score in ranking] == sorted((score for _, score in ranking), reverse=True)


def test_names_count_with_their_words_apart_and_so_do_all_phrases() -> None:
    scorer = Fixed(0.1, 0.2)
    assert rank(scorer, "booked", {"repair.bookVisit": ["Book a visit", "booked"], "get_price": []}) == [
        ("get_price", 0.2),
        ("repair.bookVisit", 0.1),
    ]
    assert scorer.seen == ["repair book Visit\nBook a visit\nbooked", "get price"]


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ((0.9, 0.7), "a"),  # leads by the margin of .2
        ((0.7, 0.9), "b"),
        ((0.9, 0.71), None),  # leads by less
        ((0.4, 0.0), None),  # leads, but is below the floor of .5
        ((0.9,), None),  # nothing to lead
        ((), None),
    ],
)
def test_only_a_clear_lead_wins(scores: Sequence[float], expected: str | None) -> None:
    candidates: Mapping[str, Sequence[str]] = {name: [] for name, _ in zip("ab", scores, strict=False)}
    assert clear_winner(Fixed(*scores), "text", candidates) == expected


@pytest.mark.parametrize(
    ("scores", "lead"), [((0.9, 0.7), Lead.CLEAR), ((0.9, 0.75), Lead.AHEAD), ((0.9, 0.81), Lead.FIRST)]
)
def test_a_lead_is_told_by_the_margins_of_the_scorer(scores: Sequence[float], lead: Lead) -> None:
    found = ranked(Fixed(*scores, 0.3, 0.2), "text", {name: [] for name in "abcd"})
    assert found == Ranked("a", "fixed", lead, ("b", "c"))


@pytest.mark.parametrize("text", ["", " \u200b\n", "……", "x" * (LONGEST_TEXT + 1)])
def test_a_text_without_words_or_too_long_is_not_ranked(text: str) -> None:
    assert rank(CharNgrams(), text, TAXONOMY) == []
    assert clear_winner(CharNgrams(), text, TAXONOMY) is None


@pytest.mark.parametrize("text", ["您好，请问您贵姓？", "Sorry, I did not understand that.", "好的。", "😀"])
def test_small_talk_is_no_intent(text: str) -> None:
    assert clear_winner(CharNgrams(), text, TAXONOMY) is None


@given(st.text(max_size=40), st.text(max_size=40))
@settings(max_examples=60)
def test_likeness_is_symmetric_and_a_text_is_like_itself(a: str, b: str) -> None:
    scorer = CharNgrams()
    assert scorer.similarity(a, b) == scorer.similarity(b, a)
    assert scorer.similarity(a, a) in (1.0, None)


@given(st.text(max_size=40), st.lists(st.text(max_size=20), max_size=4))
@settings(max_examples=60)
def test_n_gram_scores_stay_within_0_and_1(text: str, candidates: list[str]) -> None:
    scores = CharNgrams().similarities(text, candidates)
    assert len(scores) == len(candidates)
    assert all(0 <= score <= 1 + 1e-9 for score in scores)


class Vector(tuple[float, ...]):
    def __matmul__(self, other: Sequence[float]) -> float:
        return sum(x * y for x, y in zip(self, other, strict=True))


class Use:
    """Stands for the optional package; fails as it does on text that is not valid Unicode."""

    def encode(self, texts: Sequence[str]) -> list[Vector]:
        return [Vector((1.0, 0.0) if b"book" in text.encode() else (0.0, 1.0)) for text in texts]


@pytest.fixture
def _encoder_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "find_spec", lambda _name: object())
    monkeypatch.setattr(local, "import_module", lambda _name: SimpleNamespace(USE=Use))


@pytest.mark.usefixtures("_encoder_installed")
def test_the_encoder_is_used_when_it_is_installed() -> None:
    scorer: LocalScorer = local_scorer.__wrapped__()
    assert scorer.name == "fast-use"
    assert scorer.similarities("I booked it \ud800", ["price", "book a room"]) == [0.0, 1.0]
    assert clear_winner(scorer, "I booked it", {"price": [], "book": ["book a room"]}) == "book"


@pytest.mark.usefixtures("_encoder_installed")
def test_the_encoder_passes_no_near_miss_either() -> None:
    scorer = SentenceEncoder()
    assert scorer.similarity("It is booked.", "It is not booked.") is None
    assert scorer.similarity("It is booked.", "it is booked") == 1.0


def test_without_it_character_n_grams_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "find_spec", lambda _name: None)
    assert local_scorer.__wrapped__().name == "char-ngrams"
