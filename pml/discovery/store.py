"""What servers listed, kept in the user's state, so that discovery need not start them.

A listing belongs to a server's name and a fingerprint of its configuration, which the caller
gives. A file is keyed against forgery; one that is damaged, forged, of another version or too
large counts as absent. Nothing here decides how long a listing holds.
"""

import contextlib
import hashlib
import json
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import blake3

from pml.model import Listing, SkippedTool, Tool
from pml.places import private_folder, write_private

MOST_FILE_BYTES = 20 << 20
"""Of one server's file: a listing of the largest size that is accepted, and its frame."""

_VERSION = 1
_NAME_CHARACTERS = 32  # of the hash of a server's name: 128 bits


def definition_hash(tool: Tool) -> str:
    """Give the sha256 of a tool's definition as canonical JSON."""
    return hashlib.sha256(_as_json(dict(tool.definition), in_order=True)).hexdigest()


class ListingStore:
    """The listings of one workspace's servers."""

    def __init__(self, folder: Path, key: bytes) -> None:
        """Name the folder; nothing is made before something is saved."""
        self._folder = folder
        self._key = key

    def load(self, server: str, fingerprint: str) -> Listing | None:
        """Give what the server listed when it was configured so; None if nothing can be used."""
        facts = self._opened(self._content(server))
        expected = {"version": _VERSION, "server": server, "fingerprint": fingerprint}
        if facts is None or any(facts.get(name) != value for name, value in expected.items()):
            return None
        try:
            return _listing(server, facts)
        except (TypeError, KeyError, ValueError):
            return None

    def save(self, server: str, fingerprint: str, listing: Listing) -> bool:
        """Keep a listing instead of the one before; say whether it could be kept.

        Raises `PlaceUnsafeError` if the folder is not the user's own.
        """
        try:
            content = self._sealed(
                {
                    "version": _VERSION,
                    "server": server,
                    "fingerprint": fingerprint,
                    "tools": [[tool.name, dict(tool.definition)] for tool in listing.tools],
                    "skipped": [[one.name, one.reason] for one in listing.skipped],
                }
            )
            if len(content) > MOST_FILE_BYTES:
                self.forget(server)
                return False
            private_folder(self._folder)
            write_private(self._path(server), content)
        except (OSError, TypeError, ValueError, RecursionError):
            return False
        return True

    def forget(self, server: str) -> None:
        """Keep nothing of a server."""
        with contextlib.suppress(OSError):
            self._path(server).unlink(missing_ok=True)

    def _path(self, server: str) -> Path:
        """Give its file; a hash, as file systems may not tell two names apart."""
        name = server.encode(errors="surrogatepass")
        return self._folder / f"{blake3.blake3(name).hexdigest()[:_NAME_CHARACTERS]}.json"

    def _content(self, server: str) -> bytes:
        path = self._path(server)
        try:
            if not path.is_file():
                return b""
            with path.open("rb") as file:
                return file.read(MOST_FILE_BYTES + 1)
        except OSError:
            return b""

    def _sealed(self, facts: Mapping[str, Any]) -> bytes:
        body = _as_json(facts)
        return self._seal(body) + b"\n" + body

    def _opened(self, content: bytes) -> dict[str, Any] | None:
        seal, _, body = content.partition(b"\n")
        if len(content) > MOST_FILE_BYTES or not secrets.compare_digest(seal, self._seal(body)):
            return None
        try:
            facts = json.loads(body)
        except (ValueError, RecursionError):
            return None
        return facts if isinstance(facts, dict) else None

    def _seal(self, body: bytes) -> bytes:
        return blake3.blake3(body, key=self._key).hexdigest().encode()


def _listing(server: str, facts: Mapping[str, Any]) -> Listing:
    return Listing(
        tuple(Tool(server, name, definition) for name, definition in facts["tools"]),
        tuple(SkippedTool(server, name, reason) for name, reason in facts["skipped"]),
    )


def _as_json(value: Any, *, in_order: bool = False) -> bytes:
    """Give JSON; the order of keys is the server's, and kept, unless it must not matter."""
    return json.dumps(
        value, sort_keys=in_order, ensure_ascii=False, allow_nan=False, separators=(",", ":")
    ).encode()
