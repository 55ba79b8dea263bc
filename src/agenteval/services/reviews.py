"""People confirm or overrule what was judged. What they say is kept beside the machine's answers, and the results are
derived anew from both; no model is asked."""

import hashlib
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from heapq import heappush, heappushpop
from itertools import takewhile
from operator import itemgetter
from typing import Any, Generic, TypeVar

from agenteval.domain.agreement import agreement, corrected_rate
from agenteval.domain.errors import InputError, NotFound
from agenteval.domain.forms import AgentQuote, Quote, ToolQuote, UserQuote
from agenteval.domain.near import did_you_mean
from agenteval.domain.outcome import RuleResult
from agenteval.domain.ports import Clock
from agenteval.domain.questions import Judged, value_to_json
from agenteval.domain.records import AttemptView, Run, RunCase, Waiting
from agenteval.domain.review import UNCLEAR, KindFigures, Queue, Review, ReviewFigures, ReviewItem, Statement, latest
from agenteval.domain.scenario import Layer
from agenteval.domain.text import fold
from agenteval.engine.review import ReviewedCase
from agenteval.engine.time_limit import TimeLimit
from agenteval.judge.panel import ByCode, Panel
from agenteval.judge.stored import Stored
from agenteval.judge.verify import located
from agenteval.rules.build import BoundRules
from agenteval.storage import attempts, reviews
from agenteval.storage.reviews import Reviewed
from agenteval.storage.store import Store

T = TypeVar("T")

CLOSE = Fraction(1, 20)
"""L2 so near to a threshold is worth a look."""


class Reviews:
    def __init__(self, store: Store, clock: Clock, new_id: Callable[[], str]) -> None:
        self._store = store
        self._clock = clock
        self._new_id = new_id
        self._rules = BoundRules()

    async def queue(self, run: Run, *, sample: int, limit: int, again: bool = False) -> list[Waiting]:
        """What nobody has reviewed yet, or with `again` everything, in the order of the queues, at most `limit` items
        of each; `sample` is the size of the random sample."""
        waiting: defaultdict[Queue, list[Waiting]] = defaultdict(list)
        drawn: _Sample[Waiting] = _Sample(sample)
        async for place, attempt in self._counted(run):
            said = {review.key for review in attempt.reviews if not again}
            case = await self._case(place, attempt)
            for (label, _), item in case.items.items():
                done = item.ask.key in said
                queue = _queue(case, label, item)
                if queue and not done and len(waiting[queue]) < limit:
                    waiting[queue].append(Waiting(queue, place, attempt, label, item))
                if item.word is not None:
                    drawn.add(_order(run, attempt, item), Waiting(Queue.SAMPLE, place, attempt, label, item), done=done)
        listed = [one for queue in Queue for one in waiting[queue]]
        known = {(one.attempt.key.id, one.item.ask.key) for one in listed}
        return listed + [one for one in drawn.open() if (one.attempt.key.id, one.item.ask.key) not in known]

    async def record(self, run: Run, statements: Sequence[Statement], by: str) -> list[Review]:
        """Store what a person says, all of it or, with InputError for every fault, nothing."""
        by_attempt: defaultdict[tuple[str, int], list[Statement]] = defaultdict(list)
        problems: list[InputError] = []
        for statement in statements:
            if statement.run_id in ("", run.id):
                by_attempt[statement.case_id, statement.repeat].append(statement)
            else:
                fix = f"agenteval review {statement.run_id} takes them"
                problems.append(InputError(f"is about run {statement.run_id}", where=statement.where, fix=fix))
        made: list[Reviewed] = []
        for (case_id, repeat), of_attempt in by_attempt.items():
            try:
                made.append(await self._reviewed(run, case_id, repeat, of_attempt, by))
            except InputError as error:
                problems += error.problems or [error]
        if problems:
            order = {statement.where: n for n, statement in enumerate(statements)}
            raise InputError.all(sorted(problems, key=lambda problem: order.get(problem.where, -1)))
        await reviews.add(self._store, made)
        return [review for one in made for review in one.reviews]

    async def figures(self, run: Run) -> ReviewFigures | None:
        """None when nobody has reviewed anything."""
        last = latest(await reviews.of_run(self._store, run.id))
        if not last:
            return None
        judged: defaultdict[str, Counter[bool]] = defaultdict(Counter)
        drawn: _Sample[tuple[str, str]] = _Sample(len(last) + 1)
        async for place, attempt in self._counted(run):
            for item in (await self._case(place, attempt)).items.values():
                if item.good is not None:
                    judged[item.kind][item.good] += 1
                if item.word is not None:
                    place_ = (attempt.key.id, item.ask.key)
                    drawn.add(_order(run, attempt, item), place_, done=place_ in last)
        sampled = [last[place_] for place_ in drawn.reviewed_first()]
        by_kind: defaultdict[str, list[Review]] = defaultdict(list)
        for review in last.values():
            by_kind[review.kind].append(review)
        return ReviewFigures(
            reviewed=len(last),
            sampled=len(sampled),
            people=Counter(review.by for review in last.values()),
            kinds={
                kind: _figures(of_kind, [one for one in sampled if one.kind == kind], judged[kind])
                for kind, of_kind in sorted(by_kind.items())
            },
        )

    async def _counted(self, run: Run) -> AsyncIterator[tuple[RunCase, AttemptView]]:
        async for view in attempts.views(self._store, run.id):
            for attempt in view.attempts:
                if attempt.outcome is not None and not view.superseded(attempt):
                    yield view.place, attempt

    async def _case(self, place: RunCase, attempt: AttemptView) -> ReviewedCase:
        panel = Panel(Stored(attempt.answers), ByCode())
        rules = self._rules.of(place.case)
        return await ReviewedCase.of(place.case, attempt.dialog, rules, panel, TimeLimit(self._clock, None))

    async def _reviewed(
        self, run: Run, case_id: str, repeat: int, statements: Sequence[Statement], by: str
    ) -> Reviewed:
        try:
            view = await attempts.view(self._store, run.id, case_id)
        except NotFound:
            raise InputError.all(
                [InputError(f"run {run.id} has no case {case_id!r}", where=one.where) for one in statements]
            ) from None
        found = [a for a in view.attempts if a.key.repeat == repeat and a.outcome and not view.superseded(a)]
        if not found:
            raise InputError(f"case {case_id!r} has no judged repeat {repeat}", where=statements[0].where)
        attempt = found[-1]
        case = await self._case(view.place, attempt)
        if _figured(attempt.results) != _figured((await case.with_reviews(attempt.reviews)).results):
            raise InputError(
                f"case {view.place.case.id!r} was judged by other rules than this version has",
                where=statements[0].where,
                fix=f"judge it anew: agenteval rescore {attempt.key.run_id}, and review that",
            )
        problems, said = [], []
        for statement in statements:
            try:
                said.append(self._review(case, attempt, statement, by))
            except InputError as error:
                problems.append(error)
        if problems:
            raise InputError.all(problems)
        now = await case.with_reviews([*attempt.reviews, *said])
        items = {item.ask.key: item for item in case.items_of(now).values()}
        told = [replace(review, good=items[review.key].good if review.value is not None else None) for review in said]
        return Reviewed(case_id, attempt.key.id, len(attempt.reviews), told, now.results, now.outcome)

    def _review(self, case: ReviewedCase, attempt: AttemptView, statement: Statement, by: str) -> Review:
        item = _named(case, statement)
        word = _word(item, statement)
        value = None if word == UNCLEAR else value_to_json(_value(case, item, word, statement))
        return Review(
            id=self._new_id(),
            attempt_id=attempt.key.id,
            key=item.ask.key,
            label=statement.label,
            kind=item.kind,
            item=item.name,
            machine=item.word,
            machine_good=item.good,
            word=word,
            good=None,
            value=value,
            note=statement.note,
            by=by,
            at=self._clock.now(),
        )


# ---- what is to be looked at -----------------------------------------------------------------------------------------


def _queue(case: ReviewedCase, label: str, item: ReviewItem) -> Queue | None:
    """None: nothing but chance would choose it."""
    if item.word is None:
        return Queue.UNSCORED
    outcome, answer = case.machine.outcome, case.machine.answers.get(item.ask)
    if isinstance(answer, Judged) and len(answer.votes) > 1:
        return Queue.DISAGREEMENT
    layer = next(result.layer for result in case.machine.results if result.label == label)
    if outcome.layers_disagree and layer is Layer.L1:
        return Queue.LAYERS_DISAGREE
    thresholds = (outcome.policy.success_threshold, outcome.policy.partial_threshold)
    reached = outcome.l2_completion if layer is Layer.L2 else None
    is_close = reached is not None and any(abs(reached - threshold) <= CLOSE for threshold in thresholds)
    return Queue.LOW_MARGIN if item.close or is_close else None


def _order(run: Run, attempt: AttemptView, item: ReviewItem) -> int:
    """A place in an order that is random, and the same every time."""
    return int.from_bytes(hashlib.sha256(f"{run.id} {attempt.key.id} {item.ask.key}".encode()).digest())


class _Sample(Generic[T]):
    """The first `size` of all that is added, by their order."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._kept: list[tuple[int, T, bool]] = []

    def add(self, order: int, what: T, *, done: bool) -> None:
        entry = (-order, what, done)
        if len(self._kept) < self._size:
            heappush(self._kept, entry)
        elif self._kept:
            heappushpop(self._kept, entry)

    def open(self) -> list[T]:
        return [what for _, what, done in sorted(self._kept, reverse=True) if not done]

    def reviewed_first(self) -> list[T]:
        """Those before the first that is not reviewed: they alone are a random sample, whatever else was reviewed."""
        return [what for _, what, _ in takewhile(itemgetter(2), sorted(self._kept, reverse=True))]


# ---- what a person says ----------------------------------------------------------------------------------------------


def _named(case: ReviewedCase, statement: Statement) -> ReviewItem:
    item = case.items.get((statement.label, statement.item))
    if item is None:
        known = [f"{label} {name}" for label, name in case.items]
        raise InputError(
            f"case {case.case.id!r} has no item {statement.item!r} of the rule {statement.label!r}",
            where=statement.where,
            fix=did_you_mean(f"{statement.label} {statement.item}", known) if known else "",
        )
    return item


def _word(item: ReviewItem, statement: Statement) -> str:
    """The verdict, whatever its case."""
    words = [*map(str, item.verdicts), UNCLEAR, *([item.word] if item.word else [])]
    said = fold(statement.word)
    for word in words:
        if fold(word) == said:
            return word
    raise InputError(
        f"is no verdict for {item.name}: {statement.word!r}", where=statement.where, fix=did_you_mean(said, words)
    )


def _value(case: ReviewedCase, item: ReviewItem, word: str, statement: Statement) -> Any:
    """The answer that the statement stands for. Raises InputError."""
    where = statement.where
    try:
        quotes: dict[type[Quote], Quote] = {
            kind: located(case.dialog, kind, statement.words[kind.speaker])
            for kind in (UserQuote, AgentQuote, ToolQuote)
            if kind.speaker in statement.words
        }
        if not quotes and item.confirms(word):
            return replace(item.answer, reason=statement.note) if statement.note else item.answer
        shown = {**item.quotes, **quotes}
        if missing := [kind for kind in item.verdicts[word] if kind not in shown]:
            raise InputError(
                f"{word} for {item.name} needs the words of the {missing[0].speaker} that show it",
                where=where,
                fix="quote them, or write #2 for all that was said in turn 2",
            )
        needed = {kind: quote for kind, quote in shown.items() if kind in item.verdicts[word] or kind in quotes}
        return item.answered(word, needed, statement.note)
    except ValueError as error:
        raise InputError(str(error), where=where) from error


def _figured(results: Sequence[RuleResult]) -> list[tuple[Any, ...]]:
    return [(r.label, r.status, r.bounds, r.passed, r.vetoes) for r in results]


# ---- what it tells of the judge --------------------------------------------------------------------------------------


def _figures(of_kind: Sequence[Review], sample: Sequence[Review], judged: Counter[bool]) -> KindFigures:
    pairs = [(review.machine, None if review.word == UNCLEAR else review.word) for review in of_kind]
    known = [(review.machine_good, review.good) for review in sample if review.good is not None]
    positive, negative = ([machine for machine, good in known if good is side] for side in (True, False))
    n = judged.total()
    return KindFigures(
        agreement=agreement(pairs),
        overruled=sum(None not in pair and pair[0] != pair[1] for pair in pairs),
        rate=Fraction(judged[True], n) if n else None,
        judged=n,
        corrected=corrected_rate(
            (judged[True], n),
            (sum(machine is True for machine in positive), len(positive)),
            (sum(machine is False for machine in negative), len(negative)),
        ),
    )
