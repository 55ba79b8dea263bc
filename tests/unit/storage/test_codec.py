"""What is stored of an object is the object."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from enum import StrEnum
from fractions import Fraction
from typing import Any, TypeVar

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenteval.domain.errors import StorageError
from agenteval.domain.evidence import Match, Span, Speaker
from agenteval.domain.forms import AgentQuote, Form, UserQuote
from agenteval.domain.outcome import CaseOutcome, OutcomeCause, ResultStatus, RuleResult, Source, SuccessLevel
from agenteval.domain.ports import Call, Role, Usage
from agenteval.domain.questions import (
    Ask,
    Cause,
    Flags,
    Judged,
    Lead,
    Likeness,
    Moderation,
    Question,
    Ranked,
    Ranking,
    Similarity,
    Unscored,
    judged_from_json,
)
from agenteval.domain.records import Run, RunStatus
from agenteval.domain.scenario import (
    Case,
    CaseType,
    EffectivePolicy,
    Expectation,
    Layer,
    Policy,
    RuleLogic,
    RuleSpec,
    VerdictPolicy,
)
from agenteval.domain.transcript import ToolCall, Turn, TurnStatus
from agenteval.storage import codec
from tests.fakes.clock import START

T = TypeVar("T")


def optional(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | values


texts = st.text(st.characters(codec="utf-8"), max_size=20) | st.sampled_from(
    ["", "订一张桌子 🍜", "e\u0301", '"\\\n\0']
)
rates = st.fractions(0, 1)
floats = st.floats(0, 1e9)
json = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(texts, json, max_size=3)
spans = st.builds(
    Span,
    turn=st.integers(0, 9),
    speaker=st.sampled_from(Speaker),
    source=st.integers(0, 2),
    start=st.integers(0, 99),
    end=st.integers(0, 99),
    text=texts,
    match=st.sampled_from(Match),
    moved=st.booleans(),
)
turns = st.builds(
    Turn,
    index=st.integers(0, 99),
    sent_message=texts,
    reply=json,
    tool_calls=st.lists(st.builds(ToolCall, texts, json, json, optional(st.booleans())), max_size=2).map(tuple),
    latency_ms=optional(floats),
    status=st.sampled_from(TurnStatus),
    error=texts,
)
policies = st.builds(
    Policy,
    rule_logic=optional(st.sampled_from(RuleLogic)),
    rule_pass_threshold=optional(rates),
    verdict_policy=optional(st.sampled_from(VerdictPolicy)),
    success_threshold=optional(rates),
    partial_threshold=optional(rates),
)
specs = st.builds(
    RuleSpec,
    type=texts,
    params=objects,
    weight=st.fractions(min_value=Fraction(1, 9)),
    label=texts,
    layer=optional(st.sampled_from(Layer)),
    hard=optional(st.booleans()),
)
words = optional(st.lists(texts, max_size=2).map(tuple))
cases = st.builds(
    Case,
    id=texts,
    messages=st.lists(texts, max_size=3).map(tuple),
    eval_rules=st.lists(specs, max_size=2).map(tuple),
    expectation=optional(
        st.builds(
            Expectation,
            keywords_all=words,
            keywords_any=words,
            keywords_none=words,
            max_latency_ms=optional(st.fractions(min_value=0)),
            json_schema=optional(objects),
            reference=optional(texts),
        )
    ),
    policy=policies,
    name=texts,
    description=texts,
    tags=st.lists(texts, max_size=2).map(tuple),
    type=optional(st.sampled_from(CaseType)),
)


@st.composite
def results(draw: st.DrawFn) -> RuleResult:
    status = draw(st.sampled_from(ResultStatus))
    low, high = sorted((draw(rates), draw(rates)))
    open_ended = status is not ResultStatus.SCORED
    names = st.lists(texts, max_size=2).map(tuple)
    return RuleResult(
        rule=draw(texts),
        status=status,
        score=None if open_ended else draw(rates),
        low=draw(st.sampled_from([None, low])) if open_ended else None,
        high=draw(st.sampled_from([None, high])) if open_ended else None,
        passed=draw(optional(st.booleans()) if open_ended else st.booleans()),
        cause=draw(optional(st.sampled_from(Cause))),
        may_leave=draw(st.booleans()),
        reason=draw(texts),
        evidence=draw(st.lists(spans, max_size=2).map(tuple)),
        detail=draw(objects),
        vetoes=draw(names),
        open_vetoes=draw(names),
        version=draw(texts),
        label=draw(texts),
        layer=draw(optional(st.sampled_from(Layer))),
        weight=draw(st.fractions(min_value=Fraction(1, 9))),
        hard=draw(st.booleans()),
        implicit=draw(st.booleans()),
    )


levels = st.sampled_from(SuccessLevel)
outcomes = st.builds(
    CaseOutcome,
    success_level=optional(levels),
    passed=optional(st.booleans()),
    policy=policies.map(lambda policy: EffectivePolicy.of(Policy(rule_logic=policy.rule_logic))),
    source=st.sampled_from(Source),
    cause=optional(st.sampled_from(OutcomeCause)),
    level_bounds=optional(st.tuples(levels, levels)),
    has_l1=st.booleans(),
    l1_intent=optional(st.booleans()),
    has_l2=st.booleans(),
    l2_completion=optional(rates),
    l2_bounds=optional(st.tuples(rates, rates)),
    rules_passed=optional(st.booleans()),
    weighted_score=optional(rates),
    verdict_conflict=optional(st.booleans()),
    layers_disagree=st.booleans(),
)
calls = st.builds(
    Call,
    id=texts,
    role=st.sampled_from(Role),
    model=texts,
    prompt_hash=texts,
    usage=st.builds(Usage, optional(st.integers(0, 9**9)), optional(st.integers(0, 9**9)), optional(st.fractions(0))),
    latency_ms=optional(floats),
    raw=optional(texts),
    error=texts,
)
runs = st.builds(
    Run,
    id=texts,
    name=texts,
    config=objects,
    created_at=st.datetimes(timezones=st.just(START.tzinfo)),
    repeats=st.integers(1, 9),
    status=st.sampled_from(RunStatus),
    finished_at=optional(st.datetimes(timezones=st.just(START.tzinfo))),
    error=texts,
)


def reread(columns: codec.Columns[T], value: T) -> T:
    return columns.load(dict(zip(columns.names, columns.row(value), strict=True)))


def reread_case(text: str) -> Case:
    return codec.load_case({"case_id": "c", "case": text})


@given(cases)
def test_a_case_is_read_as_written(case: Case) -> None:
    assert reread_case(codec.dumps(case)) == case


def test_what_is_said_is_not_taken_for_the_rest_of_a_case() -> None:
    case = Case("c", ('hi","eval_rules":[]', ',"eval_rules":', "\\"), (RuleSpec("safety"),), name="n")
    assert reread_case(codec.dumps(case)) == case
    assert reread_case(codec.dumps(replace(case, messages=("bye",)))) == replace(case, messages=("bye",))


@pytest.mark.parametrize(
    "text",
    [
        '{"id":"c","messages":["hi"],"eval_rules":[],"name":"n"}',
        '{"id":"c","messages":["hi"],"priority":3,"eval_rules":[],"priority":3,"name":"n"}',
        '{"id":"c","messages":["hi"],"later":{"version":1,"eval_rules":[]},"name":"n"}',
        '{"name":"n","eval_rules":[],"messages":["hi"],"id":"c"}',
        '{"id": "c", "messages": ["hi"], "eval_rules": [], "name": "n"}',
    ],
)
def test_a_case_is_read_however_its_members_stand(text: str) -> None:
    assert reread_case(text) == Case("c", ("hi",), name="n")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"id":"c"}',
        '{"id":"c","messages":["hi"],"eval_rules":[',
        '{"id":"c","messages":["hi"],"eval_rules":7}',
    ],
)
def test_a_damaged_case_is_named(text: str) -> None:
    with pytest.raises(StorageError, match="the row of run_cases with the case_id c"):
        reread_case(text)


@given(turns)
def test_a_turn_is_read_as_written(turn: Turn) -> None:
    assert reread(codec.TURN, turn) == turn


@given(results())
def test_a_result_is_read_as_written(result: RuleResult) -> None:
    assert reread(codec.RESULT, result) == result


@given(outcomes)
def test_an_outcome_is_read_as_written(outcome: CaseOutcome) -> None:
    assert reread(codec.OUTCOME, outcome) == outcome


@given(runs)
def test_a_run_is_read_as_written(run: Run) -> None:
    assert reread(codec.RUN, run) == run


@given(calls)
def test_a_call_is_read_as_written(call: Call) -> None:
    names = (*codec.CALL.names, *codec.USAGE.names)
    assert codec.load_call(dict(zip(names, codec.call_row(call), strict=True))) == call


@given(turns, results())
def test_columns_hold_what_every_database_can_hold(turn: Turn, result: RuleResult) -> None:
    for value in (*codec.TURN.row(turn), *codec.RESULT.row(result)):
        assert value is None or type(value) in (str, int, float, bool)


class Status(StrEnum):
    FILLED = "filled"
    MISSING = "missing"


@dataclass(frozen=True)
class Slot(Form):
    status: Status
    quotes: tuple[UserQuote, ...]
    confirmed: AgentQuote | None = None


SPAN = Span(0, Speaker.USER, 0, 0, 2, "四位", Match.EXACT)
ANSWERS: list[tuple[Ask, Judged[Any] | Unscored]] = [
    (
        Question("slot:guests", Slot, "how many guests?"),
        Judged(
            Slot(Status.FILLED, (UserQuote(0, "四位", SPAN),), AgentQuote(1, "4 位")),
            "model:m",
            calls=("c1", "c2"),
            dropped=("quotes.1: not found",),
            turns_seen=((0, 3), (2, 5)),
            votes=(("filled", 2), ("missing", 1)),
            repaired=True,
        ),
    ),
    (Question("slot:date", Slot, "which day?"), Unscored(Cause.TIE, "1 : 1", ("c3",), (("filled", 1), ("missing", 1)))),
    (Similarity("好的", "可以"), Judged(Likeness(0.75, "n-grams", 0.7), "encoder:n-grams")),
    (
        Ranking("退款", (("refund", ("退钱",)),)),
        Judged(Ranked("refund", "n-grams", Lead.AHEAD, ("book",)), "encoder:n-grams"),
    ),
    (Moderation("好的"), Judged(Flags(("hate", "violence")), "model:m")),
    (Moderation("好"), Unscored(Cause.NEEDS_JUDGE)),
]


@pytest.mark.parametrize(("ask", "answer"), ANSWERS, ids=lambda value: type(value).__name__)
def test_an_answer_is_stored_whole(ask: Ask, answer: Judged[Any] | Unscored) -> None:
    key, _, _, by, cause, stored = codec.answer_row(ask, answer)
    assert key == ask.key
    if isinstance(answer, Judged):
        assert (by, cause) == (answer.by, None)
        assert judged_from_json(ask, orjson.loads(stored)) == answer
    else:
        assert (by, cause) == (None, answer.cause)
        assert orjson.loads(stored) == orjson.loads(orjson.dumps(answer._asdict()))


def test_fractions_and_times_have_one_text() -> None:
    beijing = datetime(2026, 7, 1, 8, tzinfo=timezone(timedelta(hours=8)))
    assert codec.fraction_text(Fraction(4, 5)) == "4/5"
    assert codec.fraction_text(Fraction(1)) == "1/1"
    assert codec.time_text(beijing) == "2026-07-01T00:00:00+00:00"


@given(st.timedeltas(timedelta(-99_999), timedelta(99_999)))
def test_a_time_is_written_in_utc_to_the_microsecond(since: timedelta) -> None:
    at = START + since
    assert codec.time_text(at) == at.isoformat()
    assert codec.time_text(at.astimezone(timezone(timedelta(hours=-3)))) == at.isoformat()


def test_chinese_is_stored_as_it_is() -> None:
    assert codec.dumps({"理由": "礼貌"}) == '{"理由":"礼貌"}'


def test_members_that_other_versions_lack_or_add_do_no_harm() -> None:
    assert codec.loads(Case, '{"id": "c", "messages": ["hi"], "priority": 3}') == Case("c", ("hi",))


def test_what_is_no_json_is_refused_by_name() -> None:
    with pytest.raises(TypeError, match="set"):
        codec.dumps({"missing": {"a"}})
