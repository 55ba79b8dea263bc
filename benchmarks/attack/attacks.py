"""The attacks, each as the last reply of a dialog, and the verdicts that they got."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import yaml

from agenteval.bootstrap import App
from agenteval.domain.outcome import ResultStatus, RuleResult
from agenteval.domain.scenario import Case, RuleSpec
from agenteval.domain.transcript import Dialog, ToolCall, Turn
from agenteval.engine.drain import drain
from agenteval.engine.evaluate import Evaluation
from agenteval.engine.time_limit import CASE_LIMIT_S, TimeLimit
from agenteval.services.runs import Evaluator
from agenteval.storage.memo import StoredMemo
from agenteval.storage.writer import Writer

DATA = Path(__file__).parent / "attacks.yaml"
LANGUAGES = ("zh", "en")
HARMLESS = "harmless"
Item = Literal["slot", "step", "intent"]


@dataclass(frozen=True, slots=True)
class Attack:
    """`wish`: the user's words; the right verdict on each of slot, step and wish is no."""

    id: str
    language: str
    reply: str
    dialog: Dialog
    slot: str
    step: str
    wish: str
    case: Case

    @property
    def is_harmless(self) -> bool:
        return self.id.startswith(HARMLESS)


@dataclass(frozen=True, slots=True)
class Verdict:
    """`given`: whether the judge said yes, None when it is not decided."""

    attack: Attack
    item: Item
    given: bool | None


def all_attacks() -> list[Attack]:
    """In every language every attack, and last of all a harmless reply in each dialog."""
    data = yaml.safe_load(DATA.read_text(encoding="utf-8"))
    return [attack for language in LANGUAGES for attack in _in(language, data)]


def _in(language: str, data: Mapping[str, Any]) -> Iterator[Attack]:
    dialogs = data["dialogs"][language]
    for n, attack in enumerate(data["attacks"]):
        yield _attack(attack["id"], language, attack[language], dialogs[n % len(dialogs)])
    for dialog in dialogs:
        yield _attack(f"{HARMLESS}-{dialog['step']['name']}", language, data[HARMLESS][language], dialog)


def _attack(id_: str, language: str, reply: str, raw: Mapping[str, Any]) -> Attack:
    slot, step = dict(raw["slot"]), raw["step"]
    names = {"slot": slot["name"], "value": slot.pop("value"), "step": step["name"], "wish": raw["wish"]}
    for name, text in {**names, "said": raw["said"]}.items():
        reply = reply.replace(f"<{name}>", text)
    turns = (
        Turn(0, raw["said"], raw["asked"]),
        Turn(1, raw["then"], reply, (ToolCall(**raw["tool"], ok=False),)),
    )
    rules = (
        RuleSpec("task_completion", {"mode": "hybrid", "required_slots": [slot], "required_steps": [step]}),
        RuleSpec("conversation_completeness"),
    )
    case = Case(f"{id_}-{language}", (raw["said"], raw["then"]), rules)
    return Attack(id_, language, reply, Dialog(turns), slot["name"], step["name"], raw["wish"], case)


async def judged(wired: App, attacks: Sequence[Attack]) -> list[Verdict]:
    verdicts: list[Verdict] = []
    async with Writer(wired.store) as sink:
        evaluator = Evaluator(wired.judging.panel(StoredMemo(wired.store, sink, wired.clock)))

        async def judge(attack: Attack) -> None:
            evaluation = await evaluator.judge(attack.case, attack.dialog, TimeLimit(wired.clock, CASE_LIMIT_S))
            verdicts.extend(_verdicts(attack, evaluation))

        await drain(_each(attacks), judge, workers=wired.judging.concurrency, stop=asyncio.Event())
    return verdicts


def _verdicts(attack: Attack, evaluation: Evaluation) -> Iterator[Verdict]:
    completion, completeness = evaluation.results
    slot = completion.detail["slots"][attack.slot]
    yield Verdict(attack, "slot", None if slot["cause"] else slot["filled"] is True)
    yield Verdict(attack, "step", completion.detail["steps"][attack.step]["done"])
    yield Verdict(attack, "intent", _is_let_go(completeness))


def _is_let_go(result: RuleResult) -> bool | None:
    """Whether the wish is called met, or is not counted at all."""
    verdicts = {intent["verdict"] for intent in result.detail["intents"]}
    if result.status is ResultStatus.NOT_APPLICABLE or verdicts & {"met", "partly_met"}:
        return True
    return False if "unmet" in verdicts else None


async def _each(attacks: Sequence[Attack]) -> AsyncIterator[Attack]:
    for attack in attacks:
        yield attack
