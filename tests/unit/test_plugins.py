"""Plug-ins: found by name, loaded on first use, and every problem told."""

from collections.abc import Iterable
from importlib.metadata import EntryPoint

import pytest

from agenteval.domain.errors import ConfigError
from agenteval.plugins import Registry
from agenteval.rules import RULES, EvalRule


class Unmarked(EvalRule):
    name = "unmarked"
    version = "1"


def registry(*entries: EntryPoint) -> Registry[EvalRule]:
    def found(group: str) -> Iterable[EntryPoint]:
        return [entry for entry in entries if entry.group == group]

    return Registry("rules", EvalRule, found=found)


def entry(name: str, value: str) -> EntryPoint:
    return EntryPoint(name, value, "agenteval.rules")


def test_builtins_are_found_by_their_modules_stem() -> None:
    assert "keyword_match" in RULES.names
    assert RULES.get("keyword_match").name == "keyword_match"


def test_an_unknown_name_gets_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"unknown rule 'keyword_mach'.*did you mean 'keyword_match'"):
        RULES.get("keyword_mach")


def test_a_broken_plug_in_is_told_and_the_others_work() -> None:
    found = registry(entry("broken", "no_such_module_at_all:Rule"))
    assert {cls.name for cls in found.all()} >= {"keyword_match"}
    (problem,) = found.problems
    assert problem.name == "broken"
    assert "No module named 'no_such_module_at_all'" in problem.message
    with pytest.raises(ConfigError, match="broken plug-ins: broken"):
        found.get("somewhat")


def test_a_class_that_is_not_marked_is_no_plug_in() -> None:
    found = registry(entry("unmarked", f"{__name__}:Unmarked"))
    with pytest.raises(ConfigError, match="marked by @register_rule"):
        found.get("unmarked")


def test_a_taken_name_is_a_problem_and_the_first_stays() -> None:
    found = registry(entry("keyword_match", f"{__name__}:Unmarked"))
    assert found.get("keyword_match").__module__ == "agenteval.rules.builtin.keyword_match"
    (problem,) = found.problems
    assert "the name is taken by agenteval.rules.builtin.keyword_match" in problem.message
