"""The arithmetic of the benchmark, which dialogs it takes, and that no label reaches a judge."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from agenteval.settings import ModelSettings, Settings
from benchmarks.batch import Worked, work_by_files
from benchmarks.judge_quality.figures import Item, figures, report
from benchmarks.judge_quality.gold import Half, Label, Measure, Row, chosen, read
from benchmarks.judge_quality.judging import judged

TAXONOMY = {"book": "预订房间", "cancel": "取消预订", "weather": "查天气"}


def _raw(id_: str, **changed: Any) -> dict[str, Any]:
    slot = {"name": "city", "description": "入住的城市", "type": "city", "gold": "filled", "value": "杭州"}
    later = {"name": "nights", "description": "住几晚", "type": "number", "gold": "unfilled", "value": None}
    return {
        "id": id_,
        "source": "Made by hand",
        "lang": "zh",
        "variant": "full",
        "parent": id_,
        "turns": [
            {"input": "我想在杭州订一间房", "actual_output": "好的，杭州的房间，请问哪天入住？"},
            {"input": "明天", "actual_output": "已为您订好明天的房间。"},
        ],
        "intents": {"taxonomy": TAXONOMY, "gold": ["book"], "turn_gold": None},
        "slots": [slot, {**later, "eventual_values": ["27413"]}, {**later, "name": "guest"}],
        "steps": [{"name": "booked", "description": "智能体确认已预订", "gold": "done", "order": 1}],
        "success_gold": "success",
        "completeness_gold": {"intents": [{"text": "订房的金标准句子", "satisfied": True, "ref": "r"}], "score": 1.0},
        **changed,
    }


def _rows(folder: Path, *raws: Mapping[str, Any]) -> list[Row]:
    path = folder / "gold.jsonl"
    path.write_bytes(b"\n".join(map(orjson.dumps, raws)))
    return read(path)


def _settings(folder: Path, *, model: bool = True) -> Settings:
    judge = ModelSettings(base_url="http://batch.invalid/v1", model="judge") if model else None
    return Settings(database_url=f"{folder}/benchmark.db", judge=judge)


def _item(label: Label, given: bool | str | None, *, parent: str = "p", **changed: Any) -> Item:
    item = Item(Measure.SLOTS, "en", "full", parent, parent, "s", label, given, {})
    return replace(item, **changed)


# ---- figures ---------------------------------------------------------------------------------------------------------


def test_figures_are_of_what_is_decided() -> None:
    """20 yes-yes, 5 yes-no, 10 no-yes, 15 no-no (the worked example of Cohen's kappa: .4), and 7 undecided."""
    table = (
        [(True, True)] * 20 + [(True, False)] * 5 + [(False, True)] * 10 + [(False, False)] * 15 + [(True, None)] * 7
    )
    told = figures([_item(label, given, parent=f"p{i}") for i, (label, given) in enumerate(table)])
    assert (told["n"], told["decided"]) == (57, 50)
    assert told["accuracy"] == 0.7
    assert told["kappa"] == 0.4
    assert told["f1_negative"] == round(2 * 15 / (2 * 15 + 10 + 5), 3)
    low, high = told["kappa_interval"]
    assert 0.1 < low < 0.3
    assert 0.5 < high < 0.7
    assert told == figures([_item(label, given, parent=f"p{i}") for i, (label, given) in enumerate(table)])


def test_nothing_decided_has_no_figures() -> None:
    told = figures([_item(True, None), _item(False, None)])
    assert (told["n"], told["decided"]) == (2, 0)
    assert {told[key] for key in ("accuracy", "kappa", "kappa_interval", "accuracy_interval", "f1_negative")} == {None}


def test_items_of_one_dialog_make_the_interval_wider() -> None:
    apart = [_item(True, i % 4 > 0, parent=f"p{i}") for i in range(40)]
    together = [_item(True, i % 40 >= 10, parent=f"p{i // 10}") for i in range(40)]
    (low, high), (wider_low, wider_high) = (figures(items)["accuracy_interval"] for items in (apart, together))
    assert wider_high - wider_low > high - low


def test_a_verdict_among_several_right_intents_is_right_else_it_is_compared_with_the_last() -> None:
    several = ("search", "book")
    items = [_item(several, "search"), _item(several, "cancel"), _item(("cancel",), "cancel")]
    assert [item.pair for item in items] == [("search", "search"), ("book", "cancel"), ("cancel", "cancel")]
    assert [item.right for item in items] == [True, False, True]


def test_a_report_is_by_measure_language_and_variant() -> None:
    items = [
        _item(True, True, parent="a"),
        _item(False, False, parent="b", variant="truncated"),
        _item(False, True, parent="c", language="zh"),
        _item(("book",), "book", parent="d", measure=Measure.INTENTS),
        _item(False, False, parent="d", measure=Measure.EXPECTED_INTENT),
    ]
    told = report(items)
    assert list(told) == ["slots", "intents", "expected_intent"]
    assert {language: each["n"] for language, each in told["slots"].items()} == {"all": 3, "en": 2, "zh": 1}
    assert {variant: each["n"] for variant, each in told["slots"]["en"]["variants"].items()} == {
        "full": 1,
        "truncated": 1,
    }
    assert told["intents"]["en"]["f1_negative"] == 1.0


# ---- which dialogs ---------------------------------------------------------------------------------------------------


def _many(folder: Path) -> list[Row]:
    raws = [
        _raw(f"{lang}-{i}", lang=lang, parent=f"{lang}-{i // 2}")
        for lang, n in (("zh", 40), ("en", 100))
        for i in range(n)
    ]
    return _rows(folder, *({**raw, "variant": ("full", "truncated")[i % 2]} for i, raw in enumerate(raws)))


def test_the_halves_share_no_dialog_and_are_all(tmp_path: Path) -> None:
    rows = _many(tmp_path)
    tuning, test = (chosen(rows, half, None) for half in ("tuning", "test"))
    assert not {row.parent for row in tuning} & {row.parent for row in test}
    assert {row.id for row in (*tuning, *test)} == {row.id for row in rows}
    assert abs(len(tuning) - len(test)) <= 2
    assert chosen(list(reversed(rows)), "test", 10) == chosen(rows, "test", 10)


@pytest.mark.parametrize("half", [None, "tuning", "test"])
def test_a_sample_has_both_languages_and_all_variants(half: Half | None, tmp_path: Path) -> None:
    sample = chosen(_many(tmp_path), half, 16)
    assert Counter(row.language for row in sample) == {"zh": 8, "en": 8}
    assert Counter(row.variant for row in sample) == {"full": 8, "truncated": 8}
    assert len({row.id for row in sample}) == 16


def test_half_of_the_drawn_intents_are_right(tmp_path: Path) -> None:
    rows = _many(tmp_path)
    assert sum(row.drawn in row.intents for row in rows) == len(rows) / 2
    assert {row.drawn for row in rows} == set(TAXONOMY)


def test_what_an_unrecorded_agent_acted_on_is_not_measured(tmp_path: Path) -> None:
    mute = _raw("mute", turns=[{"input": "取消预订", "actual_output": ""}])
    [row] = _rows(tmp_path, mute)
    assert {measure for measure, _, _ in row.labels}.isdisjoint({Measure.INTENTS, Measure.EXPECTED_INTENT})


# ---- judged ----------------------------------------------------------------------------------------------------------


async def test_without_a_model_code_decides_and_the_rest_is_undecided(tmp_path: Path) -> None:
    from agenteval.bootstrap import app

    async with app(_settings(tmp_path, model=False)) as wired:
        items = await judged(wired, _rows(tmp_path, _raw("a")))
    given = {(item.measure, item.name): item.given for item in items}
    assert given[Measure.SLOTS_EXPECTED, "city"] is True
    assert given[Measure.SLOTS_EXPECTED, "nights"] is False
    assert given[Measure.STEPS, "booked"] is given[Measure.COMPLETENESS, ""] is given[Measure.SUCCESS, ""] is None


async def _work(folder: Path, rows: Sequence[Row], *answers: Path, final: bool = False) -> Worked[list[Item]]:
    (folder / "benchmark.db").unlink(missing_ok=True)
    return await work_by_files(_settings(folder), lambda wired: judged(wired, rows, final=final), answers)


def _answers(path: Path, requests: Iterable[bytes], tasks: Mapping[str, Any]) -> Path:
    """Each task is answered by the first of `tasks` whose words it has."""
    lines = []
    for request in map(orjson.loads, requests):
        prompt = request["body"]["messages"][0]["content"]
        asked = {
            line.partition(": ")[0]: line for line in prompt.split("\n") if line[:1] == "q" and line[1:2].isdigit()
        }
        said = {id_: next(answer for words, answer in tasks.items() if words in line) for id_, line in asked.items()}
        message = {"role": "assistant", "content": orjson.dumps(said).decode()}
        body = {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
        lines.append({"custom_id": request["custom_id"], "response": {"status_code": 200, "body": body}, "error": None})
    path.write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in lines))
    return path


def _slot(status: str, **quotes: Any) -> dict[str, Any]:
    return {
        "reason": "r",
        "user": [],
        "agent": None,
        "tool": None,
        "part": "none",
        "reasked": False,
        "status": status,
    } | quotes


BOOKED = {"turn": 1, "text": "已为您订好明天的房间"}
WANTED = {"turn": 0, "text": "订一间房"}
MET = {
    "reason": "r",
    "state": "active",
    "agent_quote": BOOKED,
    "tool_quote": None,
    "verdict": "met",
    "reason_code": "none",
}
RIGHT: Mapping[str, Any] = {
    "city": _slot("filled", user=[{"turn": 0, "text": "杭州"}]),
    "nights": _slot("missing"),
    "guest": _slot("missing"),
    "booked": {"reason": "r", "shown": [{"agent": BOOKED, "tool": None}], "status": "done"},
    "The intents": {
        "reason": "r",
        "intents": [
            {"agent_quote": BOOKED, "tool_quote": None, "intent": "book", "user_quote": WANTED, "asked_by_user": "yes"}
        ],
        "second": None,
        "question": None,
        "only_asked": "no",
    },
    "List what": {"intents": [{"quote": WANTED, "text": "订房", "judgement": MET}]},
}


async def test_answers_from_files_give_every_measure_and_no_label_was_shown(tmp_path: Path) -> None:
    rows = _rows(
        tmp_path, _raw("a"), _raw("b", turns=[*_raw("b")["turns"], {"input": "谢谢", "actual_output": "再见"}])
    )
    first = await _work(tmp_path, rows)
    assert len(first.open) == 4
    shown = b"".join(first.open).decode()
    assert "入住的城市" in shown
    assert "27413" not in shown
    assert "金标准" not in shown
    assert not any(word in shown for word in ("eventual", "_gold", '"gold', "expected"))
    again = await _work(tmp_path, rows)
    assert sorted(again.open) == sorted(first.open)

    done = await _work(tmp_path, rows, _answers(tmp_path / "answers.jsonl", first.open, RIGHT))
    assert (done.open, done.problems) == ([], [])
    assert all(item.right for item in done.result), [item for item in done.result if not item.right]
    assert {item.measure for item in done.result} == set(Measure)


async def test_answers_may_lead_to_the_next_file(tmp_path: Path) -> None:
    """A quote that is nowhere is asked for again; what has no answer is undecided."""
    rows = _rows(tmp_path, _raw("a"))
    wrong = {**RIGHT, "city": _slot("filled", user=[{"turn": 0, "text": "苏州"}])}
    first = await _work(tmp_path, rows)
    answers = _answers(tmp_path / "first.jsonl", first.open, wrong)
    second = await _work(tmp_path, rows, answers)
    [request] = second.open
    assert "city" in orjson.loads(request)["body"]["messages"][0]["content"]
    undecided = {item.measure for item in second.result if item.given is None}
    assert undecided >= {Measure.SLOTS}

    done = await _work(tmp_path, rows, answers, _answers(tmp_path / "second.jsonl", second.open, RIGHT))
    assert done.open == []
    assert all(item.right for item in done.result)


async def test_when_no_more_answers_come_code_decides_what_it_can(tmp_path: Path) -> None:
    rows = _rows(tmp_path, _raw("a"))
    done = await _work(tmp_path, rows, final=True)
    given = {(item.measure, item.name): item.given for item in done.result}
    assert given[Measure.SLOTS_EXPECTED, "nights"] is False
    assert given[Measure.SLOTS, "nights"] is given[Measure.SUCCESS, ""] is None
