"""What people say of a run: which items they are shown, what follows, and what it tells of the judge."""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from agenteval.domain.agreement import corrected_rate
from agenteval.domain.comparison import Setting
from agenteval.domain.errors import InputError, StorageError
from agenteval.domain.evidence import Match, Span, Speaker
from agenteval.domain.forms import AgentQuote, UserQuote
from agenteval.domain.outcome import Source, SuccessLevel
from agenteval.domain.questions import Ask, Cause, Judged, Question, Unscored
from agenteval.domain.records import AttemptKey, AttemptStarted, CaseRecord, Run, RunCase
from agenteval.domain.review import UNCLEAR, Queue, Statement
from agenteval.domain.scenario import Case, EffectivePolicy, Policy, RuleSpec
from agenteval.domain.transcript import Dialog
from agenteval.engine.evaluate import evaluate
from agenteval.engine.time_limit import TimeLimit
from agenteval.judge.panel import Panel, Said
from agenteval.rules.build import bind
from agenteval.rules.builtin.llm_score import Grade
from agenteval.rules.completion.forms import SlotAnswer
from agenteval.services.compare import comparison
from agenteval.services.reviews import Reviews
from agenteval.storage import attempts, reviews, runs
from agenteval.storage.store import Store
from agenteval.storage.writer import Writer
from tests.fakes.clock import START, FakeClock
from tests.fakes.dialogs import dialog
from tests.fakes.records import run

DIALOG = dialog(("我叫张三，四位", "好的，张三，四位"))
SLOTS = {
    "mode": "slot",
    "required_slots": [{"name": "name", "description": "姓名"}, {"name": "people", "description": "人数"}],
}
SLOT_RULE = RuleSpec("task_completion", SLOTS)
SCORE_RULE = RuleSpec("llm_score", {"criteria": "礼貌"})


def user(text: str) -> UserQuote:
    at = DIALOG[0].sent_message.index(text)
    return UserQuote(0, text, Span(0, Speaker.USER, 0, at, at + len(text), text, Match.EXACT))


AGENT = AgentQuote(0, "好的", Span(0, Speaker.AGENT, 0, 0, 2, "好的", Match.EXACT))
FILLED = Judged(SlotAnswer.by_person("filled", {UserQuote: user("张三")}, "说了"), "model:m")
MISSING = Judged(SlotAnswer.by_person("missing", {}, "没说"), "model:m")
GOOD = Judged(Grade("礼貌", AGENT, 9), "model:m")
NEEDS_JUDGE = Unscored(Cause.NEEDS_JUDGE)


class Says:
    """A judge with its answers by item."""

    def __init__(self, answers: Mapping[str, Judged[Any] | Unscored]) -> None:
        self._answers = answers

    async def answer(self, dialog: Dialog, asks: Sequence[Ask], *, until_s: float | None = None) -> Said:
        return Said({a.key: self._answers[a.item] for a in asks if isinstance(a, Question) and a.item in self._answers})

    async def learn(self, *_: object) -> None:
        return None


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    opened = await Store.open(tmp_path / "runs.db")
    yield opened
    await opened.aclose()


@pytest.fixture
def service(store: Store) -> Reviews:
    numbers = count()
    return Reviews(store, FakeClock(), lambda: f"review-{next(numbers):03}")


async def judged(
    store: Store,
    answers: Iterable[Mapping[str, Judged[Any] | Unscored]],
    *,
    rules: Sequence[RuleSpec] = (SLOT_RULE,),
    partial: Fraction = Fraction(3, 10),
) -> Run:
    """A run with a case for each set of answers. One slot of two is next to no threshold, if `partial` is not 1/2."""
    of, sets, policy = run(), list(answers), Policy(partial_threshold=partial)
    places = [
        RunCase(n, "餐厅", Case(f"case-{n}", ("我叫张三，四位",), tuple(rules), policy=policy))
        for n in range(len(sets))
    ]
    await runs.create(store, of, places)
    async with Writer(store) as sink:
        for place, said in zip(places, sets, strict=True):
            found = await evaluate(
                *(place.case, DIALOG, bind(place.case), Panel(Says(said)), EffectivePolicy.of(place.case.policy)),
                time=TimeLimit(FakeClock(), None),
            )
            started = AttemptStarted(AttemptKey(of.id, place.n, place.case.id, 1, 1), f"c-{place.n}", START)
            await sink.put(
                CaseRecord(started, DIALOG, found.asks, found.answers, (), found.results, found.outcome, START)
            )
    return of


def says(n: int, item: str, word: str, *, rule: str = "task_completion", **words: str) -> Statement:
    return Statement(f"case-{n}", 1, rule, item, word, {Speaker(who): said for who, said in words.items()})


BOTH = {"slot:name": FILLED, "slot:people": FILLED}


# ---- the queue -------------------------------------------------------------------------------------------------------


async def test_what_was_not_measured_comes_first_and_the_sample_last(store: Store, service: Reviews) -> None:
    divided = replace(MISSING, votes=(("missing", 2), ("filled", 1)))
    of = await judged(
        store,
        [
            BOTH,
            {"slot:name": divided, "slot:people": FILLED},
            {"slot:name": NEEDS_JUDGE, **BOTH, "slot:people": NEEDS_JUDGE},
        ],
    )
    found = [(one.queue, one.place.n, one.item.name) for one in await service.queue(of, sample=10, limit=10)]
    assert found[:2] == [(Queue.UNSCORED, 2, "slot:people"), (Queue.DISAGREEMENT, 1, "slot:name")]
    assert {queue for queue, *_ in found[2:]} == {Queue.SAMPLE}
    assert len(found) == len(set(found)) == 6


async def test_an_item_is_shown_until_it_is_reviewed(store: Store, service: Reviews) -> None:
    of = await judged(store, [BOTH])
    await service.record(of, [says(0, "slot:name", "filled")], "anna")
    assert [one.item.name for one in await service.queue(of, sample=10, limit=10)] == ["slot:people"]


async def test_points_next_to_the_pass_mark_are_worth_a_look(store: Store, service: Reviews) -> None:
    close = replace(GOOD, value=replace(GOOD.value, score=6))
    of = await judged(store, [{"score": close}, {"score": GOOD}], rules=[SCORE_RULE])
    found = [(one.queue, one.place.n) for one in await service.queue(of, sample=0, limit=10)]
    assert found == [(Queue.LOW_MARGIN, 0)]


async def test_completion_next_to_a_threshold_is_worth_a_look(store: Store, service: Reviews) -> None:
    of = await judged(store, [{"slot:name": FILLED, "slot:people": MISSING}, BOTH], partial=Fraction(1, 2))
    found = [(one.queue, one.place.n) for one in await service.queue(of, sample=0, limit=10)]
    assert found == [(Queue.LOW_MARGIN, 0), (Queue.LOW_MARGIN, 0)]


async def test_the_queues_are_bounded(store: Store, service: Reviews) -> None:
    of = await judged(store, [{}] * 5 + [BOTH] * 5)
    assert len(await service.queue(of, sample=3, limit=4)) == 7


# ---- what follows ----------------------------------------------------------------------------------------------------


async def test_an_outcome_says_that_people_changed_it_only_when_they_did(store: Store, service: Reviews) -> None:
    of = await judged(store, [{"slot:name": FILLED, "slot:people": MISSING}])
    await service.record(of, [says(0, "slot:name", "filled")], "anna")
    (attempt,) = (await attempts.view(store, of.id, "case-0")).attempts
    assert (attempt.outcome and attempt.outcome.source) == Source.LAYERED
    await service.record(of, [says(0, "slot:people", "filled", user="四位")], "anna")
    (attempt,) = (await attempts.view(store, of.id, "case-0")).attempts
    assert attempt.outcome is not None
    assert (attempt.outcome.source, attempt.outcome.success_level) == (Source.REVIEW, SuccessLevel.SUCCESS)
    assert attempt.outcome.l2_completion == 1
    assert [answer.by for answer in attempt.answers] == ["model:m", "model:m"]


async def test_the_last_word_counts_and_unclear_gives_it_back_to_the_machine(store: Store, service: Reviews) -> None:
    of = await judged(store, [BOTH])
    for word, expected in (
        ("missing", Fraction(1, 2)),
        ("filled", Fraction(1)),
        ("missing", Fraction(1, 2)),
        (UNCLEAR, 1),
    ):
        await service.record(of, [says(0, "slot:name", word)], "anna")
        (attempt,) = (await attempts.view(store, of.id, "case-0")).attempts
        assert attempt.outcome is not None
        assert attempt.outcome.l2_completion == expected
    assert [review.machine for review in await reviews.of_run(store, of.id)] == ["filled"] * 4


async def test_every_fault_is_named_and_nothing_is_stored(store: Store, service: Reviews) -> None:
    of = await judged(store, [BOTH])
    statements = [
        says(0, "slot:name", "missing"),
        says(0, "slot:nam", "missing"),
        says(0, "slot:people", "lost"),
        replace(says(0, "slot:people", "missing"), repeat=2),
        says(7, "slot:people", "missing"),
    ]
    with pytest.raises(InputError) as refused:
        await service.record(of, statements, "anna")
    told = str(refused.value)
    assert "no item 'slot:nam'" in told
    assert "is no verdict for slot:people: 'lost'" in told
    assert "has no case 'case-7'" in told
    assert "no judged repeat 2" in told
    assert await reviews.of_run(store, of.id) == []


async def test_a_verdict_on_another_run_is_refused(store: Store, service: Reviews) -> None:
    of = await judged(store, [BOTH])
    with pytest.raises(InputError, match="is about run other"):
        await service.record(of, [replace(says(0, "slot:name", "missing"), run_id="other")], "anna")


async def test_a_verdict_may_be_written_in_any_case(store: Store, service: Reviews) -> None:
    of = await judged(store, [BOTH])
    (made,) = await service.record(of, [says(0, "slot:name", "Missing")], "anna")
    assert made.word == "missing"


async def test_what_was_reviewed_is_shown_again_when_that_is_wanted(store: Store, service: Reviews) -> None:
    of = await judged(store, [BOTH])
    await service.record(of, [says(0, "slot:name", "missing"), says(0, "slot:people", "filled")], "anna")
    assert await service.queue(of, sample=10, limit=10) == []
    assert len(await service.queue(of, sample=10, limit=10, again=True)) == 2


async def test_a_run_that_other_rules_judged_is_not_reviewed(store: Store, service: Reviews) -> None:
    of = await judged(store, [BOTH])
    async with store.write() as connection:
        await connection.exec_driver_sql("UPDATE results SET score = '1/3'")
    with pytest.raises(InputError, match=f"agenteval rescore {of.id}"):
        await service.record(of, [says(0, "slot:name", "missing")], "anna")


async def test_a_comparison_names_what_people_overruled(store: Store, service: Reviews) -> None:
    of = await judged(store, [BOTH])
    await service.record(of, [says(0, "slot:name", "missing"), says(0, "slot:people", "filled")], "anna")
    other = replace(of, id="other")
    await runs.create(store, other, [])
    settings = (await comparison(store, of, other)).settings
    assert Setting("/items_overruled_by_people", 1, None) in settings


async def test_two_people_at_one_case_do_not_lose_each_others_word(store: Store, service: Reviews) -> None:
    of = await judged(store, [BOTH])
    (made,) = await service.record(of, [says(0, "slot:name", "missing")], "anna")
    (attempt,) = (await attempts.view(store, of.id, "case-0")).attempts
    assert attempt.outcome is not None
    late = reviews.Reviewed(
        "case-0", attempt.key.id, 0, [replace(made, id="late", by="bob")], attempt.results, attempt.outcome
    )
    with pytest.raises(StorageError, match="just now"):
        await reviews.add(store, [late])
    assert [review.by for review in await reviews.of_run(store, of.id)] == ["anna"]


# ---- what it tells of the judge --------------------------------------------------------------------------------------


async def test_agreement_is_counted_by_kind_and_unmeasured_sides_are_left_out(store: Store, service: Reviews) -> None:
    of = await judged(store, [{**BOTH, "score": GOOD}, {"slot:name": FILLED}], rules=[SLOT_RULE, SCORE_RULE])
    assert await service.figures(of) is None
    await service.record(
        of,
        [
            says(0, "slot:name", "filled"),
            says(0, "slot:people", "missing"),
            says(1, "slot:people", "missing"),  # the machine had no verdict
            says(1, "slot:name", UNCLEAR),
            says(0, "score", "9", rule="llm_score"),
        ],
        "anna",
    )
    figures = await service.figures(of)
    assert figures is not None
    assert (figures.reviewed, figures.people) == (5, {"anna": 5})
    slot, score = figures.kinds["slot"], figures.kinds["score"]
    assert (slot.agreement.n, slot.agreement.same, slot.agreement.left_out, slot.overruled) == (2, 1, 2, 1)
    assert slot.agreement.kappa == 0
    assert (slot.rate, slot.judged) == (Fraction(1), 3)  # of the machine, whatever people say
    assert (score.agreement.n, score.agreement.kappa, score.overruled) == (1, None, 0)


async def test_a_rate_is_corrected_by_the_random_sample_alone(store: Store, service: Reviews) -> None:
    of = await judged(store, [BOTH, {"slot:name": FILLED, "slot:people": MISSING}] * 5)
    drawn = await service.queue(of, sample=20, limit=10)

    def said(n: int, word: str) -> Statement:
        one = drawn[n]
        words = {"user": "四位"} if word == "filled" else {}
        return says(one.place.n, one.item.name, word, **words)

    await service.record(of, [said(n, drawn[n].item.word or "") for n in range(3, 12)], "anna")
    figures = await service.figures(of)
    assert figures is not None
    assert figures.kinds["slot"].corrected is None  # the first of the sample are open: these were chosen by somebody

    wrong = {"filled": "missing", "missing": "filled"}[drawn[0].item.word or ""]
    await service.record(of, [said(0, wrong), *(said(n, drawn[n].item.word or "") for n in (1, 2))], "anna")
    figures = await service.figures(of)
    assert figures is not None
    words = [one.item.word for one in drawn[:12]]
    truth = [wrong, *words[1:]]
    positive = [machine == "filled" for machine, true in zip(words, truth, strict=True) if true == "filled"]
    negative = [machine == "missing" for machine, true in zip(words, truth, strict=True) if true == "missing"]
    expected = corrected_rate((15, 20), (sum(positive), len(positive)), (sum(negative), len(negative)))
    assert expected is not None
    assert figures.kinds["slot"].corrected == expected
    assert expected.reviewed == 12
