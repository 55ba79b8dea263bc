from dataclasses import replace

from agenteval.domain.questions import Answers, Cause, Flags, Judged, Moderation, Unscored
from agenteval.storage import attempts, runs
from agenteval.storage.store import Store
from agenteval.storage.writer import Writer
from tests.fakes.records import key, places, record, run


async def test_votes_are_read_whether_they_settled_anything_or_not(store: Store) -> None:
    said = [
        Moderation('a user may write "votes":[['),
        Moderation("two of three"),
        Moderation("a tie"),
        Moderation("no"),
    ]
    answers = Answers(
        {
            said[0].key: Judged(Flags(('"votes":[[',)), "model:m"),
            said[1].key: Judged(Flags(()), "model:m", votes=(("met", 2), ("unmet", 1))),
            said[2].key: Unscored(Cause.TIE, votes=(("met", 1), ("unmet", 1), ("partly_met", 1))),
            said[3].key: Unscored(Cause.NEEDS_JUDGE),
        }
    )
    await runs.create(store, run(), places(1))
    async with Writer(store) as writer:
        await writer.put(replace(record(key(0)), asks={ask.key: ask for ask in said}, answers=answers))
    assert sorted(await attempts.votes(store, "run")) == [[1, 1, 1], [2, 1]]
