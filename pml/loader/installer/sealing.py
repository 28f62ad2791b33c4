"""Small files of ours that nobody else can write: JSON with a keyed hash in front.

The key is the user's, given by whoever opens this room. Read back, a file is either what we wrote
or an error; there is no third way.
"""

import json
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import blake3

from pml.loader.installer.errors import RecordDamagedError
from pml.places import write_private

MOST_BYTES = 4 << 20
_CONTEXT = "pml 2026 installer: seal of a record"


def write_sealed(path: Path, facts: Mapping[str, Any], key: bytes) -> None:
    """Write facts for the user alone: whole or not at all."""
    body = json.dumps(facts, sort_keys=True, separators=(",", ":")).encode()
    write_private(path, _seal(body, path, key) + b"\n" + body)


def read_sealed(path: Path, key: bytes) -> dict[str, Any] | None:
    """Give the facts, None if there is no file; raise `RecordDamagedError` for another's."""
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise RecordDamagedError(path, error.strerror or str(error)) from None
    seal, _, body = content.partition(b"\n")
    if len(content) > MOST_BYTES or not secrets.compare_digest(seal, _seal(body, path, key)):
        raise RecordDamagedError(path, "it was not written by you, or was changed since")
    facts: dict[str, Any] = json.loads(body)
    return facts


def _seal(body: bytes, path: Path, key: bytes) -> bytes:
    """Hash the body with its place: a good file put in another's place is no good."""
    derived = blake3.blake3(key, derive_key_context=_CONTEXT).digest()
    place = f"{path.parent.name}/{path.name}\n".encode(errors="surrogateescape")
    return blake3.blake3(place + body, key=derived).hexdigest().encode()
