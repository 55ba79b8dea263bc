"""From questions to a request: frame, guides with their tasks, fenced transcript, and the schema of the answer."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import Any, NamedTuple

import orjson

from agenteval.domain.forms import QUOTE_SCHEMA, Form, schema
from agenteval.domain.json_value import as_text, canonical
from agenteval.domain.ports import ChatRequest, Message
from agenteval.domain.questions import View
from agenteval.domain.transcript import Dialog, Turn, TurnStatus

FRAME = files("agenteval.judge").joinpath("prompts/frame.md").read_text("utf-8").strip()
FRAME_HASH = hashlib.sha256(FRAME.encode()).hexdigest()


class Task(NamedTuple):
    """One thing to answer under the key `id`. `flaw` tells why the last answer was rejected, `rejected` shows it."""

    id: str
    form: type[Form]
    text: str
    guide: str = ""
    flaw: str = ""
    rejected: str = ""


class Seal(NamedTuple):
    """What makes a call unguessable for the agent and the same for us: the fence's mark and the seed of the order."""

    mark: str
    seed: int

    @classmethod
    def of(cls, secret: bytes, dialog: Dialog, sample: int) -> "Seal":
        digest = hashlib.blake2b(f"{dialog.digest}:{sample}".encode(), key=secret).digest()
        return cls(digest[:8].hex(), int.from_bytes(digest[8:11]))

    def place(self, key: str) -> bytes:
        """Sorting by it shuffles: the order is fixed by the seal, not by the rule's author."""
        return hashlib.sha256(f"{self.mark}:{key}".encode()).digest()


def compile_request(tasks: Sequence[Task], shown: str, seal: Seal, *, max_tokens: int | None = None) -> ChatRequest:
    """`tasks` in the order in which they are asked; a guide stands once, above its tasks. `shown` is the transcript."""
    system = f"{FRAME.replace('{fence}', seal.mark)}\n\n{instructions(tasks)}"
    user = _fenced(shown, seal.mark) + _rejected(tasks, seal.mark)
    schema, as_json = _answer_schema(tuple([(task.id, task.form) for task in tasks]))
    identity = orjson.dumps([[["system", system], ["user", user]], as_json, max_tokens, seal.seed])
    return ChatRequest(
        messages=(Message("system", system), Message("user", user)),
        custom_id=hashlib.sha256(identity).hexdigest()[:32],
        schema=schema,
        max_tokens=max_tokens,
        seed=seal.seed,
    )


def instructions(tasks: Sequence[Task]) -> str:
    by_guide: dict[str, list[str]] = {}
    for task in tasks:
        again = "\n  Your last answer was rejected; why stands below the transcript." if task.flaw else ""
        by_guide.setdefault(task.guide, []).append(f"{task.id}: {task.text}{again}")
    return "\n\n".join(["\n".join([guide, *lines] if guide else lines) for guide, lines in by_guide.items()])


def transcript(turns: Sequence[Turn], view: View) -> str:
    """The turns as `view` shows them."""
    return "\n".join([line for turn in turns for line in _lines(turn, view)])


def _fenced(text: str, mark: str) -> str:
    return f"<{mark}>\n{text.replace(mark, '')}\n</{mark}>"


def _lines(turn: Turn, view: View) -> list[str]:
    lines = [f"[{turn.index}] user: {_folded(turn.sent_message)}"] if turn.sent_message else []
    if not view.agent:
        return lines
    for call in turn.tool_calls:
        outcome = {True: " (succeeded)", False: " (failed)", None: ""}[call.ok]
        lines.append(f"[{turn.index}] agent calls tool: {_folded(f'{call.name} {as_text(call.arguments)}')}")
        if call.result is not None or outcome:
            lines.append(f"[{turn.index}] tool result{outcome}: {_folded(as_text(call.result))}")
    if turn.status is not TurnStatus.OK:
        lines.append(f"[{turn.index}] agent: no reply ({turn.status})")
    else:
        lines.append(f"[{turn.index}] agent: {_folded(turn.reply_text)}")
    return lines


def _folded(text: str) -> str:
    """What was said can start no line of ours: its further lines begin with a bar."""
    return "\n| ".join(text.splitlines())


def as_said(quote: str) -> str:
    """The words of a quote that copies how the transcript shows them: with label and bars."""
    return _SHOWN.sub("", quote)


_SHOWN = re.compile(r"\A\s*\[\d+] (?:user|agent|tool result(?: \(\w+\))?): |^\| ?", re.MULTILINE)


def _rejected(tasks: Sequence[Task], mark: str) -> str:
    """What was rejected and why repeats what the answer quoted, and so what the agent said: it is data too."""
    lines = [f"{task.id} was rejected: {_folded(task.flaw)}" for task in tasks if task.flaw]
    lines += [f"{task.id} was: {_folded(task.rejected)}" for task in tasks if task.rejected]
    return "\n" + _fenced("\n".join(lines), mark) if lines else ""


class _AnswerSchema(NamedTuple):
    schema: Mapping[str, Any]
    canonical: orjson.Fragment


@lru_cache(maxsize=512)
def _answer_schema(tasks: tuple[tuple[str, type[Form]], ...]) -> _AnswerSchema:
    """Of one object with a member per task; a form that several tasks share is described once."""
    names: dict[type[Form], str] = {}
    for _, form in tasks:
        names.setdefault(form, f"{form.__name__}{len(names)}")
    answer = {
        "type": "object",
        "properties": {task: {"$ref": f"#/$defs/{names[form]}"} for task, form in tasks},
        "required": [task for task, _ in tasks],
        "additionalProperties": False,
        "$defs": {**{name: schema(form) for form, name in names.items()}, "quote": QUOTE_SCHEMA},
    }
    return _AnswerSchema(answer, orjson.Fragment(canonical(answer)))


@lru_cache(maxsize=512)
def frame_tokens(tasks: tuple[Task, ...]) -> int:
    """Estimated tokens of a request for `tasks` beside its transcript."""
    answer, _ = _answer_schema(tuple((task.id, task.form) for task in tasks))
    return estimated_tokens(FRAME + instructions(tasks) + canonical(answer).decode())


def estimated_tokens(text: str) -> int:
    """On the safe side: about a token for a Chinese character, and for three letters."""
    return len(text.encode()) // 3 + 1
