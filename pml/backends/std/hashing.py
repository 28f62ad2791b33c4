"""Hashes for built-ins: QuickJS takes a second for a megabyte, this a thousandth of it.

The bytes come from the guest, piece by piece: a file is read there, within its mount, never here.
"""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import anyio.to_thread
from blake3 import blake3

from sandbox_host import Call, ToolError

ALGORITHMS = ("sha256", "sha384", "sha512", "sha3_256", "sha3_512", "sha1", "md5", "blake2b")
"""Of `hashlib`; `blake3` beside them."""

_BLAKE3 = "blake3"


class _Hash(Protocol):
    def update(self, data: bytes, /) -> Any: ...
    def hexdigest(self) -> str: ...


class Hashing:
    """Answers `hashing:*` of one call: one hash after another."""

    def __init__(self) -> None:
        """Begin with none."""
        self._hash: _Hash | None = None

    async def answer(self, call: Call) -> Any:
        """Answer a built-in's call: `start`, `add` as often as needed, `digest`."""
        try:
            if call.tool == "hashing:start":
                self._hash = _started(call.args)
                return None
            if call.tool == "hashing:add" and self._hash is not None:
                data = _bytes(call.args.get("base64"))
                return await anyio.to_thread.run_sync(_added, self._hash.update, data)
            if call.tool == "hashing:digest" and self._hash is not None:
                return self._hash.hexdigest()
        except ValueError:  # what no program of ours sends
            pass
        raise ToolError(f"a built-in cannot call `{call.tool}` so")  # noqa: TRY003 - to a guest


def _added(update: Callable[[bytes], Any], data: bytes) -> None:
    update(data)


def _started(arguments: Mapping[str, Any]) -> _Hash:
    algorithm, key = arguments.get("algorithm"), arguments.get("keyBase64")
    if algorithm == _BLAKE3 and key is None:
        return blake3()
    if algorithm not in ALGORITHMS:
        raise ValueError(algorithm)
    if key is not None:
        return hmac.new(_bytes(key), digestmod=algorithm)
    # md5 and sha1 are there to compare with sums that others give
    return hashlib.new(algorithm, usedforsecurity=False)


def _bytes(text: object) -> bytes:
    if not isinstance(text, str):
        raise binascii.Error
    return base64.b64decode(text, validate=True)
