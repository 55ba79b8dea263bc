"""Recorded dialogs in the place of an agent."""

from typing import Any

import pytest

from agenteval.channels import CHANNELS
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


def test_only_replay_touches_nothing_outside() -> None:
    assert [channel.name for channel in CHANNELS.all() if not channel.sends] == ["replay"]
