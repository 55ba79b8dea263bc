"""What may have been given in other words is not missing: code leaves it open, or sees what was offered and taken."""

from typing import Any

import pytest

from tests.fakes.dialogs import dialog
from tests.unit.rules.completion.test_by_code import Talk, date, day, email, hour, slot, statuses, telephone, time


def people(expected: int) -> dict[str, Any]:
    return slot("people", "number of people", expected, "number")


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (date("12 March"), "12/03/2027"),
        (date("12 March"), "12.3."),
        (date("12 March"), "The 12, please"),
        (date("December 25"), "On Christmas"),
        (date("14 June"), "Three days from now"),
        (day("10月1日"), "国庆那天"),
        (day("3月12日"), "三天后"),
        (date("12 March"), "on the twelfth"),
        (day("3月12日"), "3.12"),
        (time("8 pm"), "20h"),
        (time("7 am"), "0700 hours"),
        (time("8 pm"), "eight"),
        (people(4), "two adults and two kids"),
        (people(3), "two friends plus me"),
        (people(2), "my wife and I"),
        (slot("people", "人数", 2, "number"), "我和女朋友"),
        (slot("people", "人数", 5, "number"), "三个大人两个小孩"),
        (telephone("415-555-0137"), "four one five, double five five, oh one thirty-seven"),
        (telephone("415-555-0137"), "4 1 5 - 5 5 5 - 0 1 3 7"),
        (telephone("415-555-0137"), "area code four one five, then five five five zero one three seven"),
        (slot("name", "customer name", "Alice Chen"), "Chen, Alice"),
        (slot("name", "customer name", "Alice Chen"), "A-L-I-C-E C-H-E-N"),
        (slot("name", "姓名", "王小明"), "免贵姓王，名小明"),
        (slot("address", "address", "88 Market Street"), "Market St, number 88"),
        (slot("address", "地址", "建国路88号"), "建国路八十八号"),
        (email("alice.chen@example.com"), "alice dot chen at example dot com"),
        (slot("order", "order number", "K20417"), "K 20417"),
        (slot("order", "order number", "K20417"), "it's k two zero four one seven"),
        (slot("order", "订单号", "AB-20417", pattern=r"AB-\d{5}"), "AB 20417"),
    ],
)
async def test_what_may_have_been_given_in_other_words_is_left_open(item: dict[str, Any], message: str) -> None:
    assert await statuses(dialog(("Hi", "Hello. 您好"), (message, "Noted. 好的。")), item) == ["unscored"]


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (date("12 March"), "12/04/2027"),
        (date("12 March"), "We are 12 people"),
        (time("8 pm"), "There are 8 guests"),
        (people(7), "two adults and two kids"),
        (telephone("415-555-0137"), "four one five, five five five, oh one seven three"),
        (email("alice.chen@example.com"), "alice at example dot com"),
        (slot("order", "order number", "K20417"), "K 20471"),
        (slot("name", "customer name", "Alice Chen"), "Bob Miller"),
        (slot("address", "address", "88 Market Street"), "98 Market Street"),
        (slot("address", "地址", "建国路88号"), "建国路188号"),
        (slot("order", "订单号", "K20417"), "没有订单号"),
    ],
)
async def test_what_cannot_be_meant_is_missing(item: dict[str, Any], message: str) -> None:
    assert (await statuses(dialog((message, "Noted. 好的。")), item))[0] in {"missing", "invalid"}


@pytest.mark.parametrize(
    ("item", "talk", "status"),
    [
        (date("12 March"), [("The day after my exam", "Booked for 12 March.")], "unscored"),
        (slot("item", "appliance", "air conditioner"), [("My AC is broken", "Your air conditioner.")], "unscored"),
        (slot("item", "家电", "洗衣机"), [("滚筒坏了", "好的，您的洗衣机已登记。")], "unscored"),
        (people(4), [("The usual party", "Four people, then."), ("Thanks", "Bye.")], "unscored"),
        # somebody corrects it, or it is only offered
        (date("12 March"), [("Soon", "Booked for 12 March."), ("No, not that day", "Sorry.")], "missing"),
        (day("3月12日"), [("尽快", "给您订3月12日。"), ("改成3月15日", "好的。")], "invalid"),
        (slot("room", "room", "double"), [("A room", "We have a double, shall I take it?")], "missing"),
        (slot("room", "房型", "大床房"), [("订房", "有大床房，可以吗？"), ("有停车场吗", "有的。")], "missing"),
    ],
)
async def test_what_the_agent_states_uncorrected_is_not_missing(item: dict[str, Any], talk: Talk, status: str) -> None:
    assert await statuses(dialog(*talk), item) == [status]


@pytest.mark.parametrize(
    ("item", "talk", "status"),
    [
        (time("8 pm"), [("7 pm", "7 pm is full, what about 8 pm?"), ("Yes please", "Booked for 8 pm.")], "filled"),
        (hour("20:00"), [("七点", "七点满了，晚上八点可以吗？"), ("可以", "已为您订好晚上八点。")], "filled"),
        (date("May 5"), [("May 4", "May 4 is sold out. May 5 is free."), ("Perfect", "See you on May 5.")], "filled"),
        (day("3月13日"), [("约3月12日", "12日没有空位了，3月13日行吗？"), ("行", "好的，3月13日。")], "filled"),
        (time("8 pm"), [("Dinner", "We have 7 pm or 8 pm."), ("Yes", "OK.")], "unscored"),
    ],
)
async def test_an_offer_instead_of_what_is_not_to_be_had(item: dict[str, Any], talk: Talk, status: str) -> None:
    assert await statuses(dialog(*talk), item) == [status]
