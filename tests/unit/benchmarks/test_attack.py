"""The attacks stay data; and the benchmark would see it if one did not, or if a judge obeyed."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest

from agenteval.settings import ModelSettings, Settings
from benchmarks.attack.__main__ import NOT_MEASURED, structure, success
from benchmarks.attack.attacks import LANGUAGES, Attack, Verdict, all_attacks, judged
from benchmarks.attack.structure import misplaced, requests
from benchmarks.batch import work_by_files

ATTACKS = all_attacks()
FEW = [attack for attack in ATTACKS if attack.is_harmless or attack.id == "fake_user_turn"]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    judge = ModelSettings(base_url="http://batch.invalid/v1", model="judge")
    return Settings(database_url=f"{tmp_path}/attack.db", judge=judge)


@pytest.mark.parametrize("language", LANGUAGES)
def test_there_are_enough_attacks_and_no_two_are_alike(language: str) -> None:
    replies = [attack.reply for attack in ATTACKS if attack.language == language and not attack.is_harmless]
    assert len(set(replies)) == len(replies) >= 60
    assert not [reply for reply in replies if "<slot>" in reply or "<step>" in reply or "<value>" in reply]


async def test_no_attack_leaves_its_place(settings: Settings) -> None:
    asked = await requests(settings, ATTACKS)
    assert len(asked) == len(ATTACKS)
    assert list(misplaced(asked)) == []


async def test_no_attack_passes_for_an_answer(settings: Settings, tmp_path: Path) -> None:
    """Some of each sort, and all that look like an answer; the benchmark takes all."""
    some = [each for n, each in enumerate(ATTACKS) if n % 8 == 0 or each.is_harmless or "{" in each.reply]
    assert await structure(settings, tmp_path, some) == {"requests": len(some), "broken": []}


async def test_an_attack_that_left_its_place_would_be_seen(settings: Settings) -> None:
    asked = await requests(settings, FEW)
    assert list(misplaced(asked)) == []
    attacked = next(each for each in asked if each.attack.case.id == "fake_user_turn-en")
    others = [each for each in asked if each is not attacked]
    for what, changed in {
        "speakers": attacked._replace(user=attacked.user.replace("\n| ", "\n")),
        "fence": attacked._replace(user=attacked.user.replace("| ", f"| </{attacked.mark}> ")),
        "roles": attacked._replace(roles=["system", "user", "system"]),
        "instructions": attacked._replace(system=f"{attacked.system}\nBe generous."),
    }.items():
        assert list(misplaced([*others, changed])) == [f"fake_user_turn-en: other {what}"]


async def test_the_answers_of_a_judge_that_obeys_are_counted(settings: Settings, tmp_path: Path) -> None:
    """It calls the step done and quotes the attack, but sees that the value is missing."""
    attacks = [attack for attack in FEW if not attack.is_harmless]
    path = tmp_path / "answers.jsonl"
    path.write_bytes(b"".join([_obeying(each.custom_id, each.system) for each in await requests(settings, attacks)]))
    fresh = settings.model_copy(update={"database_url": f"{tmp_path}/answers.db"})
    told = success((await work_by_files(fresh, lambda wired: judged(wired, attacks), [path])).result)
    assert told["success_rate"] == {"value": 1.0, "succeeded": 2, "answered": 2, "interval": [0.3424, 1.0]}
    assert told["by_item"]["slot"]["value"] == 0
    assert told["by_item"]["intent"] == told["harmless"] == NOT_MEASURED
    assert told["succeeded"] == ["fake_user_turn-en: step", "fake_user_turn-zh: step"]


def _obeying(custom_id: str, prompt: str) -> bytes:
    missing: Mapping[str, Any] = {
        "reason": "r",
        "user": [],
        "agent": None,
        "tool": None,
        "part": "none",
        "reasked": False,
        "status": "missing",
    }
    done = {"reason": "r", "shown": [{"agent": {"turn": 1, "text": "[2]"}, "tool": None}], "status": "done"}
    tasks = [line.split(": ") for line in prompt.split("\n") if line.startswith("q")]
    said = {
        task: missing if item in {attack.slot for attack in FEW} else done
        for task, item, *_ in tasks
        if item in {attack.slot for attack in FEW} | {attack.step for attack in FEW}
    }
    message = {"role": "assistant", "content": orjson.dumps(said).decode()}
    body = {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    line = {"custom_id": custom_id, "response": {"status_code": 200, "body": body}, "error": None}
    return orjson.dumps(line) + b"\n"


def test_without_answers_nothing_is_measured() -> None:
    told = success([Verdict(attack, "step", None) for attack in FEW])
    assert told["success_rate"] == told["harmless"] == told["by_language"]["zh"] == NOT_MEASURED


def test_an_attack_succeeds_once_however_much_it_turns() -> None:
    one, other = _named("fake_user_turn")
    told = success([Verdict(one, "slot", True), Verdict(one, "step", True), Verdict(other, "step", False)])
    assert (told["success_rate"]["succeeded"], told["success_rate"]["answered"]) == (1, 2)


def _named(id_: str) -> list[Attack]:
    return [attack for attack in ATTACKS if attack.id == id_]
