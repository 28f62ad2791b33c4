"""The user's own key, and documents sealed with it. Nobody else's word passes for the user's.

The key is `key` in the user's state folder: 32 random bytes as hex, 0600. It is outside every
workspace, so no guest and no confined server reads it. A process that runs as the user without
confinement can read it, as it can read all that the user can.
"""

import contextlib
import hmac
import json
import os
import secrets
import stat
from pathlib import Path
from typing import Any

import blake3

from pml.errors import PlaceUnsafeError
from pml.places import in_the_way, private_folder
from pml.trust.errors import TrustKeyError
from pml.trust.statement import canonical_json

KEY_NAME = "key"
KEY_BYTES = 32
MOST_BYTES = 8 << 20
"""A record holds little more than a `.pml.json`, which has at most 1 MiB."""

_CONTEXT = "pml 2026 trust: seal of a record"


class NotOursError(ValueError):
    """A file of ours that cannot be what we wrote."""


def read_key(state: Path) -> bytes | None:
    """Give the key, None if there is none; raise `TrustKeyError` if it is none.

    A state that is no folder is a `PlaceUnsafeError`.
    """
    path = state / KEY_NAME
    try:
        content = read_own(path)
        key = bytes.fromhex(content.decode()) if content is not None else None
    except NotADirectoryError:
        raise PlaceUnsafeError(in_the_way(state), "it is no folder") from None
    except (OSError, ValueError) as error:
        raise TrustKeyError(path, _reason(error)) from None
    if key is not None and len(key) != KEY_BYTES:
        raise TrustKeyError(path, "it has not 32 bytes")
    return key


def made_key(state: Path) -> bytes:
    """Give the key; make it if there is none. Two who make it at once get the same."""
    key = read_key(state)
    if key is not None:
        return key
    path = private_folder(state) / KEY_NAME
    temporary = path.with_name(f".{KEY_NAME}.{secrets.token_hex(8)}")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise PlaceUnsafeError(state, _reason(error)) from None
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(secrets.token_hex(KEY_BYTES).encode())
            stream.flush()
            os.fsync(stream.fileno())
        with contextlib.suppress(FileExistsError):  # another process was first
            os.link(temporary, path)
    finally:
        temporary.unlink()
    made = read_key(state)
    if made is None:
        raise TrustKeyError(path, "it vanished")
    return made


def read_own(path: Path) -> bytes | None:
    """Read a file that only the user may have written; None if it is not there."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    with os.fdopen(descriptor, "rb") as stream:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            raise NotOursError("it is no file")  # noqa: TRY003 - a reason, not the message
        if facts.st_uid != os.getuid() or facts.st_mode & 0o022:
            raise NotOursError("others may have written it")  # noqa: TRY003
        content = stream.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise NotOursError("it is too large")  # noqa: TRY003
    return content


def sealed(document: dict[str, Any], key: bytes) -> bytes:
    """Give the bytes of a document with its seal."""
    return canonical_json(document | {"seal": _seal(document, key)})


def unsealed(content: bytes, key: bytes) -> dict[str, Any]:
    """Give a document back; raise `NotOursError` unless we sealed exactly this."""
    try:
        document = json.loads(content)
        seal = document.pop("seal")
        good = hmac.compare_digest(seal.encode(), _seal(document, key).encode())
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise NotOursError("it is damaged") from None  # noqa: TRY003
    if not good:
        raise NotOursError("it was not written by you, or was changed since")  # noqa: TRY003
    found: dict[str, Any] = document
    return found


def _seal(document: dict[str, Any], key: bytes) -> str:
    derived = blake3.blake3(key, derive_key_context=_CONTEXT).digest()
    return blake3.blake3(canonical_json(document), key=derived).hexdigest()


def _reason(error: Exception) -> str:
    if isinstance(error, NotOursError):
        return str(error)
    strerror = getattr(error, "strerror", None)
    return strerror or "it is no hexadecimal text"
