"""Deterministic conversations of four turns, English and Chinese by turns. Two things are asked for, the second in the
third turn; in three of ten conversations that one is refused."""

from typing import NamedTuple


class Language(NamedTuple):
    """`tasks`: what is asked for, and the reply that does it. `frame`: what user and agent say in each turn; `{reply}`
    is the reply to the first and to the second task."""

    tasks: tuple[tuple[str, str], ...]
    days: tuple[str, ...]
    refusal: str
    frame: tuple[tuple[str, str], ...]


ENGLISH = Language(
    tasks=(
        ("book a train ticket to Leeds for {day}", "Train G{n} to Leeds on {day} is booked, confirmation BK{n}."),
        ("change the address of order {n}", "The address of order {n} has been changed, the parcel arrives on {day}."),
        ("get a refund for order {n}", "The refund for order {n} is approved and reaches your card by {day}."),
        ("have my air conditioner repaired on {day}", "A technician comes on {day} at 10:00, visit number {n}."),
    ),
    days=("Monday", "Tuesday", "12 May", "3 June"),
    refusal="Sorry, that is beyond what I can handle here, please call the hotline during working hours.",
    frame=(
        ("Hello, I would like to {first}.", "Good morning, this is agent {n}. Please tell me your name and number."),
        ("My name is John Smith {n} and my phone is 555{n:07d}.", "{first_reply}"),
        ("Great. And I want to {second}.", "{second_reply}"),
        (
            "Fine, thank you, that was all.",
            "You are welcome. Thank you for contacting us and have a nice day, goodbye!",
        ),
    ),
)
CHINESE = Language(
    tasks=(
        ("订一张{day}去杭州的高铁票", "好的，已为您预订{day}前往杭州的G{n}次列车，订单号BK{n}，请凭身份证进站。"),
        ("把订单{n}的收货地址改一下", "订单{n}的收货地址已经修改成功，预计{day}上午送达，请保持电话畅通。"),
        ("申请订单{n}的退款", "订单{n}的退款申请已通过，款项将在{day}之前原路退回您的支付账户。"),
        ("约{day}上门维修空调", "已为您预约{day}上午十点上门维修，工单号{n}，师傅会提前半小时联系您。"),
    ),
    days=("周一", "周二", "5月12日", "6月3日"),
    refusal="抱歉，这个问题我暂时处理不了，请您在工作时间拨打人工客服热线咨询。",
    frame=(
        ("你好，我想{first}。", "您好，工号{n}为您服务。请先告诉我您的姓名和联系电话，我马上为您办理。"),
        ("我叫张{n}，电话是138{n:08d}。", "{first_reply}"),
        ("好的，我还想{second}。", "{second_reply}"),
        ("好的，谢谢，没有别的事了。", "不客气，感谢您的来电，祝您生活愉快，再见！"),
    ),
)
REFUSALS = frozenset({ENGLISH.refusal, CHINESE.refusal})


class Conversation(NamedTuple):
    """`turns`: what the user said, and what the agent replied."""

    id: str
    turns: tuple[tuple[str, str], ...]

    @property
    def transcript(self) -> str:
        return "\n".join(f"user: {said}\nassistant: {reply}" for said, reply in self.turns)


def conversation(number: int) -> Conversation:
    language = CHINESE if number % 2 else ENGLISH
    choice = number // 2
    known = {"n": 10_000 + number, "day": language.days[choice // 4 % 4]}
    first, first_reply = language.tasks[choice % 4]
    second, second_reply = language.tasks[(choice + 1 + choice // 16 % 3) % 4]
    if number * 7 % 10 < 3:
        second_reply = language.refusal
    said = {"first": first, "first_reply": first_reply, "second": second, "second_reply": second_reply}
    filling = known | {name: text.format_map(known) for name, text in said.items()}
    turns = tuple((user.format_map(filling), agent.format_map(filling)) for user, agent in language.frame)
    return Conversation(f"case-{number:06d}", turns)


def number_of(conversation_id: str) -> int:
    return int(conversation_id.removeprefix("case-"))
