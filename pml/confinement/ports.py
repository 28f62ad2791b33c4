"""Which TCP ports a `net` grant opens. Pure."""

from pml.confinement.errors import HostsNotEnforceableError, NetInvalidError

WEB_AND_NAMES = (443, 80, 53)
"""What `net: true` opens: HTTPS, HTTP, and DNS where an answer is too large for UDP."""

_ANY_HOST = "*"
_LAST_PORT = 65535


def granted_ports(net: bool | tuple[str, ...]) -> tuple[int, ...]:
    """Give the ports to which TCP may connect; DNS always, if there is any network."""
    if isinstance(net, bool):
        return WEB_AND_NAMES if net else ()
    ports = [_port(entry) for entry in net]
    return tuple(dict.fromkeys([*ports, 53])) if ports else ()


def _port(entry: str) -> int:
    host, separator, port = entry.rpartition(":")
    if not separator or host != _ANY_HOST:
        raise HostsNotEnforceableError(entry)
    if not port.isdecimal() or not 0 < int(port) <= _LAST_PORT:
        raise NetInvalidError(entry)
    return int(port)
