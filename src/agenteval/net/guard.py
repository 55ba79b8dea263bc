"""Where requests may go. The decision is made on resolved addresses, never on how an address is spelled.

Addresses of cloud metadata services, link-local, multicast and reserved ones are always refused. Loopback and private
addresses are fine on one's own machine; a shared installation names those it needs in AGENTEVAL_ALLOWED_TARGETS.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import NamedTuple, TypeAlias

from agenteval.domain.errors import ConfigError
from agenteval.net.errors import NetError, NetFault

Address: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network

LIST = "AGENTEVAL_ALLOWED_TARGETS"
DEFAULT_PORTS = {"http": 80, "https": 443}


class Zone(IntEnum):
    """In order of strictness."""

    PUBLIC = 0
    PRIVATE = 1
    NEVER = 2


# First match wins. `ipaddress.is_private` knows neither the shared space 100.64/10 nor any embedded IPv4 address.
ZONES: tuple[tuple[Zone, str, tuple[Network, ...]], ...] = tuple(
    (zone, what, tuple(map(ip_network, networks.split())))
    for zone, what, networks in (
        (Zone.NEVER, "a cloud metadata address", "169.254.169.254/32 169.254.170.2/32 169.254.170.23/32"),
        (Zone.NEVER, "a cloud metadata address", "100.100.100.200/32 168.63.129.16/32 192.0.0.192/32"),
        (Zone.NEVER, "a cloud metadata address", "fd00:ec2::/32 fd20:ce::254/128"),
        (Zone.NEVER, "a link-local address", "169.254.0.0/16 fe80::/10"),
        (Zone.NEVER, "a multicast or reserved address", "224.0.0.0/4 240.0.0.0/4 ff00::/8"),
        (Zone.PRIVATE, "a loopback address", "127.0.0.0/8 0.0.0.0/8 ::1/128 ::/128"),
        (Zone.PRIVATE, "a private address", "10.0.0.0/8 100.64.0.0/10 172.16.0.0/12 192.168.0.0/16"),
        (Zone.PRIVATE, "a private address", "192.0.0.0/24 192.0.2.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24"),
        (Zone.PRIVATE, "a private address", "fc00::/7 fec0::/10 100::/64 2001:db8::/32 64:ff9b:1::/48"),
    )
)
# IPv4 addresses inside IPv6 ones. In the last 32 bits: mapped, compatible, translated, NAT64; the others elsewhere.
LAST_32_BITS = tuple(map(IPv6Network, ("::ffff:0:0/96", "::/96", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48")))
SIX_TO_FOUR = IPv6Network("2002::/16")
TEREDO = IPv6Network("2001::/32")
ISATAP = (0x00005EFE, 0x02005EFE)

# Nothing in an authority but host and port, so that no two parsers can read it differently.
_URL = re.compile(r"(https?)://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::([0-9]{1,5}))?(?=[/?#]|\Z)", re.IGNORECASE)
_ALLOWED = re.compile(r"(\[[0-9A-Fa-f:.]+\](?:/[0-9]+)?|[^\s:\[\]]+)(?::([0-9]{1,5}))?")
_HOST = re.compile(r"[a-z0-9._-]*[a-z][a-z0-9._-]*")
_UNSAFE = re.compile(r"[\x00-\x20\x7f\\]")


class Origin(NamedTuple):
    scheme: str
    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.scheme}://{self.host}:{self.port}"


@lru_cache(maxsize=1024)
def origin(url: str) -> Origin:
    """Scheme, host and port. Raises NetError for anything but a plain http or https URL without user and password."""
    match = _URL.match(url)
    port = int(match[3] or DEFAULT_PORTS[match[1].lower()]) if match else 0
    if match is None or not 0 < port < 65536 or _UNSAFE.search(url):
        raise NetError(
            NetFault.FORBIDDEN,
            f"cannot use the URL {without_user(url)!r}: it must be http:// or https://, an ASCII host name or address, "
            "an optional port, and no user, password, space or backslash",
            delivered=False,
        )
    return Origin(match[1].lower(), match[2].lower().rstrip("."), port)


def without_user(url: str) -> str:
    """A URL as it may be shown: what stands before an @ can be a password. In a plain URL nothing stands there."""
    if _URL.match(url):
        return url
    scheme, slashes, rest = url.partition("://")
    return scheme + slashes + rest.rpartition("@")[2]


class Allowed(NamedTuple):
    """One entry of the allow-list: a host name or a network, at one port or at all."""

    host: str
    network: Network | None
    port: int | None

    @classmethod
    def parse(cls, text: str) -> "Allowed":
        match = _ALLOWED.fullmatch(text)
        host, port = (match[1], match[2]) if match else (text, None)
        host = host.replace("[", "").replace("]", "").lower().rstrip(".")
        try:
            return cls(host, ip_network(host), int(port) if port else None)
        except ValueError as error:
            if not _HOST.fullmatch(host):
                raise ConfigError(
                    f"cannot read {text!r}", where=LIST, fix="entries are HOST, ADDRESS or CIDR, with :PORT if wanted"
                ) from error
            return cls(host, None, int(port) if port else None)

    def covers(self, target: Origin, address: Address) -> bool:
        at = target.host == self.host if self.network is None else address in self.network
        return at and self.port in {None, target.port}


@dataclass(frozen=True, slots=True)
class Guard:
    """`private`: loopback and private addresses need no permission (one's own machine)."""

    private: bool = True
    allowed: tuple[Allowed, ...] = ()

    @classmethod
    def of(cls, allowed: Iterable[str], *, private: bool = True) -> "Guard":
        """Raises ConfigError for an entry that is no host, address, or CIDR network."""
        return cls(private, tuple(map(Allowed.parse, allowed)))

    def check(self, target: Origin, addresses: Sequence[str]) -> None:
        """Raises NetError unless every one of the addresses that `target` stands for may be contacted."""
        for text in addresses:
            for address in _forms(ip_address(text.partition("%")[0])):
                zone, what = _zone(address)
                if zone is Zone.PUBLIC:
                    continue
                if zone is Zone.NEVER:
                    advice = "which is never contacted"
                elif self.private or any(entry.covers(target, address) for entry in self.allowed):
                    continue
                else:
                    advice = f"which the operator can allow with {LIST}={target.host}:{target.port}"
                raise NetError(NetFault.FORBIDDEN, f"{target.host} leads to {text}, {what}, {advice}", delivered=False)

    def check_literal(self, target: Origin) -> None:
        """The same for a host that is an address itself, which no resolver sees."""
        host = target.host.strip("[]")
        try:
            ip_address(host)
        except ValueError as error:
            if host.strip("0123456789."):
                return
            raise NetError(NetFault.FORBIDDEN, f"write {host} as a full IPv4 address", delivered=False) from error
        self.check(target, [host])


def _zone(address: Address) -> tuple[Zone, str]:
    for zone, what, networks in ZONES:
        if any(address in network for network in networks):
            return zone, what
    return Zone.PUBLIC, "a public address"


def _forms(address: Address) -> Iterator[Address]:
    """The address, and every IPv4 address that it may lead to."""
    yield address
    if isinstance(address, IPv4Address):
        return
    bits = int(address)
    embeds = bits > 1 and any(address in network for network in LAST_32_BITS)
    if embeds or (bits >> 32) & 0xFFFFFFFF in ISATAP:
        yield IPv4Address(bits & 0xFFFFFFFF)
    if address in SIX_TO_FOUR:
        yield IPv4Address((bits >> 80) & 0xFFFFFFFF)
    if address in TEREDO:
        yield IPv4Address(~bits & 0xFFFFFFFF)
        yield IPv4Address((bits >> 64) & 0xFFFFFFFF)
