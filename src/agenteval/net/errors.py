"""What can go wrong between us and a server; callers turn it into TargetError or ModelError."""

from enum import StrEnum


class NetFault(StrEnum):
    FORBIDDEN = "forbidden"
    DNS = "dns"
    CONNECT = "connect"
    TLS = "tls"
    TIMEOUT = "timeout"
    DROPPED = "dropped"
    TOO_LARGE = "too_large"
    PROTOCOL = "protocol"


class NetError(Exception):
    """`delivered`: the request may have reached the server. False is certain: no byte of it was sent."""

    def __init__(self, fault: NetFault, message: str, *, delivered: bool) -> None:
        super().__init__(message)
        self.fault = fault
        self.message = message
        self.delivered = delivered
