"""What people can say of an item, over every form that judges answer in."""

from typing import Any

import pytest

from agenteval.domain.evidence import Match, Span
from agenteval.domain.forms import AgentQuote, Form, Quote, ToolQuote, UserQuote, dump, load
from agenteval.domain.questions import Moderation, Question, Similarity, value_from_json, value_to_json
from agenteval.domain.review import ReviewItem
from agenteval.rules.builtin.llm_score import Grade
from agenteval.rules.completeness.forms import Judgement
from agenteval.rules.completion.forms import (
    ConditionAnswer,
    ConfirmedSlotAnswer,
    SlotAnswer,
    StepAnswer,
    ToolStepAnswer,
)
from agenteval.rules.intents.forms import form_of

FORMS: list[type[Form]] = [
    SlotAnswer,
    ConfirmedSlotAnswer,
    StepAnswer,
    ToolStepAnswer,
    ConditionAnswer,
    Judgement,
    Grade,
    form_of(("book", "cancel", "other")),
]
ALL = [pytest.param(form, word, id=f"{form.__name__}-{word}") for form in FORMS for word in form.verdicts()]


def quote(kind: type[Quote], turn: int) -> Quote:
    return kind(turn, "好的", Span(turn, kind.speaker, 0, 0, 2, "好的", Match.EXACT))


def quotes(kinds: tuple[type[Quote], ...]) -> dict[type[Quote], Quote]:
    """In the order in which they have to be said."""
    return {kind: quote(kind, turn) for turn, kind in enumerate(kinds)}


def asked(form: type[Form]) -> ReviewItem:
    return ReviewItem(Question("item", form, "?"), None)


@pytest.mark.parametrize(("form", "word"), ALL)
def test_each_verdict_is_an_answer_that_says_it_and_can_be_stored(form: type[Form], word: str) -> None:
    answer = form.by_person(word, quotes(form.verdicts()[word]), "because")
    assert answer.word == word
    assert load(form, dump(answer)) == answer


@pytest.mark.parametrize(("form", "word"), [p for p in ALL if p.values[0].verdicts()[p.values[1]]])  # type: ignore[union-attr]
def test_a_verdict_without_the_words_that_show_it_is_refused(form: type[Form], word: str) -> None:
    with pytest.raises(ValueError, match=r"needs?|quote"):
        form.by_person(word, {}, "")


@pytest.mark.parametrize("form", FORMS)
def test_reviewers_know_each_kind_by_a_name(form: type[Form]) -> None:
    assert asked(form).kind


@pytest.mark.parametrize(
    ("ask", "words"), [(Similarity("a", "b"), ["same", "different"]), (Moderation("a"), ["fine", "flagged"])]
)
def test_scores_and_findings_of_other_models_can_be_reviewed_too(ask: Any, words: list[str]) -> None:
    item = ReviewItem(ask, None)
    assert list(item.verdicts) == words
    values = [item.answered(word, {}, "") for word in words]
    assert [value_from_json(ask, value_to_json(value)) for value in values] == values
    assert values[0] != values[1]


def test_what_the_machine_quoted_stands_for_a_confirmed_verdict_and_is_asked_of_another() -> None:
    user = UserQuote(0, "好的", Span(0, UserQuote.speaker, 0, 0, 2, "好的", Match.EXACT))
    filled = SlotAnswer.by_person("filled", {UserQuote: user}, "")
    item = ReviewItem(Question("slot:a", SlotAnswer, "?"), "filled", answer=filled)
    assert (item.confirms("filled"), item.missing("filled")) == (True, [])
    assert item.missing("contradicted") == [AgentQuote]
    assert item.missing("missing") == []


def test_a_verdict_that_code_corrected_is_not_confirmed_by_what_the_model_said() -> None:
    filled = SlotAnswer.by_person("filled", quotes((UserQuote,)), "")
    item = ReviewItem(Question("slot:a", SlotAnswer, "?"), "missing", answer=filled)
    assert not item.confirms("missing")
    assert not item.confirms("filled")


def test_places_that_code_found_are_quotes_by_who_said_them() -> None:
    span = Span(1, ToolQuote.speaker, 0, 0, 2, "ok", Match.EXACT)
    assert ReviewItem(Question("step:a", StepAnswer, "?"), "done", shown=(span,)).quotes == {
        ToolQuote: ToolQuote(1, "ok", span)
    }
