"""What code says of expected values without a model, dialog by dialog: the status a careful reader would give, or that
it cannot be told. Every row names the slot, what was said, and the status."""

from collections.abc import Mapping
from typing import Any

import pytest

from agenteval.domain.transcript import Dialog, ToolCall
from tests.fakes.dialogs import dialog, said
from tests.fakes.scripted_panel import concluded

Talk = list[tuple[str, str]]


async def statuses(talk: Dialog, *slots: Mapping[str, Any]) -> list[str]:
    result, _ = await concluded(
        "task_completion", {"mode": "slot", "required_slots": list(slots)}, talk, lambda _: None
    )
    return [result.detail["slots"][slot["name"]]["status"] for slot in slots]


def slot(name: str, about: str, expected: Any = None, kind: str = "text", **more: Any) -> dict[str, Any]:
    return {"name": name, "description": about, "type": kind, "expected_value": expected, **more}


def phone(expected: str | None = "13800138000") -> dict[str, Any]:
    return slot("phone", "联系电话", expected, "phone")


def telephone(expected: str | None = "212-555-0147") -> dict[str, Any]:
    return slot("phone", "phone number", expected, "phone")


def day(expected: str | None = None) -> dict[str, Any]:
    return slot("date", "预约日期", expected, "date")


def date(expected: str | None = None) -> dict[str, Any]:
    return slot("date", "appointment date", expected, "date")


def hour(expected: str | None = None, kind: str = "time") -> dict[str, Any]:
    return slot("time", "预约时间", expected, kind)


def time(expected: str | None = None, kind: str = "time") -> dict[str, Any]:
    return slot("time", "appointment time", expected, kind)


NAME = slot("name", "姓名", "王芳")
INVOICE = slot("invoice", "是否需要发票", "是", values=["是", "否"])


@pytest.mark.parametrize(
    ("item", "message", "status"),
    [
        (slot("fault", "fault", "fridge is not cooling"), "My fridge is not cooling", "filled"),
        (slot("fault", "fault", "does not start"), "The washer does not start at all", "filled"),
        (slot("fault", "fault", "doesn't start"), "It doesn't start", "filled"),
        (slot("fault", "fault", "can't log in"), "I can't log in", "filled"),
        (slot("fault", "fault", "cooling"), "It is not cooling", "missing"),
        (slot("fault", "故障", "不制冷"), "冰箱不制冷", "filled"),
        (slot("fault", "故障", "无法开机"), "电脑无法开机了", "filled"),
        (slot("fault", "故障", "付款失败"), "昨天付款失败了", "filled"),
        (slot("fault", "故障", "漏水"), "没有漏水", "missing"),
        (slot("color", "颜色", "红色"), "不要红色", "missing"),
        (day("13号"), "13号不行", "missing"),
        (slot("address", "地址", "建国路88号"), "建国路88号不方便停车", "filled"),
        # Denied is something about the thing, or the thing: code cannot tell.
        (slot("item", "家电", "热水器"), "我打不开热水器", "unscored"),
        (slot("item", "item", "package"), "I haven't received my package", "unscored"),
        (slot("item", "appliance", "washer"), "My washer does not start", "unscored"),
        (slot("amount", "disputed amount", "$60", type="money"), "A payment of $60 isn't mine", "unscored"),
    ],
)
async def test_a_value_may_hold_a_negation_and_may_be_denied(item: dict[str, Any], message: str, status: str) -> None:
    assert await statuses(dialog((message, "Noted. 已登记。")), item) == [status]


CHANGED: Talk = [("我叫王芳，电话 13700137000", "好的。"), ("改成 13700137999", "好的。")]
MOVED: Talk = [("My number is 212-555-0100", "OK."), ("Actually make it 212-555-0147", "OK.")]


@pytest.mark.parametrize(
    "summary",
    [
        "姓名：王芳；电话：13700137000；",
        "姓名:王芳 电话:13700137000",
        "请核对：\n- 姓名：王芳\n- 联系电话：13700137000\n- 地址：朝阳区",
        "**姓名**：王芳\n**电话**：13700137000",
        "| 姓名 | 王芳 |\n| 电话 | 13700137000 |",
        "| 姓名 | 电话 |\n|---|---|\n| 王芳 | 13700137000 |",
        "| 项目 | 内容 |\n|---|---|\n| 姓名 | 王芳 |\n| 联系电话 | 13700137000 |",
        "王芳女士，您的电话 13700137000 已登记。",
    ],
)
async def test_a_label_names_the_value_after_it(summary: str) -> None:
    talk = dialog(*CHANGED, ("好", summary))
    assert await statuses(talk, NAME, phone("13700137999")) == ["filled", "stale"]
    right = dialog(*CHANGED, ("好", summary.replace("13700137000", "13700137999")))
    assert await statuses(right, NAME, phone("13700137999")) == ["filled", "filled"]


@pytest.mark.parametrize(
    "summary",
    [
        "Name: Ann. Phone: 212-555-0100.",
        "Summary:\nName - Ann\nPhone - 212-555-0100",
        "Your booking\n* **Contact phone**: 212-555-0100\n* Date: May 3",
        "| Name | Phone number |\n|:--|:--|\n| Ann | 212-555-0100 |",
    ],
)
async def test_a_label_names_the_value_after_it_in_english(summary: str) -> None:
    assert await statuses(dialog(*MOVED, ("thanks", summary)), telephone()) == ["stale"]


async def test_the_agents_quote_shows_the_stale_value_and_the_history_the_older_one() -> None:
    talk = dialog(*CHANGED, ("好", "姓名：王芳；电话：13700137000；"))
    params = {"mode": "slot", "required_slots": [phone("13700137999")]}
    result, _ = await concluded("task_completion", params, talk, lambda _: None)
    detail = result.detail["slots"]["phone"]
    assert {"turn_index": 2, "speaker": "agent", "quote": "13700137000"} in detail["evidence"]
    assert detail["history"] == [{"turn_index": 0, "speaker": "user", "quote": "13700137000"}]


@pytest.mark.parametrize(
    ("item", "talk", "status"),
    [
        # An earlier value of the user that the agent keeps, though no word near it names the slot.
        (day("9月14日"), [("帮我约9月13日维修", "好的。"), ("还是9月14日吧", "您的预约日期为9月13日。")], "stale"),
        (
            date("September 14"),
            [("Please book September 13", "OK."), ("Make it September 14", "Your appointment date is September 13.")],
            "stale",
        ),
        (day("9月14日"), [("约9月14日", "您的预约日期为9月15日，已登记。")], "contradicted"),
        (phone("13900139000"), [("13800138000，哦不对，是13900139000", "电话：13800138000")], "stale"),
        # The agent took the change up, and fell back; or tells of the change.
        (phone("13700137999"), [*CHANGED, ("好", "已改为 13700137999。"), ("谢谢", "电话：13700137000")], "stale"),
        (phone("13700137999"), [*CHANGED, ("好", "已将您的电话从13700137000改为13700137999。")], "filled"),
        (phone("13700137999"), [*CHANGED, ("好", "旧电话：13700137000，新电话：13700137999")], "filled"),
        (day("9月14日"), [("9月1日买的洗衣机，9月14日上门", "您9月1日购买的洗衣机，已登记。")], "filled"),
        (hour("15:00"), [("15:00", "已登记，预约时间：16:00。")], "contradicted"),
        (time("3 pm"), [("3 pm", "Booked. Appointment time: 4 pm.")], "contradicted"),
        (hour("15:00"), [("15:00", "工单提交时间：10:02，已登记。")], "filled"),
        (hour("15:00"), [("15:00", "好的。营业时间：9:00-18:00。")], "filled"),
        (hour("15:00"), [("15:00", "抱歉，15:00已约满，16:00可以吗？")], "filled"),
        (day("9月14日"), [("9月14日", "下单日期：9月10日\n已登记。")], "filled"),
        (day("9月14日"), [("9月14日", "好的。"), ("谢谢", "预约日期如需改到9月20日请联系我们。")], "filled"),
        (slot("color", "颜色", "红色", values=["红色", "蓝色"]), [("红色", "已下单，颜色：蓝色")], "contradicted"),
        (slot("color", "颜色", "红色", values=["红色", "蓝色"]), [("红色", "好，红色。蓝色也有货。")], "filled"),
        (
            slot("order", "订单号", "AB123456", pattern=r"[A-Z]{2}\d{6}"),
            [("订单AB123456", "已查询，订单号：AB123465。")],
            "contradicted",
        ),
    ],
)
async def test_a_value_that_the_agent_gets_wrong(item: dict[str, Any], talk: Talk, status: str) -> None:
    assert await statuses(dialog(*talk), item) == [status]


@pytest.mark.parametrize(
    ("item", "message", "reply", "status"),
    [
        (day("明天"), "明天", "已登记，预约日期：9月14日。", "filled"),
        (date("tomorrow"), "tomorrow", "Done. Appointment date: September 14.", "filled"),
        (day("周三"), "周三", "预约日期：9月16日", "filled"),
        (day("周末"), "周末吧", "预约日期：周六。", "filled"),
        (hour("下午"), "下午", "已登记，预约时间：15:00。", "filled"),
        (hour("明天下午三点", "datetime"), "明天下午三点", "预约时间：9月15日 15:00。", "filled"),
        (hour("9月14日15:00", "datetime"), "9月14日下午三点", "预约时间：9月15日 15:00。", "contradicted"),
        (day("下周三"), "下周三", "预约日期：下周四", "contradicted"),
        (day("9月14日"), "明天吧", "好的。", "unscored"),
        (date("March 9"), "next Monday", "OK", "unscored"),
        (hour("15:00"), "下午", "好的。", "unscored"),
        (hour("15:00"), "下午三点吧", "好的，15:00。", "filled"),
        (time("3:30 pm"), "half past three works", "OK", "filled"),
    ],
)
async def test_what_cannot_be_compared_is_neither_right_nor_wrong(
    item: dict[str, Any], message: str, reply: str, status: str
) -> None:
    assert await statuses(dialog((message, reply)), item) == [status]


@pytest.mark.parametrize(
    ("message", "reply", "status"),
    [
        ("13800138000", "您的电话 13900139000 已登记。", "contradicted"),
        ("13800138000", "短信已发送至您的 13900139000，请查收。", "contradicted"),
        ("13800138000", "已登记。客服热线：4008001234，您可随时拨打。", "filled"),
        ("13800138000", "收到，您可以拨打 400-800-1234 查询进度。", "filled"),
        ("13800138000", "已派单，维修师傅李工的电话是 13600136000。", "filled"),
        ("13800138000", "已派单。师傅：李工，电话：13600136000", "filled"),
        ("13800138000", "| 师傅 | 电话 |\n|---|---|\n| 李工 | 13600136000 |", "filled"),
        ("13800138000", "您的订单号是 2125550199，已登记。", "filled"),
        ("13800138000", "已登记。请问还有其他联系电话吗？", "filled"),
        ("13800138000 或者 13900139000", "好的。", "filled"),
        ("我13800138000，师傅可以打我老婆电话13900139000", "好的，都记下了。", "filled"),
        ("13800138000", "系统繁忙，请稍后再试。", "stated_only"),
    ],
)
async def test_whose_number_it_is(message: str, reply: str, status: str) -> None:
    assert await statuses(dialog((message, reply)), phone()) == [status]


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        ("I have your phone number as 212-555-0174.", "contradicted"),
        ("Noted. You can call us at 800-555-0100.", "filled"),
        ("Booked. Your technician's phone number is 646-555-0100.", "filled"),
        ("Booked! Hotel: Ritz\nPhone: 646-555-0100", "filled"),
        ("Your confirmation number is 2125550199.", "filled"),
        ("Please keep your phone nearby.", "filled"),
        ("Do you have another phone number?", "filled"),
        ("Could you please provide your phone number?", "stated_only"),
        ("Sorry, something went wrong.", "stated_only"),
    ],
)
async def test_whose_number_it_is_in_english(reply: str, status: str) -> None:
    assert await statuses(dialog(("212-555-0147", reply)), telephone()) == [status]


@pytest.mark.parametrize(
    ("second", "status"),
    [("还有个备用电话13900139000", "filled"), ("13900139000", "invalid"), ("换成13900139000", "invalid")],
)
async def test_a_further_number_does_not_replace_the_first(second: str, status: str) -> None:
    assert await statuses(dialog(("13800138000", "好的"), (second, "好的。")), phone()) == [status]


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        ("那就这个吧", "filled"),
        ("好好好", "filled"),
        ("成", "filled"),
        ("好啊，就九点", "filled"),
        ("好的，没有别的问题了", "unscored"),
        ("第一个", "unscored"),
        ("好的，我再想想", "missing"),
        ("不用了", "missing"),
        ("换一个", "missing"),
        ("有没有别的时间", "missing"),
        ("Works for me", "filled"),
        ("Let's do that", "filled"),
        ("I'll take it", "filled"),
        ("Yes, no other questions", "unscored"),
        ("The earlier one", "unscored"),
        ("订吧", "unscored"),
        ("Book it, please", "unscored"),
        ("That's better, yes", "unscored"),
        ("No thanks", "missing"),
        ("Do you have anything later?", "missing"),
    ],
)
async def test_an_offer_is_taken_up_in_words(answer: str, status: str) -> None:
    talk = dialog(("预约", "明天上午九点可以吗？"), (answer, "收到。"))
    assert await statuses(talk, hour("明天上午九点", "text")) == [status]


async def test_which_of_several_offers_is_chosen_in_other_words_cannot_be_told() -> None:
    talk = dialog(("预约", "有上午9点和下午3点，您选哪个？"), ("第一个", "好的。"))
    assert await statuses(talk, hour("上午9点")) == ["unscored"]


@pytest.mark.parametrize(
    ("item", "talk", "status"),
    [
        (INVOICE, [("报修", "请问是否需要发票？"), ("是的", "好的")], "filled"),
        (INVOICE, [("我的地址是朝阳区", "好的")], "unscored"),
        (INVOICE, [("给我开张发票", "好的")], "unscored"),
        (slot("invoice", "是否需要发票", "不需要"), [("不需要发票", "好的")], "filled"),
        (
            slot("parking", "whether parking is needed", "yes"),
            [("Hi", "Do you need parking?"), ("Yes", "OK")],
            "filled",
        ),
        (slot("parking", "whether parking is needed", "yes"), [("Hi", "Is it for 20?"), ("Yes", "OK")], "unscored"),
        (slot("kids", "good for kids", "True"), [("something child friendly", "OK")], "unscored"),
    ],
)
async def test_a_yes_or_no_needs_its_question(item: dict[str, Any], talk: Talk, status: str) -> None:
    assert await statuses(dialog(*talk), item) == [status]


@pytest.mark.parametrize(
    ("item", "talk", "status"),
    [
        (phone(None), [("报修", "请问联系电话？"), ("不方便说", "好的。")], "unscored"),
        (telephone(None), [("Hi", "What is your phone number?"), ("I'd rather not give it", "Fine.")], "unscored"),
        (phone(None), [("报修", "请问联系电话？"), ("你们几点上班", "九点。")], "missing"),
        (slot("budget", "预算", "50元", "money"), [("我们有50个人", "好的")], "missing"),
        (slot("budget", "budget", "$50", "money"), [("We are 50 people", "OK")], "missing"),
        (slot("budget", "budget", "$50", "money"), [("50 at most", "OK")], "filled"),
        (slot("name", "customer name", "Jo"), [("I'm Joanna", "Hi.")], "missing"),
        (slot("address", "地址", "建国路88号"), [("建国路 188 号", "好")], "missing"),
    ],
)
async def test_what_was_not_given(item: dict[str, Any], talk: Talk, status: str) -> None:
    assert await statuses(dialog(*talk), item) == [status]


@pytest.mark.parametrize(
    ("message", "status"),
    [
        ("地址是中关村大街 27 号", "missing"),
        ("I live at 12 May Street, near 5th Avenue", "missing"),
        ("8号吧", "unscored"),
    ],
)
async def test_a_house_number_is_no_date(message: str, status: str) -> None:
    assert await statuses(dialog((message, "ok")), day()) == [status]


@pytest.mark.parametrize(
    ("status_said", "status"),
    [("declined", "declined"), ("missing", "missing"), ("filled", "unscored")],
)
async def test_a_judge_cannot_say_that_other_words_are_the_expected_value(status_said: str, status: str) -> None:
    talk = dialog(("维修", "请问预约日期？"), ("明天吧，不想多说", "好的。"))
    quote = {"turn": 1, "text": "不想多说" if status_said == "declined" else "明天吧"}
    answer = {
        "reason": "理由",
        "user": [] if status_said == "missing" else [quote],
        "agent": {"turn": 0, "text": "请问预约日期？"} if status_said == "declined" else None,
        "tool": None,
        "part": "none",
        "reasked": False,
        "status": status_said,
    }
    params = {"mode": "slot", "required_slots": [day("9月14日")]}
    result, _ = await concluded("task_completion", params, talk, lambda _: answer)
    assert result.detail["slots"]["date"]["status"] == status


async def test_a_quote_ends_before_what_leads_on() -> None:
    params = {"mode": "step", "required_steps": [{"name": "book", "keywords": ["预约成功"]}]}
    result, _ = await concluded(
        "task_completion", params, dialog(("约", "已为您预约成功，请留意短信。")), lambda _: None
    )
    assert result.detail["steps"]["book"]["quote"] == "已为您预约成功"


@pytest.mark.parametrize(
    ("keyword", "reply"), [("无法预约", "抱歉，周日无法预约。"), ("not available", "It is not available.")]
)
async def test_a_keyword_may_hold_a_negation(keyword: str, reply: str) -> None:
    params = {"mode": "step", "required_steps": [{"name": "refuse", "keywords": [keyword]}]}
    result, _ = await concluded("task_completion", params, dialog(("约", reply)), lambda _: None)
    assert result.score == 1


async def test_a_claim_against_a_failed_call_shows_both() -> None:
    params = {"mode": "step", "required_steps": [{"name": "book", "keywords": ["预约成功"], "tool": {"name": "book"}}]}
    talk = dialog(said("已为您预约成功！", "约", tool_calls=(ToolCall("book", {}, "no free slot", ok=False),)))
    result, _ = await concluded("task_completion", params, talk, lambda _: None)
    shown = result.detail["steps"]["book"]
    assert (shown["status"], shown["quote"]) == ("claim_contradicted", "已为您预约成功！")
    assert [(span.speaker, span.text) for span in result.evidence] == [
        ("agent", "已为您预约成功！"),
        ("tool", "no free slot"),
    ]


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (phone(), "电话是一三八零零一三八零零零"),
        (phone(), "我的号码幺三八 零零幺三 八零零零，谢谢"),
        (slot("order", "订单号", "20260917"), "订单号是二零二六零九一七"),
        (slot("order", "订单号", "20260917", pattern=r"\d{8}"), "订单号是二零二六零九幺七"),
        (slot("id", "身份证号", "110101199003074514", "id_card"), "身份证幺幺零幺零幺幺九九零零三零七四五幺四"),
        (slot("order", "order number", "20260917"), "The order is 二零二六零九一七"),
    ],
)
async def test_dictated_digits_are_digits(item: dict[str, Any], message: str) -> None:
    assert await statuses(dialog((message, "好的，已登记。")), item) == ["filled"]


async def test_other_dictated_digits_are_another_value() -> None:
    assert await statuses(dialog(("电话是一三九零零一三八零零零", "好的。")), phone()) == ["invalid"]


def email(expected: str) -> dict[str, Any]:
    return slot("email", "e-mail address", expected, "email")


COLOR = slot("color", "colour", "red", values=["red", "blue"])


@pytest.mark.parametrize(
    ("item", "talk", "status"),
    [
        (time("3 pm"), [("3 pm please", "Booked for 4 pm.")], "contradicted"),
        (time("3 pm"), [("3 pm please", "Booked for 4 pm."), ("thanks", "You're welcome.")], "contradicted"),
        (date("2026-12-03"), [("2026-12-03", "Booked for 2026-12-04.")], "contradicted"),
        (email("bob@x.org"), [("bob@x.org", "I wrote to rob@y.com.")], "contradicted"),
        (hour("明天下午三点", "datetime"), [("明天下午三点", "已为您预约成功，明天下午四点上门")], "contradicted"),
        (hour("明天下午三点", "datetime"), [("明天下午三点", "已为您预约成功，下午四点上门。")], "contradicted"),
        (email("chen.rui@x.cn"), [("邮箱chen.rui@x.cn", "课程表已发到 chen.riu@x.cn。")], "contradicted"),
        # It may be meant for the slot.
        (time("3 pm"), [("3 pm please", "Would 4 pm be fine?")], "unscored"),
        (time("3 pm"), [("3 pm please", "I can offer 4 pm or 5 pm.")], "unscored"),
        (time("3 pm"), [("3 pm please", "Sorry, only 4 pm is left, booked for 4 pm.")], "unscored"),
        (time("3 pm"), [("3 pm please", "I've scheduled a reminder for 2 pm.")], "unscored"),
        (time("3 pm"), [("3 pm please", "Booked for 4 pm."), ("That is wrong", "Fixed.")], "unscored"),
        (time("3 pm"), [("Dinner at 4 pm", "OK"), ("Check-in at 3 pm", "Dinner booked for 4 pm.")], "unscored"),
        (email("bob@x.org"), [("bob@x.org", "Done. For questions write to help@y.com.")], "unscored"),
        (
            slot("amount", "refund amount", "$250", "money"),
            [("$250", "The refund amount of $350 is sent.")],
            "unscored",
        ),
        (slot("cups", "how many", 12, "number"), [("12 cups", "Your order of 21 cups is placed.")], "unscored"),
        (COLOR, [("a red one", "Ordered the blue one.")], "unscored"),
        (hour("15:00"), [("下午三点", "16:00可以吗？")], "unscored"),
        (hour("15:00"), [("下午三点", "抱歉，只能约到16:00")], "unscored"),
        (day("9月14日"), [("约9月13日", "好的。"), ("还是9月14日吧", "好的，9月13日上门。")], "unscored"),
        (phone(), [("13800138000", "您的电话是 13900139000 吗？")], "unscored"),
        (slot("amount", "退款金额", "250元", "money"), [("退我250元", "退款金额为350元，已处理。")], "unscored"),
        (slot("people", "人数", 5, "number"), [("四个人", "四位"), ("一共五个人", "四位已留好")], "unscored"),
        (slot("cups", "数量", 12, "number"), [("我要12个杯子", "已下单21个杯子。")], "unscored"),
        (hour("15:00"), [("下午三点到", "好的，14:00入住。")], "unscored"),
        (day("9月14日"), [("9月14日", "已登记。您上次预约到9月10日。")], "unscored"),
        (date("September 14"), [("September 14", "Noted. Last year you booked for September 10.")], "unscored"),
        # It is something else.
        (time("3 pm"), [("3 pm please", "Booked. We close at 6 pm.")], "filled"),
        (time("3 pm"), [("3 pm please", "Noted. We will call you by 5 pm.")], "filled"),
        (time("3 pm"), [("3 pm please", "Booked for 3 pm. The earlier tour starts at 1 pm.")], "filled"),
        (date("2026-12-03"), [("2026-12-03", "Your appointment is scheduled for tomorrow.")], "filled"),
        (slot("budget", "budget", "$500", "money"), [("$500 a night", "The Ritz is $420 a night.")], "filled"),
        (hour("15:00"), [("下午三点", "好的，师傅会在16:00前联系您")], "filled"),
        (slot("rating", "评分", 4.5, "number"), [("评分4.5分以上的", "推荐评分4.9分的全聚德")], "filled"),
        (hour("明天下午三点", "datetime"), [("明天下午三点", "已为您预约成功，明天15:00上门")], "filled"),
    ],
)
async def test_another_value_in_the_replies_instead_of_the_users(item: dict[str, Any], talk: Talk, status: str) -> None:
    assert await statuses(dialog(*talk), item) == [status]


async def test_a_value_of_another_slot_of_the_type_is_no_other_value() -> None:
    dinner = slot("dinner", "dinner", "4 pm", "time")
    talk = dialog(("Check-in at 3 pm, dinner at 4 pm", "Dinner is booked for 4 pm."))
    assert await statuses(talk, time("3 pm"), dinner) == ["filled", "filled"]


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        ("Sorry, I did not understand that. Could you rephrase?", "stated_only"),
        ("I'm sorry, I didn't get that. Can you say that again?", "stated_only"),
        ("I couldn't understand you. Please try rephrasing.", "stated_only"),
        ("没听懂，请再说一遍", "stated_only"),
        ("抱歉，我没有理解您的意思，请换个说法。", "stated_only"),
        ("我不太理解您的意思，可以再说一次吗？", "stated_only"),
        ("不好意思，没听清，麻烦您再说一遍好吗？", "stated_only"),
        ("I don't understand why it broke, but I'll send someone.", "filled"),
        ("Noted. If I didn't understand that, please say so.", "filled"),
        ("好的，不清楚的地方可以再问我", "filled"),
        ("收到，不明白的地方可以再问我", "filled"),
        ("明白了。", "filled"),
    ],
)
async def test_a_reply_that_only_says_it_did_not_understand_takes_nothing_up(reply: str, status: str) -> None:
    address = slot("address", "地址", "建国路88号")
    assert await statuses(dialog(("建国路88号", reply)), address) == [status]
    later = dialog(("建国路88号", reply), ("建国路", "好的，已登记。"))
    assert await statuses(later, address) == ["filled"]


@pytest.mark.parametrize(
    ("item", "reply", "answer", "status"),
    [
        (date(), "What is your appointment date, please?", "I'd rather not say that in a chat.", "unscored"),
        (phone(None), "方便留个联系电话吗？", "电话就不留了。", "unscored"),
        (slot("income", "income", kind="money"), "I'd need your income.", "I won't share that.", "unscored"),
        (slot("age", "age", kind="number"), "How old are you?", "That's none of your business.", "unscored"),
        (slot("code", "voucher code", pattern="WK[0-9]{4}"), "Your voucher code?", "It says 77.", "unscored"),
        (slot("email", "邮箱地址", kind="email"), "请提供邮箱地址。", "就是小鲍公司那个。", "unscored"),
        (slot("code", "voucher code", pattern="WK[0-9]{4}"), "Your voucher code?", "Will it be ready by 5?", "missing"),
        (phone(None), "请提供联系电话。", "明天能取吗？", "missing"),
        (phone(None), "还需要什么？", "没有了，谢谢。", "missing"),
    ],
)
async def test_what_was_refused_or_given_as_something_else_is_not_missing(
    item: dict[str, Any], reply: str, answer: str, status: str
) -> None:
    assert await statuses(dialog(("你好 hello", reply), (answer, "好的。OK.")), item) == [status]


MOVED_IN: Talk = [("Leave it with my neighbour", "Sure.")]


@pytest.mark.parametrize(
    ("item", "talk", "status"),
    [
        (phone(), [("空调坏了，电话 13800138000", "延保服务每年只要 199 元，非常划算哦！")], "unscored"),
        (slot("pet", "name of the pet", "Biscuit"), [("Biscuit is ill", "Have you seen our new leads?")], "unscored"),
        (slot("pet", "name of the pet", "Biscuit"), [("Biscuit is ill", "Since when is he ill?")], "filled"),
        (
            slot("address", "address", "27 Ferry Road"),
            [("27 Ferry Road", "OK, 72 Ferry Road tomorrow.")],
            "contradicted",
        ),
        (slot("address", "address", "27 Ferry Road"), [("27 Ferry Road", "OK, tomorrow at 8.")], "filled"),
        (slot("floor", "楼层", "三楼"), [("从三楼搬", "好的，二楼，两位师傅。")], "unscored"),
        (slot("people", "人数", 5, "number"), [("今晚七点四个人", "好。"), ("五个人", "好的，七点四位。")], "unscored"),
        (slot("data", "流量", 20, "number"), [("不要 50GB，20GB 就行", "好的，50GB 今天生效。")], "unscored"),
        (slot("budget", "预算", "200元", "money"), [("预算 200 元以内", "按您 300 元的预算选好了。")], "unscored"),
        (slot("place", "place", "shed"), [*MOVED_IN, ("Actually the shed", "Fine, your neighbour.")], "unscored"),
        (slot("place", "place", "shed"), [*MOVED_IN, ("Actually the shed", "Fine, the shed.")], "filled"),
        (
            slot("colour", "colour", "black"),
            [("Hi", "Hi"), ("Could it be black?", "See you, it is ready.")],
            "unscored",
        ),
        (phone(), [("电话 13800138000", "好的，稍后拨打 13800138001 联系您。")], "contradicted"),
        (slot("estate", "小区", "翠竹园"), [("翠竹园", "您的小区？"), ("翠竹园", "需要您的小区名称。")], "stated_only"),
        (
            slot("power", "electricity", "with electricity"),
            [("with electricity", "OK, without electricity.")],
            "unscored",
        ),
        (slot("power", "是否带电", "带电"), [("要带电的", "好的，已订不带电的。")], "unscored"),
        (slot("reading", "reading", 48213, "number"), [("It says 48213", "I've entered 48231.")], "unscored"),
        (slot("plot", "plot", 47, "number"), [("The key to plot 47", "The key to plot 74 is ready.")], "unscored"),
        (slot("wrap", "wrapping", "gift-wrapped"), [("Gift-wrapped", "OK, without wrapping.")], "unscored"),
        (slot("user", "user name", "tomsen_84"), [("I'm tomsen_84", "OK, thomsen_48 is unlocked.")], "unscored"),
        (slot("name", "name", "Lindqvist"), [("Lindqvist", "Thank you, Mr Lindquist.")], "unscored"),
        (slot("stylist", "stylist", "Marco"), [("Marco?", "Elena is free."), ("I want Marco", "Noted.")], "unscored"),
        (
            slot("amount", "amount", "15000 euros", "money"),
            [("20,000 euros", "OK."), ("15,000 is enough", "The 20,000 euros are on their way.")],
            "unscored",
        ),
        (slot("to", "目的地", "机场"), [("去机场", "请问您的目的地？"), ("机场", "请问您的目的地？")], "stated_only"),
        (
            slot("drug", "allergy", "nuts"),
            [("Hi", "What can't you eat?"), ("nuts", "What can't you eat?")],
            "stated_only",
        ),
    ],
)
async def test_a_value_that_no_reply_names_is_taken_up_by_who_listens(
    item: dict[str, Any], talk: Talk, status: str
) -> None:
    assert await statuses(dialog(*talk), item) == [status]


async def test_a_value_in_the_plural_may_be_the_expected_one() -> None:
    talk = dialog(("Mondays suit me", "Noted."))
    assert await statuses(talk, slot("weekday", "day of the class", "Monday")) == ["unscored"]
