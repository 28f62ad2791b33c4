"""What calls were begun and answered since a run was last written to disk.

Written before and after each call, one keyed line each: when the process dies, the run goes on
from its last snapshot, calls that were answered are answered from here, and of one only begun
nobody knows whether it happened. A line that is not ours ends the journal with an error; half a
last line, from a crash in the middle of writing, counts as not written.
"""

import dataclasses
import json
import os
from pathlib import Path
from typing import Any

import blake3

from pml.execution.errors import JournalBrokenError, RunDivergedError


@dataclasses.dataclass(frozen=True, slots=True)
class Entry:
    """One call since the snapshot."""

    call: int
    tool: str
    argument_hash: str
    is_done: bool = False
    ok: bool = False
    value: Any = None
    """The answer, or what the call was rejected with."""


class Journal:
    """The journal of one generation of one run."""

    def __init__(self, path: Path, key: bytes) -> None:
        """Read what is there."""
        self._path = path
        self._key = key
        self._before = b"\0" * 32
        self._file: int | None = None
        self.entries: dict[int, Entry] = {}
        self._read()

    def begin(self, call: int, tool: str, arguments: str) -> None:
        """Write, before the call is made, that it will be."""
        self._write({"call": call, "tool": tool, "arguments": arguments})
        self.entries[call] = Entry(call, tool, arguments)

    def end(self, call: int, *, ok: bool, value: Any) -> None:
        """Write its answer."""
        self._write({"call": call, "ok": ok, "value": value})
        entry = self.entries[call]
        self.entries[call] = dataclasses.replace(entry, is_done=True, ok=ok, value=value)

    def known(self, call: int, tool: str, arguments: str) -> Entry | None:
        """Give what happened to a call before; raise if it was another one."""
        entry = self.entries.get(call)
        if entry is not None and (entry.tool, entry.argument_hash) != (tool, arguments):
            raise RunDivergedError(call, entry.tool, tool)
        return entry

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _write(self, facts: dict[str, Any]) -> None:
        body = json.dumps(facts, separators=(",", ":")).encode()
        mac = self._mac(body)
        if self._file is None:
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
            self._file = os.open(self._path, flags, 0o600)
        line = mac.hex().encode() + b" " + body + b"\n"
        while line:
            line = line[os.write(self._file, line) :]
        os.fsync(self._file)
        self._before = mac

    def _mac(self, body: bytes) -> bytes:
        return blake3.blake3(self._before + body, key=self._key).digest()

    def _read(self) -> None:
        try:
            content = self._path.read_bytes()
        except FileNotFoundError:
            return
        whole, _, _ = content.rpartition(b"\n")
        for number, line in enumerate(whole.split(b"\n") if whole else [], 1):
            said, _, body = line.partition(b" ")
            mac = self._mac(body)
            if said != mac.hex().encode():
                raise JournalBrokenError(self._path, number)
            self._before = mac
            self._take(json.loads(body))
        if len(content) > len(whole) + 1:  # half a line is cut off, or the next would join it
            os.truncate(self._path, len(whole) + 1 if whole else 0)

    def _take(self, facts: dict[str, Any]) -> None:
        call = facts["call"]
        if "tool" in facts:
            self.entries[call] = Entry(call, facts["tool"], facts["arguments"])
        else:
            done = {"is_done": True, "ok": facts["ok"], "value": facts["value"]}
            self.entries[call] = dataclasses.replace(self.entries[call], **done)
