"""What the list of a server's tools depends on, as a hash: its configuration and its program.

A server that is updated in place keeps its configuration; so the files that its command line names
count with their size and time, and a package with its hash. Keyed: the values of variables and
headers are secrets.
"""

import json
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import blake3

from pml.assembly.packages import tree_of
from pml.assembly.setup import Setup
from pml.config import ServerConfig, StdioServerConfig

if TYPE_CHECKING:
    from pml.assembly.registry import RegistryServers


def fingerprints(
    setup: Setup, key: bytes, registry: "RegistryServers | None" = None
) -> dict[str, str]:
    """Give a fingerprint for each configured server, and for each that a registry describes."""
    served = registry.trees() if registry is not None else {}
    described = {name: _hashed(facts, key) for name, facts in served.items()}
    own = {server.name: _fingerprint(server, setup, key) for server in setup.servers}
    return described | own


def _fingerprint(server: ServerConfig, setup: Setup, key: bytes) -> str:
    facts: list[Any]
    if isinstance(server, StdioServerConfig):
        facts = [server.command, server.args, sorted(server.environment.items())]
        facts += [str(server.sandbox), list(_files(server, setup)), tree_of(setup, server)]
    else:
        facts = [server.url, sorted(server.headers.items())]
    return _hashed(facts, key)


def _hashed(facts: Any, key: bytes) -> str:
    body = json.dumps(facts, default=str, ensure_ascii=True).encode()
    return blake3.blake3(body, key=key).hexdigest()


def _files(server: StdioServerConfig, setup: Setup) -> Iterator[tuple[str, int, int]]:
    for word in (server.command, *server.args):
        try:
            facts = os.stat(setup.workspace / word)  # noqa: PTH116 - any text, a path or not
        except (OSError, ValueError):
            continue
        yield word, facts.st_size, facts.st_mtime_ns
