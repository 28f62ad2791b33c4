"""Which addresses may be spoken to: pure, and the only maker of `Endpoint`.

A URL is taken apart once, here; everything below works with the parts, so no second parser can
read it otherwise. Whether a name may be connected to is judged by the address that it resolved to,
and the same address is then dialled (see `dialing.py`):

- an address literal in the configuration is what the user meant, whatever it is;
- `localhost` may be a loopback address and nothing else;
- any other name must be a public address; one in `allowed_hosts` (an intranet) may also be
  private, but not loopback, link-local (where clouds keep their metadata), multicast or reserved.
"""

import dataclasses
import ipaddress
import re
from collections.abc import Collection
from urllib.parse import urljoin, urlsplit

from pml.backends.errors import RemoteRefusedError
from sandbox_host.errors import printable

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_URL = re.compile(r"[!-\[\]-~]+")  # visible ASCII but the backslash, which some read as a slash
_HOST = re.compile(r"[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?\.?")
_PORTS = {"http": 80, "https": 443}
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_NAT64_LOCAL = ipaddress.IPv6Network("64:ff9b:1::/48")
_IPV4_BITS = 0xFFFFFFFF
_SHOWN_CHARACTERS = 200

PRIVATE = "a private address"


@dataclasses.dataclass(frozen=True, slots=True)
class Endpoint:
    """A URL that may be spoken to; made by `endpoint_of` alone."""

    server: str
    """The server's name in the configuration, for errors."""

    scheme: str
    host: str
    """In lower case; an IPv6 address without its brackets."""

    port: int
    target: str
    """Path and query. May hold a secret, so no message shows it."""

    intranet: bool = False
    """Whether the host may be at a private address."""

    @property
    def literal(self) -> Address | None:
        """The address, if the URL names one instead of a host."""
        return _literal(self.host)

    @property
    def origin(self) -> tuple[str, str, int]:
        """What two URLs must share for one to be redirected to the other."""
        return self.scheme, self.host, self.port

    @property
    def authority(self) -> str:
        """Host and port as in the `Host` header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    def redirected(self, location: str) -> "Endpoint":
        """Give the endpoint that a redirect names; refuses every other origin."""
        base = f"{self.scheme}://{self.authority}{self.target}"
        try:
            url = urljoin(base, location)
        except ValueError:
            url = ""
        allowed = {self.host} if self.intranet else ()
        there = endpoint_of(self.server, url, allowed_hosts=allowed)
        if there.origin != self.origin:
            raise RemoteRefusedError(
                self.server,
                f"it redirects to {there.scheme}://{there.authority}, another origin",
                hint="if that is the server you mean, configure its address",
            )
        return there

    def fault_of(self, address: str) -> str | None:
        """Say why an address that the host resolved to must not be connected to, if so."""
        found = _literal(address)
        if found is None:
            return "something that is no address"
        if self.literal is not None:
            return None if found == self.literal else "another address"
        if is_local_name(self.host):
            return None if found.is_loopback else "an address that is not loopback"
        kind = kind_of(found)
        return None if kind == PRIVATE and self.intranet else kind


def endpoint_of(server: str, url: str, *, allowed_hosts: Collection[str] = ()) -> Endpoint:
    """Check a URL and take it apart; raises `RemoteRefusedError`."""
    if not _URL.fullmatch(url):
        raise RemoteRefusedError(server, "its URL is not visible ASCII", hint="encode it")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise RemoteRefusedError(server, "its URL cannot be read") from None
    if parts.scheme not in _PORTS:
        raise RemoteRefusedError(server, "its URL is neither https:// nor http://")
    if "@" in parts.netloc:
        raise RemoteRefusedError(
            server, "its URL holds credentials", hint="put them in `headers`, from a key"
        )
    host = (parts.hostname or "").lower()
    if not _HOST.fullmatch(host) and _literal(host) is None:
        shown = printable(host, _SHOWN_CHARACTERS)
        raise RemoteRefusedError(server, f"`{shown}` is not the name of a host")
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    actual = port if port is not None else _PORTS[parts.scheme]
    endpoint = Endpoint(server, parts.scheme, host, actual, target, host in allowed_hosts)
    if parts.scheme == "http" and not _is_loopback(endpoint):
        raise RemoteRefusedError(
            server, f"plain http to {host} could be read and changed on the way", hint="use https"
        )
    return endpoint


def is_local_name(host: str) -> bool:
    """Whether a name means this machine (RFC 6761)."""
    name = host.removesuffix(".")
    return name == "localhost" or name.endswith(".localhost")


def kind_of(address: Address) -> str | None:
    """Say what keeps an address from being a public one; None for a public one."""
    inner = _embedded(address)
    if inner is not None:
        return kind_of(inner)
    kinds = (
        (address.is_unspecified, "the unspecified address"),
        (address.is_loopback, "a loopback address"),
        (address.is_link_local, "a link-local address"),
        (address.is_multicast, "a multicast address"),
        (_is_reserved(address), "a reserved address"),
        (not address.is_global, PRIVATE),
    )
    return next((kind for applies, kind in kinds if applies), None)


def _is_reserved(address: Address) -> bool:
    """Whether nobody should be there, or older Pythons take it for public."""
    if address.is_reserved or isinstance(address, ipaddress.IPv4Address):
        return address.is_reserved
    return address in _NAT64_LOCAL or address.is_site_local


def _embedded(address: Address) -> Address | None:
    """Give the IPv4 address inside an IPv6 address that is only another way to reach it."""
    if not isinstance(address, ipaddress.IPv6Address):
        return None
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address.teredo is not None:
        return address.teredo[1]
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & _IPV4_BITS)
    return None


def _literal(host: str) -> Address | None:
    """Read an address; not one with a zone, nor the short and octal forms that some libcs read."""
    try:
        return None if "%" in host else ipaddress.ip_address(host)
    except ValueError:
        return None


def _is_loopback(endpoint: Endpoint) -> bool:
    literal = endpoint.literal
    return is_local_name(endpoint.host) if literal is None else literal.is_loopback
