"""Pins on disk: one file for each server, in the user's state, sealed with the user's key.

Not in the workspace: what a pin holds back is written by servers, and they may write there. A file
that is damaged or forged is an error; only one that is not there means that nothing is pinned.
Writers wait for each other; each change is made on what is there then.
"""

import contextlib
import fcntl
import json
import os
import secrets
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import blake3

from pml.loader.pins.errors import PinsDamagedError, PinsUnwritableError
from pml.loader.pins.values import Pin, Pins
from pml.places import private_folder, write_private

MOST_BYTES = 20 << 20
"""Of one server's file: a listing of the largest size that is accepted, and its frame."""

_VERSION = 1
_NAME_CHARACTERS = 32  # of the hash of a server's name: 128 bits
_CONTEXT = "pml 2026 pins: seal of a server's tools"
_MUTEX = "mutex"
_SEAL_BYTES = 65  # with the end of its line

Stamp = tuple[int, int, int] | None


class PinStore:
    """The pins of one workspace's servers."""

    def __init__(self, folder: Path, key: bytes) -> None:
        """Name the folder; nothing is made before something is pinned."""
        self._folder = folder
        self._key = blake3.blake3(key, derive_key_context=_CONTEXT).digest()

    def stamp(self, server: str) -> Stamp:
        """Say which file there is, in which state."""
        try:
            facts = self._path(server).stat()
        except OSError:
            return None
        return facts.st_mtime_ns, facts.st_size, facts.st_ino

    def load(self, server: str) -> Pins | None:
        """Give what is pinned; None if nothing is. Raises `PinsDamagedError`."""
        path = self._path(server)
        try:
            with path.open("rb") as file:
                content = file.read(MOST_BYTES + 1)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise PinsDamagedError(path, error.strerror or str(error)) from None
        facts = self._opened(path, content)
        if facts["version"] != _VERSION:
            raise PinsDamagedError(path, "another version of pml wrote it")
        tools = {name: Pin(*pin) for name, pin in facts["tools"].items()}
        return Pins(facts["identity"], facts["pinnedAt"], tools)

    def update(self, server: str, change: Callable[[Pins | None], Pins]) -> Pins:
        """Change what is there now, whoever else is changing it; give what is there then."""
        path = self._path(server)
        try:
            with self._held():
                old = self.load(server)
                new = change(old)
                if new != old:
                    write_private(path, self._sealed(path, new))
        except OSError as error:
            raise PinsUnwritableError(path, error.strerror or str(error)) from None
        return new

    def _path(self, server: str) -> Path:
        """Give its file; a hash, as file systems may not tell two names apart."""
        name = server.encode(errors="surrogatepass")
        return self._folder / f"{blake3.blake3(name).hexdigest()[:_NAME_CHARACTERS]}.json"

    def _sealed(self, path: Path, pins: Pins) -> bytes:
        tools = {
            name: [dict(pin.definition), pin.hash, pin.pinned_at]
            for name, pin in pins.tools.items()
        }
        facts = {
            "version": _VERSION,
            "identity": pins.identity,
            "pinnedAt": pins.pinned_at,
            "tools": tools,
        }
        body = json.dumps(facts, ensure_ascii=False, separators=(",", ":")).encode()
        if len(body) > MOST_BYTES - _SEAL_BYTES:
            raise PinsUnwritableError(path, f"they are larger than {MOST_BYTES >> 20} MiB")
        return self._seal(path, body) + b"\n" + body

    def _opened(self, path: Path, content: bytes) -> Mapping[str, Any]:
        seal, _, body = content.partition(b"\n")
        if len(content) > MOST_BYTES or not secrets.compare_digest(seal, self._seal(path, body)):
            raise PinsDamagedError(path, "it was not written by you, or was changed since")
        facts: Mapping[str, Any] = json.loads(body)
        return facts

    def _seal(self, path: Path, body: bytes) -> bytes:
        """Hash the body with its place: a good file in another's place is no good."""
        place = f"{path.parent.parent.name}/{path.name}\n".encode(errors="surrogateescape")
        return blake3.blake3(place + body, key=self._key).hexdigest().encode()

    @contextlib.contextmanager
    def _held(self) -> Iterator[None]:
        folder = private_folder(self._folder)
        descriptor = os.open(folder / _MUTEX, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)
