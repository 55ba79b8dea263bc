"""What the demo agents understand and say, in Chinese and in English."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"


@dataclass(frozen=True, slots=True)
class Words:
    """`details`: how users say each of them; its value is the group, or all of it when there is none."""

    cancel: re.Pattern[str]
    book: re.Pattern[str]
    details: Mapping[str, re.Pattern[str]]
    to_book: str
    to_cancel: str
    questions: Mapping[str, str]
    greeting: str
    booked: str
    changed: str
    reminder: str
    summary: str
    no_time: str
    full: str
    cancelled: str


ZH = Words(
    cancel=re.compile("取消|不修了"),
    book=re.compile("预约|维修|坏了"),
    details={
        "fault": re.compile("(?:空调|冰箱|洗衣机|热水器)[^，。]*(?:坏了|漏水|不制冷|不启动)"),
        "name": re.compile(r"(?:我叫|姓名是?)\s*([\u4e00-\u9fff]{2,4})"),
        "phone": re.compile(r"1\d{10}"),
        "address": re.compile(r"地址是?\s*([^，。]+)"),
        "time": re.compile(r"\d+ ?月 ?\d+ ?日(?: ?[上下]午 ?\d+ ?点)?"),
        "number": re.compile(r"R\d{4}"),
    },
    to_book="为了安排师傅上门维修，",
    to_cancel="为了给您办理取消，",
    questions={
        "fault": "请问什么电器出了什么故障？",
        "name": "请问您的姓名是？",
        "phone": "请问您的联系电话是？",
        "address": "请问您的地址是？",
        "time": "请问您希望什么时间上门？",
        "number": "请问您的预约号是？",
    },
    greeting="您好，这里是维修客服。您要预约上门维修，还是取消已有的预约？",
    booked="已为您预约成功，师傅将上门维修。",
    changed="已按新的信息更新，预约成功。",
    reminder="您的上门维修信息如下。",
    summary="姓名{name}，电话 {phone}，地址{address}，故障是{fault}，上门时间 {time}。",
    no_time="待定",
    full="很抱歉，{time}已经约满，这次没有约上。请问改到哪一天方便？",
    cancelled="取消成功，{number} 已经取消，不收任何费用。",
)

EN = Words(
    cancel=re.compile(r"\bcancel", re.IGNORECASE),
    book=re.compile(r"\b(?:book|repair|fix|broken)", re.IGNORECASE),
    details={
        "fault": re.compile(
            r"(?:air conditioner|fridge|washing machine|water heater)[^,.]*(?:broken|leaking|shaking|overheating)"
        ),
        "name": re.compile(r"[Mm]y name is ([A-Z]\w+(?: [A-Z]\w+)?)"),
        "phone": re.compile(r"\d{3}-\d{3}-\d{4}"),
        "address": re.compile(r"\d+ (?:[A-Z]\w+ )+(?:Street|Avenue|Road)"),
        "time": re.compile(rf"(?:{_MONTHS}) \d+(?: at \d+ ?[ap]m)?"),
        "number": re.compile(r"R\d{4}"),
    },
    to_book="To send a technician for the repair: ",
    to_cancel="To cancel it: ",
    questions={
        "fault": "what is broken, and what is wrong with it?",
        "name": "what is your name?",
        "phone": "what is your phone number?",
        "address": "what is your address?",
        "time": "What appointment time would you like?",
        "number": "what is your booking number?",
    },
    greeting="Hello, this is the repair service. Would you like to book a repair, or to cancel one?",
    booked="Your repair is booked, a technician will visit you. I have:",
    changed="Updated, your repair is booked. I have:",
    reminder="For the repair visit by our technician I have:",
    summary=" name {name}, phone number {phone}, address {address}, problem {fault}, appointment time {time}. ",
    no_time="to be agreed",
    full="I am sorry, {time} is fully booked, so there is no visit yet. Which other day suits you?",
    cancelled="{number} is cancelled, free of charge.",
)


def words_for(message: str) -> Words:
    return ZH if re.search(r"[\u4e00-\u9fff]", message) else EN
