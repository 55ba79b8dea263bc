"""The models of a run, each in its role."""

from collections.abc import Collection
from dataclasses import dataclass

from agenteval.domain.errors import ConfigError
from agenteval.domain.ports import ChatModel, Embedder, Moderator, Role
from agenteval.models import MODELS, ModelContext, ModelProvider, variable
from agenteval.settings import ModelSettings, Settings


@dataclass(frozen=True, slots=True)
class Models:
    """None: there is no model for this role."""

    judge: ChatModel | None = None
    embedding: Embedder | None = None
    moderation: Moderator | None = None

    @property
    def by_role(self) -> dict[Role, ChatModel | Embedder | Moderator]:
        """Those that there are."""
        models = {Role.JUDGE: self.judge, Role.EMBEDDING: self.embedding, Role.MODERATION: self.moderation}
        return {role: model for role, model in models.items() if model is not None}

    async def check(self, roles: Collection[Role] = frozenset(Role)) -> None:
        """Whether the providers of `roles` accept their key and model; raises the first ModelError."""
        for role, model in self.by_role.items():
            if role in roles:
                await model.check()

    async def close(self) -> None:
        for model in self.by_role.values():
            await model.close()


def build(settings: Settings, context: ModelContext) -> Models:
    """Raises ConfigError when a role names an unknown provider or one that does not serve it."""
    judge = embedding = moderation = None
    if chosen := settings.judge:
        judge = _provider(Role.JUDGE, chosen).chat(Role.JUDGE, chosen, context)
    if chosen := settings.embedding:
        embedding = _provider(Role.EMBEDDING, chosen).embedder(Role.EMBEDDING, chosen, context)
    if chosen := settings.moderation:
        moderation = _provider(Role.MODERATION, chosen).moderator(Role.MODERATION, chosen, context)
    return Models(judge, embedding, moderation)


def _provider(role: Role, settings: ModelSettings) -> ModelProvider:
    try:
        return MODELS.get(settings.provider)()
    except ConfigError as error:
        message = f"no provider {settings.provider!r}: {error.message}"
        raise ConfigError(message, where=variable(role, "provider"), fix=error.fix) from error
