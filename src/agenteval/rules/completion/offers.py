"""What a user makes of an offer: assent in words, none, or words that code cannot read."""

import re

from agenteval.domain.clauses import is_negated, negations
from agenteval.rules.completion.wording import clause_at

_PRAISE = (
    r"fine|great|perfect|correct|right|nice|lovely|wonderful|excellent|good(?!\s+(?:morning|afternoon|evening|day))"
)
_ASSENT = re.compile(
    r"\W*(?:嗯+|好(?:[的啊呀吧嘞滴哦呢]|(?=\W|好|$))|可以|行(?:[的啊吧]|(?=\W|$))|成(?:[的啊吧]|(?=\W|$))|没问题"
    r"|对(?:[的啊呀]|(?=\W|$))|是(?:[的啊呀]|(?=\W|$))|没错|同意|确认|(?:那|那么)?就(?:定|选|要|按)?[这那](?:个|样|吧)|就它"
    r"|(?:yes|yeah|yep|yup|sure|ok(?:ay)?|agreed|please\s+do|go\s+ahead|absolutely|exactly|of\s+course|indeed"
    r"|al(?:l\s+)?right|awesome|cool|let['’]?s\s+(?:do|go\s+(?:with|for))\s+(?:that|it|this)|i['’]?ll\s+take\s+(?:that|it|this)"
    rf"|(?!correct\s+(?:it|that|this|the|my)\b)(?:(?:that|it|this)(?:['’]s|\s+is|\s+will\s+be)\s+|(?:(?:that|it|this)\s+)?(?:sounds?|looks?|seems?)\s+)?(?:very\s+|really\s+)?(?:{_PRAISE})"
    r"|(?:(?:that|it|this|which)\s+)?works(?:\s+for\s+(?:me|us))?)(?!\w))",
    re.IGNORECASE,
)
_CHOICE = re.compile(
    r"\A\W*[^\W\d]{1,4}吧\W*\Z|\b(?:yes|yeah|sure|okay)\b|\b(?:book|take|order|reserve|send)\s+(?:it|that|this|them)\b|第[一二三四1-4][个种款家项]|前[面者]|后[面者]|[早晚]的?那|[这那][个种款家]"
    r"|\b(?:first|second|third|1st|2nd|3rd|former|latter|earlie(?:r|st)|late(?:r|st))\b|\b(?:this|that)\s+(?:one|option|slot)\b",
    re.IGNORECASE,
)
_QUESTION = re.compile(r"[?？吗]\W*$")
_RESERVATION = re.compile(
    r"但|不过|换|改|另|别的(?!问题|事)|其他(?!问题|事)|还是|再[想看说]|想想|考虑"
    r"|\b(?:but|instead|another|change|different|rather|think\s+about|(?<!no\s)other)\b",
    re.IGNORECASE,
)


_HELD_BACK = re.compile(
    r"让我|我先?[看查问]|稍等|等等|等一下|\blet\s+me\b|\b(?:check|wait)\b|\bas\s+if\b|\byeah,?\s+right\b", re.IGNORECASE
)
"""What comes after an assent that is none, or none yet: "ok let me check", "yeah right, as if"."""
_NOT_TO_BE_HAD = re.compile(
    r"满了?(?!意)|没有?(?:了|空|位|座|票|货)|售罄|[卖订]完|被[订预约占]"
    r"|\b(?:full|fully\s+booked|booked\s+(?:out|up|solid)|taken|gone|sold\s+out|unavailable|occupied)\b",
    re.IGNORECASE,
)


def ruled_out(reply: str, start: int, end: int) -> bool:
    """Whether a reply denies what stands there, or says that it is not to be had: "7 pm is full", "八点已约满"."""
    return is_negated(reply, start, end) or _NOT_TO_BE_HAD.search(clause_at(reply, start)) is not None


def assents(message: str) -> bool | None:
    """Whether a message takes up the offer before it: not by silence, not with a "but". None when it may: it chooses
    ("第一个"), goes ahead ("报上吧"), or denies something only after the assent ("好的，没有别的了")."""
    if _QUESTION.search(clause_at(message, 0)) or _RESERVATION.search(message):
        return False
    negated = [m.start() for m in negations(message) if m["negation"]]
    if any(place < len(clause_at(message, 0)) for place in negated):
        return False
    if _ASSENT.match(message):
        return None if negated or _HELD_BACK.search(message) else True
    return None if _CHOICE.search(message) else False
