"""From a target to the factory of its channel: parameters checked."""

from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter, ValidationError

from agenteval.channels import CHANNELS, ChannelFactory
from agenteval.domain.caching import per_class
from agenteval.domain.errors import ConfigError, InputError
from agenteval.domain.target import Target


def factory(target: Target, where: str = "") -> ChannelFactory:
    """Raises InputError naming an unknown channel or each bad parameter by its JSON pointer below `where`."""
    try:
        channel = CHANNELS.get(target.channel)
    except ConfigError as error:
        raise InputError(error.message, where=f"{where}/channel", fix=error.fix) from error
    try:
        return _adapter(channel).validate_python(target.params)
    except ValidationError as error:
        # pydantic's own error shows what was given, and that may be a secret
        raise InputError.all([_problem(fault, f"{where}/params") for fault in error.errors()]) from None


def parameters_schema(channel: type[ChannelFactory]) -> dict[str, Any]:
    """The JSON Schema of a channel's parameters, for validation, reference pages and editor forms."""
    return _adapter(channel).json_schema()


@per_class
def _adapter(channel: type[ChannelFactory]) -> TypeAdapter[ChannelFactory]:
    return TypeAdapter(channel)


def _problem(fault: Mapping[str, Any], where: str) -> InputError:
    message = str(fault["msg"]).removeprefix("Value error, ")
    place = "".join(f"/{part}" for part in fault["loc"])
    if fault["type"] == "unexpected_keyword_argument":
        message = "unknown parameter"
    elif fault["type"] in {"missing", "missing_argument"}:
        message = "this parameter is required"
    return InputError(message, where=f"{where}{place}")
