"""Reads a program from a file, from stdin or from the command line."""

import dataclasses
from pathlib import Path
from typing import BinaryIO

from pml.errors import (
    ProgramUnclearError,
    SourceNotTextError,
    SourceTooLargeError,
    SourceUnreadableError,
)

STDIN = "-"

MOST_BYTES = 64 << 20
"""Well above every limit of a sandbox; keeps an endless file out of our memory."""

_WASM_MAGIC = b"\0asm"


@dataclasses.dataclass(frozen=True, slots=True)
class Source:
    """A program and what to call it in messages."""

    name: str
    program: str | bytes
    """Text, or the bytes of a WebAssembly module."""

    @property
    def text(self) -> str:
        """What an excerpt may show."""
        return self.program if isinstance(self.program, str) else ""


def read_source(file: str | None, code: str | None, stdin: BinaryIO) -> Source:
    """Give the program that FILE or `-e` names: exactly one of them."""
    if (file is None) == (code is None):
        raise ProgramUnclearError(both=file is not None)
    if file is None:
        return Source("-e", code or "")
    if file == STDIN:
        return _source("stdin", stdin.read(MOST_BYTES + 1))
    try:
        with Path(file).open("rb") as stream:
            content = stream.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        raise SourceUnreadableError(file, getattr(error, "strerror", None) or str(error)) from None
    return _source(file, content)


def _source(name: str, content: bytes) -> Source:
    if len(content) > MOST_BYTES:
        raise SourceTooLargeError(name, MOST_BYTES)
    if content.startswith(_WASM_MAGIC) or name.lower().endswith(".wasm"):
        return Source(name, content)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SourceNotTextError(name, error.start) from None
    if text.startswith("#!"):  # the line that lets a shell start the file; no JavaScript in a body
        text = f"//{text[2:]}"
    return Source(name, text)
