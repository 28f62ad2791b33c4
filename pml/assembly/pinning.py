"""The tools of configured servers, pinned: where, for which server, and what a human is asked.

Built-ins are ours, and a capability's code hash covers its definition: neither is pinned.
"""

import dataclasses
import datetime
import json
from collections.abc import Mapping
from typing import Any

import blake3

from pml.assembly.packages import tree_of
from pml.assembly.setup import Setup
from pml.audit import Audit
from pml.backends.pinned import PinnedBackend
from pml.config import ServerConfig, StdioServerConfig
from pml.errors import NeedMovedError
from pml.loader.pins import Change, PinStore, ServerPins, changed_parts, difference_lines
from pml.model import Need
from pml.ports import Backend, OnProgress
from pml.redaction import Redactor
from pml.trust.key import made_key

_FOLDER = "pins"  # in the workspace's state
_HASH_CHARACTERS = 4
_WARNING = "This could indicate a legitimate update or potential MITM attack."


@dataclasses.dataclass(frozen=True, slots=True)
class Pinning:
    """Pins the servers of one setup."""

    setup: Setup
    audit: Audit

    def pinned(self, server: ServerConfig, backend: Backend) -> PinnedBackend:
        """Stand before a configured server's backend."""
        key = made_key(self.setup.state.parent.parent)
        pins = ServerPins(
            PinStore(self.setup.state / _FOLDER, key),
            server.name,
            lambda: _identity(self.setup, server, key),
            now=lambda: datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            noted=self.audit.note,
            frozen=self.setup.frozen,
        )
        return PinnedBackend(backend, pins)


def _identity(setup: Setup, server: ServerConfig, key: bytes) -> str:
    """Say which server it is, by what only a human's word changes; keyed: it may hold secrets.

    Not by its files' times, nor by variables: who can write a script or `.env` would unpin it.
    """
    facts: list[Any]
    if isinstance(server, StdioServerConfig):
        facts = ["stdio", server.command, list(server.args), tree_of(setup, server)]
    else:
        facts = ["http", server.url]
    body = json.dumps(facts, ensure_ascii=True).encode()
    return blake3.blake3(body, key=key).hexdigest()


class ChangedTools:
    """Tools that are not what is pinned."""

    def __init__(self, pinned: Mapping[str, PinnedBackend], redactor: Redactor) -> None:
        """Know the servers; the redactor takes keys out of what people are shown."""
        self._pinned = pinned
        self._redactor = redactor

    async def need(self, tool_id: str) -> Need | None:
        """Ask about what changed; starts the server, whose own list alone tells."""
        change = await self._change(tool_id)
        return None if change is None else self._asked(change)

    async def provide(self, tool_id: str, token: str, on_progress: OnProgress) -> None:  # noqa: ARG002 - it takes no time
        """Pin the definition that the token names, and no other."""
        change = await self._change(tool_id)
        if change is None:
            return
        if change.hash != token:
            raise NeedMovedError(tool_id, _words(change))
        self._pinned[change.tool.server].accept(change)

    async def _change(self, tool_id: str) -> Change | None:
        server, _, name = tool_id.partition(":")
        backend = self._pinned.get(server)
        return None if backend is None else await backend.change(name)

    def _asked(self, change: Change) -> Need:
        old = change.pin.definition if change.pin else {}
        lines = difference_lines(old, change.tool.definition)
        facts = {
            "approvalRequired": True,
            "approvalType": "integrity",
            "fqdn": change.tool.id,
            "oldHash": _digits(change.pin.hash) if change.pin else None,
            "newHash": _digits(change.hash),
            "oldFetchedAt": change.pin.pinned_at if change.pin else None,
            "oldIntegrity": change.pin.hash if change.pin else None,
            "newIntegrity": change.hash,
            "changes": changed_parts(old, change.tool.definition),
            "details": [self._redactor.text(line) for line in lines],
        }
        return Need("integrity", _words(change), change.hash, facts)


def _words(change: Change) -> str:
    tool = change.tool
    if change.pin is not None:
        hashes = f"Old: {_digits(change.pin.hash)}, New: {_digits(change.hash)}"
        return f"Definition changed for {tool.id}. {hashes}. {_WARNING}"
    if change.since is None:
        return f"{tool.id} is not pinned: the tools of {tool.server} were never listed here"
    return (
        f"{tool.id} is new: {tool.server} did not have it on {change.since}, when its tools were"
        f" pinned. New: {_digits(change.hash)}."
    )


def _digits(integrity: str) -> str:
    return integrity.removeprefix("sha256-")[:_HASH_CHARACTERS]
