"""What is told of how an answer came about, and what is found in all of them."""

import gc
import weakref

from agenteval.domain.json_value import Json
from agenteval.domain.questions import Answers, Cause, Judged, Unscored, provenance
from agenteval.rules.builtin.conversation_completeness import ConversationCompleteness
from tests.fakes.dialogs import CASE, dialog


def test_an_ordinary_answer_has_nothing_to_tell() -> None:
    assert provenance(Judged("v", "model:m", calls=("c1",))) == {}
    assert provenance(Judged("v", "model:m", votes=(("met", 3),))) == {}
    assert provenance(Unscored(Cause.TIE, "no majority")) == {}


def test_what_is_noteworthy_is_told() -> None:
    told: dict[str, Json] = {
        "turns_seen": [[0, 11], [10, 19]],
        "votes": {"met": 2, "unmet": 1},
        "repaired": True,
        "dropped": ["租一辆车"],
    }
    answer = Judged(
        "v",
        "model:m",
        dropped=("租一辆车",),
        turns_seen=((0, 11), (10, 19)),
        votes=(("met", 2), ("unmet", 1)),
        repaired=True,
    )
    assert provenance(answer) == told


def test_what_somebody_finds_in_answers_is_found_once_until_more_are_known() -> None:
    answers = Answers()
    one, other = object(), object()
    assert [answers.found(by, lambda: len(answers)) for by in (one, other)] == [0, 0]
    assert answers.found(one, lambda: -1) == 0
    answers.add({"key": Unscored(Cause.TIE)})
    assert answers.found(one, lambda: len(answers)) == 1


def test_answers_in_which_a_rule_found_something_are_no_garbage_for_the_collector() -> None:
    answers = Answers()
    assert ConversationCompleteness().ask(CASE, dialog(("订票", "好的")), answers)
    gone = weakref.ref(answers)
    gc.disable()
    try:
        del answers
        assert gone() is None
    finally:
        gc.enable()
