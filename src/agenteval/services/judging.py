"""Who answers the questions of rules: code first, then what is remembered, then encoders and models."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agenteval.domain.json_value import Json
from agenteval.domain.ports import Clock, Memo, Role
from agenteval.domain.questions import Cause, Moderation, Question, Similarity
from agenteval.domain.records import StoredAnswer
from agenteval.judge.compile import FRAME_HASH
from agenteval.judge.encoder import Encoder
from agenteval.judge.local import local_scorer
from agenteval.judge.memo import MemoStep
from agenteval.judge.model_judge import ModelJudge
from agenteval.judge.panel import ByCode, Panel, Step
from agenteval.judge.stored import Stored
from agenteval.models.roles import Models


@dataclass(frozen=True, slots=True)
class Judging:
    """`secret` is the install's: fences and the order of questions are derived from it. `concurrency`: so many dialogs
    are judged at once."""

    models: Models
    secret: bytes
    concurrency: int
    clock: Clock

    def panel(self, memo: Memo) -> Panel:
        models = self.models
        steps: list[Step] = [Encoder(local_scorer(), models.embedding, models.moderation)]
        if models.judge is not None:
            steps.append(ModelJudge(models.judge, self.secret, self.clock))
        asked, waits = _identities(self.description), bool(models.by_role)
        return Panel(ByCode(), MemoStep(memo, asked, Panel(*steps, waits=waits)), waits=waits)

    def recall(self, models: Json, memo: Memo, answers: Sequence[StoredAnswer]) -> Panel:
        """Answers as they were given, to these questions or to such with the same wording, by the `models` of a run's
        snapshot. Nobody is asked; code has all the time that it needs, also for what it had not come to."""
        stored = Stored([answer for answer in answers if answer.cause != Cause.TIME_LIMIT])
        return Panel(ByCode(), stored, MemoStep(memo, _identities(models), Encoder(local_scorer())), waits=False)

    @property
    def description(self) -> dict[str, Json]:
        """The models by role with their parameters, null where there is none, for the snapshot of a run."""
        named: dict[str, Json] = {role.value: None for role in Role}
        for role, model in self.models.by_role.items():
            named[role.value] = {"id": model.id, "params": dict(model.params)}
        return {**named, "local_scorer": local_scorer().name}


def _identities(models: Json) -> dict[type, Json]:
    """What an answer depends on beside the ask and the dialog, by the kind of ask; `models` as in a run's snapshot."""
    known = models if isinstance(models, Mapping) else {}
    found: dict[type, Json] = {}
    for role, kind in ((Role.JUDGE, Question), (Role.EMBEDDING, Similarity), (Role.MODERATION, Moderation)):
        if isinstance(model := known.get(role), Mapping):
            found[kind] = [model["id"], model["params"], *([FRAME_HASH] if kind is Question else [])]
    return found
