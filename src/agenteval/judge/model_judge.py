"""Questions to a chat model: group, compile, call, parse, verify, ask again once, merge windows, vote."""

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar

from agenteval.domain.errors import AnswerCutOff, ContextTooLong, ModelError, Pending, UnparsableAnswer
from agenteval.domain.forms import Path
from agenteval.domain.json_value import as_text
from agenteval.domain.ports import Call, ChatModel, ChatReply, ChatRequest, Clock, Role
from agenteval.domain.questions import Ask, Cause, Judged, Question, Unscored
from agenteval.domain.transcript import Dialog
from agenteval.judge.compile import Seal, Task, compile_request, frame_tokens, transcript
from agenteval.judge.faults import CUT_OFF, ModelFaults
from agenteval.judge.group import Batch, Window, group, turn_tokens, windows
from agenteval.judge.panel import Said
from agenteval.judge.parse import parse
from agenteval.judge.verify import Flaw, Seen, Verified, verify, with_item
from agenteval.judge.vote import vote

ANSWER_TOKENS = 4096
"""Kept free in the model's context for the answer, but never more than a quarter of it."""

LONGEST_PAUSE_S = 0.5
"""Before a request is sent again."""

SHRINKS = 3
"""How often the window is halved when a provider says that an estimated request is too long after all."""

T = TypeVar("T")
Verdict = Judged[Any] | Unscored


class _Answer(NamedTuple):
    """What came of a request: the raw answers by task, or why there are none. `calls`: the request's, in their order.
    `hit_limit`: the length limit ended it. `was_lost`: it broke off, and may be whole if the request is sent again."""

    raws: Mapping[str, object]
    failure: Unscored | None
    calls: tuple[Call, ...]
    repaired: bool = False
    hit_limit: bool = False
    was_lost: bool = False

    @property
    def call_ids(self) -> tuple[str, ...]:
        return tuple(call.id for call in self.calls)

    def lacks(self, task: str) -> Unscored | None:
        """Why it does not answer `task`; None when it does."""
        if self.failure or task in self.raws:
            return self.failure
        return Unscored(Cause.SCHEMA, f"the answer to {task} is missing")


class ModelJudge:
    def __init__(self, model: ChatModel, secret: bytes, clock: Clock) -> None:
        self._model = model
        self._secret = secret
        self._clock = clock

    async def answer(self, dialog: Dialog, asks: Sequence[Ask], *, until_s: float | None = None) -> Said:
        answers: dict[str, Verdict] = {}
        calls: list[Call] = []
        batches = group([ask for ask in asks if isinstance(ask, Question)])
        with suppress(TimeoutError):
            async with asyncio.timeout_at(until_s):
                await _together([self._batch(dialog, batch, answers, calls) for batch in batches])
        return Said(answers, calls)

    async def _batch(self, dialog: Dialog, batch: Batch, answers: dict[str, Verdict], calls: list[Call]) -> None:
        """Adds to `answers` and `calls`."""
        if batch.samples == 1:
            answers.update(await self._sample(dialog, batch, 0, calls))
            return
        samples = await _together([self._sample(dialog, batch, sample, calls) for sample in range(batch.samples)])
        answers.update({q.key: vote([sample[q.key] for sample in samples]) for q in batch.questions})

    async def _sample(self, dialog: Dialog, batch: Batch, sample: int, calls: list[Call]) -> dict[str, Verdict]:
        """One vote on the batch, over as many windows as the dialog needs."""
        context = self._model.context_tokens
        asked = frame_tokens(tuple([Task(f"q{i}", q.form, q.text, q.guide) for i, q in enumerate(batch.questions)]))
        turns = batch.view.turns(dialog)
        whole = Window(batch.view, transcript(turns, batch.view))
        budget = context - min(ANSWER_TOKENS, context // 4) - asked
        for _ in range(SHRINKS):
            parts = windows(turns, whole, budget)
            if parts is None:
                break
            try:
                answers = await _together(
                    [
                        _Round(self._model, self._secret, dialog, part, calls, clock=self._clock).judge(batch, sample)
                        for part in parts
                    ]
                )
            except ContextTooLong:
                budget = min(budget, sum(turn_tokens(turns, batch.view))) // 2
                continue
            if len(parts) == 1:
                return answers[0]
            seen = [(shown[0].index, shown[-1].index) for part in parts if (shown := part.view.turns(dialog))]
            return {q.key: _merge(q, [answer[q.key] for answer in answers], seen) for q in batch.questions}
        detail = f"a single turn does not fit into the model's context (AGENTEVAL_JUDGE_CONTEXT_TOKENS is {context})"
        too_long = Unscored(Cause.TOO_LONG, detail)
        return {question.key: too_long for question in batch.questions}


async def _together(work: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """All at once; what is alone, as it mostly is, needs no task."""
    return [await work[0]] if len(work) == 1 else await asyncio.gather(*work)


class _Round:
    """The questions of one batch, put to the model about one window: a call, and one more for what was flawed. The
    first of these whose answer is lost is made a second time."""

    def __init__(
        self, model: ChatModel, secret: bytes, dialog: Dialog, window: Window, calls: list[Call], *, clock: Clock
    ) -> None:
        self._model = model
        self._secret = secret
        self._clock = clock
        self._dialog = dialog
        self._seen = Seen(dialog, window.view)
        self._shown = window.shown
        self._calls = calls
        self._sent_again = False

    async def judge(self, batch: Batch, sample: int) -> dict[str, Verdict]:
        seal = Seal.of(self._secret, self._dialog, sample)
        order: Sequence[Question[Any]] = batch.questions
        if len(order) > 1:
            order = sorted(order, key=lambda question: seal.place(question.wording))
        questions = {f"q{i}": question for i, question in enumerate(order, 1)}
        tasks = [Task(id_, q.form, q.text, q.guide) for id_, q in questions.items()]
        first = await self._call(tasks, seal)
        if first.failure and first.failure.cause is Cause.TOO_LONG:
            raise ContextTooLong(first.failure.detail)
        if first.failure and first.failure.cause in {Cause.MODEL_ERROR, Cause.PENDING}:
            return {question.key: first.failure._replace(calls=first.call_ids) for question in batch.questions}
        verified = {id_: self._verify(question, id_, first) for id_, question in questions.items()}
        flawed = [_again(id_, questions[id_], flaw) for id_, answer in verified.items() for flaw in answer.flaws]
        second = None
        if flawed:
            enough = 2 * (first.calls[-1].usage.output_tokens or ANSWER_TOKENS) if first.hit_limit else None
            second = await self._call(flawed, seal, max_tokens=enough)
        return {
            question.key: self._conclude(id_, question, verified[id_], first, second)
            for id_, question in questions.items()
        }

    async def _call(self, tasks: Sequence[Task], seal: Seal, *, max_tokens: int | None = None) -> _Answer:
        request = compile_request(tasks, self._shown, seal, max_tokens=max_tokens)
        keys = [task.id for task in tasks]
        answer = await self._send(request, keys, request.custom_id)
        if not answer.was_lost or self._sent_again:
            return answer
        self._sent_again = True
        await self._clock.sleep(_pause_s(request))
        again = await self._send(request, keys, f"{request.custom_id}-2")
        return again._replace(calls=(*answer.calls, *again.calls))

    async def _send(self, request: ChatRequest, keys: Sequence[str], call_id: str) -> _Answer:
        try:
            with ModelFaults():
                reply = await self._model.complete(request)
                call = self._record(call_id, request, reply)
        except Pending as pending:  # no call yet
            call = self._call_of(call_id, request, ChatReply(None, None), "")
            return _Answer({}, Unscored(Cause.PENDING, str(pending)), (call,))
        except asyncio.CancelledError:
            self._record(call_id, request, ChatReply(None, None), CUT_OFF)
            raise
        except ModelError as error:
            cause = Cause.TOO_LONG if isinstance(error, ContextTooLong) else Cause.MODEL_ERROR
            call = self._record(call_id, request, ChatReply(None, None), str(error))
            return _Answer({}, Unscored(cause, str(error)), (call,))
        hit_limit = reply.finish_reason == "length"
        try:
            parsed = parse(reply.text, keys, finish_reason=reply.finish_reason)
        except UnparsableAnswer as error:
            was_lost = isinstance(error, AnswerCutOff) and not reply.was_kept
            return _Answer({}, Unscored(Cause.UNPARSABLE, error.message), (call,), False, hit_limit, was_lost)
        return _Answer(parsed.data, None, (call,), parsed.repaired, hit_limit)

    def _record(self, call_id: str, request: ChatRequest, reply: ChatReply, error: str = "") -> Call:
        call = self._call_of(call_id, request, reply, error)
        self._calls.append(call)
        return call

    def _call_of(self, call_id: str, request: ChatRequest, reply: ChatReply, error: str) -> Call:
        return Call(
            id=call_id,
            role=Role.JUDGE,
            model=self._model.id,
            prompt_hash=request.custom_id,
            usage=reply.usage,
            latency_ms=reply.latency_ms,
            raw=reply.text,
            error=error,
        )

    def _verify(
        self, question: Question[Any], id_: str, answer: _Answer, rejected: Mapping[Path, object] | None = None
    ) -> Verified:
        if failure := answer.lacks(id_):
            return Verified(None, (Flaw((), question.form, None, failure.detail, failure.cause),))
        return verify(question, answer.raws[id_], self._seen, rejected=rejected)

    def _conclude(
        self, id_: str, question: Question[Any], verified: Verified, first: _Answer, second: _Answer | None
    ) -> Verdict:
        calls = first.call_ids
        repaired = first.repaired
        if verified.flaws and second:
            calls = (*calls, *second.call_ids)
            repaired = repaired or second.repaired
            verified = self._retry(id_, question, verified, first, second)
        if verified.flaws:
            flaw = verified.flaws[0]
            return Unscored(flaw.cause, flaw.message, calls)
        return Judged(verified.value, f"model:{self._model.id}", calls, dropped=verified.dropped, repaired=repaired)

    def _retry(self, id_: str, question: Question[Any], before: Verified, first: _Answer, second: _Answer) -> Verified:
        """The answer with what came the second time, which is final. Only what was judged twice can be dropped."""
        if before.value is None:
            return self._verify(question, id_, second, rejected={})
        raw = first.raws[id_]
        rejected: dict[Path, object] = {}
        unanswered: dict[Path, Flaw] = {}
        for flaw in before.flaws:
            item_id = _item_id(id_, flaw)
            if failure := second.lacks(item_id):
                unanswered[flaw.path] = flaw._replace(message=failure.detail, cause=failure.cause)
            else:
                raw = with_item(raw, flaw.path, second.raws[item_id])
                rejected[flaw.path] = flaw.raw
        after = verify(question, raw, self._seen, rejected=rejected)
        return after._replace(flaws=tuple(unanswered.get(flaw.path, flaw) for flaw in after.flaws))


def _pause_s(request: ChatRequest) -> float:
    """Another for each request, so that those that broke off together do not come back together."""
    return LONGEST_PAUSE_S * int(request.custom_id[:4], 16) / 0xFFFF


def _item_id(id_: str, flaw: Flaw) -> str:
    return "_".join(map(str, (id_, *flaw.path)))


def _again(id_: str, question: Question[Any], flaw: Flaw) -> Task:
    if not flaw.path:
        return Task(id_, question.form, question.text, question.guide, flaw.message)
    text = f"{question.text}\n  Give only the one item that is shown as rejected, corrected."
    return Task(_item_id(id_, flaw), flaw.form, text, question.guide, flaw.message, as_text(flaw.raw))  # type: ignore[arg-type]


def _merge(question: Question[Any], parts: Sequence[Verdict], seen: Sequence[tuple[int, int]]) -> Verdict:
    calls = tuple(call for part in parts for call in part.calls)
    judged = [part for part in parts if isinstance(part, Judged)]
    if len(judged) < len(parts):
        failed = next(part for part in parts if isinstance(part, Unscored))
        return failed._replace(calls=calls)
    value = question.form.merge([part.value for part in judged])
    if value is None:
        return Unscored(Cause.TOO_LONG, "the answers about the parts of the dialog do not make one", calls)
    return Judged(
        value,
        judged[0].by,
        calls,
        dropped=tuple(note for part in judged for note in part.dropped),
        turns_seen=tuple(seen),
        repaired=any(part.repaired for part in judged),
    )
