"""Models that judge, embed and moderate.

A provider is a class marked by `@register_model`; built-ins are found in `agenteval.models.builtin`, third parties by
the entry point group `agenteval.models`. A role's settings name it: `AGENTEVAL_JUDGE_PROVIDER`.
"""

from dataclasses import dataclass, field
from random import Random
from typing import ClassVar

from agenteval.domain.errors import ConfigError
from agenteval.domain.ports import Capabilities, ChatModel, Clock, Embedder, Moderator, Role
from agenteval.net.session import Sessions
from agenteval.plugins import Registry
from agenteval.settings import ModelSettings


@dataclass(frozen=True, slots=True)
class ModelContext:
    """What providers need of the outside. `sessions` belongs to whoever made it."""

    sessions: Sessions
    clock: Clock
    capabilities: Capabilities
    random: Random = field(default_factory=Random)


class ModelProvider:
    """Base of all model plug-ins: makes the model of one role. Nothing outside is touched before its first use.

    `name` is unique and the module's stem. A method that a provider leaves out is a role that it does not serve.
    """

    name: ClassVar[str]

    def chat(self, role: Role, settings: ModelSettings, context: ModelContext) -> ChatModel:
        raise self._unserved(role)

    def embedder(self, role: Role, settings: ModelSettings, context: ModelContext) -> Embedder:
        raise self._unserved(role)

    def moderator(self, role: Role, settings: ModelSettings, context: ModelContext) -> Moderator:
        raise self._unserved(role)

    def _unserved(self, role: Role) -> ConfigError:
        return ConfigError(
            f"provider {self.name!r} has no {role} models",
            where=variable(role, "provider"),
            fix="name another provider",
        )


def variable(role: Role, setting: str) -> str:
    """The environment variable of a model's setting."""
    return f"AGENTEVAL_{role.upper()}_{setting.upper()}"


MODELS: Registry[ModelProvider] = Registry("models", ModelProvider)
register_model = MODELS.register
