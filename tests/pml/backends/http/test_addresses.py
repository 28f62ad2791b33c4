"""Which URLs and addresses may be spoken to. Each case is an attack unless it says otherwise."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.backends.errors import RemoteRefusedError
from pml.backends.http.addresses import PRIVATE, endpoint_of, kind_of


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com/mcp",
        "http://10.0.0.1/mcp",
        "http://0.0.0.0/mcp",
        "http://169.254.169.254/latest/meta-data",
        "http://127.0.0.1.example.com/",
        "http://localhost.example.com/",
        "http://2130706433/",
        "http://0x7f.1/",
        "http://127.1/",
        "http://[::ffff:10.0.0.1]/",
        "http://notlocalhost/",
    ],
)
def test_plain_http_off_this_machine_is_refused(url: str) -> None:
    with pytest.raises(RemoteRefusedError, match="plain http"):
        endpoint_of("remote", url)


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1:8080/mcp", "http://[::1]:1/", "http://localhost/", "http://a.localhost"],
)
def test_plain_http_on_this_machine_is_fine(url: str) -> None:
    assert endpoint_of("remote", url).scheme == "http"


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("https://user:secret@example.com/", "credentials"),
        ("https://user@example.com/", "credentials"),
        ("https://@example.com/", "credentials"),
        ("https://example.com\\@evil.example/", "visible ASCII"),
        ("https://example.com/\r\nHost: evil", "visible ASCII"),
        ("https://example.com/a b", "visible ASCII"),
        ("https://exämple.com/", "visible ASCII"),
        ("", "visible ASCII"),
        ("ftp://example.com/", "neither"),
        ("file:///etc/passwd", "neither"),
        ("//example.com/", "neither"),
        ("https:///mcp", "host"),
        ("https://exa%6dple.com/", "host"),
        ("https://-example.com/", "host"),
        ("https://[fe80::1%25eth0]/", "host|read"),
        ("https://example.com:99999/", "read"),
        ("https://[::1/", "read"),
    ],
)
def test_a_url_that_could_be_misread_is_refused(url: str, why: str) -> None:
    with pytest.raises(RemoteRefusedError, match=why) as caught:
        endpoint_of("remote", url)

    assert "secret" not in str(caught.value)


def test_a_url_is_taken_apart() -> None:
    endpoint = endpoint_of("remote", "HTTPS://Example.COM:8443/mcp?key=a#b")

    assert endpoint.origin == ("https", "example.com", 8443)
    assert (endpoint.authority, endpoint.target) == ("example.com:8443", "/mcp?key=a")
    assert endpoint_of("remote", "https://[2001:DB8::1]").authority == "[2001:db8::1]"


NOT_PUBLIC = [
    "0.0.0.0",
    "10.1.2.3",
    "100.64.0.1",
    "100.127.255.254",
    "127.0.0.1",
    "127.255.0.1",
    "169.254.169.254",
    "172.16.0.1",
    "192.0.0.1",
    "192.0.2.1",
    "192.168.1.1",
    "198.18.0.1",
    "224.0.0.1",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:169.254.169.254",
    "::ffff:10.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::1",
    "2002:7f00:1::",
    "2002:a9fe:a9fe::",
    "2001:0:4136:e378:8000:63bf:80ff:fffe",  # Teredo of 127.0.0.1
    "2001:db8::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fec0::1",
    "ff02::1",
    "100::1",
]


@pytest.mark.parametrize("address", NOT_PUBLIC)
def test_a_name_at_an_address_that_is_not_public_is_refused(address: str) -> None:
    endpoint = endpoint_of("remote", "https://example.com/")

    assert endpoint.fault_of(address) is not None


@pytest.mark.parametrize("address", NOT_PUBLIC)
def test_an_intranet_may_be_private_but_nothing_worse(address: str) -> None:
    endpoint = endpoint_of("r", "https://mcp.corp/", allowed_hosts={"mcp.corp"})
    public = kind_of(ipaddress.ip_address(address)) == PRIVATE

    assert (endpoint.fault_of(address) is None) == public
    assert not (public and address.startswith(("127.", "169.254.", "::ffff:169.254", "0.")))


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "1.1.1.1", "2606:4700:4700::1111", "64:ff9b::808:808", "::ffff:8.8.8.8"]
)
def test_a_public_address_is_fine(address: str) -> None:
    assert endpoint_of("remote", "https://example.com/").fault_of(address) is None


@pytest.mark.parametrize("address", ["8.8.8.8", "10.0.0.1", "::ffff:8.8.8.8", "0.0.0.0", "junk"])
def test_localhost_is_this_machine_and_nothing_else(address: str) -> None:
    endpoint = endpoint_of("remote", "http://localhost/")

    assert endpoint.fault_of(address) is not None
    assert endpoint.fault_of("127.0.0.1") is None
    assert endpoint.fault_of("::1") is None


def test_a_literal_is_what_the_user_meant_and_nothing_else() -> None:
    endpoint = endpoint_of("remote", "https://10.0.0.1/")

    assert endpoint.fault_of("10.0.0.1") is None
    assert endpoint.fault_of("10.0.0.2") is not None


@pytest.mark.parametrize(
    "location",
    [
        "https://evil.example/mcp",
        "//evil.example/mcp",
        "https://example.com:444/mcp",
        "https://example.com.evil.example/",
        "https://example.com@evil.example/",
        "https://sub.example.com/",
        "http://example.com/mcp",
        "http://127.0.0.1/mcp",
        "http://169.254.169.254/",
        "file:///etc/passwd",
        "\\\\evil.example/",
        "https://[",
        "javascript:alert(1)",
    ],
)
def test_a_redirect_to_another_origin_is_refused(location: str) -> None:
    with pytest.raises(RemoteRefusedError):
        endpoint_of("remote", "https://example.com/mcp").redirected(location)


@pytest.mark.parametrize(
    ("location", "target"),
    [
        ("/mcp/", "/mcp/"),
        ("https://EXAMPLE.com:443/x?y", "/x?y"),
        ("other", "/other"),
        ("?a=b", "/mcp?a=b"),
        ("", "/mcp"),
    ],
)
def test_a_redirect_within_the_origin_is_followed(location: str, target: str) -> None:
    endpoint = endpoint_of("remote", "https://example.com/mcp")

    assert endpoint.redirected(location).target == target


@given(st.ip_addresses(v=4))
def test_an_address_in_disguise_is_judged_like_itself(address: ipaddress.IPv4Address) -> None:
    disguises = [
        f"::ffff:{address}",
        str(ipaddress.IPv6Address((0x64FF9B << 96) | int(address))),
        str(ipaddress.IPv6Address((0x2002 << 112) | (int(address) << 80))),
    ]
    for disguise in disguises:
        assert kind_of(ipaddress.ip_address(disguise)) == kind_of(address)
