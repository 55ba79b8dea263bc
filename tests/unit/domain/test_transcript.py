import pytest

from agenteval.domain.evidence import Speaker
from agenteval.domain.json_value import Json
from agenteval.domain.transcript import Dialog, ToolCall, Turn, TurnStatus, extract_reply_text

BOOKED = Turn(
    0, "订票", "好的", (ToolCall("book", {"no": "G101"}, {"ok": True}, ok=True), ToolCall("log", result="done")), 12.0
)


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ("你好", "你好"),
        (None, ""),
        ({"reply": "你好", "mood": "glad"}, "你好"),
        ({"reply": None}, ""),
        ({"text": None, "content": "hi"}, "hi"),
        ({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "a\nb"),
        (["a", {"text": "b"}], "a\nb"),
        ({"card": {"title": "票"}}, '{"card":{"title":"票"}}'),
        (42, "42"),
        (False, "false"),
    ],
)
def test_the_text_of_a_reply(reply: Json, text: str) -> None:
    assert extract_reply_text(reply) == text


@pytest.mark.parametrize(("reply", "answered"), [("。", True), ("👍", True), (" \u200b\n", False), (None, False)])
def test_only_white_space_says_nothing(reply: str | None, answered: bool) -> None:
    assert Turn(0, "?", reply).answered is answered
    assert Dialog((Turn(0, "?", reply),)).silent is not answered


def test_a_failed_turn_says_nothing() -> None:
    assert not Turn(0, "?", "partial", status=TurnStatus.ERROR).answered


def test_texts_by_speaker() -> None:
    dialog = Dialog((BOOKED,))
    assert dialog.texts(0, Speaker.USER) == ("订票",)
    assert dialog.texts(0, Speaker.AGENT) == ("好的",)
    assert dialog.texts(0, Speaker.TOOL) == ('{"ok":true}', "done")
    assert dialog.texts(1, Speaker.USER) == dialog.texts(-1, Speaker.USER) == ()


def test_the_language_is_the_users() -> None:
    assert Dialog((Turn(0, "我要订票", "Sure, which train?"),)).language == "zh"
    assert Dialog((Turn(0, "Book G101", "好的"),)).language == "en"
    assert Dialog((Turn(0, "", "您好"),)).language == "zh"


def test_a_digest_is_of_what_was_said_not_of_how_fast() -> None:
    slower = Turn(0, "订票", "好的", BOOKED.tool_calls, 99.0)
    failed_tool = Turn(
        0, "订票", "好的", (ToolCall("book", {"no": "G101"}, {"ok": True}, ok=False), BOOKED.tool_calls[1])
    )
    assert Dialog((BOOKED,)).digest == Dialog((slower,)).digest
    assert Dialog((BOOKED,)).digest != Dialog((failed_tool,)).digest
