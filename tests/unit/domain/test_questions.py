"""What is told of how an answer came about."""

from agenteval.domain.json_value import Json
from agenteval.domain.questions import Cause, Judged, Unscored, provenance


def test_an_ordinary_answer_has_nothing_to_tell() -> None:
    assert provenance(Judged("v", "model:m", calls=("c1",))) == {}
    assert provenance(Judged("v", "model:m", votes=(("met", 3),))) == {}
    assert provenance(Unscored(Cause.TIE, "no majority")) == {}


def test_what_is_noteworthy_is_told() -> None:
    told: dict[str, Json] = {
        "turns_seen": [[0, 11], [10, 19]],
        "votes": {"met": 2, "unmet": 1},
        "repaired": True,
        "dropped": ["租一辆车"],
    }
    answer = Judged(
        "v",
        "model:m",
        dropped=("租一辆车",),
        turns_seen=((0, 11), (10, 19)),
        votes=(("met", 2), ("unmet", 1)),
        repaired=True,
    )
    assert provenance(answer) == told
