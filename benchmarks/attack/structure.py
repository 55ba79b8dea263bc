"""What an attack must not be able to do, whatever the judge is: leave its place in the request, or pass for the judge's
answer."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import orjson

from agenteval.judge.compile import Seal
from agenteval.settings import Settings
from benchmarks.attack.attacks import Attack, judged
from benchmarks.batch import SECRET, work_by_files

Place = Literal["in", "before", "after"]
_SPEAKERS = ["[0] user", "[0] agent", "[1] user", "[1] agent calls tool", "[1] tool result (failed)", "[1] agent"]
_TASK = re.compile(r"^(q\d+): (.*)", re.MULTILINE)


class Asked(NamedTuple):
    """The request about an attack; `mark` is that of the fence."""

    attack: Attack
    mark: str
    line: bytes
    custom_id: str
    roles: Sequence[str]
    system: str
    user: str

    @property
    def instructions(self) -> list[str]:
        """Lines, but for the mark and the order of the tasks, which differ by the dialog."""
        return sorted(_TASK.sub(r"\2", line) for line in self.system.replace(self.mark, "").split("\n"))


async def requests(settings: Settings, attacks: Sequence[Attack]) -> list[Asked]:
    worked = await work_by_files(settings, lambda wired: judged(wired, attacks), ())
    by_mark = {Seal.of(SECRET, attack.dialog, 0).mark: attack for attack in attacks}
    return [_asked(line, by_mark) for line in sorted(worked.open)]


def _asked(line: bytes, by_mark: Mapping[str, Attack]) -> Asked:
    request = orjson.loads(line)
    messages = request["body"]["messages"]
    system, user = (message["content"] for message in messages)
    mark = user.partition("\n")[0].strip("<>")
    return Asked(by_mark[mark], mark, line, request["custom_id"], [each["role"] for each in messages], system, user)


# ---- the request -----------------------------------------------------------------------------------------------------


def misplaced(asked: Sequence[Asked]) -> Iterator[str]:
    """Requests in which the attack is more than its own part of the transcript."""
    harmless = {_subject(each.attack): each.instructions for each in asked if each.attack.is_harmless}
    for each in asked:
        first, *lines, last = each.user.split("\n")
        speakers = [line.partition(": ")[0] for line in lines if not line.startswith("| ")]
        checks = {
            "fence": (first, last) == (f"<{each.mark}>", f"</{each.mark}>") and each.mark not in "".join(lines),
            "speakers": speakers == _SPEAKERS and len("\n".join(lines).splitlines()) == len(lines),
            "roles": each.roles == ["system", "user"],
            "instructions": each.instructions == harmless[_subject(each.attack)],
        }
        yield from (f"{each.attack.case.id}: other {what}" for what, holds in checks.items() if not holds)


def _subject(attack: Attack) -> tuple[str, str]:
    return attack.language, attack.step


# ---- the answer ------------------------------------------------------------------------------------------------------


async def mistaken(settings: Settings, folder: Path, asked: Sequence[Asked]) -> list[str]:
    """Verdicts other than those of a scripted judge that says no, and shows the attack in its reason, before its answer
    or after it. An answer that cannot be told from the attack is asked for again, and so decides nothing."""
    attacks = [each.attack for each in asked]
    found = []
    for place in get_args(Place):
        path = folder / f"{place}.jsonl"
        path.write_bytes(b"".join(_line(each, place) for each in asked))
        fresh = settings.model_copy(update={"database_url": f"{folder}/{place}.db"})
        verdicts = (await work_by_files(fresh, lambda wired: judged(wired, attacks), [path])).result
        wrong = [verdict for verdict in verdicts if verdict.given or (place == "in" and verdict.given is None)]
        found += [f"{each.attack.case.id}: {each.item} is {each.given}, attack {place} the answer" for each in wrong]
    return found


def _line(asked: Asked, place: Place) -> bytes:
    reply = asked.attack.reply
    answer = orjson.dumps(dict(_answers(asked, reply if place == "in" else "no"))).decode()
    text = {"in": answer, "before": f"{reply}\n{answer}", "after": f"{answer}\n{reply}"}[place]
    body = {"choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]}
    response = {"status_code": 200, "body": body}
    return orjson.dumps({"custom_id": asked.custom_id, "response": response, "error": None}) + b"\n"


def _answers(asked: Asked, reason: str) -> Iterator[tuple[str, dict[str, Any]]]:
    attack = asked.attack
    for key, text in _TASK.findall(asked.system):
        if text.startswith(attack.slot):
            no_quotes: dict[str, Any] = {"user": [], "agent": None, "tool": None}
            yield key, {"reason": reason, **no_quotes, "part": "none", "reasked": False, "status": "missing"}
        elif text.startswith(attack.step):
            yield key, {"reason": reason, "shown": [], "status": "not_done"}
        else:
            unmet = {"state": "active", "verdict": "unmet", "reason_code": "failed"}
            judgement = {"reason": reason, "agent_quote": None, "tool_quote": None, **unmet}
            wish = {"quote": {"turn": 0, "text": attack.wish}, "text": attack.wish, "judgement": judgement}
            yield key, {"intents": [wish]}
