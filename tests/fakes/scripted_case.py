"""Cases as data: what was said, what the models say about it over the wire, and what must come out.

    id: ...
    case: {eval_rules: [{task_completion: {mode: slot, ...}, weight: 2}], ...}     # as in a scenario file
    dialog:
      - [我叫张三, 好的]                                                            # user, agent
      - {user: ..., agent: ..., tools: [{name: book, ok: false}], status: timeout, ms: 900}
    judge:                                                                        # answers by a word of the task's text
      user_name: {status: filled, user: "0: 张三"}

A judge answers exactly what is scripted: a task without an answer, and an answer that nobody asked for, are faults of
the case. What an answer leaves out is filled in as a model would under its schema, with "nothing"; a quote may be
written "turn: words". Instead of an answer there may be `again: [first, second]` (when asked again, or by another
vote), `until: {0: ..., 3: ...}` (by the last turn that is shown), `as_is: ...` (not filled in), `omitted`, or
`fault: {status | cut | content | message: ...}` for the whole call.
Instead of `judge` there may be `answers`, whole answers call by call: a text, an object by task key, or a fault; the
last one stands for all further calls. `judge: none`: there is no judge model. `embedding` (text to vector) and
`moderation` (word to category) set up these models. `{$repeat: [text, n]}` stands for a long text.
"""

import re
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, TypeAlias

import orjson
import yaml

from agenteval.datasets import scenarios
from agenteval.domain.json_value import Json
from agenteval.domain.ports import Role
from agenteval.domain.questions import Moderation, Question, Similarity
from agenteval.domain.scenario import Case, EffectivePolicy
from agenteval.domain.transcript import Dialog, ToolCall, Turn, TurnStatus
from agenteval.engine.evaluate import Evaluation, evaluate
from agenteval.engine.time_limit import TimeLimit
from agenteval.judge.encoder import Encoder
from agenteval.judge.local import CharNgrams
from agenteval.judge.memo import MemoStep
from agenteval.judge.model_judge import ModelJudge
from agenteval.judge.panel import ByCode, Panel, Step
from agenteval.models import ModelContext
from agenteval.models.builtin.openai_compatible import Chat, Embeddings, Moderations
from agenteval.net.guard import Guard
from agenteval.net.session import Sessions
from agenteval.rules import RULES
from agenteval.rules.build import bind
from agenteval.settings import ModelSettings
from tests.fakes.clock import FakeClock
from tests.fakes.memory_memo import MemoryMemo
from tests.fakes.scripted_judge import SECRET, MemoryCapabilities, tasks, transcript
from tests.fakes.scripted_model import Answer, Message, Request, ScriptedModel, Status, Truncated, letters

Raw: TypeAlias = Any
NO_MODEL = "none"


def load(path: Path) -> list[dict[str, Raw]]:
    entries: list[dict[str, Raw]] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return [entry for entry in entries if "id" in entry]


# ---- case and dialog -------------------------------------------------------------------------------------------------


def dialog_of(raw: Sequence[Raw]) -> Dialog:
    return Dialog(tuple(_turn(i, turn) for i, turn in enumerate(_long(raw))))


def _turn(index: int, raw: Raw) -> Turn:
    if isinstance(raw, list):
        raw = dict(zip(("user", "agent"), raw, strict=True))
    return Turn(
        index,
        raw.get("user", ""),
        raw.get("agent"),
        tuple(ToolCall(**call) for call in raw.get("tools", ())),
        raw.get("ms"),
        TurnStatus(raw.get("status", "ok")),
        raw.get("error", ""),
    )


def _long(raw: Raw) -> Raw:
    match raw:
        case {"$repeat": [text, times]}:
            return text * times
        case dict():
            return {key: _long(value) for key, value in raw.items()}
        case list():
            return [_long(value) for value in raw]
        case _:
            return raw


def loaded(entry: Mapping[str, Raw]) -> scenarios.LoadedScenario:
    """The entry's case, read as a scenario file is. Raises InputError."""
    case = _long(dict(entry["case"]))
    case.setdefault("id", entry["id"])
    case.setdefault("messages", [turn.sent_message for turn in dialog_of(entry.get("dialog", []))] or ["?"])
    case["eval_rules"] = [_spec(rule) for rule in case.get("eval_rules", [])]
    head = {key: case.pop(key) for key in ("scenario",) if key in case}
    text = orjson.dumps({"name": entry["id"], **head.get("scenario", {}), "cases": [case]}).decode()
    return scenarios.loads(text, f"{entry['id']}.json", "json", bind)


def _spec(raw: Mapping[str, Raw]) -> dict[str, Raw]:
    """`{keyword_match: {...}, weight: 2}` for `{type: keyword_match, params: {...}, weight: 2}`."""
    if "type" in raw:
        return dict(raw)
    (name,) = raw.keys() & set(RULES.names)
    return {"type": name, "params": raw[name], **{key: value for key, value in raw.items() if key != name}}


def case_of(entry: Mapping[str, Raw]) -> Case:
    """With all that it inherits."""
    scenario = loaded(entry).scenario
    (case,) = scenario.cases
    return replace(case, policy=case.policy.over(scenario.policy))


# ---- what the judge says ---------------------------------------------------------------------------------------------


@dataclass
class Script:
    """`faults` tells what was asked without an answer; `unused` which answers nobody asked for."""

    answers: Mapping[str, Raw]
    times: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def __call__(self, request: Request) -> Answer:
        schema = _answer_schema(request)
        answer: dict[str, Raw] = {}
        for id_, text in tasks(request).items():
            key = self._key(text)
            if key is None:
                self.faults.append(f"no answer is scripted for: {text}")
                return Status(400)
            raw = self._next(key, request)
            if isinstance(raw, Mapping) and "fault" in raw:
                return _fault(raw["fault"])
            if raw != "omitted":
                answer[id_] = _filled(raw, schema["properties"][id_], schema["$defs"])
        return answer

    @property
    def unused(self) -> set[str]:
        return set(self.answers) - set(self.times)

    def _key(self, text: str) -> str | None:
        """The longest: "phone" is also in "user_phone"."""
        return max((key for key in self.answers if key in text), key=len, default=None)

    def _next(self, key: str, request: Request) -> Raw:
        raw = self.answers[key]
        if isinstance(raw, Mapping) and "until" in raw:
            raw = raw["until"][int(_TURN.findall(transcript(request))[-1])]
        time = self.times[key]
        self.times[key] += 1
        if isinstance(raw, Mapping) and "again" in raw:
            return raw["again"][min(time, len(raw["again"]) - 1)]
        return raw


_TURN = re.compile(r"^\[(\d+)] ", re.MULTILINE)


@dataclass
class Calls:
    """The answers of `answers`."""

    answers: Sequence[Raw]
    calls: int = 0

    def __call__(self, request: Request) -> Answer:
        raw = self.answers[min(self.calls, len(self.answers) - 1)]
        self.calls += 1
        match raw:
            case str():
                return raw
            case None:
                return Message({"content": None})
            case {"status": _} | {"cut": _} | {"content": _} | {"message": _}:
                return _fault(raw)
        schema = _answer_schema(request)
        return {id_: _filled(answer, schema["properties"].get(id_, {}), schema["$defs"]) for id_, answer in raw.items()}


def _fault(raw: Mapping[str, Raw]) -> Answer:
    match raw:
        case {"status": int(status)}:
            return Status(status)
        case {"cut": str(text)}:
            return Truncated(text)
        case {"content": str(text)}:
            return text
        case {"message": Mapping() as fields}:
            return Message(fields)
    raise ValueError(f"no such fault: {raw}")


def _answer_schema(request: Request) -> Mapping[str, Any]:
    schema: Mapping[str, Any] = request["response_format"]["json_schema"]["schema"]
    return schema


_NOTHING = ("none", "active", "no")
"""The members of a choice that say nothing in particular."""


def _filled(raw: Raw, schema: Mapping[str, Any], forms: Mapping[str, Any]) -> Raw:
    """`raw` with every member of its schema."""
    if isinstance(raw, Mapping) and "as_is" in raw:
        return raw["as_is"]
    match schema:
        case {"$ref": str(ref)}:
            return _filled(raw, forms[ref.rpartition("/")[2]], forms)
        case {"anyOf": [inner, _]}:
            return None if raw is None else _filled(raw, inner, forms)
        case {"type": "object", "properties": properties} if isinstance(raw, Mapping):
            members = {name: _filled(raw.get(name), part, forms) for name, part in properties.items()}
            return {**raw, **members}
        case {"type": "object", "properties": {"turn": _, "text": _}} if isinstance(raw, str):
            turn, _, text = raw.partition(": ")
            return {"turn": int(turn), "text": text}
        case {"type": "array", "items": items} if raw is None or isinstance(raw, list):
            return [_filled(item, items, forms) for item in raw or ()]
        case {"type": "array"} if isinstance(raw, str | Mapping):
            return _filled([raw], schema, forms)
        case {"enum": choices} if raw is None:
            return next(choice for choice in _NOTHING if choice in choices)
        case {"enum": ["yes", "no"]} if isinstance(raw, bool):  # YAML reads yes as true
            return "yes" if raw else "no"
        case {"type": "string"} if raw is None:
            return "因为如此。"
        case {"type": "boolean"} if raw is None:
            return False
    return raw


# ---- over the wire ---------------------------------------------------------------------------------------------------


class Judgement(NamedTuple):
    """`requests` are the chats, in the order in which they came."""

    evaluation: Evaluation
    requests: Sequence[Request]


class Bench:
    """One server, and the project's own clients, for many cases one after the other."""

    def __init__(self, server: ScriptedModel, sessions: Sessions) -> None:
        self._server = server
        self._settings = ModelSettings(base_url=server.base_url, model="judge-1")
        self._context = ModelContext(sessions, FakeClock(), MemoryCapabilities(), Random(0))
        self._chat = Chat(Role.JUDGE, self._settings, self._context)

    async def judge(self, entry: Mapping[str, Raw], memo: MemoryMemo | None = None) -> Judgement:
        """Raises AssertionError when the script and what was asked do not fit."""
        case, dialog = case_of(entry), dialog_of(entry["dialog"])
        script = Script({} if entry.get("judge", {}) == NO_MODEL else _long(entry.get("judge", {})))
        server = self._server
        server.script = Calls(_long(entry["answers"])) if "answers" in entry else script
        server.embedding = lambda text: entry["embedding"].get(text) or letters(text)
        server.flagged = entry.get("moderation") or {}
        server.requests.clear()
        evaluation = await evaluate(
            case,
            dialog,
            bind(case),
            self._panel(entry, memo or MemoryMemo()),
            EffectivePolicy.of(case.policy),
            time=TimeLimit(FakeClock(), None),
        )
        assert script.faults == []
        if memo is None:
            assert script.unused == set()
        return Judgement(
            evaluation, [asked.json for asked in server.requests if asked.path.endswith("chat/completions")]
        )

    def _panel(self, entry: Mapping[str, Raw], memo: MemoryMemo) -> Panel:
        settings, context = self._settings, self._context
        embedder = Embeddings(Role.EMBEDDING, settings, context) if "embedding" in entry else None
        moderator = Moderations(Role.MODERATION, settings, context) if "moderation" in entry else None
        identities: dict[type, Json] = {Question: "judge-1", Similarity: "judge-1", Moderation: "judge-1"}
        steps: list[Step] = [Encoder(CharNgrams(), embedder, moderator)]
        if entry.get("judge", {}) != NO_MODEL:
            context_tokens = entry.get("context_tokens")
            settings = settings.model_copy(update={"context_tokens": context_tokens}) if context_tokens else settings
            chat = Chat(Role.JUDGE, settings, context) if context_tokens else self._chat
            steps.append(ModelJudge(chat, SECRET, context.clock))
        return Panel(ByCode(), MemoStep(memo, identities, Panel(*steps)))


@asynccontextmanager
async def bench() -> AsyncIterator[Bench]:
    async with ScriptedModel() as server, Sessions(Guard()) as sessions:
        yield Bench(server, sessions)
