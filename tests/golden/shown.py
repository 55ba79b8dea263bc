"""What an evaluation came to, in the words of the golden files' `expect`, so that both can be compared.

    level: success            l1, l2, weighted, rules_passed, source, worlds...: compared when given
    calls: 2                  model calls
    rules:
      task_completion: {score: 4/5, passed: true, slots: {phone: [filled, 2, 13800138000]}}
      llm_score: {status: failed_to_score, cause: evidence, bounds: [0, 1]}

What is not given of a result is as usual: scored, no cause, no veto, not leaving. Of a slot `[status, turn, value,
quote]` as far as given, of a step `[status, turn]`, of an intent its state, its verdict with the reason code, or
`unscored` with the cause.
"""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from agenteval.domain.exact import exact
from agenteval.domain.outcome import CaseOutcome, ResultStatus, RuleResult
from agenteval.domain.questions import Judged, Question
from agenteval.engine.evaluate import Evaluation

Shown = dict[str, Any]
ANSWERS = ("votes", "turns_seen", "moved", "repaired")


def wanted(expect: Mapping[str, Any]) -> Shown:
    """`expect` with what goes without saying."""
    level = expect["level"]
    case: Shown = {"passed": None if level is None else level != "failure", "cause": None, "bounds": None}
    case |= {"conflict": False, "disagree": False}
    case |= {key: value for key, value in expect.items() if key != "rules"}
    for key in ("l2", "weighted"):
        if case.get(key) is not None:
            case[key] = exact(case[key])
    return {**case, "rules": {label: _wanted(rule) for label, rule in expect["rules"].items()}}


def shown(evaluation: Evaluation, as_in: Shown) -> Shown:
    case = _case(evaluation, as_in)
    results = {result.label: result for result in evaluation.results}
    rules = {label: _result(result, as_in["rules"].get(label, {})) for label, result in results.items()}
    return {key: rules if key == "rules" else case[key] for key in as_in}


def answers(evaluation: Evaluation, as_in: Mapping[str, Any]) -> Shown:
    """What an entry says of the answers themselves: `votes` by item, `turns_seen`, `moved` quotes, `repaired`."""
    judged = [
        (ask.item, answer)
        for ask in evaluation.asks.values()
        if isinstance(ask, Question) and isinstance(answer := evaluation.answers[ask], Judged)
    ]
    quotes = {span for result in evaluation.results for span in result.evidence if span.moved}
    facts: Shown = {
        "votes": {item: [list(vote) for vote in answer.votes] for item, answer in judged if answer.votes},
        "turns_seen": next(([list(seen) for seen in a.turns_seen] for _, a in judged if a.turns_seen), None),
        "moved": len(quotes),
        "repaired": any(answer.repaired for _, answer in judged),
    }
    return {key: facts[key] for key in ANSWERS if key in as_in}


def differences(got: Any, expected: Any, where: str = "") -> list[str]:
    """What came out otherwise than expected, line by line."""
    if isinstance(got, dict) and isinstance(expected, dict):
        names = [*expected, *(name for name in got if name not in expected)]
        pairs = [(f"{where}/{name}", got.get(name, "nothing"), expected.get(name, "nothing")) for name in names]
        return [line for place, one, other in pairs for line in differences(one, other, place)]
    return [] if got == expected else [f"{where}: {_text(got)}, expected {_text(expected)}"]


def _text(value: Any) -> str:
    return str(value) if isinstance(value, Fraction) else repr(value)


def _wanted(rule: Mapping[str, Any]) -> Shown:
    result: Shown = {"status": "scored", "cause": None, "may_leave": False, "vetoes": [], "open_vetoes": [], **rule}
    if result["status"] == "scored":
        result["score"] = exact(result["score"])
        assert "passed" in result, "what is scored passes or fails"
    elif result["status"] == "failed_to_score":
        assert rule.keys() >= {"cause", "bounds"}
        result["bounds"] = [exact(bound) for bound in result["bounds"]]
    result.setdefault("score", None)
    result.setdefault("passed", None)
    return result


def _case(evaluation: Evaluation, as_in: Shown) -> Shown:
    outcome: CaseOutcome = evaluation.outcome
    return {
        "level": outcome.success_level,
        "passed": outcome.passed,
        "cause": outcome.cause,
        "bounds": outcome.level_bounds and list(outcome.level_bounds),
        "conflict": outcome.verdict_conflict if as_in["conflict"] is None else bool(outcome.verdict_conflict),
        "disagree": outcome.layers_disagree,
        "source": outcome.source,
        "l1": outcome.l1_intent,
        "l2": outcome.l2_completion,
        "l2_bounds": outcome.l2_bounds and [str(bound) for bound in outcome.l2_bounds],
        "weighted": outcome.weighted_score,
        "rules_passed": outcome.rules_passed,
        "calls": len(evaluation.calls),
    }


def _result(result: RuleResult, as_in: Shown) -> Shown:
    facts: Shown = {
        "status": result.status,
        "score": result.score,
        "passed": result.passed,
        "cause": result.cause,
        "bounds": [*result.bounds],
        "may_leave": result.may_leave,
        "vetoes": [*result.vetoes],
        "open_vetoes": [*result.open_vetoes],
    }
    if not as_in:
        return facts if result.status is ResultStatus.FAILED_TO_SCORE else {**facts, "bounds": None}
    return {key: facts[key] if key in facts else _PARTS[key](result, as_in[key]) for key in as_in}


def _slots(result: RuleResult, as_in: Mapping[str, Any]) -> Shown:
    slots = result.detail["slots"]
    return {name: _slot(slots[name], as_in[name]) for name in as_in}


def _slot(slot: Mapping[str, Any], as_in: Any) -> Any:
    match as_in:
        case str():
            return slot["status"]
        case list():
            return [slot[key] for key in ("status", "turn_index", "value", "quote")][: len(as_in)]
        case _:
            history = [[said["turn_index"], said["quote"]] for said in slot["history"]]
            return {key: history if key == "history" else slot[key] for key in as_in}


def _steps(result: RuleResult, as_in: Mapping[str, Any]) -> Shown:
    steps = result.detail["steps"]
    return {
        name: steps[name]["status"]
        if isinstance(how, str)
        else [steps[name][key] for key in ("status", "turn_index", "quote")][: len(how)]
        for name, how in as_in.items()
    }


def _intents(result: RuleResult, as_in: Mapping[str, Any]) -> Shown:
    return {intent["intent"]: _fate(intent) for intent in result.detail["intents"]}


def _fate(intent: Mapping[str, Any]) -> str:
    if intent["cause"]:
        return f"unscored {intent['cause']}"
    if intent["verdict"] is None:
        return str(intent["state"])
    code = intent["reason_code"]
    return intent["verdict"] if code == "none" else f"{intent['verdict']} {code}"


def _acted(result: RuleResult, as_in: Sequence[str]) -> list[str]:
    return [act["intent"] for act in result.detail["acted_on"]]


def _reason(result: RuleResult, as_in: str | Sequence[str]) -> str | Sequence[str]:
    """What is looked for and stands in the reason; the reason itself for what does not."""
    parts = [as_in] if isinstance(as_in, str) else as_in
    return as_in if all(part in result.reason for part in parts) else result.reason


def _quotes(result: RuleResult, as_in: Sequence[Any]) -> list[list[Any]]:
    return [[span.turn, span.speaker, span.text] for span in result.evidence]


def _detail(result: RuleResult, as_in: Mapping[str, Any]) -> Shown:
    return {key: result.detail[key] for key in as_in}


_PARTS: Mapping[str, Callable[[RuleResult, Any], Any]] = {
    "slots": _slots,
    "steps": _steps,
    "intents": _intents,
    "acted": _acted,
    "reason": _reason,
    "quotes": _quotes,
    "detail": _detail,
}
