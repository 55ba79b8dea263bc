"""From a target to the factory of its channel: parameters checked."""

from agenteval.channels import CHANNELS, ChannelFactory
from agenteval.domain.target import Target


def factory(target: Target, where: str = "") -> ChannelFactory:
    """Raises InputError by JSON pointers below `where`."""
    return CHANNELS.build(target.channel, target.params, name_at=f"{where}/channel", params_at=f"{where}/params")
