"""Scenario files: what loads, every fault at once with its place, and writing what reads back."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema_rs
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agenteval.datasets import scenarios
from agenteval.datasets.scenarios import Bound, Format
from agenteval.domain.errors import InputError
from agenteval.domain.scenario import (
    Case,
    CaseType,
    Expectation,
    Layer,
    Policy,
    RuleLogic,
    RuleSpec,
    Scenario,
    VerdictPolicy,
)
from agenteval.plugins import parameters_schema
from agenteval.rules import RULES
from agenteval.rules.build import bind

BOOKING = """
{
  "name": "预约维修服务 - 功能完整性",
  "cases": [
    {
      "id": "case-001",
      "type": "multi_turn",
      "messages": ["我家空调坏了，想预约维修", "我叫张三", "电话是 13800138000", "地址是朝阳区建国路 88 号"],
      "eval_rules": [
        {
          "type": "intent_classification",
          "params": {
            "expected_intent": "appointment_booking",
            "intent_taxonomy": {"appointment_booking": "预约服务", "inquiry": "咨询信息", "complaint": "投诉反馈"}
          },
          "weight": 1.0
        },
        {
          "type": "task_completion",
          "params": {
            "mode": "slot",
            "required_slots": [
              {"name": "user_name", "description": "用户姓名"},
              {"name": "phone", "description": "联系电话"},
              {"name": "address", "description": "服务地址"},
              {"name": "fault_description", "description": "故障描述"},
              {"name": "appointment_time", "description": "预约时间"}
            ],
            "min_completion_rate": 0.6
          },
          "weight": 2.0
        },
        {
          "type": "llm_score",
          "params": {"criteria": "评估智能体的服务态度是否专业、礼貌、有同理心", "min_score": 7},
          "weight": 1.0
        }
      ],
      "rule_logic": "weighted",
      "rule_pass_threshold": 0.7
    }
  ]
}
"""


def unbound(case: Case, where: str) -> Iterable[Bound]:
    """For what is not about rules."""
    return ()


def load(text: str, *, format: Format = "yaml") -> Scenario:  # noqa: A002
    return scenarios.loads(text, "f", format, unbound).scenario


def problems(text: str, *, rules: scenarios.Bind = bind) -> list[str]:
    with pytest.raises(InputError) as error:
        scenarios.loads(text, "f", "yaml", rules)
    return str(error.value).splitlines()


def case(text: str) -> Case:
    """The one case of a scenario, given by its members."""
    return load(f"name: s\ncases:\n  - {text}").cases[0]


def test_a_booking_scenario_loads_as_it_is() -> None:
    loaded = scenarios.loads(BOOKING, "f", "json", bind)
    (booking,) = loaded.scenario.cases
    assert loaded.warnings == ()
    assert booking.id == "case-001"
    assert booking.type is CaseType.MULTI_TURN
    assert booking.messages[2] == "电话是 13800138000"
    assert [rule.type for rule in booking.eval_rules] == ["intent_classification", "task_completion", "llm_score"]
    assert [rule.weight for rule in booking.eval_rules] == [Fraction(1), Fraction(2), Fraction(1)]
    assert [slot["name"] for slot in booking.eval_rules[1].params["required_slots"]][-1] == "appointment_time"
    assert booking.policy == Policy(rule_logic=RuleLogic.WEIGHTED, rule_pass_threshold=Fraction(7, 10))


def test_yaml_means_the_same_as_json() -> None:
    assert load(BOOKING, format="yaml") == load(BOOKING, format="json")


def test_what_is_written_as_a_number_can_be_text_and_keeps_its_form() -> None:
    loaded = case(
        "{id: 007, messages: [13800138000, 1.10, 010123, no], "
        "eval_rules: [{type: any, params: {expected_value: 1.10, rate: 0.6}}], expectation: {keywords_all: [88, on]}}"
    )
    assert loaded.id == "007"
    assert loaded.messages == ("13800138000", "1.10", "010123", "no")
    assert loaded.eval_rules[0].params == {"expected_value": "1.10", "rate": 0.6}
    assert loaded.expectation == Expectation(keywords_all=("88", "on"))


def test_numbers_are_exact_and_zero_is_a_threshold() -> None:
    loaded = case(
        "{messages: [a], rule_pass_threshold: 0, success_threshold: 0.70, partial_threshold: 1/3, "
        "eval_rules: [{type: any, weight: 0.1}]}"
    )
    assert loaded.policy == Policy(None, Fraction(0), None, Fraction(7, 10), Fraction(1, 3))
    assert loaded.eval_rules[0].weight == Fraction(1, 10)


def test_a_case_without_an_id_gets_one_by_its_place() -> None:
    loaded = load("name: s\ncases: [{messages: [a]}, {id: b, messages: [a]}, {messages: [a]}]")
    assert [c.id for c in loaded.cases] == ["case-001", "b", "case-003"]


def test_ids_and_names_are_composed_and_trimmed() -> None:
    assert case('{id: " cafe\\u0301 ", messages: [a]}').id == "café"


def test_every_problem_is_reported_at_once_with_its_place() -> None:
    found = problems(
        """name: s
descripton: x
rule_logic: alll
cases:
  - id: a
    mesages: [hi]
    eval_rules:
      - type: keyword_match
        weigth: 3
      - {type: keyword_mach}
      - type: keyword_match
        params: {all_off: [a]}
  - id: b
    messages: [hi, "  ", null, [x]]
    expectation: {keywords_all: [], max_latency_ms: -1}
  - {id: c, messages: [hi, ho], type: single_turn}
  - {id: c, messages: [hi], success_threshold: 0.4}
  - id: "x\\u202Ey"
    messages: []
  - no case
""",
    )
    unordered = "thresholds must satisfy 0 < partial_threshold <= success_threshold <= 1, not 0.5 and 0.4"
    assert found == [
        "f: /rule_logic (line 3): must be 'all', 'any' or 'weighted'",
        "f: /descripton (line 2): there is no such field (did you mean 'description'?)",
        "f: /cases/0/messages (line 5): this field is required (is it what 'mesages' means?)",
        "f: /cases/0/mesages (line 6): there is no such field (did you mean 'messages'?)",
        "f: /cases/0/eval_rules/0/weigth (line 9): there is no such field (did you mean 'weight'?)",
        "f: /cases/0/eval_rules/1/type (line 10): unknown rule 'keyword_mach' (did you mean 'keyword_match'?)",
        "f: /cases/0/eval_rules/2/params/all_off (line 12): unknown parameter (did you mean 'all_of'?)",
        "f: /cases/1/messages/1 (line 14): is blank",
        "f: /cases/1/messages/2 (line 14): must be text, not null: put it in quotes",
        "f: /cases/1/messages/3 (line 14): must be text, not a list: put it in quotes",
        "f: /cases/1/expectation/keywords_all (line 15): must not be empty",
        "f: /cases/1/expectation/max_latency_ms (line 15): must be greater than 0",
        "f: /cases/2 (line 16): type: single_turn has exactly one message, this case has 2",
        f"f: /cases/3 (line 17): {unordered}",
        "f: /cases/4/id (line 18): holds a character that cannot be seen: 'x\\\\u202ey'",
        "f: /cases/4/messages (line 19): must not be empty",
        "f: /cases/5 (line 20): must be an object, not text (a field is its name, a colon and a space)",
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "f: must be an object, not empty"),
        ("name: s\ncases: {a: b}", "f: /cases (line 2): must be a list, not an object"),
        (
            "name: s\ncases: [{messages: hi}]",
            "f: /cases/0/messages (line 2): must be a list, not text (a single one is a list, too: [...])",
        ),
        (
            "name: s\ncases:\n- messages:\n  - Hello: I want a refund",
            "f: /cases/0/messages/0 (line 4): must be text, not an object: put it in quotes",
        ),
        (
            "name: s\nchannel: http\nparams: {url: http://a}",
            "f (line 1): looks like a target file, no scenario (give it with --target)",
        ),
        *(
            (f"name: s\ncases: [{{messages: [a], eval_rules: [{{type: keyword_match, weight: {weight}}}]}}]", problem)
            for weight, problem in (
                ("1e400", "/eval_rules/0/weight (line 2): must be a finite number, not 1e400"),
                ("1e-400", "/eval_rules/0/weight (line 2): must be a finite number, not 1e-400"),
                ("NaN", "/eval_rules/0/weight (line 2): must be a finite number, not NaN"),
                ("inf", "/eval_rules/0/weight (line 2): must be a finite number, not inf"),
                ("1e10", "/eval_rules/0/weight (line 2): must be less than or equal to 1000000000"),
            )
        ),
        ("name: s\ncases: []", "f: /cases (line 2): must not be empty"),
        ("cases: [{messages: [a]}]", "f: /name (line 1): this field is required"),
        (
            "name: s\ncases: [{id: a, messages: [a]}, {id: a, messages: [a]}]",
            "/cases/1/id (line 2): the id 'a' is that of",
        ),
        ("name: s\npartial_threshold: 0.9\ncases: [{messages: [a]}]", "f (line 1): thresholds must satisfy"),
        (
            "name: s\ncases: [{messages: [a], eval_rules: [{type: a, weight: 0}]}]",
            "/weight (line 2): must be greater than 0",
        ),
        (
            "name: s\ncases: [{messages: [a], expectation: []}]",
            "/cases/0/expectation (line 2): must be an object, not a list",
        ),
        ("name: s\ncases: [{messages: [a], rule_pass_threshold: 1e999999999}]", "must be a finite number"),
        ("name: s\ncases: [{messages: [a], rule_pass_threshold: .nan}]", "must be a finite number"),
        (f"name: {'长' * 300}\ncases: [{{messages: [a]}}]", "has 300 characters, more than the 200"),
    ],
)
def test_one_problem(text: str, problem: str) -> None:
    (found,) = problems(text, rules=unbound)
    assert problem in found


@pytest.mark.parametrize(
    ("rule", "params", "found"),
    [
        (
            "keyword_match",
            "{any_of: hi}",
            ["any_of (line 3): must be a list, not text (a single one is a list, too: [...])"],
        ),
        (
            "task_completion",
            "{mode: slot, required_slots: [name]}",
            [
                (
                    "required_slots/0 (line 3): must be an object, not text (it must have name; "
                    "a field is its name, a colon and a space)"
                ),
            ],
        ),
        (
            "task_completion",
            "{mode: slot, required_slots: [{nmae: x, typ: phone}]}",
            [
                "required_slots/0/name (line 3): this parameter is required (is it what 'nmae' means?)",
                "required_slots/0/nmae (line 3): unknown parameter (did you mean 'name'?)",
                "required_slots/0/typ (line 3): unknown parameter (did you mean 'type'?)",
            ],
        ),
        (
            "task_completion",
            "{mode: step, required_steps: [{name: book, keyword: [x]}]}",
            ["required_steps/0/keyword (line 3): unknown parameter (did you mean 'keywords'?)"],
        ),
    ],
)
def test_what_is_wrong_within_a_parameter_is_told_as_elsewhere(rule: str, params: str, found: list[str]) -> None:
    text = f"name: s\ncases: [{{messages: [a], eval_rules: [{{type: {rule},\nparams: {params}}}]}}]"
    at = "f: /cases/0/eval_rules/0/params/"
    assert problems(text) == [at + problem for problem in found]


def test_two_labels_of_one_case_must_differ() -> None:
    rule = "{type: keyword_match, label: words, params: {all_of: [a]}}"
    found = problems(f"name: s\ncases: [{{messages: [a], eval_rules: [{rule}, {rule}]}}]")
    assert found == [
        f"f: /cases/0/eval_rules/{i}/label (line 2): label 'words' is used twice in this case" for i in range(2)
    ]


def test_very_many_problems_are_counted() -> None:
    cases = "\n".join("  - {messages: [' ']}" for _ in range(120))
    found = problems(f"name: s\ncases:\n{cases}", rules=unbound)
    assert len(found) == 51
    assert found[-1] == "and 70 more problems"


@dataclass
class Warner:
    label: str

    @property
    def rule(self) -> "Warner":
        return self

    def warnings(self, case: Case) -> Iterable[str]:
        return [f"look at {case.id}"]


def test_warnings_of_rules_and_of_cases_that_decide_nothing() -> None:
    text = "name: s\ncases:\n  - {id: a, messages: [a]}\n  - {id: b, messages: [a], eval_rules: [{type: x}]}\n"
    loaded = scenarios.loads(text, "f", "yaml", lambda case, where: [Warner("x")] if case.eval_rules else [])
    assert loaded.warnings == (
        "f: /cases/0 (line 3): has no rule and no expectation: its dialog is held, but decides nothing",
        "f: /cases/1 (line 4): x: look at b",
    )


def test_a_folder_and_files_are_loaded_together_and_shared_ids_are_qualified(tmp_path: Path) -> None:
    (tmp_path / "zh").mkdir()
    (tmp_path / "zh" / "a.yaml").write_text(
        "name: 甲\ncases: [{messages: [a]}, {id: own, messages: [a]}]", encoding="utf-8"
    )
    (tmp_path / "b.json").write_text('{"name": "乙", "cases": [{"messages": ["a"]}]}', encoding="utf-8")
    (tmp_path / "notes.txt").write_text("no scenario", encoding="utf-8")
    (tmp_path / ".hidden.yaml").write_text("no scenario", encoding="utf-8")
    loaded = scenarios.load_all([tmp_path], unbound)
    assert [[c.id for c in one.scenario.cases] for one in loaded] == [["乙/case-001"], ["甲/case-001", "own"]]


def test_problems_of_all_files_are_reported_together(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("name: a", encoding="utf-8")
    (tmp_path / "b.json").write_bytes("{}".encode("utf-16"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError) as error:
        scenarios.load_all([tmp_path / "a.yaml", tmp_path / "b.json", tmp_path / "c.yaml", tmp_path / "empty"], unbound)
    found = str(error.value).splitlines()
    assert [line.removeprefix(str(tmp_path)).split(" (")[0] for line in found] == [
        "/a.yaml: /cases",
        "/b.json: is UTF-16: byte 0 is no UTF-8",
        "/c.yaml: cannot be read: No such file or directory",
        "/empty: there is no scenario in this folder",
    ]


@pytest.mark.parametrize("case_ids", [("case-001", "case-001"), ("a", "same/a")])
def test_two_scenarios_of_one_name_cannot_share_ids(tmp_path: Path, case_ids: tuple[str, str]) -> None:
    for name, case_id in zip(("a.yaml", "b.yaml"), case_ids, strict=True):
        text = f"name: same\ncases: [{{id: {case_id}, messages: [a]}}]"
        (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="name the scenarios apart"):
        scenarios.load_all([tmp_path], unbound)


# ---- writing ---------------------------------------------------------------------------------------------------------

letters = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
said = st.text(letters, min_size=1, max_size=20).filter(lambda text: text.strip() != "").map(lambda text: f"x{text}")
names = st.text(st.sampled_from("abc1.-_/: #é中文"), min_size=1, max_size=12).map(str.strip).filter(bool)
rates = st.sampled_from([Fraction(n, 100) for n in range(101)] + [Fraction(1, 3)])
weights = rates.filter(bool) | st.sampled_from([Fraction(10**9), Fraction(1, 10**9), Fraction(7)])
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | said,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(said, inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(said, json_values, max_size=3)
policies = st.builds(
    Policy,
    st.none() | st.sampled_from(RuleLogic),
    st.none() | rates,
    st.none() | st.sampled_from(VerdictPolicy),
    st.none() | st.sampled_from([Fraction(8, 10), Fraction(1), Fraction(2, 3)]),
    st.none() | st.sampled_from([Fraction(1, 2), Fraction(1, 10)]),
)
words = st.none() | st.lists(said, min_size=1, max_size=3).map(tuple)
expectations = st.builds(Expectation, words, words, words, st.none() | weights, st.none() | objects, st.none() | said)
rules = st.builds(
    RuleSpec,
    names,
    objects,
    weights,
    st.just("") | names,
    st.none() | st.sampled_from(Layer),
    st.none() | st.booleans(),
)
cases = st.builds(
    Case,
    names,
    st.lists(said, min_size=1, max_size=3).map(tuple),
    st.lists(rules, max_size=2).map(tuple),
    st.none() | st.just(Expectation()) | expectations,
    policies,
    st.just("") | names,
    st.just("") | said,
    st.lists(names, max_size=2).map(tuple),
    st.none() | st.just(CaseType.MULTI_TURN),
)
any_scenario = st.builds(
    Scenario,
    names,
    st.lists(cases, min_size=1, max_size=3, unique_by=lambda case: case.id).map(tuple),
    st.just("") | said,
    st.lists(names, max_size=2).map(tuple),
    policies,
)


@pytest.mark.parametrize("format", ["yaml", "json"])
@given(scenario=any_scenario)
@settings(max_examples=80, deadline=None)
def test_what_is_written_reads_back(format: Format, scenario: Scenario) -> None:  # noqa: A002
    assert scenarios.loads(scenarios.dump(scenario, format), "f", format, unbound).scenario == scenario


def test_what_is_written_is_short_and_readable() -> None:
    scenario = load(
        "name: 预约\ncases: [{id: a, messages: [你好], eval_rules: [{type: t, weight: 2}], rule_logic: any}]"
    )
    assert (
        scenarios.dump(scenario)
        == """name: 预约
cases:
- id: a
  messages:
  - 你好
  rule_logic: any
  eval_rules:
  - type: t
    weight: 2
"""
    )


# ---- the schema ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    return scenarios.schema({rule.name: parameters_schema(rule) for rule in RULES.all()})


def test_the_schema_is_one_and_its_examples_fit(schema: dict[str, Any]) -> None:
    jsonschema_rs.meta.validate(schema)
    for example in schema["examples"]:
        assert jsonschema_rs.is_valid(schema, example)
        scenarios.loads(orjson.dumps(example).decode(), "f", "json", bind)


@pytest.mark.parametrize(
    ("rule", "valid"),
    [
        ({"type": "keyword_match", "params": {"all_of": ["a"]}, "weight": 2, "layer": "L1"}, True),
        ({"type": "keyword_match", "params": {"all_off": ["a"]}}, False),
        ({"type": "keyword_match", "params": {"all_of": "a"}}, False),
        ({"type": "keyword_mach", "params": {"all_of": ["a"]}}, False),
        ({"type": "keyword_match", "params": {}, "weigth": 2}, False),
        ({"type": "json_schema"}, False),
    ],
)
def test_the_schema_knows_the_parameters_of_each_rule(schema: dict[str, Any], rule: object, valid: bool) -> None:
    assert jsonschema_rs.is_valid(schema, {"name": "s", "cases": [{"messages": ["a"], "eval_rules": [rule]}]}) is valid


@given(
    scenario=any_scenario.map(
        lambda s: Scenario(s.name, tuple(Case(c.id, c.messages, (), c.expectation, c.policy) for c in s.cases))
    )
)
@settings(max_examples=40, deadline=None)
def test_what_is_written_fits_the_schema(schema: dict[str, Any], scenario: Scenario) -> None:
    assert jsonschema_rs.is_valid(schema, orjson.loads(scenarios.dump(scenario, "json")))


# ---- any bytes -------------------------------------------------------------------------------------------------------

pieces = [
    *(
        "name: s\n",
        "cases:\n",
        "  - ",
        "messages: [a]\n",
        "    eval_rules:\n",
        "      - type: keyword_match\n",
        "1e9",
        "null",
    ),
    *("params: {all_of: [a]}", "expectation: ", "{}", "[", "]", "'", '"', ":", "\n", "&a", "*a", "!!x", "\t", "é"),
]
fragments = st.lists(st.sampled_from(pieces), max_size=12).map("".join)


@given(data=st.binary(max_size=80) | fragments.map(str.encode), suffix=st.sampled_from([".yaml", ".json"]))
@settings(max_examples=300, deadline=None)
def test_any_file_is_a_scenario_or_an_input_error(
    data: bytes, suffix: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / f"any{suffix}"
    path.write_bytes(data)
    with suppress(InputError):
        scenarios.load(path, bind)
