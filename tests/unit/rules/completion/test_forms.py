"""Answers about the windows of a long dialog, and what votes compare."""

from typing import Any

import pytest

from agenteval.domain.forms import AgentQuote, UserQuote, YesNo, dump, load
from agenteval.rules.completion.forms import (
    ConditionAnswer,
    ConfirmedSlotAnswer,
    Part,
    Shown,
    SlotAnswer,
    SlotVerdict,
    StepAnswer,
    StepVerdict,
    ToolStepAnswer,
)


def slot(status: SlotVerdict, *user: UserQuote, part: Part = Part.NONE, **more: Any) -> SlotAnswer:
    return SlotAnswer("", user, more.get("agent"), None, part, False, status)


FIRST, SECOND = UserQuote(1, "周一"), UserQuote(6, "周二")
QUESTION = AgentQuote(7, "请问哪天？")
MISSING = slot(SlotVerdict.MISSING)
FILLED = slot(SlotVerdict.FILLED, FIRST)
DECLINED = slot(SlotVerdict.DECLINED, UserQuote(8, "不想说"), part=Part.ASKED, agent=QUESTION)
FABRICATED = slot(SlotVerdict.FABRICATED, agent=AgentQuote(7, "周三"))
ASKED = slot(SlotVerdict.MISSING, part=Part.ASKED, agent=QUESTION)


@pytest.mark.parametrize(
    ("parts", "status", "user"),
    [
        ((MISSING, FILLED), SlotVerdict.FILLED, (FIRST,)),
        ((FILLED, MISSING), SlotVerdict.FILLED, (FIRST,)),
        ((FILLED, slot(SlotVerdict.STATED_ONLY, SECOND)), SlotVerdict.STATED_ONLY, (FIRST, SECOND)),
        ((FILLED, FILLED), SlotVerdict.FILLED, (FIRST,)),
        ((DECLINED, FILLED), SlotVerdict.FILLED, (FIRST,)),
        ((FILLED, DECLINED), SlotVerdict.FILLED, (FIRST,)),
        ((MISSING, DECLINED), SlotVerdict.DECLINED, DECLINED.user),
        ((MISSING, FABRICATED), SlotVerdict.FABRICATED, ()),
        ((ASKED, MISSING), SlotVerdict.MISSING, ()),
    ],
)
def test_the_last_window_that_knows_the_value_wins(
    parts: tuple[SlotAnswer, ...], status: SlotVerdict, user: tuple[UserQuote, ...]
) -> None:
    merged = SlotAnswer.merge(parts)
    assert merged is not None
    assert (merged.status, merged.user) == (status, user)


def test_a_question_in_a_later_window_is_asking_again() -> None:
    merged = SlotAnswer.merge((FILLED, ASKED))
    assert merged is not None
    assert merged.reasked


def test_that_it_was_asked_for_survives_a_window_without_it() -> None:
    assert SlotAnswer.merge((ASKED, MISSING)) == ASKED


def test_an_invention_after_a_given_value_cannot_be_merged() -> None:
    assert SlotAnswer.merge((FILLED, FABRICATED)) is None


def test_a_step_is_done_where_any_window_shows_it() -> None:
    early, late = Shown(AgentQuote(1, "已核实"), None), Shown(AgentQuote(5, "已核实"), None)
    done = [StepAnswer("", (early,), StepVerdict.DONE), StepAnswer("", (early, late), StepVerdict.DONE)]
    merged = StepAnswer.merge([done[0], StepAnswer("", (), StepVerdict.NOT_DONE), done[1]])
    assert merged == StepAnswer("", (early, late), StepVerdict.DONE)
    assert merged is not None
    assert merged.turns == {1, 5}


def test_the_calls_of_all_windows_are_joined() -> None:
    parts = [ToolStepAnswer("", (), StepVerdict.DONE, (turn,)) for turn in (4, 2)]
    parts.append(ToolStepAnswer("", (), StepVerdict.NOT_DONE, (9,)))
    merged = ToolStepAnswer.merge(parts)
    assert merged is not None
    assert merged.calls == (2, 4)


def test_a_condition_holds_if_it_does_in_any_window() -> None:
    no = ConditionAnswer("", None, None, None, YesNo.NO)
    yes = ConditionAnswer("", FIRST, None, None, YesNo.YES)
    assert ConditionAnswer.merge([no, yes]) == yes
    assert ConditionAnswer.merge([no, no]) == no


def test_votes_compare_what_counts() -> None:
    asked = slot(SlotVerdict.FILLED, FIRST, part=Part.ASKED, agent=AgentQuote(0, "哪天？"))
    assert asked.ballot() == FILLED.ballot()
    confirmed = ConfirmedSlotAnswer("", (FIRST,), AgentQuote(0, "哪天？"), None, Part.ASKED, False, SlotVerdict.FILLED)
    assert (
        confirmed.ballot()
        != ConfirmedSlotAnswer("", (FIRST,), None, None, Part.NONE, False, SlotVerdict.FILLED).ballot()
    )


@pytest.mark.parametrize("answer", [FILLED, DECLINED, ToolStepAnswer("", (), StepVerdict.DONE, (1,))])
def test_answers_survive_storage(answer: SlotAnswer | StepAnswer) -> None:
    assert load(type(answer), dump(answer)) == answer


def test_a_deed_in_one_window_and_a_failed_call_in_another_make_no_answer() -> None:
    claim = Shown(AgentQuote(3, "已订好"), None)
    contradicted = ToolStepAnswer("", (claim,), StepVerdict.CLAIM_CONTRADICTED, (3,))
    done = ToolStepAnswer("", (claim,), StepVerdict.DONE, (5,))
    for parts in ([contradicted, done], [done, contradicted]):
        assert ToolStepAnswer.merge(parts) is None
