"""Recorded dialogs: every form of JSON, JSONL and CSV, every fault with its place, and writing what reads back."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agenteval.datasets import dialogs
from agenteval.datasets.dialogs import LoadedDialogs, RecordedDialog
from agenteval.domain.errors import InputError
from agenteval.domain.json_value import Json
from agenteval.domain.transcript import Dialog, ToolCall, Turn, TurnStatus
from tests.fakes.dialogs import dialog, said

TRAIN: dict[str, list[dict[str, str]]] = {
    "turns": [
        {
            "input": "我想订一张明天去上海的高铁票，还要帮我查一下那边的酒店。",
            "actual_output": "没问题！已经为您查到明天去上海的高铁有 G101 和 G105。请问您要订哪一班？",
        },
        {"input": "订 G101 吧。", "actual_output": "好的，G101 高铁票已为您预订成功！祝您旅途愉快。"},
    ]
}
CHAT: dict[str, Any] = {"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]}
HELLO = dialog(("hi", "hello"))


def load(data: object, name: str = "f") -> LoadedDialogs:
    if isinstance(data, str):
        data = data.encode()
    return dialogs.loads(data if isinstance(data, bytes) else orjson.dumps(data), name)


def one(data: object) -> Dialog:
    (recorded,) = load(data).dialogs
    return recorded.dialog


def problems(data: object, name: str = "f") -> list[str]:
    with pytest.raises(InputError) as error:
        load(data, name)
    return str(error.value).splitlines()


def test_the_turns_form_loads_as_it_is() -> None:
    loaded = one(TRAIN)
    assert [turn.sent_message for turn in loaded] == [turn["input"] for turn in TRAIN["turns"]]
    assert loaded[1].reply_text.startswith("好的，G101")


@pytest.mark.parametrize(
    "data",
    [
        CHAT,
        CHAT["messages"],
        {"turns": [{"input": "hi", "actual_output": "hello"}]},
        [{"input": "hi", "actual_output": "hello"}],
        "input,actual_output\nhi,hello\n",
    ],
)
def test_one_dialog_in_every_form(data: object) -> None:
    assert one(data) == HELLO


@pytest.mark.parametrize(
    "data",
    [
        [CHAT, {"id": "b", **CHAT}],
        [CHAT["messages"], {"conversation_id": "b", **CHAT}],
        b"\n".join([orjson.dumps(CHAT), b"", orjson.dumps({"dialog_id": "b", **CHAT}), b""]),
        b"\r\n".join([orjson.dumps(CHAT["messages"]), orjson.dumps({"id": "b", **CHAT})]),
        "id;input;output\ndialog-001;hi;hello\nb;hi;hello",
    ],
)
def test_several_dialogs_in_every_form(data: object) -> None:
    assert load(data).by_id == {"dialog-001": HELLO, "b": HELLO}


def test_a_line_is_a_dialog_where_the_name_says_so(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    path.write_bytes(orjson.dumps([CHAT["messages"][0], CHAT["messages"][1]]) + b"\n\xe2\x80\xa8"[:1])
    assert dialogs.load(path).by_id == {"dialog-001": HELLO}


def test_turns_may_tell_what_the_agent_did_and_how_it_failed() -> None:
    call = {"name": "book", "arguments": {"day": "明天"}, "result": {"error": "full"}, "ok": False}
    loaded = one(
        [
            {"input": "a", "actual_output": {"text": "b"}, "tool_calls": [call], "latency_ms": 12.5},
            {"input": "c", "actual_output": None, "status": "timeout", "error": "no reply"},
        ]
    )
    assert loaded == dialog(
        said(
            {"text": "b"},
            "a",
            tool_calls=(ToolCall("book", {"day": "明天"}, {"error": "full"}, False),),
            latency_ms=12.5,
        ),
        Turn(1, "c", None, status=TurnStatus.TIMEOUT, error="no reply"),
    )


@pytest.mark.parametrize(
    "result",
    [{"ok": False}, {"success": 0}, {"error": "out of stock"}, [{"type": "text", "text": '{"ok": "false"}'}]],
)
def test_turns_and_messages_tell_alike_that_a_call_failed(result: Any) -> None:
    turn = {"input": "a", "actual_output": "b", "tool_calls": [{"name": "order", "result": result}]}
    messages = [
        {"role": "user", "content": "a"},
        {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "order"}}]},
        {"role": "tool", "tool_call_id": "1", "content": result},
        {"role": "assistant", "content": "b"},
    ]
    assert one([turn])[0].tool_calls == one(messages)[0].tool_calls == (ToolCall("order", None, result, False),)


def test_an_ok_that_is_neither_true_nor_false_is_refused() -> None:
    call = '{"name": "order", "ok": "OK!"}'
    found = problems(f'{{"turns": [{{"input": "a", "actual_output": "b", "tool_calls": [{call}]}}]}}')
    assert found == ["f: /turns/0/tool_calls/0/ok (line 1): must be true or false"]


def test_chat_messages_become_turns() -> None:
    called = {"id": "1", "type": "function", "function": {"name": "find", "arguments": '{"city": "上海"}'}}
    loaded = load(
        {
            "messages": [
                {"role": "system", "content": "be kind"},
                {"role": "assistant", "content": "您好！"},
                {"role": "user", "content": "查酒店"},
                {"role": "user", "content": [{"type": "text", "text": "在上海"}]},
                {"role": "assistant", "content": None, "tool_calls": [called]},
                {"role": "tool", "tool_call_id": "1", "content": '{"success": false}'},
                {"role": "assistant", "content": "没有找到。"},
                {"role": "assistant", "content": "换个日期？"},
                {"role": "user", "content": "算了"},
            ]
        }
    )
    (recorded,) = loaded.dialogs
    assert recorded.dialog == dialog(
        said("您好！"),
        said(
            "没有找到。\n换个日期？",
            "查酒店\n在上海",
            tool_calls=(ToolCall("find", {"city": "上海"}, {"success": False}, False),),
        ),
        said(None, "算了"),
    )
    assert loaded.warnings == ("f: not used: system message (1x)",)


def test_what_no_tool_says_is_not_known_and_other_text_stays_text() -> None:
    calls = [
        {"id": str(i), "function": {"name": "t", "arguments": arguments}} for i, arguments in enumerate(["x", "5"])
    ]
    loaded = one(
        [
            {"role": "user", "content": "go"},
            {"role": "assistant", "tool_calls": calls, "refusal": "I cannot"},
            {"role": "tool", "tool_call_id": "1", "content": "done"},
            {"role": "tool", "tool_call_id": "0", "content": "{}", "ok": True},
        ]
    )
    assert loaded[0].tool_calls == (ToolCall("t", "x", {}, True), ToolCall("t", "5", "done", None))
    assert loaded[0].reply == "I cannot"


def test_every_problem_of_json_is_reported_at_once() -> None:
    found = problems(
        """[
{"turns": [{"input": "a", "actual_ouput": "b"}, {"input": 5, "actual_output": "b", "latency_ms": -1}]},
{"id": "x", "turns": [], "messages": []},
{"id": "y", "turns": []},
{"id": "z", "messages": [{"role": "robot"}, {"role": "tool", "tool_call_id": "1"}]},
{"id": "ok", "turns": [{"input": "a", "actual_output": "b"}]},
{"id": "ok", "turns": [{"input": "a", "actual_output": "b", "status": "late", "tool_calls": [{}]}]},
{"id": "ok", "turns": [{"input": "a", "actual_output": "b"}]}, 5]"""
    )
    assert found == [
        "f: /0/turns/0/actual_output (line 2): this field is required (is it what 'actual_ouput' means?)",
        "f: /0/turns/1/input (line 2): must be text, not a number (put it in quotes)",
        "f: /0/turns/1/latency_ms (line 2): must be greater than or equal to 0",
        "f: /1 (line 3): must have either turns or messages",
        "f: /2/turns (line 4): must not be empty",
        "f: /3/messages/0/role (line 5): must be 'system', 'developer', 'user', 'assistant' or 'tool'",
        "f: /3/messages/1/tool_call_id (line 5): no tool call before has the id '1'",
        "f: /5/turns/0/tool_calls/0/name (line 7): this field is required",
        "f: /5/turns/0/status (line 7): must be 'ok', 'timeout', 'error' or 'not_delivered'",
        "f: /6 (line 8): the id 'ok' is that of f: /4 (line 6)",
        "f: /7 (line 8): must be an object, not a number",
    ]


def test_every_problem_of_jsonl_names_its_line() -> None:
    turn = '{"turns": [{"input": "a", "actual_output": "b"}]}'
    found = problems(f'{turn}\n{{"turns": [{{"input": "a"}}]}}\n{{broken\n[]\n{turn}\n{{"a": 1, "a": 2}}')
    assert found == [
        "f: /turns/0/actual_output (line 2): this field is required",
        "f: line 3, column 2: is no JSON: Expecting property name enclosed in double quotes",
        "f (line 4): must not be empty",
        "f: /a (line 6): this key stands here twice",
    ]


@pytest.mark.parametrize("data", ["", "[]", "\n", "input,output\n"])
def test_a_file_without_a_dialog_is_refused(data: str) -> None:
    problems(data)


def test_what_is_not_used_is_told() -> None:
    loaded = load([{"input": "a", "actual_output": "b", "time": i, "user": "x"} for i in range(3)])
    assert loaded.warnings == ("f: not used: time (3x), user (3x)",)


# ---- tables ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "问题;答案\nhi;hello\n",
        "\ufeffinput,actual_output\r\nhi,hello\r\n",
        ' User Input \t"Answer"\nhi\thello\n',
        "答案,input\n\nhello,hi\n,\n",
        '"input","actual_output"\n"hi","hello"',
        "input,actual_output,\nhi,hello,\n",
        "sep=;\r\n客户;客服\r\nhi;hello\r\n",
        '"SEP=|"\nCustomer|Agent\nhi|hello\n',
        "sep=\t\ninput\toutput\nhi\thello\n",
    ],
)
def test_tables_as_spreadsheets_write_them(text: str) -> None:
    assert one(text) == HELLO


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
@pytest.mark.parametrize("name", ["stdin", "记录.txt", "d.csv"])
def test_the_unicode_text_of_excel(name: str, encoding: str) -> None:
    text = "会话编号\t客户\t客服\r\na\t你好\t您好\r\n"
    data = (text if encoding == "utf-16" else f"\ufeff{text}").encode(encoding)
    assert dialogs.loads(data, name).by_id == {"a": dialog(("你好", "您好"))}


def test_a_line_that_tells_the_delimiter_counts_as_a_line() -> None:
    assert problems("sep=;\ninput;output\na\n") == ["f: row 3: has 1 cells, the header has 2"]


def test_rows_without_a_known_dialog_id_are_not_split_in_silence() -> None:
    loaded = load("呼叫,渠道,客户,客服\nc1,web,a,b\nc1,web,c,d\n")
    assert len(loaded.dialogs) == 2
    assert loaded.warnings[-1] == (
        "f: no column tells which rows are one dialog, so each of the 2 rows is a dialog of one turn; "
        "if '呼叫' or '渠道' tells it, call that column dialog_id"
    )
    assert len(load("对话编号,渠道,客户,客服\nc1,web,a,b\nc1,web,c,d\n").dialogs) == 1


def test_cells_hold_delimiters_line_breaks_quotes_and_any_length() -> None:
    long = "长" * 131_073
    assert one(f'input,output\n"a,\n""b""; c",{long}\n') == dialog(('a,\n"b"; c', long))


def test_rows_of_one_dialog_are_put_in_order() -> None:
    loaded = load(
        "session_id,turn,question,answer,latency_ms,status,tool_calls\n"
        "b,1,b1,,,timeout,\n"
        'a,2,a2,x,,,"[{""name"": ""book"", ""ok"": true}]"\n'
        "b,0,b0,y,12.5,,\n"
        "a,10,a10,z,,ok,\n"
    )
    assert loaded.by_id == {
        "b": dialog(said("y", "b0", latency_ms=12.5), said("", "b1", status=TurnStatus.TIMEOUT)),
        "a": dialog(said("x", "a2", tool_calls=(ToolCall("book", ok=True),)), said("z", "a10")),
    }


def test_rows_without_a_dialog_id_are_dialogs_unless_they_are_numbered() -> None:
    assert list(load("input,output\na,b\nc,d\n").by_id) == ["dialog-001", "dialog-002"]
    assert load("input,output,turn\nc,d,2\na,b,1\n").by_id == {"dialog-001": dialog(("a", "b"), ("c", "d"))}


def test_unknown_columns_are_named() -> None:
    loaded = load("input,output,statuss,来源\na,b,c,d\n")
    assert loaded.warnings == (
        "f: row 1: column 'statuss' is not used (did you mean 'status'?)",
        "f: row 1: column '来源' is not used",
    )


def test_every_problem_of_a_table_names_row_and_column() -> None:
    found = problems(
        "会话ID,轮次,问题,答案,latency_ms,工具调用\n"
        "a,0,x,y,fast,\n"
        "a,1,x\n"
        ",2,x,y,,\n"
        "a,3,x,y,,{broken\n"
        "a,first,x,y,,\n"
        "a,4,x,y,,\n"
        "a,4,x,y,-1,[{}]\n"
        "a,4,x,y,,\n"
    )
    assert found == [
        "f: row 3: has 3 cells, the header has 6",
        "f: row 2, column latency_ms: must be a valid number, unable to parse string as a number",
        "f: row 4, column 会话ID: is blank",
        "f: row 5, column 工具调用: is no JSON: Expecting property name enclosed in double quotes",
        "f: row 6, column 轮次: must be a valid integer, unable to parse string as an integer",
        "f: row 8, column 工具调用: this field is required",
        "f: row 8, column latency_ms: must be greater than or equal to 0",
        "f: row 9, column 轮次: 4 stands twice in one dialog",
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "input,expected\na,b\n",
            "f: row 1: there is no column actual_output (it may be called actual_output, output,",
        ),
        (
            "input,output,回答\na,b,c\n",
            "f: row 1: the columns 'output' and '回答' both mean actual_output",
        ),
        ('input,output\na,"b\n', "f: row 2 (line 2): is no CSV: unexpected end of data"),
        ('input,output\n"a"b,c\n', "f: row 2 (line 2): is no CSV"),
    ],
)
def test_a_table_that_cannot_be_read(text: str, problem: str) -> None:
    (found,) = problems(text)
    assert found.startswith(problem)


def test_a_file_of_faults_is_not_read_to_its_end() -> None:
    for text in ("input,output\n" + "a\n" * 2_000, "{}\n" * 2_000, "[" + "{}," * 2_000 + "{}]"):
        found = problems(text)
        assert len(found) == 51
        assert found[-1] == "and 950 more problems, then reading ended"


def test_workbooks_and_other_encodings_are_told_what_to_do() -> None:
    assert problems(b"PK\x03\x04...", "a.xlsx") == [
        "a.xlsx: is an Excel workbook or another zip file (save the sheet as 'CSV UTF-8' and give that file)"
    ]
    gbk = "问题,答案\nhi,hello".encode("gbk")
    assert problems(gbk) == ["f: is not UTF-8: byte 0 does not fit (it may be GBK; save it as UTF-8)"]
    assert dialogs.loads(gbk, "f", "gbk").by_id == {"dialog-001": HELLO}


# ---- writing, and any bytes ------------------------------------------------------------------------------------------

text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
json_values: st.SearchStrategy[Json] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=6,
)
calls = st.builds(ToolCall, text.map(lambda t: f"t{t}"), json_values, json_values, st.none() | st.booleans())
turns = st.builds(
    Turn,
    st.just(0),
    text,
    json_values,
    st.lists(calls, max_size=2).map(tuple),
    st.none() | st.floats(0, 1e9),
    st.sampled_from(TurnStatus),
    text,
)
recorded = st.lists(st.lists(turns, min_size=1, max_size=3).map(lambda t: dialog(*t)), max_size=3, min_size=1)


@given(recorded)
@settings(max_examples=80)
def test_what_is_written_reads_back(some: list[Dialog]) -> None:
    given_ids = [RecordedDialog(f"对话 {i}", each) for i, each in enumerate(some)]
    written = dialogs.dumps_jsonl(given_ids)
    assert load(written, "f.jsonl").dialogs == tuple(given_ids)
    assert "\\u" not in dialogs.dumps_jsonl([RecordedDialog("你好", HELLO)])


@given(
    data=st.binary(max_size=60)
    | st.lists(
        st.sampled_from(
            [
                "input",
                "actual_output",
                "turns",
                "messages",
                "role",
                "user",
                "tool",
                '"',
                ",",
                ";",
                ":",
                "{",
                "}",
                "[",
                "]",
                "\n",
            ]
        ),
        max_size=20,
    ).map(lambda pieces: "".join(pieces).encode()),
    name=st.sampled_from(["a.json", "a.jsonl", "a.csv", "-"]),
)
@settings(max_examples=300)
def test_any_bytes_are_dialogs_or_an_input_error(data: bytes, name: str) -> None:
    with suppress(InputError):
        dialogs.loads(data, name)


words = ["id", "turns", "messages", "input", "actual_output", "role", "content", "tool_calls", "function", "name", "ok"]
roles = st.sampled_from(["user", "assistant", "tool", "x"])
shapes = st.recursive(
    st.none() | st.integers(0, 3) | roles,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(words), inner, max_size=4),
    max_leaves=12,
)


@given(shapes.filter(lambda shape: not isinstance(shape, int)))
@settings(max_examples=300)
def test_any_json_is_dialogs_or_an_input_error(value: Json) -> None:
    with suppress(InputError):
        load(orjson.dumps(value), "f.json")
