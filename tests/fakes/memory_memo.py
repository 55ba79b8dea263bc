"""A memo in memory that keeps what a database would: JSON."""

from collections.abc import Mapping, Sequence

import orjson

from agenteval.domain.json_value import Json


class MemoryMemo:
    def __init__(self) -> None:
        self.kept: dict[str, Json] = {}

    async def get(self, keys: Sequence[str]) -> Mapping[str, Json]:
        return {key: self.kept[key] for key in keys if key in self.kept}

    async def put(self, answers: Mapping[str, object]) -> None:
        self.kept.update({key: orjson.loads(orjson.dumps(answer)) for key, answer in answers.items()})
