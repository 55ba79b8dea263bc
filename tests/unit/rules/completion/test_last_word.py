"""The last that the agent states or does of a slot counts: once is not for ever, part of a value and its other forms
are read, too, and what is something else accuses nobody."""

from typing import Any

import pytest

from agenteval.domain.transcript import ToolCall
from tests.fakes.dialogs import dialog, said
from tests.fakes.scripted_panel import concluded
from tests.unit.rules.completion.test_by_code import Talk, date, day, hour, phone, slot, statuses, time

AT_8, AT_20 = time("8 pm"), hour("20:00")
MARCH_12, MARCH_12_ZH = date("March 12"), day("3月12日")
FOUR, FOUR_ZH = slot("people", "number of people", 4, "number"), slot("people", "人数", 4, "number")
PHONE = slot("phone", "phone number", "415-555-0137", "phone")
ALICE, MING = slot("name", "customer name", "Alice Chen"), slot("name", "姓名", "王小明")
MARKET, JIANGUO = slot("address", "address", "88 Market Street"), slot("address", "地址", "建国路88号")
ORDER = slot("order", "order number", "AB123456")
TRANSFER = slot("amount", "transfer amount", "$500", "money")


@pytest.mark.parametrize(
    ("item", "talk"),
    [
        (AT_8, [("8 pm please", "8 pm, noted."), ("Thanks", "You're booked for 9 pm. Bye!")]),
        (AT_8, [("8 pm", "8 pm, great."), ("Parking?", "Sure. Your table is booked for 9 pm.")]),
        (AT_8, [("at 8 pm", "Got it, 8 pm."), ("Thanks", "Reserved for tomorrow at 9 pm.")]),
        (AT_20, [("晚上八点", "好的，八点。"), ("谢谢", "预约成功，时间是晚上九点。")]),
        (MARCH_12, [("March 12", "March 12, noted."), ("Thanks", "You are booked for March 21.")]),
        (MARCH_12, [("March 12", "March 12, perfect."), ("ta", "Your appointment is confirmed for March 22.")]),
        (MARCH_12_ZH, [("3月12日", "好的，3月12日。"), ("谢谢", "已为您订3月21日")]),
        (day("5月6日"), [("5月6日", "好的，5月6日。"), ("嗯", "已为您预约5月16日，请准时到店。")]),
        (FOUR, [("4 people", "4 people, noted."), ("Thanks", "Booked for 5 people.")]),
        (AT_8, [("8 pm", "We have no table at 8 pm, so it's 9 pm.")]),
        # never named
        (AT_8, [("At 8 pm", "booked for 9 pm")]),
        (AT_8, [("At 8 pm", "booked at 9 pm")]),
        (AT_8, [("At 8 pm", "9 pm, noted.")]),
        (AT_8, [("At 8 pm", "booked for March 12 at 9 pm")]),
        (AT_8, [("At 8 pm", "See you tomorrow at 9 pm.")]),
        (AT_20, [("晚上八点", "已为您预约早上八点上门")]),
        (AT_20, [("晚上八点", "订位成功：早上八点，李雷")]),
        (MARCH_12_ZH, [("3月12日", "好的，已为您订3月21日")]),
        # numbers
        (PHONE, [("415-555-0137", "Got it, ending in 0173.")]),
        (PHONE, [("415-555-0137", "Thanks, the last four digits are 0317.")]),
        (PHONE, [("415-555-0137", "415-555-0137, thanks."), ("ok", "We text you at 415-555-0173.")]),
        (phone(), [("13800138000", "好的，尾号是8001")]),
        (phone(), [("13800138000", "好的，13800138000。"), ("好", "短信已发送至13800138001。")]),
        (slot("id", "身份证号", "110101199003074514", "id_card"), [("110101199003074514", "后四位是4541，对")]),
        (phone(), [("13800138000", "好的，138****8001")]),
        (slot("order", "订单号", "20260917"), [("20260917", "订单20260917。"), ("嗯", "订单20260971已取消。")]),
        (slot("email", "e-mail", "a.chen@x.org", "email"), [("a.chen@x.org", "Confirmation sent to a.chan@x.org.")]),
        # names
        (ALICE, [("I'm Alice Chen", "Thank you, Bob. Your table is booked.")]),
        (ALICE, [("I'm Alice Chen", "Booked under the name Bob Miller.")]),
        (ALICE, [("I'm Alice Chen", "Welcome, Mr Smith!")]),
        (ALICE, [("I'm Alice Chen", "Hello Alice!"), ("Hi", "Your booking is in the name of Peter Novak.")]),
        (MING, [("我叫王小明", "李先生您好")]),
        (MING, [("我叫王小明", "王小民先生您好")]),
        (MING, [("我叫王小明", "已登记在王五名下")]),
        (MING, [("我叫王小明", "好的，王小明。"), ("嗯", "预订人：王晓明，已登记。")]),
        # addresses
        (MARKET, [("88 Market Street", "88 Market Road, noted.")]),
        (MARKET, [("88 Market Street", "We'll send someone to 88 Marker Street.")]),
        (JIANGUO, [("建国路88号", "好的，建设路88号。")]),
        (JIANGUO, [("建国路88号", "已登记，人民路12号。")]),
        (slot("address", "地址", "长江路16号"), [("长江路16号", "好的，师傅会上门到黄河路16号。")]),
        # codes
        (ORDER, [("AB123456", "AB123456, got it."), ("ok", "Your order AB123465 is cancelled.")]),
    ],
)
async def test_a_wrong_value_in_the_end_contradicts_the_user(item: dict[str, Any], talk: Talk) -> None:
    assert await statuses(dialog(*talk), item) == ["contradicted"]


@pytest.mark.parametrize(
    ("item", "talk"),
    [
        (AT_8, [("8 pm", "Unfortunately 8 pm is taken. I have booked you for 9 pm.")]),
        (AT_8, [("8 pm", "Sadly 8 pm is sold out, so I've put you down for 9 pm.")]),
        (AT_8, [("8 pm", "8 pm."), ("Parking?", "Yes. We look forward to seeing you at 9 pm.")]),
        (AT_8, [("8 pm", "8 pm."), ("ok", "9 pm, noted."), ("That's wrong", "Fixed.")]),
        (AT_8, [("8 pm", "Only 9 pm is left, ok?"), ("Okay", "Booked for 9 pm.")]),
        (AT_20, [("晚上八点", "晚上八点已满，已为您订晚上九点")]),
        (AT_20, [("晚上八点", "八点没位置了，给您安排到九点半。")]),
        (TRANSFER, [("Transfer $500", "$500, noted."), ("Thanks", "I have transferred $5,000.")]),
        (slot("amount", "退款金额", "250元", "money"), [("退250元", "好的，250元。"), ("嗯", "已退款350元。")]),
        (FOUR, [("We are four, at 8 pm", "A table for 5 at 8 pm")]),
        (FOUR_ZH, [("四位", "好的，四位。"), ("谢谢", "这边六位的桌子给您留着。")]),
        (
            slot("order", "订单号", "AB123456", pattern=r"[A-Z]{2}\d{6}"),
            [("AB123456", "AB123456。"), ("好", "AB123465。")],
        ),
        (ORDER, [("AB123456", "AB123456."), ("ok", "AB123999 is shipped.")]),
        (slot("people", "number of people", 2, "number"), [("Two of us", "Two, ok."), ("yes", "A table for three.")]),
        (ALICE, [("I'm Alice Chen", "Thanks Alice Chen."), ("ok", "It's all under Ms. Brown.")]),
        (ALICE, [("I'm Alice Chen", "Sure."), ("ok", "Reservation for David Brown confirmed.")]),
        (
            slot("address", "address", "12 Oak Avenue, Springfield"),
            [("12 Oak Avenue, Springfield", "Delivering to 12 Oak Avenue, Shelbyville.")],
        ),
        (ALICE, [("I'm Alice Chen", "Thank you, Alicia.")]),
        (ALICE, [("I'm Alice Chen", "Is that Bob? Hello Bob!"), ("It isn't", "Sorry.")]),
        (slot("name", "name", "Robert Lee"), [("Robert Lee", "Thanks, Bob!")]),
        (MARKET, [("88 Market Street", "We don't serve Market Street. Goodbye.")]),
    ],
)
async def test_what_may_be_another_value_or_an_accepted_one_is_left_open(item: dict[str, Any], talk: Talk) -> None:
    assert await statuses(dialog(*talk), item) == ["unscored"]


@pytest.mark.parametrize(
    ("item", "talk"),
    [
        (AT_8, [("8 pm", "8 pm, noted."), ("Thanks", "Booked for 8 pm. The kitchen closes at 11 pm.")]),
        (AT_8, [("8 pm", "Booked for 8 pm. Happy hour starts at 6 pm.")]),
        (AT_8, [("8 pm", "I moved you from 7 pm to 8 pm.")]),
        (AT_8, [("8 pm", "Booked from 8 pm until 10 pm.")]),
        (AT_8, [("8 pm", "8 pm. Should I keep 9 pm as a fallback?"), ("No", "Fine, 8 pm.")]),
        (AT_8, [("8 pm", "8 pm."), ("Thanks", "We will call you at 5 pm.")]),
        (AT_8, [("8 pm", "Booked for 9 pm."), ("No, 8 pm!", "Sorry, now it's 8 pm.")]),
        (AT_20, [("晚上八点", "好的，晚上八点。"), ("几点关门", "晚上十点关门。")]),
        (AT_20, [("晚上八点", "好的，八点到十点。")]),
        (AT_20, [("晚上八点", "已为您从七点改到八点。")]),
        (MARCH_12, [("March 12", "Booked for March 12. Cancel free of charge until March 10.")]),
        (MARCH_12_ZH, [("3月12日入住，3月14日离店", "已为您订3月12日至3月14日。")]),
        (FOUR, [("We are four", "Table for four, for two hours.")]),
        (FOUR_ZH, [("四个人", "好的，四位，二楼有三张桌子。")]),
        (PHONE, [("415-555-0137", "Got it, ending in 0137.")]),
        (PHONE, [("415-555-0137", "415-555-0137. Your card ending in 4242 was charged.")]),
        (phone(), [("13800138000", "好的，尾号8000")]),
        (phone(), [("13800138000", "好的，138****8000已登记")]),
        (
            slot("address", "address", "12 Oak Avenue, Springfield"),
            [("12 Oak Avenue, Springfield", "Delivering to 12 Oak Ave, Springfield.")],
        ),
        (ALICE, [("I'm Alice Chen", "Thank you, Alice. Your waiter is Bob.")]),
        (ALICE, [("I'm Alice Chen", "Welcome, Ms Chen!")]),
        (ALICE, [("I'm Alice Chen", "Thank you, Alice.\nBest regards, Tom.")]),
        (ALICE, [("I'm Alice Chen, for my boss, Mr Smith", "Noted. Welcome, Mr Smith!")]),
        (MING, [("我叫王小明", "王先生您好。")]),
        (MING, [("我叫王小明", "好的王先生，已派单，师傅李先生会联系您。")]),
        (MING, [("我叫王小明，帮李先生预订", "好的，李先生您好")]),
        (MARKET, [("88 Market Street", "88 Market St., noted. Our office is at 90 Market Street.")]),
        (JIANGUO, [("建国路88号", "北京市朝阳区建国路88号，已登记")]),
        (JIANGUO, [("建国路88号", "好的，已登记。我们门店在人民路12号")]),
        (ORDER, [("AB123456", "Order AB123456: your replacement order is AB123999.")]),
        (TRANSFER, [("Transfer $500", "$500 transferred. Your balance is $3,200.")]),
    ],
)
async def test_a_right_value_in_the_end_is_filled(item: dict[str, Any], talk: Talk) -> None:
    assert await statuses(dialog(*talk), item) == ["filled"]


async def test_an_older_value_in_other_words_is_stale() -> None:
    talk = dialog(("March 12", "OK."), ("make that March 13", "Booked for 12 March."))
    assert await statuses(talk, date("March 13")) == ["stale"]


@pytest.mark.parametrize(
    ("item", "message", "reply", "arguments", "status"),
    [
        (AT_8, "8 pm", "8 pm, noted.", {"time": "21:00"}, "unscored"),
        (AT_8, "8 pm", "Done.", {"bookingTime": "2027-03-12T21:00:00"}, "unscored"),
        (AT_8, "8 pm", "Done.", {"bookingTime": "2027-03-12T20:00:00", "createdAt": "2027-03-01T09:00:00"}, "filled"),
        (PHONE, "415-555-0137", "Thanks.", {"phone": "415-555-0173"}, "unscored"),
        (PHONE, "415-555-0137", "Thanks.", {"contact": {"phone": "4155550137"}}, "filled"),
        (ALICE, "Alice Chen", "Booked.", {"name": "Bob Miller"}, "unscored"),
        (ALICE, "Alice Chen", "Booked.", {"name": "Alice Chen", "hotel_name": "Ritz"}, "filled"),
        (MING, "我叫王小明", "已预约。", {"姓名": "王小民"}, "unscored"),
        (FOUR, "4 people", "Booked.", {"guests": 5}, "unscored"),
        (FOUR, "4 people", "Booked.", {"guests": 4, "nights": 2}, "filled"),
        (MARKET, "88 Market Street", "Booked.", {"address": "88 Market Road"}, "unscored"),
        (MARKET, "88 Market Street", "Booked.", {"address": "88 Market Street, San Francisco"}, "filled"),
    ],
)
async def test_the_last_call_may_have_another_value(
    item: dict[str, Any], message: str, reply: str, arguments: dict[str, Any], status: str
) -> None:
    talk = dialog(said(reply, message, tool_calls=(ToolCall("book", arguments, {"ok": True}, ok=True),)))
    assert await statuses(talk, item) == [status]


SEPTEMBER = time("September 12, 3 pm", "datetime")
MARCH = hour("3月13日晚上八点", "datetime")


@pytest.mark.parametrize(
    ("item", "talk", "status"),
    [
        (SEPTEMBER, [("September 12", "Which time?"), ("3 pm", "Booked: 12 September, 3 pm.")], "filled"),
        (SEPTEMBER, [("September 12", "Which time?"), ("3 pm", "Booked for September 12 at 4 pm.")], "contradicted"),
        (SEPTEMBER, [("September 12", "Which time?"), ("3 pm", "Sorry, something went wrong.")], "stated_only"),
        (MARCH, [("3月13日", "几点？"), ("晚上八点", "好的，已预约。")], "filled"),
        (
            MARCH,
            [("3月13日", "几点？"), ("有几点的", "晚上八点可以吗？"), ("可以", "好的，3月13日晚上八点。")],
            "filled",
        ),
        (MARCH, [("3月13日", "几点？"), ("晚上八点", "好的，已为您预约3月14日晚上八点。")], "contradicted"),
        (MARCH, [("3月14日", "几点？"), ("晚上八点", "好的，已预约。")], "missing"),
    ],
)
async def test_a_date_and_its_time_may_be_said_apart(item: dict[str, Any], talk: Talk, status: str) -> None:
    assert await statuses(dialog(*talk), item) == [status]


async def test_the_evidence_of_a_contradiction_holds_the_agents_words() -> None:
    talk = dialog(
        ("I'm Alice Chen", "Hi."), ("8 pm", "8 pm."), ("Thanks", "Bye, Bob! You're booked for 9 pm, table 3.")
    )
    params = {"mode": "slot", "required_slots": [AT_8, ALICE]}
    result, _ = await concluded("task_completion", params, talk, lambda _: None)
    shown = {name: detail["evidence"] for name, detail in result.detail["slots"].items()}
    assert {"turn_index": 2, "speaker": "agent", "quote": "9 pm"} in shown["time"]
    assert {"turn_index": 2, "speaker": "agent", "quote": "Bob"} in shown["name"]


BOOKING = [MARCH_12, AT_8, FOUR, ALICE, PHONE]
BOOKING_ZH = [MARCH_12_ZH, AT_20, FOUR_ZH, MING, phone()]


def booked(summary: str) -> Talk:
    if summary.isascii():
        ask = ("A table for four on March 12 at 8 pm please", "Sure, for 4 on March 12 at 8 pm. Your name?")
        return [ask, ("Alice Chen", "Thanks, Alice. A phone number?"), ("415-555-0137", summary)]
    ask = ("订3月12日晚上八点四个人", "好的，3月12日晚上八点四位，请问您贵姓？")
    return [ask, ("王小明", "王先生，请留个电话。"), ("13800138000", summary)]


@pytest.mark.parametrize(
    ("summary", "status"),
    [
        ("All set: March 12, 8 pm, party of 4, Alice Chen, 415-555-0137. See you!", "filled"),
        ("Booked. Our kitchen closes at 10 pm. Free cancellation until March 10, call 415-555-0100.", "filled"),
        ("Summary:\n- Date: March 12\n- Time: 8 pm\n- Guests: 4\n- Name: Alice Chen\n- Phone: 415-555-0137", "filled"),
        (
            "Booked: March 21 at 9 pm for 5 people under the name Bob Miller. We text you on 415-555-0173.",
            "contradicted",
        ),
        (
            "Summary:\n- Date: March 21\n- Time: 9 pm\n- Guests: 5\n- Name: Bob Miller\n- Phone: 415-555-0173",
            "contradicted",
        ),
        ("预订成功：3月12日 20:00，4位，王小明，13800138000。", "filled"),
        ("已为您预订成功，尾号8000会收到短信。营业到晚上十点，3月10日前可免费取消，客服电话400-800-1234。", "filled"),
        ("预订成功：3月21日 21:00，5位，王小民先生，电话13800138001。", "contradicted"),
        ("预订信息：\n日期：3月21日\n时间：21:00\n人数：5\n姓名：王大明\n电话：13900138000", "contradicted"),
    ],
)
async def test_a_whole_booking_is_read_back(summary: str, status: str) -> None:
    items = BOOKING if summary.isascii() else BOOKING_ZH
    assert await statuses(dialog(*booked(summary)), *items) == [status] * len(items)


@pytest.mark.parametrize(
    ("item", "talk"),
    [
        (AT_8, [("8 pm", "Your table at 8 pm is confirmed. The last order is at 9:30 pm.")]),
        (AT_8, [("8 pm", "See you at 8 pm."), ("Parking?", "The garage is booked at 9 pm, so come early.")]),
        (AT_20, [("晚上八点", "已为您预约晚上八点，师傅七点半出发。")]),
        (MARCH_12, [("March 12", "Booked for March 12. Your voucher is valid until March 31.")]),
        (MARCH_12_ZH, [("3月12日", "已预约3月12日。保修期到3月20日。")]),
        (slot("kids", "number of children", 2, "number"), [("4 people, 2 kids", "A table for 4.")]),
        (slot("budget", "budget", "$500", "money"), [("budget $500", "The deposit of $100 is paid.")]),
        (ALICE, [("I'm Alice Chen", "Hi Alice, I'm Bob.")]),
        (ALICE, [("I'm Alice Chen", "Dear Guest, your table is booked.")]),
        (ALICE, [("I'm Alice Chen", "Sorry, Tuesday is full.")]),
        (ALICE, [("I'm Alice Chen", "Thanks, Your waiter is Bob.")]),
        (slot("name", "name", "Chen Wei"), [("Chen Wei", "Thank you, Mr Wei.")]),
        (slot("pet", "name of the pet", "Biscuit"), [("Biscuit, I'm Al", "Thank you, Peter. Biscuit is a nice name.")]),
        (slot("name", "姓名", "欧阳娜"), [("欧阳娜", "欧阳女士您好")]),
        (slot("name", "姓名", "王芳"), [("王芳", "联系人：王女士，师傅：李先生")]),
        (MARKET, [("88 Market Street", "Noted. Pick up at 5 Harbour Road.")]),
        (JIANGUO, [("建国路88号", "好的。从人民路5号的门店出发。")]),
        (phone(), [("13800138000", "师傅电话13800138001，稍后联系您")]),
    ],
)
async def test_what_is_something_else_accuses_nobody(item: dict[str, Any], talk: Talk) -> None:
    assert (await statuses(dialog(*talk), item))[0] in {"filled", "unscored"}
