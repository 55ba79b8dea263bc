from collections.abc import Mapping, Sequence
from typing import Any

import orjson
import pytest

from agenteval.domain.errors import Pending
from agenteval.domain.json_value import Json
from agenteval.domain.ports import ChatRequest, Message
from agenteval.models.batch_file import BatchFile
from agenteval.settings import ModelSettings
from tests.fakes.scripted_judge import MemoryCapabilities

SCHEMA = {"type": "object", "properties": {"q1": {"type": "string"}}, "required": ["q1"], "additionalProperties": False}
ASK = ChatRequest((Message("system", "你是评审"), Message("user", "对话")), "id-1", schema=SCHEMA)
OTHER = ChatRequest(ASK.messages, "id-2", schema=SCHEMA)


class MemoryMemo(dict[str, Json]):
    async def get(self, keys: Sequence[str]) -> Mapping[str, Json]:  # type: ignore[override]
        return {key: self[key] for key in keys if key in self}

    async def put(self, answers: Mapping[str, object]) -> None:
        self.update(answers)  # type: ignore[arg-type]


class Batch:
    """A judge with what it wrote."""

    def __init__(self, memo: MemoryMemo, **settings: Any) -> None:
        self.lines: list[Any] = []
        config = ModelSettings(**{"base_url": "http://judge.invalid/v1", "model": "judge-1"} | settings)
        self.capabilities = MemoryCapabilities()
        self.model = BatchFile(config, self.capabilities, memo, lambda line: self.lines.append(orjson.loads(line)))

    async def ask(self, request: ChatRequest) -> str | None:
        return (await self.model.complete(request)).text

    async def take_in(self, *lines: object) -> list[str]:
        written = [line if isinstance(line, bytes) else orjson.dumps(line) for line in lines]
        return [problem async for problem in self.model.take_in(written, "answers.jsonl")]


@pytest.fixture
def memo() -> MemoryMemo:
    return MemoryMemo()


def answered(custom_id: str, content: str = '{"q1":"是"}', **others: Any) -> dict[str, Any]:
    body = {"choices": [{"message": {"content": content}, "finish_reason": "stop"}]}
    return {"custom_id": custom_id, "response": {"status_code": 200, "body": body}, "error": None, **others}


async def asked(memo: MemoryMemo, *requests: ChatRequest) -> Batch:
    batch = Batch(memo)
    for request in requests:
        with pytest.raises(Pending):
            await batch.ask(request)
    await batch.model.close()
    return batch


async def test_a_request_is_written_once_as_the_server_would_get_it(memo: MemoryMemo) -> None:
    batch = await asked(memo, ASK, ASK)
    (line,) = batch.lines
    assert (line["custom_id"], line["method"], line["url"]) == ("id-1", "POST", "/v1/chat/completions")
    assert (line["body"]["model"], line["body"]["messages"][1]) == ("judge-1", {"role": "user", "content": "对话"})
    form = line["body"]["response_format"]
    assert (form["type"], form["json_schema"]["strict"], form["json_schema"]["schema"]) == ("json_schema", True, SCHEMA)


async def test_what_is_known_of_the_model_is_heeded(memo: MemoryMemo) -> None:
    batch = Batch(memo)
    await batch.capabilities.put("http://judge.invalid/v1", "judge-1", "tool -temperature")
    with pytest.raises(Pending):
        await batch.ask(ASK)
    (line,) = batch.lines
    assert "tools" in line["body"]
    assert "temperature" not in line["body"]


async def test_an_answer_is_given_from_then_on_and_only_the_rest_is_written(memo: MemoryMemo) -> None:
    await asked(memo, ASK, OTHER)
    batch = Batch(memo)
    assert await batch.take_in(answered("id-1")) == []
    assert await batch.ask(ASK) == '{"q1":"是"}'
    assert (await batch.model.complete(ASK)).was_kept
    with pytest.raises(Pending):
        await batch.ask(OTHER)
    assert [line["custom_id"] for line in batch.lines] == ["id-2"]
    assert await Batch(memo).ask(ASK) == '{"q1":"是"}'


async def test_another_seed_or_model_asks_anew(memo: MemoryMemo) -> None:
    await asked(memo, ASK)
    await Batch(memo).take_in(answered("id-1"))
    for settings in ({"seed": 1}, {"model": "judge-2"}):
        with pytest.raises(Pending):
            await Batch(memo, **settings).ask(ASK)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"{", "is not JSON"),
        ([], "has no custom_id"),
        ({"response": {}}, "has no custom_id"),
        (answered("id-9"), "there was no request id-9 to judge-1"),
        ({"custom_id": "id-1"}, "id-1 failed: no response"),
        (answered("id-1", error={"code": "expired", "message": "too late"}), "id-1 failed: 200: expired too late"),
        (
            {"custom_id": "id-1", "response": {"status_code": 429, "body": {"error": {"message": "slow down"}}}},
            "id-1 failed: 429: slow down",
        ),
        (
            {"custom_id": "id-1", "response": {"status_code": 200, "body": {"choices": []}}},
            "id-1 failed: the reply holds no message",
        ),
    ],
)
async def test_a_line_that_is_no_answer_is_told_and_its_request_asked_again(
    memo: MemoryMemo, line: object, said: str
) -> None:
    await asked(memo, ASK, OTHER)
    batch = Batch(memo)
    (problem,) = await batch.take_in(answered("id-2"), b"", line)
    assert problem.startswith("answers.jsonl:3: ")
    assert said in problem
    assert await batch.ask(OTHER) == '{"q1":"是"}'
    with pytest.raises(Pending):
        await batch.ask(ASK)


async def test_of_two_answers_to_a_request_the_first_counts(memo: MemoryMemo) -> None:
    await asked(memo, ASK)
    batch = Batch(memo)
    problems = await batch.take_in(answered("id-1"), answered("id-1", '{"q1":"否"}'))
    assert problems == ["answers.jsonl:2: id-1 was answered in line 1, which counts"]
    assert await batch.ask(ASK) == '{"q1":"是"}'
