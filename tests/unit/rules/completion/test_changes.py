"""A value that the user may have given up, turned down, excluded or never meant is not filled for certain; one that
only stands beside such words is."""

from typing import Any

import pytest

from agenteval.domain.transcript import ToolCall
from tests.fakes.dialogs import dialog, said
from tests.unit.rules.completion.test_by_code import Talk, date, day, hour, phone, slot, statuses, telephone, time

MAY_3, MAY_3_ZH, FRIDAY = date("May 3"), day("5月3号"), date("Friday")
AT_3, AT_3_ZH = time("3 pm"), hour("下午3点")
TOMORROW, TOMORROW_ZH = time("tomorrow 3 pm", "datetime"), hour("明天下午3点", "datetime")
TWO, TWO_ZH = slot("people", "party size", 2, "number"), slot("people", "人数", 2, "number")
PARK, JIANGUO = slot("address", "address", "88 Park Street"), slot("address", "地址", "建国路88号")
EMAIL = slot("email", "e-mail", "a@x.org", "email")
RED, RED_ZH = slot("color", "color", "red"), slot("color", "颜色", "红色")
SOURCE, TARGET = slot("from", "departure city", "Paris"), slot("to", "destination", "London")


async def status(item: dict[str, Any], talk: Talk) -> str:
    return (await statuses(dialog(*talk), item))[0]


@pytest.mark.parametrize(
    ("item", "first", "change"),
    [
        *(
            (MAY_3_ZH, "5月3号", change)
            for change in ("不，5月4号", "还是5月4号吧", "算了，5月4号", "4号吧", "等等，5月4号")
        ),
        *((MAY_3_ZH, "5月3号", change) for change in ("5月4号更好", "5月4号比较好", "挪到下周一")),
        *((MAY_3, "May 3", f"{change}, May 4") for change in ("Wait", "On second thought", "Sorry", "Hold on")),
        (MAY_3, "May 3", "On second thought, May 4 would be better"),
        (MAY_3, "May 3", "May 4 would be better"),
        (FRIDAY, "Friday", "Could you reschedule to Monday?"),
        (AT_3_ZH, "下午3点", "晚半小时"),
        (AT_3, "3 pm", "Can we move it to 5 pm?"),
        (AT_3, "3 pm", "an hour later please"),
        *(
            (TOMORROW_ZH, "明天下午3点", change)
            for change in ("改到4点", "改到后天", "推迟一天", "提前一天", "晚一个小时吧")
        ),
        *(
            (TOMORROW, "tomorrow 3 pm", change)
            for change in ("make it 4 pm", "move it to Friday", "push it back a day")
        ),
        *(
            (PARK, "88 Park Street", change)
            for change in ("不，改成 99 Park Street", "Actually I moved to 99 Oak Avenue")
        ),
        *((JIANGUO, "建国路88号", change) for change in ("改成人民路12号", "我搬到人民路12号了")),
        *((TWO_ZH, "2个人", change) for change in ("再加2个人", "又来1个朋友")),
        *((TWO, "2 people", change) for change in ("plus two kids, so four", "add one more person")),
        (RED_ZH, "红色", "换成蓝色"),
        (RED, "red", "make it blue"),
    ],
)
@pytest.mark.parametrize("answer", ["OK. 好的。", None])
async def test_a_value_that_may_be_given_up_is_open(
    item: dict[str, Any], first: str, change: str, answer: str | None
) -> None:
    assert await status(item, [(first, f"好的，{first}."), (change, answer or f"OK: {change}")]) == "unscored"


@pytest.mark.parametrize(
    ("item", "message", "expected"),
    [
        (phone(), "电话是13800138000，不对，是13900139000", "invalid"),
        (phone(), "电话是13800138000，哦不，13900139000", "invalid"),
        (telephone(), "212-555-0147, scratch that, 212-555-0199", "invalid"),
        (phone(), "电话13800138000，算了，用13900139000", "unscored"),
        (telephone(), "212-555-0147, wait, 212-555-0199", "unscored"),
        (telephone(), "212-555-0147, sorry, 212-555-0199", "unscored"),
        (EMAIL, "a@x.org, hang on, b@y.org", "unscored"),
    ],
)
async def test_the_last_value_in_one_breath_counts(item: dict[str, Any], message: str, expected: str) -> None:
    assert await status(item, [(message, "好的，已记录。")]) == expected


@pytest.mark.parametrize(
    ("item", "first", "later"),
    [
        (MAY_3_ZH, "5月3号", "算了，不用发票了"),
        (MAY_3_ZH, "5月3号", "请提前一小时打电话"),
        (MAY_3, "May 3", "Sorry, I also need a receipt"),
        (MAY_3, "May 3", "No, that's all"),
        (AT_3, "3 pm", "Better send a text too"),
        (TWO_ZH, "2个人", "再加一份薯条，谢谢"),
        (TWO, "2 people", "One more thing: is there parking?"),
        (
            slot("name", "customer name", "Alice Chen"),
            "I'm Alice Chen",
            "Actually, I have a question. Is breakfast included?",
        ),
        (PARK, "88 Park Street", "Is it far from the station?"),
        (phone(), "13800138000", "备用号码13900139000"),
    ],
)
async def test_other_words_change_nothing(item: dict[str, Any], first: str, later: str) -> None:
    assert await status(item, [(first, f"好的，{first}."), (later, "OK. 好的。")]) == "filled"


@pytest.mark.parametrize(
    ("item", "message", "reply"),
    [
        (SOURCE, "from Paris to London", "Booked from London to Paris."),
        (TARGET, "from Paris to London", "Booked from London to Paris."),
        (slot("to", "目的地", "上海"), "从北京到上海", "好的，为您预订从上海到北京的票"),
        (TARGET, "ship to London", "shipped to Paris"),
        (telephone(), "212-555-0147", "212-555-0147 is not a valid number, please give another"),
        (phone(), "13800138000", "13800138000不是有效号码，请重新提供"),
        (EMAIL, "a@x.org", "a@x.org is an invalid address."),
        (slot("id", "身份证号", "110101199003074514", "id_card"), "110101199003074514", "110101199003074514格式有误"),
        (telephone(), "my number is 212-555-0147", "Okay, I did not save your number"),
        (phone(), "我的电话13800138000", "好的，我不会记录您的电话"),
        (phone(), "电话13800138000", "好的，没有保存您的号码"),
    ],
)
async def test_a_value_that_is_turned_round_or_down_is_open(item: dict[str, Any], message: str, reply: str) -> None:
    assert await status(item, [(message, reply)]) == "unscored"


@pytest.mark.parametrize(
    ("item", "talk"),
    [
        (TARGET, [("from Paris to London", "Booked: Paris to London.")]),
        (slot("to", "目的地", "上海"), [("从北京到上海", "好的，为您预订北京飞上海的票")]),
        (phone(), [("电话13800138000", "好的，我们不会泄露您的号码，已登记")]),
        # values of others, and of other things
        (phone(), [("我的是13800138000，备用13900139000", "好的，备用电话13900139000已记录")]),
        (telephone(), [("My phone is 212-555-0147, backup 212-555-0199", "Backup phone 212-555-0199 noted.")]),
        (phone(), [("我的电话13800138000", "您的专属管家电话13900139000，有问题随时联系")]),
        (phone(), [("我的电话是13800138000", "您的客户经理电话是13900139000，有事请联系。")]),
        (telephone(), [("phone 212-555-0147", "Thanks. Your advisor's phone is 212-555-0199.")]),
        (telephone(), [("phone 212-555-0147", "Thanks. May I have your phone model?")]),
        (phone(), [("电话13800138000", "好的。请问您的电话型号是什么？")]),
        (EMAIL, [("my email is a@x.org", "Thanks. What is your email provider?")]),
        # a price of nothing
        (slot("budget", "预算", "0元", "money"), [("我要免费的", "好的。")]),
        (slot("fee", "fee", 0, "money"), [("I want it for free", "OK, it is free of charge.")]),
        (slot("price", "wanted price", 0, "number"), [("I want it free", "OK, noted.")]),
    ],
)
async def test_what_is_not_about_the_value_takes_nothing_from_it(item: dict[str, Any], talk: Talk) -> None:
    assert await status(item, talk) == "filled"


@pytest.mark.parametrize(
    ("item", "message", "expected"),
    [
        (AT_3, "anything but 3 pm", "missing"),
        (AT_3_ZH, "除了下午3点都可以", "missing"),
        (RED, "anything except red", "missing"),
        (AT_3, "My last visit was at 3 pm. I want 5 pm now.", "unscored"),
        (AT_3, "Do you open at 3 pm? Book me for 5 pm.", "unscored"),
        (phone(), "13800138000是旧号码，新的是13900139000", "unscored"),
        (PARK, "88 Park Street is my old address", "unscored"),
        (RED_ZH, "除了红色，还要蓝色", "unscored"),
        (slot("count", "number of rooms", 123, "number"), "one two three", "unscored"),
        (slot("count", "房间数", 12, "number"), "十几个", "unscored"),
        (slot("fee", "fee", "$5", "money"), "$5 million", "missing"),
        (slot("start", "old address", "88 Park Street"), "My old address is 88 Park Street", "filled"),
        (RED, "everything in red", "filled"),
    ],
)
async def test_what_is_excluded_or_past_is_not_wanted(item: dict[str, Any], message: str, expected: str) -> None:
    assert await status(item, [("Hi", "Hello, what would you like?"), (message, "OK.")]) == expected


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("ok, great", "filled"),
        ("correct", "filled"),
        ("yeah right, as if", "unscored"),
        ("ok let me check", "unscored"),
        ("好的，我先问问家里人", "unscored"),
        ("correct it please", "missing"),
    ],
)
async def test_an_assent_is_held_back(answer: str, expected: str) -> None:
    assert await status(AT_3, [("Hi", "How about 3 pm?"), (answer, "OK.")]) == expected


async def test_a_call_tells_of_attention_only_where_it_is_for_what_was_said() -> None:
    item = slot("food", "food", "pizza")
    weather, order = (
        ToolCall("weather", {"city": "x"}, "boom", ok=False),
        ToolCall("find", {"dish": "love"}, {}, ok=True),
    )
    for calls, expected in (((weather,), "unscored"), ((order,), "filled")):
        talk = dialog(said("The wind is strong.", "I love pizza.", tool_calls=calls))
        assert await statuses(talk, item) == [expected]


async def test_another_argument_of_the_call_leaves_the_value_open() -> None:
    book = ToolCall("book", {"people": 3}, {"ok": True}, ok=True)
    talk = dialog(said("Done.", "book 2 people", tool_calls=(book,)))
    assert await statuses(talk, TWO) == ["unscored"]


async def test_a_result_that_tells_of_a_failure_states_nothing() -> None:
    failed = ToolCall("find", {"id": 7}, "error: user 212-555-0147 not found")
    assert await statuses(dialog(said("Hello.", "Hi", tool_calls=(failed,))), telephone()) == ["missing"]
