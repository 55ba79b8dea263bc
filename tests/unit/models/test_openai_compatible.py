import asyncio
from fractions import Fraction
from typing import Any

import orjson
import pytest

from agenteval.domain.errors import (
    ConfigError,
    ContextTooLong,
    ModelAuthError,
    ModelError,
    ModelRateLimited,
    ModelRefused,
    ModelTimeout,
    ModelUnavailable,
)
from agenteval.domain.ports import ChatRequest, Embedded, Embedder, Message, Moderator, Usage
from agenteval.models import MODELS, ModelContext
from agenteval.models.roles import build
from agenteval.settings import ModelSettings, Settings
from tests.fakes.clock import FakeClock
from tests.fakes.scripted_model import Answer, Body, Drop, Fault, Hang, ScriptedModel, Slow, Status, Truncated
from tests.fakes.scripted_model import Message as Said
from tests.unit.models.conftest import Judge, Remembered

KEY = "sk-canary-1234567890"
ASK = ChatRequest((Message("system", "你是评审"), Message("user", "用户：你好 😀")), "id-1")
SCHEMA: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}


async def test_one_call(judge: Judge) -> None:
    async with ScriptedModel(lambda _: "满意", api_key=KEY, models=["judge-1"]) as server:
        model = judge(server, api_key=KEY, headers="X-Org=us", seed=7, input_price=1, output_price=2)
        reply = await model.complete(ASK)
        (asked,) = server.requests
    assert (reply.text, reply.finish_reason) == ("满意", "stop")
    assert reply.latency_ms is not None
    assert reply.latency_ms > 0
    assert reply.usage.input_tokens is not None
    assert reply.usage.output_tokens is not None
    assert reply.usage.cost == Fraction(reply.usage.input_tokens + 2 * reply.usage.output_tokens, 1_000_000)
    assert asked.headers["X-Org"] == "us"
    assert asked.json == {
        "model": "judge-1",
        "messages": [{"role": "system", "content": "你是评审"}, {"role": "user", "content": "用户：你好 😀"}],
        "temperature": 0,
        "seed": 7,
    }
    assert (model.id, model.params["seed"], model.context_tokens) == ("judge-1", 7, 32_768)


async def test_a_request_s_own_limit_goes_first_and_its_seed_is_added(judge: Judge) -> None:
    async with ScriptedModel() as server:
        await judge(server, seed=7, max_tokens=100).complete(ChatRequest(ASK.messages, "id", max_tokens=9, seed=3))
        assert (server.requests[0].json["seed"], server.requests[0].json["max_tokens"]) == (10, 9)


@pytest.mark.parametrize(
    ("answer", "text", "finish_reason"),
    [
        (Truncated('{"score":0.5,"reason":"用户明确'), '{"score":0.5,"reason":"用户明确', "length"),
        (Said({"content": [{"type": "text", "text": "好"}, {"type": "text", "text": "的"}]}), "好的", "stop"),
        (Said({"content": '{"a":1}', "reasoning_content": '{"a":2}'}), '{"a":1}', "stop"),
        (Said({"content": None, "reasoning_content": "thinking"}), None, "stop"),
        (Said({"content": ""}), "", "stop"),
        (Said({"tool_calls": [{"function": {"name": "answer", "arguments": {"a": "是"}}}]}), '{"a":"是"}', "stop"),
        (Said({"content": "text", "tool_calls": []}), "text", "stop"),
        (Said({"content": "text", "tool_calls": None, "refusal": None}), "text", "stop"),
    ],
)
async def test_where_the_answer_stands(judge: Judge, answer: Answer, text: str | None, finish_reason: str) -> None:
    async with ScriptedModel(lambda _: answer) as server:
        reply = await judge(server).complete(ASK)
    assert (reply.text, reply.finish_reason) == (text, finish_reason)


@pytest.mark.parametrize(
    "answer",
    [
        Said({"content": None, "refusal": "I cannot help with that."}),
        Said({"content": "part"}, finish_reason="content_filter"),
        Status(
            400, "The response was filtered due to the prompt triggering content management policy", "content_filter"
        ),
        Status(400, "Input data may contain inappropriate content.", "data_inspection_failed"),
    ],
)
async def test_a_refusal_is_no_answer(judge: Judge, answer: Answer) -> None:
    async with ScriptedModel(lambda _: answer) as server:
        with pytest.raises(ModelRefused):
            await judge(server).complete(ASK)
        assert len(server.requests) == 1


@pytest.mark.parametrize(
    "answer",
    [
        Status(
            400, "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens"
        ),
        Status(400, "too long", "context_length_exceeded"),
        Status(400, "This model's maximum context length is 8192 tokens (1000 in the messages, 50 in the functions)"),
        Status(400, "the request exceeds the available context size, try increasing it"),
        Status(400, "Range of input length should be [1, 30720]"),
        Status(400, "Invalid request: Your request exceeded model token limit: 8192"),
        Status(400, "Prompt 超长"),
        Status(400, "输入超过模型的最大上下文长度"),
        Status(413, "Payload Too Large"),
    ],
)
async def test_a_context_that_is_too_long_is_told_apart(judge: Judge, answer: Answer) -> None:
    async with ScriptedModel(lambda _: answer) as server:
        with pytest.raises(ContextTooLong):
            await judge(server).complete(ChatRequest(ASK.messages, "id", schema=SCHEMA))
        assert len(server.requests) == 1


@pytest.mark.parametrize("refuse_first", [False, True])
async def test_a_wrong_key_is_one_message_that_names_its_variable(judge: Judge, refuse_first: bool) -> None:
    async with ScriptedModel(api_key="right") as server:
        model = judge(server, api_key=KEY)
        with pytest.raises(ModelAuthError) as caught:
            await (model.check() if refuse_first else model.complete(ASK))
        assert len(server.requests) == 1
    assert "AGENTEVAL_JUDGE_API_KEY" in str(caught.value)
    assert server.base_url in str(caught.value)


async def test_an_unknown_model_is_one_message_that_names_its_variable(judge: Judge) -> None:
    async with ScriptedModel(models=["judge-2"]) as server:
        with pytest.raises(ModelError) as caught:
            await judge(server).check()
        assert len(server.requests) == 1
    assert "judge-1" in str(caught.value)
    assert "AGENTEVAL_JUDGE_MODEL" in str(caught.value)


@pytest.mark.parametrize("path", ["", "/v2"])
async def test_a_wrong_base_url_says_how_it_usually_ends(judge: Judge, path: str) -> None:
    async with ScriptedModel() as server:
        with pytest.raises(ModelError, match=r"AGENTEVAL_JUDGE_BASE_URL, which usually ends in /v1"):
            await judge(server.url + path).check()


async def test_a_check_finds_out_the_mode_before_the_first_case(judge: Judge, capabilities: Remembered) -> None:
    async with ScriptedModel(lambda _: {"ok": True}, refuses=["response_format"]) as server:
        await judge(server).check()
    assert list(capabilities.values()) == ["tool"]


@pytest.mark.parametrize("status", [200, 400])
@pytest.mark.parametrize("before", ["<p>" + "y" * 290, "<p>" + " " * 1_190], ids=["text", "space"])
async def test_a_key_at_the_cut_leaves_no_part_behind(judge: Judge, status: int, before: str) -> None:
    body = f"{before}{KEY}</p>".encode()
    answer = Body(body) if status == 200 else Status(status, body=body)
    async with ScriptedModel(lambda _: answer) as server:
        with pytest.raises(ModelError) as caught:
            await judge(server, api_key=KEY).complete(ASK)
    assert KEY[:6] not in str(caught.value)


async def test_a_provider_s_error_is_shown_without_the_key_and_cut(judge: Judge) -> None:
    async with ScriptedModel(lambda _: Status(400, f"bad header Bearer {KEY} " + "x" * 10_000)) as server:
        with pytest.raises(ModelError) as caught:
            await judge(server, api_key=KEY).complete(ASK)
    assert "canary" not in str(caught.value)
    assert "[secret]" in str(caught.value)
    assert len(str(caught.value)) < 700


@pytest.mark.parametrize(
    ("fault", "asked_s"),
    [
        (Status(500), 0),
        (Status(502, body=b"<html>Bad Gateway</html>"), 0),
        (Status(503, headers={"Retry-After": "2"}), 2),
        (Status(529, "overloaded"), 0),
        (Status(408), 0),
        (Status(429, headers={"retry-after-ms": "1500"}), 1.5),
        (Drop(), 0),
        (Body(b'{"choices": [{"mess'), 0),
        (Body(b"<html>login</html>"), 0),
        (Body(b"[]"), 0),
        (Body(b'{"choices": []}'), 0),
        (Body(b'{"choices": [{"message": "no object"}]}'), 0),
        (Body(b'{"error": {"message": "overloaded", "code": 503}}'), 0),
    ],
)
async def test_what_may_pass_is_asked_again_and_not_before_it_was_asked_to(
    judge: Judge, clock: FakeClock, fault: Fault, asked_s: float
) -> None:
    async with ScriptedModel(lambda _: "满意", faults=[fault]) as server:
        assert (await judge(server).complete(ASK)).text == "满意"
        assert len(server.requests) == 2
    assert clock.passed_s >= asked_s


async def test_a_call_that_is_never_answered_ends_and_is_asked_again(judge: Judge) -> None:
    async with ScriptedModel(faults=[Hang()]) as server:
        assert (await judge(server, timeout_s=0.04).complete(ASK)).text == "ok"
    async with ScriptedModel(faults=[Hang()] * 9) as server:
        with pytest.raises(ModelTimeout, match="AGENTEVAL_JUDGE_TIMEOUT_S"):
            await judge(server, timeout_s=0.01).complete(ASK)


async def test_nobody_there(judge: Judge) -> None:
    async with ScriptedModel() as server:
        url = server.base_url
    with pytest.raises(ModelUnavailable, match="AGENTEVAL_JUDGE_BASE_URL"):
        await judge(url).check()


async def test_an_address_that_is_never_contacted_is_a_model_error(judge: Judge) -> None:
    with pytest.raises(ModelError, match="metadata"):
        await judge("http://169.254.169.254/v1").complete(ASK)


@pytest.mark.parametrize("code", ["insufficient_quota", "insufficient_balance"])
async def test_an_account_without_credit_is_not_asked_again(judge: Judge, code: str) -> None:
    async with ScriptedModel(lambda _: Status(429, "You exceeded your current quota", code)) as server:
        with pytest.raises(ModelAuthError, match="no credit"):
            await judge(server).complete(ASK)
        assert len(server.requests) == 1


async def test_a_rate_limit_that_mentions_billing_is_still_a_rate_limit(judge: Judge) -> None:
    message = "Rate limit reached. Add a payment method at https://platform.example/account/billing"
    async with ScriptedModel(faults=[Status(429, message)]) as server:
        assert (await judge(server).complete(ASK)).text == "ok"


async def test_no_call_is_lost_to_two_percent_each_of_four_faults(judge: Judge) -> None:
    every_fifty: dict[int, Fault] = {7: Status(500), 17: Status(429), 27: Drop(), 37: Body(b'{"choices": [{"mess')}
    async with ScriptedModel(faults=[every_fifty.get(i % 50) for i in range(500)]) as server:
        model = judge(server)
        replies = await asyncio.gather(*(model.complete(ASK) for _ in range(500)))
        assert [reply.text for reply in replies] == ["ok"] * 500
        assert len(server.requests) <= 1.12 * 500


async def test_a_rate_limit_holds_the_other_calls_of_this_provider_only(judge: Judge, clock: FakeClock) -> None:
    limited = Status(429, headers={"Retry-After": "30"})
    async with ScriptedModel(faults=[limited]) as busy, ScriptedModel() as idle:
        first, other = judge(busy), judge(idle)
        await first.complete(ASK)
        await first.complete(ASK)
        assert clock.passed_s >= 30
        waited = len(clock.slept)
        await other.complete(ASK)
        assert len(clock.slept) == waited


async def test_a_daily_limit_ends_the_call_at_once(judge: Judge, clock: FakeClock) -> None:
    async with ScriptedModel(lambda _: Status(429, headers={"Retry-After": "86400"})) as server:
        with pytest.raises(ModelRateLimited) as caught:
            await judge(server).complete(ASK)
    assert (caught.value.retry_after_s, clock.slept) == (86400, [])


async def test_sixty_requests_per_minute_need_no_batching_by_hand(judge: Judge, clock: FakeClock) -> None:
    """50 cases with 6 calls each at 60 per minute: all are answered, and none is refused for waiting long."""
    async with ScriptedModel() as server:
        model = judge(server, requests_per_minute=60, timeout_s=5)
        await asyncio.gather(*(model.complete(ASK) for _ in range(300)))
        assert len(server.requests) == 300
    assert clock.passed_s >= 299


async def test_a_call_late_in_the_queue_is_repeated_as_the_first_is(judge: Judge) -> None:
    async with ScriptedModel(faults=[*[None] * 60, Status(500)]) as server:
        model = judge(server, requests_per_minute=60, timeout_s=5)
        await model.complete(ASK)  # the others do not wait for it to find out the mode
        await asyncio.gather(*(model.complete(ASK) for _ in range(60)))
        assert len(server.requests) == 62


async def test_a_provider_that_never_stops_limiting_ends_every_call(judge: Judge, clock: FakeClock) -> None:
    async with ScriptedModel(lambda _: Status(429, headers={"Retry-After": "20"})) as server:
        model = judge(server, max_concurrency=4, timeout_s=10)
        calls = [model.complete(ASK) for _ in range(40)]
        ended = await asyncio.gather(*calls, return_exceptions=True)
    assert {type(error) for error in ended} == {ModelRateLimited}
    assert clock.passed_s <= 40 / 4 * 60


async def test_a_provider_that_never_answers_ends_every_call(judge: Judge) -> None:
    async with ScriptedModel(faults=[Hang()] * 99) as server:
        model = judge(server, max_concurrency=2, timeout_s=0.05)
        ended = await asyncio.gather(*(model.complete(ASK) for _ in range(6)), return_exceptions=True)
    assert {type(error) for error in ended} <= {ModelTimeout, ModelUnavailable}  # on a busy machine connecting is slow


async def test_who_waits_for_a_place_can_be_stopped_and_holds_up_nobody(judge: Judge) -> None:
    async with ScriptedModel(faults=[None, Slow(0.03, "slow")]) as server:
        model = judge(server, max_concurrency=1)
        await model.complete(ASK)
        slow = asyncio.ensure_future(model.complete(ASK))
        await asyncio.sleep(0)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await model.complete(ASK)
        last = await model.complete(ASK)
        assert ((await slow).text, last.text) == ("slow", "ok")


async def test_no_more_at_once_than_allowed(judge: Judge) -> None:
    async with ScriptedModel() as server:
        model = judge(server, max_concurrency=4)
        await asyncio.gather(*(model.complete(ASK) for _ in range(30)))
        assert server.max_in_flight <= 4


async def test_cancelling_a_call_frees_its_place(judge: Judge) -> None:
    async with ScriptedModel(faults=[None, Hang()]) as server:
        model = judge(server, max_concurrency=1)
        await model.complete(ASK)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.03):
                await model.complete(ASK)
        assert (await model.complete(ASK)).text == "ok"


def embedder(server: ScriptedModel, context: ModelContext, **more: Any) -> Embedder:
    settings = ModelSettings.model_validate({"base_url": server.base_url, "model": "bge-m3", **more})
    model = build(Settings(embedding=settings), context).embedding
    assert model is not None
    return model


def moderator(server: ScriptedModel, context: ModelContext, **more: Any) -> Moderator:
    settings = ModelSettings.model_validate({"base_url": server.base_url, "model": "omni", **more})
    model = build(Settings(moderation=settings), context).moderation
    assert model is not None
    return model


async def test_embeddings_keep_the_order_and_go_in_batches(context: ModelContext) -> None:
    async with ScriptedModel(embedding=lambda text: [float(text), 1.0]) as server:
        vectors, usage, latency_ms = await embedder(server, context, input_price=2).embed([str(i) for i in range(600)])
        # Three calls; the server counts a token for each text: 600 tokens at 2 per million.
        assert usage == Usage(600, 0, Fraction(600 * 2, 1_000_000))
        assert [len(asked.json["input"]) for asked in server.requests] == [256, 256, 88]
        assert await embedder(server, context).embed([]) == Embedded([], Usage(0, 0), 0.0)
        assert latency_ms is not None
        assert latency_ms > 0
    assert [vector[0] for vector in vectors] == [float(i) for i in range(600)]


async def test_embeddings_follow_their_index(context: ModelContext) -> None:
    body = orjson.dumps({"data": [{"index": 1, "embedding": [1.0]}, {"index": 0, "embedding": [0.0]}]})
    async with ScriptedModel(faults=[Body(body)]) as server:
        vectors, usage, _ = await embedder(server, context).embed(["a", "b"])
    assert (vectors, usage) == ([[0.0], [1.0]], Usage(None, 0))


@pytest.mark.parametrize(
    "data",
    [
        [{"embedding": [1.0]}],
        [{"embedding": [1.0]}, {"embedding": []}],
        [{"embedding": [1.0]}, {"embedding": "AACAPw=="}],
        [{"embedding": [1.0]}, {"embedding": [None]}],
        [{"embedding": [1.0]}, {"embedding": [1.0, 2.0]}],
        [{"embedding": [1.0]}, None],
        None,
    ],
)
async def test_embeddings_that_do_not_fit_the_texts_are_an_error(context: ModelContext, data: object) -> None:
    async with ScriptedModel(faults=[Body(orjson.dumps({"data": data}))] * 9) as server:
        with pytest.raises(ModelError):
            await embedder(server, context).embed(["a", "b"])


async def test_moderations_name_the_categories_of_each_text(context: ModelContext) -> None:
    async with ScriptedModel(flagged={"笨": "harassment", "kill": "violence"}) as server:
        found = await moderator(server, context).moderate(["你好", "你真笨", "笨 kill"])
    assert found.categories == [(), ("harassment",), ("harassment", "violence")]
    assert found.latency_ms is not None
    assert found.latency_ms > 0


async def test_moderations_cost_what_they_report(context: ModelContext) -> None:
    results = [{"categories": {"spam": False}}]
    body = orjson.dumps({"results": results, "usage": {"prompt_tokens": 500}})
    async with ScriptedModel(faults=[Body(body)]) as server:
        found = await moderator(server, context, input_price=2).moderate(["你好"])
    assert found.usage == Usage(500, 0, Fraction(1, 1000))


@pytest.mark.parametrize("results", [[], [{}], [{"categories": None}], "none"])
async def test_a_moderation_without_result_is_an_error_and_not_a_pass(context: ModelContext, results: object) -> None:
    async with ScriptedModel(faults=[Body(orjson.dumps({"results": results}))] * 9) as server:
        with pytest.raises(ModelError):
            await moderator(server, context).moderate(["你好"])


async def test_every_role_is_checked_and_the_failing_one_is_named(context: ModelContext) -> None:
    async with ScriptedModel(api_key="right") as server:
        wrong = ModelSettings.model_validate({"base_url": server.base_url, "model": "m", "api_key": "wrong-key"})
        right = ModelSettings.model_validate({"base_url": server.base_url, "model": "m", "api_key": "right"})
        await build(Settings(judge=right, embedding=right, moderation=right), context).check()
        with pytest.raises(ModelAuthError, match="AGENTEVAL_MODERATION_API_KEY"):
            await build(Settings(judge=right, embedding=right, moderation=wrong), context).check()


def test_an_unknown_provider_names_its_variable(context: ModelContext) -> None:
    settings = ModelSettings.model_validate({"base_url": "http://x", "model": "m", "provider": "openai"})
    with pytest.raises(ConfigError, match=r"AGENTEVAL_JUDGE_PROVIDER.*openai_compatible"):
        build(Settings(judge=settings), context)


def test_the_built_in_provider_is_found_by_its_name() -> None:
    assert "openai_compatible" in MODELS.names
    assert MODELS.problems == []
