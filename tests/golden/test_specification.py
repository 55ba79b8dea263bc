"""Every sentence of the specification is shown by a dialog or a test, and every rule in every status and language."""

from itertools import product
from pathlib import Path

import pytest
import yaml

from agenteval.domain.outcome import ResultStatus
from agenteval.rules import RULES
from agenteval.rules.build import bind
from tests.fakes.scripted_case import case_of, dialog_of
from tests.golden.conftest import DIALOGS, ENTRIES
from tests.golden.specification import PAGE, missing_tests, sentences

LISTED = yaml.safe_load((Path(__file__).parent / "specification.yaml").read_text(encoding="utf-8"))
BY_ID = {id_: words for part in LISTED["sentences"].values() for id_, words in part.items()}


@pytest.mark.parametrize("part", LISTED["sentences"])
def test_every_sentence_is_listed_by_its_first_words(part: str) -> None:
    said = sentences(PAGE.read_text(encoding="utf-8"))[part]
    listed = list(LISTED["sentences"][part].values())
    assert [words for words, sentence in zip(listed, said, strict=False) if not sentence.startswith(words)] == []
    assert len(listed) == len(said)


def test_every_sentence_is_shown() -> None:
    covered = {id_ for entry in ENTRIES.values() for id_ in entry["covers"]}
    assert covered - BY_ID.keys() == set()
    assert LISTED["elsewhere"].keys() - BY_ID.keys() == set()
    assert BY_ID.keys() - covered - LISTED["elsewhere"].keys() == set()


def test_what_shows_it_elsewhere_is_there() -> None:
    assert missing_tests(test for tests in LISTED["elsewhere"].values() for test in tests) == []


IMPOSSIBLE = {
    ("keyword_match", "not_applicable"): "words can always be looked for; an empty reply meets nothing",
    ("json_schema", "not_applicable"): "a reply is JSON of the shape or it is not; an empty one is not",
    ("semantic_similarity", "not_applicable"): "there is always a reference; an empty reply is unlike it",
    ("llm_score", "not_applicable"): "criteria always apply; an empty reply scores 0",
    ("response_time", "failed_to_score"): "a time was recorded or not; nobody has to judge it",
    ("safety", "not_applicable", "zh"): "only without any turn, and then there is no word to tell the language by",
}


def test_every_rule_has_every_status_in_both_languages() -> None:
    seen = set()
    for entry in DIALOGS.values():
        language = dialog_of(entry["dialog"]).language
        for bound in bind(case_of(entry)):
            status = entry["expect"]["rules"][bound.label].get("status", "scored")
            seen.add((bound.rule.name, status, language))
    every = set(product(RULES.names, map(str, ResultStatus), ("zh", "en")))
    missing = {(rule, status, language) for rule, status, language in every - seen if (rule, status) not in IMPOSSIBLE}
    assert missing - IMPOSSIBLE.keys() == set()
    assert {key for key in IMPOSSIBLE if key in seen or any(s[:2] == key for s in seen)} == set()


def test_there_are_enough_dialogs_in_both_languages() -> None:
    languages = [dialog_of(entry["dialog"]).language for entry in DIALOGS.values()]
    assert min(languages.count("zh"), languages.count("en")) >= 75
