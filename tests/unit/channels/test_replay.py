"""Recorded dialogs in the place of an agent."""

from typing import Any

import pytest

from agenteval.channels import CHANNELS
from agenteval.channels.builtin.replay import Replay
from agenteval.domain.scenario import Case
from agenteval.domain.transcript import Dialog, ToolCall, Turn, TurnStatus
from tests.unit.channels.talking import talk

RECORDED = Dialog(
    (
        Turn(0, "你好", "您好", (ToolCall("greet", ok=True),), latency_ms=321.5),
        Turn(1, "订票", {"text": "好的"}),
        Turn(2, "谢谢", None, latency_ms=5),
    )
)


async def replay(dialog: Dialog, *messages: str, case_id: str = "case") -> list[Turn]:
    params: dict[str, Any] = {"dialogs": {"case": dialog}}
    return await talk("replay", params, *messages, case_id=case_id)


async def test_the_dialog_comes_out_as_it_was_recorded() -> None:
    assert await replay(RECORDED, "你好", "订票", "谢谢") == [*RECORDED]


@pytest.mark.parametrize("status", [TurnStatus.TIMEOUT, TurnStatus.ERROR, TurnStatus.NOT_DELIVERED])
async def test_recorded_failures_come_out_too(status: TurnStatus) -> None:
    failed = Turn(0, "hi", status=status, error="as it was")
    assert await replay(Dialog((failed,)), "hi") == [failed]


async def test_a_recorded_reply_is_not_taken_for_the_answer_to_something_else() -> None:
    (turn,) = await replay(RECORDED, "再见")
    assert turn.status is TurnStatus.NOT_DELIVERED
    assert "turn 0 of case 'case' has another message recorded: 你好" in turn.error


@pytest.mark.parametrize(
    ("case_id", "messages", "error"),
    [
        ("other", ["你好"], "no dialog of case 'other' was recorded"),
        ("case", ["你好", "订票", "谢谢", "再见"], "ends after 3 turns"),
    ],
)
async def test_what_was_not_recorded_is_not_invented(case_id: str, messages: list[str], error: str) -> None:
    turn = (await replay(RECORDED, *messages, case_id=case_id))[-1]
    assert turn.status is TurnStatus.NOT_DELIVERED
    assert error in turn.error


PLAIN = Dialog((Turn(0, "你好", "您好", latency_ms=321.5), Turn(1, "订票", ""), Turn(2, "谢谢", "😀 再见")))


def test_a_plain_dialog_need_not_be_talked_through() -> None:
    messages = tuple(turn.sent_message for turn in PLAIN)
    assert Replay({"case": PLAIN}).recorded(Case("case", messages)) == PLAIN


@pytest.mark.parametrize(
    "turn",
    [
        PLAIN[0],
        Turn(0, "hi", "hello"),
        Turn(0, "hi", "a\0b"),
        Turn(0, "hi", "half of \ud83d"),
        Turn(0, "h\0i", "hello"),
        Turn(0, "hi", {"text": "hello"}),
        Turn(0, "hi", "hello", (ToolCall("greet", {"a": "\0"}),)),
        Turn(0, "hi", "hello", error="of no account"),
        Turn(0, "hi", "hello", status=TurnStatus.ERROR, error="as it was"),
        Turn(0, "other words", "hello"),
        Turn(0, "hi", "x" * 3_000_000),
    ],
    ids=lambda turn: repr(turn)[:80],
)
async def test_a_dialog_that_is_not_talked_through_is_what_would_have_come_out(turn: Turn) -> None:
    message = turn.sent_message if "\0" in turn.sent_message else "hi"
    recorded = Replay({"case": Dialog((turn,))}).recorded(Case("case", (message,)))
    assert recorded is None or [*recorded] == await replay(Dialog((turn,)), message)


@pytest.mark.parametrize("messages", [("你好",), ("你好", "订票", "谢谢", "再见")])
def test_a_dialog_with_other_messages_is_talked_through(messages: tuple[str, ...]) -> None:
    assert Replay({"case": PLAIN}).recorded(Case("case", messages)) is None
    assert Replay({}).recorded(Case("case", messages)) is None


def test_only_replay_touches_nothing_outside() -> None:
    assert [channel.name for channel in CHANNELS.all() if not channel.sends] == ["replay"]
