"""Channels talk to the agent under evaluation.

A channel factory is a frozen dataclass whose fields are the parameters that a target gives. `@register_channel` marks
it; built-ins are found in `agenteval.channels.builtin`, third parties by the entry point group `agenteval.channels`.
"""

from typing import ClassVar

from pydantic import ConfigDict

from agenteval.domain.ports import Channel
from agenteval.domain.scenario import Case
from agenteval.domain.target import Target
from agenteval.domain.transcript import Dialog
from agenteval.net.guard import Guard
from agenteval.plugins import Registry


class ChannelFactory:
    """Base of all channel plug-ins: makes the channel to one target.

    `name` is unique and the module's stem. `sends` is False when nothing outside is touched (recorded dialogs): no
    message is marked before it is sent then, and nothing is limited. A parameter that cannot be used is a `ValueError`
    from `__post_init__`, naming it.
    """

    __pydantic_config__: ClassVar[ConfigDict] = {"extra": "forbid"}

    name: ClassVar[str]
    sends: ClassVar[bool] = True

    def create(self, target: Target, guard: Guard) -> Channel:
        """The channel to `target`, whose `params` this factory was built from. Nothing outside is touched yet.

        What goes over the network goes where `guard` allows; DestinationForbidden is raised when it does not.
        """
        raise NotImplementedError

    def recorded(self, case: Case) -> Dialog | None:
        """The dialog, when it was recorded and talking over the channel would give just the same."""
        return None


CHANNELS: Registry[ChannelFactory] = Registry("channels", ChannelFactory)
register_channel = CHANNELS.register
