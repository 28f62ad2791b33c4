"""What registries served, kept in the user's state: code by its content, and what is said of it.

Code lies under the blake3 of its bytes, and its sha256 is taken again at every load: a changed
byte is an error that shows both hashes, never a reason to fetch anew in silence. What is said of
it (name, hash, registry, description) is keyed against forgery; a file of that kind that is
damaged counts as absent. Nothing here decides which version is wanted.
"""

import dataclasses
import json
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import blake3

from pml.fqdn import Fqdn
from pml.loader.metadata import Metadata, metadata_of_code, read_metadata
from pml.loader.registry import Described
from pml.loader.registry.client import MOST_BYTES
from pml.loader.verified import VerifiedCode, verified
from pml.places import private_folder, write_private

_VERSION = 1
_MOST_RECORD_BYTES = 2 << 20  # a description, twice as large in JSON
_NAME_CHARACTERS = 32  # of the hash of a name: 128 bits


@dataclasses.dataclass(frozen=True, slots=True)
class Kept:
    """One version that is kept here."""

    metadata: Metadata
    registry: str
    etag: str
    place: Path | None = None
    """Where its code lies, if it has any."""


class Cache:
    """The user's cache; all workspaces share it."""

    def __init__(self, folder: Path, key: bytes) -> None:
        """Name the folder; nothing is made before something is kept."""
        self._folder = folder
        self._key = key

    def put(self, asked: Fqdn, described: Described) -> Kept:
        """Keep what a registry gave for a name; the code must be verified already or never."""
        found = described.metadata
        place = None
        if described.code is not None:
            place = self._blob(blake3.blake3(described.code).hexdigest())
            private_folder(place.parent)
            write_private(place, described.code)
        facts = {
            "fqdn": str(found.fqdn),
            "integrity": found.integrity,
            "registry": described.registry,
            "etag": described.etag,
            "said": described.said,
            "code": None if place is None else place.name,
        }
        self._write(self._version(found.fqdn, found.integrity), facts)
        self._write(self._current(asked), {"fqdn": str(found.fqdn), "integrity": found.integrity})
        return Kept(found, described.registry, described.etag, place)

    def version(self, fqdn: Fqdn, integrity: str) -> Kept | None:
        """Give one version, if it is kept. Raises `IntegrityError` if its code was changed."""
        facts = self._read(self._version(fqdn, integrity))
        if facts is None or facts["fqdn"] != str(fqdn) or facts["integrity"] != integrity:
            return None
        place = None if facts["code"] is None else self._blob(facts["code"])
        if place is None:
            metadata = read_metadata(facts["said"].encode(), fqdn)
        else:
            content = _content(place)
            if content is None:
                return None
            verified(fqdn, content, integrity, place=str(place))
            metadata = metadata_of_code(content, fqdn, json.loads(facts["said"]))
        return Kept(metadata, facts["registry"], facts["etag"], place)

    def last(self, asked: Fqdn) -> Kept | None:
        """Give what a registry last gave for a name."""
        facts = self._read(self._current(asked))
        if facts is None:
            return None
        return self.version(Fqdn.parse(facts["fqdn"]), facts["integrity"])

    def code(self, kept: Kept) -> VerifiedCode | None:
        """Read code and compare its hash; None if it is not there (any more)."""
        found = kept.metadata
        content = None if kept.place is None else _content(kept.place)
        if content is None:
            return None
        return verified(found.fqdn, content, found.integrity, place=str(kept.place))

    def _blob(self, name: str) -> Path:
        return self._folder / "code" / name

    def _version(self, fqdn: Fqdn, integrity: str) -> Path:
        return self._record(f"{fqdn}\n{integrity}")

    def _current(self, asked: Fqdn) -> Path:
        return self._record(f"{asked}\n")

    def _record(self, name: str) -> Path:
        hashed = blake3.blake3(name.encode()).hexdigest()[:_NAME_CHARACTERS]
        return self._folder / "names" / f"{hashed}.json"

    def _write(self, path: Path, facts: Mapping[str, Any]) -> None:
        body = json.dumps({"version": _VERSION, **facts}, separators=(",", ":")).encode()
        private_folder(path.parent)
        write_private(path, self._seal(path, body) + b"\n" + body)

    def _read(self, path: Path) -> dict[str, Any] | None:
        content = _content(path, _MOST_RECORD_BYTES)
        if content is None:
            return None
        seal, _, body = content.partition(b"\n")
        if not secrets.compare_digest(seal, self._seal(path, body)):
            return None
        facts: dict[str, Any] = json.loads(body)
        return facts if facts["version"] == _VERSION else None

    def _seal(self, path: Path, body: bytes) -> bytes:
        """Bind a record to its place: one put under another name is a forgery too."""
        return blake3.blake3(path.name.encode() + b"\n" + body, key=self._key).hexdigest().encode()


def _content(path: Path, most_bytes: int = MOST_BYTES) -> bytes | None:
    """Read a file; one byte more than allowed, so that a longer one has another hash."""
    try:
        with path.open("rb") as file:
            return file.read(most_bytes + 1)
    except OSError:
        return None
