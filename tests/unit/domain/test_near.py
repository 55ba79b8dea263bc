"""Advice about names that are not known."""

from agenteval.domain.near import did_you_mean, nearest

KNOWN = ("keyword_match", "safety", "意图识别")


def test_the_nearest_name_is_offered() -> None:
    assert nearest("keyword_mach", KNOWN) == "keyword_match"
    assert did_you_mean("意图识別", KNOWN) == "did you mean '意图识别'?"


def test_without_a_near_one_all_are() -> None:
    assert nearest("zzz", KNOWN) is None
    assert did_you_mean("zzz", iter(KNOWN)) == "known: keyword_match, safety, 意图识别"
