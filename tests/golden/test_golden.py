"""Dialogs with the numbers that the specification gives them, worked out by hand; the judge is behind a connection."""

from collections.abc import Mapping, Sequence

import pytest

from agenteval.domain.errors import InputError
from tests.fakes.scripted_case import Judgement, dialog_of, load, loaded
from tests.fakes.scripted_judge import system_prompt
from tests.fakes.scripted_model import Request
from tests.golden.conftest import DIALOGS, ENTRIES, FILES
from tests.golden.shown import ANSWERS, answers, differences, shown, wanted


@pytest.mark.parametrize("id_", DIALOGS)
def test_dialog(judgements: Mapping[str, Judgement | AssertionError], id_: str) -> None:
    entry, judgement = DIALOGS[id_], judgements[id_]
    if isinstance(judgement, AssertionError):
        raise judgement
    expected = wanted(entry["expect"])
    wrong = differences(shown(judgement.evaluation, expected), expected)
    wrong += differences(answers(judgement.evaluation, entry), {key: entry[key] for key in ANSWERS if key in entry})
    wrong += [f"no prompt has {part!r}" for part in entry.get("prompt", ()) if not _prompted(part, judgement.requests)]
    warnings = "\n".join(loaded(entry).warnings)
    wrong += [f"no warning has {part!r}: {warnings}" for part in entry.get("warnings", ()) if part not in warnings]
    assert not wrong, "\n".join(wrong)


def _prompted(part: str, requests: Sequence[Request]) -> bool:
    return any(part in system_prompt(request) for request in requests)


@pytest.mark.parametrize("id_", ENTRIES.keys() - DIALOGS.keys())
def test_case_that_means_nothing_is_refused(id_: str) -> None:
    with pytest.raises(InputError) as refused:
        loaded(ENTRIES[id_])
    assert [part for part in ENTRIES[id_]["refused"] if part not in str(refused.value)] == []


def test_ids_are_unique() -> None:
    assert len(ENTRIES) == sum(len(load(path)) for path in FILES)


def test_a_file_holds_one_language() -> None:
    """Whose dialogs have a word at all: without one, reasons are in English."""
    wrong = [
        id_
        for id_, entry in DIALOGS.items()
        if entry["dialog"] and not entry["file"].endswith(f"_{dialog_of(entry['dialog']).language}")
    ]
    assert wrong == []
