"""Who answers the questions of rules: code first, then what is remembered, then encoders and models."""

from dataclasses import dataclass

from agenteval.domain.json_value import Json
from agenteval.domain.ports import Memo, Role
from agenteval.domain.questions import Moderation, Question, Similarity
from agenteval.judge.compile import FRAME_HASH
from agenteval.judge.encoder import Encoder
from agenteval.judge.local import local_scorer
from agenteval.judge.memo import MemoStep
from agenteval.judge.model_judge import ModelJudge
from agenteval.judge.panel import ByCode, Panel
from agenteval.models.roles import Models


@dataclass(frozen=True, slots=True)
class Judging:
    """`secret` is the install's: fences and the order of questions are derived from it. `concurrency`: so many dialogs
    are judged at once."""

    models: Models
    secret: bytes
    concurrency: int

    def panel(self, memo: Memo) -> Panel:
        models = self.models
        encoder = Encoder(local_scorer(), models.embedding, models.moderation)
        if models.judge is None:
            return Panel(ByCode(), MemoStep(memo, self._identities()), encoder)
        return Panel(ByCode(), MemoStep(memo, self._identities()), encoder, ModelJudge(models.judge, self.secret))

    def _identities(self) -> dict[type, Json]:
        models = self.models
        identities: dict[type, Json] = {}
        if models.judge is not None:
            identities[Question] = [models.judge.id, models.judge.params, FRAME_HASH]
        if models.embedding is not None:
            identities[Similarity] = [models.embedding.id, dict(models.embedding.params)]
        if models.moderation is not None:
            identities[Moderation] = [models.moderation.id, dict(models.moderation.params)]
        return identities

    @property
    def description(self) -> dict[str, Json]:
        """The models by role with their parameters, null where there is none, for the snapshot of a run."""
        named: dict[str, Json] = {role.value: None for role in Role}
        for role, model in self.models.by_role.items():
            named[role.value] = {"id": model.id, "params": dict(model.params)}
        return {**named, "local_scorer": local_scorer().name}
