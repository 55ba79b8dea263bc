from ipaddress import IPv4Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenteval.domain.errors import ConfigError
from agenteval.net.errors import NetError, NetFault
from agenteval.net.guard import Guard, Origin, origin


def words(text: str) -> list[str]:
    return text.split()


LOCAL = Guard()
SHARED = Guard(private=False)

NEVER = words("""
169.254.169.254 169.254.170.2 169.254.170.23 169.254.1.1 100.100.100.200 168.63.129.16 192.0.0.192
fd00:ec2::254 fd00:ec2::23 fd20:ce::254 fe80::1 fe80::1%eth0 fe80::a9fe:a9fe
::ffff:169.254.169.254 ::ffff:a9fe:a9fe ::169.254.169.254 ::ffff:0:169.254.169.254
64:ff9b::a9fe:a9fe 64:ff9b::169.254.169.254 64:ff9b:1::a9fe:a9fe 2002:a9fe:a9fe:: 2002:a9fe:a9fe::1
2001:0:4136:e378:8000:63bf:5601:5601 2001:0:a9fe:a9fe:: 2607:f8b0::5efe:a9fe:a9fe 2607:f8b0::200:5efe:a9fe:a9fe
64:ff9b::6464:64c8 ::ffff:168.63.129.16
224.0.0.1 239.255.255.250 240.0.0.1 255.255.255.255 ff02::1 ::ffff:224.0.0.1
""")
PRIVATE = words("""
127.0.0.1 127.255.255.254 0.0.0.0 0.1.2.3 10.0.0.1 172.16.0.1 172.31.255.255 192.168.1.1 100.64.0.1 100.127.255.255
192.0.0.1 192.0.2.1 198.18.0.1 198.19.255.255 198.51.100.7 203.0.113.9
::1 :: fc00::1 fd12:3456:789a::1 fec0::1 100::1 2001:db8::1 64:ff9b:1::808:808
::ffff:127.0.0.1 ::ffff:7f00:1 ::127.0.0.1 64:ff9b::7f00:1 64:ff9b::a00:1 2002:7f00:1:: 2002:a00:1::1 ::ffff:10.1.2.3
2001:0:4136:e378:8000:63bf:80ff:fffe 2607:f8b0::5efe:10.0.0.1
""")
PUBLIC = words("""
8.8.8.8 1.1.1.1 9.255.255.255 11.0.0.0 126.255.255.255 128.0.0.1 172.15.255.255 172.32.0.1 192.167.255.255 192.169.0.1
100.63.255.255 100.128.0.1 169.253.255.255 169.255.0.1 198.17.255.255 198.20.0.1 223.255.255.255 168.63.129.17
2606:4700:4700::1111 2001:4860:4860::8888 ::ffff:8.8.8.8 64:ff9b::808:808 2002:808:808::1 2607:f8b0::5efe:808:808
""")


def verdict(guard: Guard, *addresses: str, host: str = "agent.example", port: int = 443) -> str:
    try:
        guard.check(Origin("https", host, port), addresses)
    except NetError as error:
        return f"{error.fault}, delivered {error.delivered}: {error}"
    return "allowed"


@pytest.mark.parametrize("address", NEVER)
def test_metadata_link_local_and_reserved_addresses_are_never_contacted(address: str) -> None:
    generous = Guard.of(["0.0.0.0/0", "::/0", "agent.example"])
    assert verdict(LOCAL, address).startswith("forbidden, delivered False: ")
    assert "never contacted" in verdict(LOCAL, address)
    assert "never contacted" in verdict(generous, address)


@pytest.mark.parametrize("address", PRIVATE)
def test_private_addresses_are_fine_locally_and_need_permission_elsewhere(address: str) -> None:
    assert verdict(LOCAL, address) == "allowed"
    assert "AGENTEVAL_ALLOWED_TARGETS=agent.example:443" in verdict(SHARED, address)
    assert verdict(Guard.of(["agent.example"], private=False), address) == "allowed"


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_are_fine(address: str) -> None:
    assert verdict(SHARED, address) == "allowed"


@pytest.mark.parametrize(
    ("entry", "address", "port", "allowed"),
    [
        ("10.0.0.0/8", "10.1.2.3", 443, True),
        ("10.0.0.0/8", "192.168.0.1", 443, False),
        ("10.0.0.0/8:8080", "10.1.2.3", 8080, True),
        ("10.0.0.0/8:8080", "10.1.2.3", 443, False),
        ("127.0.0.1", "127.0.0.1", 443, True),
        ("::1", "::1", 443, True),
        ("fd00::/8", "fd12::1", 443, True),
        ("[::1]", "::1", 443, True),
        ("[::1]:443", "::1", 443, True),
        ("[fd00::]/8:443", "fd12::1", 443, True),
        ("agent.example:443", "10.1.2.3", 443, True),
        ("AGENT.example.", "10.1.2.3", 443, True),
        ("other.example", "10.1.2.3", 443, False),
    ],
)
def test_the_allow_list_takes_hosts_addresses_and_networks_with_or_without_port(
    entry: str, address: str, port: int, allowed: bool
) -> None:
    guard = Guard.of([entry], private=False)
    assert (verdict(guard, address, port=port) == "allowed") is allowed


@pytest.mark.parametrize("entry", ["10.0.0.0/33", "10.0.0.1/8", "a b", "http://x", "host:port", ""])
def test_an_unreadable_entry_of_the_allow_list_is_named(entry: str) -> None:
    with pytest.raises(ConfigError, match="AGENTEVAL_ALLOWED_TARGETS"):
        Guard.of([entry])


def test_one_forbidden_address_among_several_is_enough() -> None:
    assert "10.0.0.1" in verdict(SHARED, "8.8.8.8", "10.0.0.1")


@given(st.integers(0, 2**32 - 1))
def test_an_embedded_ipv4_address_is_judged_at_least_as_strictly_as_alone(bits: int) -> None:
    plain = IPv4Address(bits)
    for form in (f"::ffff:{plain}", f"64:ff9b::{plain}", f"2002:{bits >> 16:x}:{bits & 0xFFFF:x}::1"):
        for guard in (LOCAL, SHARED):
            assert verdict(guard, str(plain)) == "allowed" or verdict(guard, form) != "allowed"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://agent.example", Origin("http", "agent.example", 80)),
        ("HTTPS://Agent.Example.:8443/chat?x=1#y", Origin("https", "agent.example", 8443)),
        ("https://xn--fsqu00a.example/你好", Origin("https", "xn--fsqu00a.example", 443)),
        ("http://[::1]:8000/chat", Origin("http", "[::1]", 8000)),
        ("http://my_agent:8000?q", Origin("http", "my_agent", 8000)),
    ],
)
def test_the_origin_of_a_url(url: str, expected: Origin) -> None:
    assert origin(url) == expected


@pytest.mark.parametrize(
    "url",
    [
        *words("""ftp://agent.example file:///etc/passwd agent.example/chat //agent.example http:agent.example http:///chat
        http:// javascript:alert(1) http://user@agent.example http://user:pw@agent.example http://a.example@127.0.0.1
        http://a.example\\@127.0.0.1 http://127。0。0。1 http://１２７.0.0.1 http://例子.example http://agent.example:0
        http://agent.example:65536 http://agent.example:x http://[::1 http://[fe80::1%25eth0]/ http://a%2fb/"""),
        "",
        " http://agent.example",
        "http://agent.example/a b",
        "http://agent\t.example",
        "http://agent.example/\r\nX: y",
    ],
)
def test_only_plain_http_urls_are_used(url: str) -> None:
    with pytest.raises(NetError) as caught:
        origin(url)
    assert caught.value.fault is NetFault.FORBIDDEN


def test_a_password_in_a_url_is_not_repeated() -> None:
    with pytest.raises(NetError) as caught:
        origin("http://me:hunter2@agent.example/")
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "127.1", "2130706433", "127.0.0.1."])
def test_an_address_written_into_the_url_passes_the_same_check(host: str) -> None:
    with pytest.raises(NetError) as caught:
        SHARED.check_literal(origin(f"http://{host}:8000/"))
    assert caught.value.fault is NetFault.FORBIDDEN
