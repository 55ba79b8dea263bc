"""The panel: code first, then what is remembered, then encoders and models; the rest needs a judge."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from random import Random
from typing import Any

import pytest

from agenteval.domain.errors import ModelError, StorageError
from agenteval.domain.forms import AgentQuote, Form
from agenteval.domain.json_value import Json
from agenteval.domain.ports import Embedded, Moderated, Role, Usage
from agenteval.domain.questions import (
    USER_TURNS,
    Ask,
    Cause,
    Flags,
    Judged,
    Likeness,
    Moderation,
    Question,
    Ranking,
    Similarity,
    Unscored,
)
from agenteval.domain.transcript import Dialog, Turn
from agenteval.judge.encoder import Encoder
from agenteval.judge.local import CharNgrams
from agenteval.judge.memo import MemoStep
from agenteval.judge.panel import ByCode, Panel, Said
from agenteval.models import ModelContext
from agenteval.models.roles import build
from agenteval.net.guard import Guard
from agenteval.net.session import Sessions
from agenteval.settings import ModelSettings, Settings
from tests.fakes.clock import FakeClock
from tests.fakes.memory_memo import MemoryMemo
from tests.fakes.scripted_judge import MemoryCapabilities, scripted_judge
from tests.fakes.scripted_model import ScriptedModel, Status


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True, slots=True)
class Seen(Form):
    colour: Colour
    quote: AgentQuote


DIALOG = Dialog((Turn(0, "什么颜色？", "不是红色，是蓝色"),))
BLUE = {"colour": "blue", "quote": {"turn": 0, "text": "是蓝色"}}


def coded(text: str) -> Question[Seen]:
    return Question("colour", Seen, "colour", code=lambda _: Seen(Colour.BLUE, AgentQuote(0, text)))


async def test_code_decides_first_and_its_quotes_are_located() -> None:
    question = coded("是蓝色")
    said = await Panel(ByCode()).answer(DIALOG, [question])
    answer = said.answers[question.key]
    assert isinstance(answer, Judged)
    assert answer.by == "code"
    assert answer.value.quote.span.start == 5


@pytest.mark.parametrize("text", ["红色", "绿色"], ids=["its negation cut off", "said nowhere"])
async def test_what_code_cannot_quote_it_does_not_decide(text: str) -> None:
    question = coded(text)
    assert (await Panel(ByCode()).answer(DIALOG, [question])).answers[question.key] == Unscored(Cause.NEEDS_JUDGE)


async def test_code_that_breaks_fails_its_question_and_no_model_is_asked() -> None:
    question = Question("colour", Seen, "colour", code=lambda dialog: [][len(dialog)])
    async with scripted_judge({"colour": BLUE}) as judge:
        said = await Panel(ByCode(), judge.judge).answer(DIALOG, [question])
    answer = said.answers[question.key]
    assert isinstance(answer, Unscored)
    assert answer.cause is Cause.RULE_ERROR
    assert judge.requests == []


async def test_everything_gets_an_answer() -> None:
    asks: list[Ask] = [
        Question("a", Seen, "a"),
        Similarity("x", "y"),
        Moderation("z"),
        Ranking("t", (("a", ()), ("b", ()))),
    ]
    said = await Panel(ByCode(), Encoder(CharNgrams())).answer(DIALOG, asks)
    assert set(said.answers.values()) == {Unscored(Cause.NEEDS_JUDGE)}
    assert len(said.answers) == 4


class Broken:
    """A step of ours that fails on some dialog."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    async def answer(self, dialog: Dialog, asks: Sequence[Ask], *, until_s: float | None = None) -> Said:
        raise self.error


class TestBroken:
    QUESTION = Question("colour", Seen, "colour")

    @pytest.mark.parametrize("error", [KeyError("data"), TimeoutError("its own"), ModelError("no")])
    async def test_a_step_that_breaks_takes_nothing_from_those_after_it(self, error: Exception) -> None:
        async with scripted_judge({"colour": BLUE}) as judge:
            said = await Panel(Broken(error), judge.judge).answer(DIALOG, [self.QUESTION, Moderation("a")])
        assert isinstance(said.answers[self.QUESTION.key], Judged)
        unscored = said.answers[Moderation("a").key]
        assert unscored == Unscored(Cause.MODEL_ERROR, f"{type(error).__name__}: {error}")

    async def test_one_that_breaks_last_loses_no_answer(self) -> None:
        question = coded("是蓝色")
        said = await Panel(ByCode(), Broken(ZeroDivisionError())).answer(DIALOG, [question, self.QUESTION])
        assert isinstance(said.answers[question.key], Judged)

    @pytest.mark.parametrize("error", [StorageError("disk full"), asyncio.CancelledError()])
    async def test_what_ends_the_run_goes_through(self, error: BaseException) -> None:
        with pytest.raises(type(error)):
            await Panel(Broken(error)).answer(DIALOG, [self.QUESTION])


class TestMemo:
    QUESTION = Question("colour", Seen, "colour")

    async def ask(self, memo: MemoryMemo, dialog: Dialog, *asks: Question[Any], model: str = "m") -> int:
        """How many calls it took."""
        async with scripted_judge({"colour": BLUE}) as judge:
            panel = Panel(ByCode(), MemoStep(memo, {Question: model}, judge.judge))
            said = await panel.answer(dialog, asks)
            assert all(isinstance(answer, Judged) for answer in said.answers.values())
            return len(judge.requests)

    async def test_an_unchanged_rerun_makes_no_call_and_gives_the_same(self) -> None:
        memo = MemoryMemo()
        assert await self.ask(memo, DIALOG, self.QUESTION) == 1
        assert await self.ask(memo, DIALOG, self.QUESTION) == 0
        async with scripted_judge({"colour": BLUE}) as judge:
            fresh = await judge.judge.answer(DIALOG, [self.QUESTION])
        kept = await MemoStep(memo, {Question: "m"}, Panel()).answer(DIALOG, [self.QUESTION])
        assert kept.answers == fresh.answers

    async def test_only_what_changed_is_asked(self) -> None:
        memo = MemoryMemo()
        await self.ask(memo, DIALOG, self.QUESTION)
        other = Question("other", Seen, "other colour")
        assert await self.ask(memo, DIALOG, self.QUESTION, other) == 1
        assert await self.ask(memo, DIALOG, self.QUESTION, model="m2") == 1
        longer = Dialog((*DIALOG.turns, Turn(1, "真的？", "真的")))
        assert await self.ask(memo, longer, self.QUESTION) == 1

    async def test_what_no_longer_fits_its_form_is_asked_again_and_replaced(self) -> None:
        memo = MemoryMemo()
        await self.ask(memo, DIALOG, self.QUESTION)
        (key,) = memo.kept
        memo.kept[key] = {**memo.kept[key], "value": {"colour": "green"}}  # type: ignore[dict-item]
        assert await self.ask(memo, DIALOG, self.QUESTION) == 1
        assert await self.ask(memo, DIALOG, self.QUESTION) == 0

    async def test_spans_of_other_line_breaks_are_not_taken_over(self) -> None:
        memo = MemoryMemo()
        question = Question("colour", Seen, "colour")
        for line_break in ("\n", "\r\n", "\r", "\u2028"):
            dialog = Dialog((Turn(0, "什么颜色？", f"不是红色，{line_break}是蓝色"),))
            async with scripted_judge({"colour": BLUE}) as judge:
                said = await Panel(MemoStep(memo, {Question: "m"}, judge.judge)).answer(dialog, [question])
            answer = said.answers[question.key]
            assert isinstance(answer, Judged)
            span = answer.value.quote.span
            assert dialog[0].reply_text[span.start : span.end] == "是蓝色"

    async def test_what_a_view_hides_does_not_count(self) -> None:
        memo = MemoryMemo()
        question = Question("user", UserOnly, "user", view=USER_TURNS)
        async with scripted_judge({"user": {"colour": "red"}}) as judge:
            panel = Panel(MemoStep(memo, {Question: "m"}, judge.judge))
            for reply in ("是蓝色", "是红色"):
                await panel.answer(Dialog((Turn(0, "什么颜色？", reply),)), [question])
            assert len(judge.requests) == 1

    async def test_failures_are_not_remembered(self) -> None:
        memo = MemoryMemo()
        async with scripted_judge({"colour": {"colour": "green"}}) as judge:
            await Panel(MemoStep(memo, {Question: "m"}, judge.judge)).answer(DIALOG, [self.QUESTION])
        assert memo.kept == {}

    async def test_a_kind_without_identity_is_not_remembered(self) -> None:
        memo = MemoryMemo()
        await Panel(MemoStep(memo, {}, Encoder(CharNgrams()))).answer(DIALOG, [Similarity("a", "a")])
        assert memo.kept == {}


@dataclass(frozen=True, slots=True)
class UserOnly(Form):
    colour: Colour


class TestEncoder:
    async def test_the_local_scorer_settles_only_the_same_words(self) -> None:
        same, other = Similarity("已为您预订。", "已为您预订"), Similarity("已为您预订", "未为您预订")
        said = await Encoder(CharNgrams()).answer(DIALOG, [same, other])
        answer = said.answers[same.key]
        assert isinstance(answer, Judged)
        assert answer.by == "encoder:char-ngrams"
        assert isinstance(answer.value, Likeness)
        assert answer.value.bar is not None
        assert other.key not in said.answers

    async def test_models_take_the_place_of_the_local_scorer(self) -> None:
        pair, text = Similarity("高铁票", "高铁票吧"), Moderation("你真笨")
        async with ScriptedModel(flagged={"笨": "harassment"}) as server, Sessions(Guard()) as sessions:
            settings = ModelSettings(base_url=server.base_url, model="m", input_price=Fraction(1))
            models = build(
                Settings(embedding=settings, moderation=settings),
                ModelContext(sessions, FakeClock(), MemoryCapabilities(), Random(0)),
            )
            said = await Encoder(CharNgrams(), models.embedding, models.moderation).answer(DIALOG, [pair, text])
        likeness, flags = said.answers[pair.key], said.answers[text.key]
        assert isinstance(likeness, Judged)
        assert 0 < likeness.value.score < 1
        assert likeness.value.scorer == "m"
        assert isinstance(flags, Judged)
        assert flags.value == Flags(("harassment",))
        assert [call.role for call in said.calls] == [Role.EMBEDDING, Role.MODERATION]
        assert said.calls[0].usage.input_tokens == 2
        assert all(call.latency_ms for call in said.calls)

    async def test_a_model_that_fails_is_no_verdict(self) -> None:
        pair = Similarity("a", "b")
        async with ScriptedModel(faults=[Status(401)] * 5) as server, Sessions(Guard()) as sessions:
            settings = Settings(embedding=ModelSettings(base_url=server.base_url, model="m"))
            models = build(settings, ModelContext(sessions, FakeClock(), MemoryCapabilities(), Random(0)))
            said = await Encoder(CharNgrams(), models.embedding).answer(DIALOG, [pair])
        answer = said.answers[pair.key]
        assert isinstance(answer, Unscored)
        assert answer.cause is Cause.MODEL_ERROR

    @pytest.mark.parametrize("vector", [[0.0, 0.0], [float("nan"), 1.0], [1e300, 1e300]])
    async def test_a_vector_without_direction_is_no_verdict(self, vector: list[float]) -> None:
        pair = Similarity("好的", "不行")
        said = await Encoder(CharNgrams(), Plugin([[1.0, 0.0], vector])).answer(DIALOG, [pair])
        answer = said.answers[pair.key]
        assert isinstance(answer, Unscored)
        assert (answer.cause, answer.calls) == (Cause.MODEL_ERROR, (said.calls[0].id,))

    @pytest.mark.parametrize("given", [KeyError("data"), [[1.0]], [[1.0], [1.0, 2.0]]])
    async def test_a_plug_in_that_breaks_costs_what_it_was_asked_and_no_more(
        self, given: Exception | list[Any]
    ) -> None:
        pair, text, colour = Similarity("a", "b"), Moderation("c"), Question("colour", Seen, "colour")
        async with scripted_judge({"colour": BLUE}) as judge:
            broken = Plugin(given)
            said = await Panel(Encoder(CharNgrams(), broken, broken), judge.judge).answer(DIALOG, [pair, text, colour])
        assert isinstance(said.answers[colour.key], Judged)
        for ask in (pair, text):
            answer = said.answers[ask.key]
            assert isinstance(answer, Unscored)
            assert answer.cause is Cause.MODEL_ERROR
        assert [bool(call.error) for call in said.calls] == [True, True, False]
        if isinstance(given, KeyError):
            assert said.calls[0].error == "KeyError: 'data'"

    async def test_a_broken_store_ends_the_run(self) -> None:
        with pytest.raises(StorageError):
            await Panel(Encoder(CharNgrams(), Plugin(StorageError("disk full")))).answer(DIALOG, [Similarity("a", "b")])


class Plugin:
    """Embeds and moderates as it is told, whatever the texts are."""

    id = "plug-in"
    params: Mapping[str, Json] = {}

    def __init__(self, given: Exception | list[Any]) -> None:
        self.given = given

    async def embed(self, texts: Sequence[str]) -> Embedded:
        return Embedded(self._given(), Usage())

    async def moderate(self, texts: Sequence[str]) -> Moderated:
        return Moderated(self._given()[1:-1], Usage())

    def _given(self) -> list[Any]:
        if isinstance(self.given, Exception):
            raise self.given
        return self.given

    async def check(self) -> None: ...

    async def close(self) -> None: ...
