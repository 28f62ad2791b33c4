"""Appends lines: one process at a time, each after the last one that is really in the file.

A line that cannot be written raises, and nothing is lost silently: what a crash or a full disk
left half written stays where it is, the next line says so (`recovered`), and the chain goes on
from the last line that is whole. Alone, a line costs a lock, a look at the file and a write; the
file is read again only when somebody else changed it.
"""

import contextlib
import dataclasses
import datetime
import fcntl
import math
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pml.audit import files
from pml.audit.errors import AuditUnavailableError
from pml.audit.key import load_key
from pml.audit.records import START, Link, facts_text, sealed
from pml.audit.resuming import resumption
from pml.errors import PlaceUnsafeError
from pml.places import private_folder
from pml.redaction import Redactor

MOST_BYTES = 16 << 20
"""Of one file; then it is set aside and the chain goes on in a new one."""

KEPT_FILES = 10
"""So many files set aside are kept: about 200,000 calls."""

HEAD_LINES = 64
"""So many lines at most can be cut off unseen after a process was killed; a note costs 0.2 ms."""

_MOST_WAITING = 1000  # lines kept in memory for a disk that takes them later
_MOST_OPENINGS = 100  # in a row, when somebody keeps moving the file away

Prepared = tuple[str, str, str]
"""Time, event and facts of a line, as text."""


def utc_now() -> datetime.datetime:
    """Give the time that lines carry."""
    return datetime.datetime.now(datetime.UTC)


@dataclasses.dataclass(frozen=True, slots=True)
class Begun:
    """Something that was written down before it is done."""

    event: str
    number: int
    """Of its line, which is also its name."""


class Audit:
    """The audit of one workspace; safe for several threads and processes. Opens nothing yet."""

    def __init__(
        self,
        folder: Path,
        redactor: Redactor | None = None,
        *,
        sync: bool = False,
        clock: Callable[[], datetime.datetime] = utc_now,
    ) -> None:
        """Write to `folder`, masking what `redactor` knows; `sync` waits for the disk."""
        self._folder = folder
        self._path = folder / files.NAME
        self._redactor = redactor or Redactor({}, shapes=True)
        self._sync = sync
        self._clock = clock
        self._mutex = threading.Lock()
        self._key = b""
        self._descriptor: int | None = None
        self._seen: tuple[int, int, int] | None = None  # device, file and size as we left it
        self._last = START  # of the lines being made
        self._written = START  # of the lines in the file
        self._noted = 0  # lines that the head knows of
        self._at = ""  # when the newest line was made
        self._waiting: list[Prepared] = []
        self._lost = 0
        self.problem: str | None = None
        """Why lines of `note` are not written yet, if so."""

    def write(self, event: str, facts: Mapping[str, Any]) -> None:
        """Add a line, or raise `AuditUnavailableError`: then it must not happen."""
        self._append(event, facts)

    def begin(self, event: str, facts: Mapping[str, Any]) -> Begun:
        """Write `<event>_executing` before it is done, or raise: then it must not be done."""
        return Begun(event, self._append(f"{event}_executing", facts).number)

    def end(self, begun: Begun, outcome: str, facts: Mapping[str, Any] | None = None) -> None:
        """Write `<event>_ended`, with the number of the line that began it."""
        own = {"began": begun.number, "outcome": outcome}
        self._append(f"{begun.event}_ended", {**(facts or {}), **own})

    def note(self, event: str, facts: Mapping[str, Any]) -> None:
        """Add a line about what has already happened; if it fails, before the next that works.

        Never raises. Meanwhile `write` and `begin` do, so that nothing more happens.
        """
        with self._mutex:
            if len(self._waiting) < _MOST_WAITING:
                self._waiting.append(self._prepared(event, facts))
            else:
                self._lost += 1
            self._try(lambda: self._put([]))

    def close(self) -> None:
        """Write what waits, note the head, close the file; the next line opens it again."""
        with self._mutex:
            if self._waiting or self._lost:
                self._try(lambda: self._put([]))
            if self._noted < self._written.number:
                self._try(self._note_head)
            self._forget()

    def _append(self, event: str, facts: Mapping[str, Any]) -> Link:
        with self._mutex:
            return self._put([self._prepared(event, facts)])

    def _prepared(self, event: str, facts: Mapping[str, Any]) -> Prepared:
        self._at = self._now()
        return self._at, event, facts_text(self._redactor.value(facts))

    def _now(self) -> str:
        return self._clock().isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def _try(self, work: Callable[[], object]) -> None:
        try:
            work()
        except AuditUnavailableError as error:
            self.problem = error.message
        else:
            self.problem = None

    def _put(self, made: list[Prepared]) -> Link:
        """Write what waits, then these; give the place of the last line."""
        with self._locked(MOST_BYTES) as start:
            waiting = [*self._waiting, *made] if self._waiting else made
            if self._lost:
                waiting = [(self._now(), "lost", facts_text({"lines": self._lost})), *waiting]
            content = start + b"".join([self._line(*one) for one in waiting])
            descriptor = self._open()
            files.write_all(descriptor, content)
            if self._sync:
                os.fsync(descriptor)
            self._waiting.clear()
            self._lost = 0
            self._written = self._last
            device, file, size = self._seen or (0, 0, 0)
            self._seen = device, file, size + len(content)
            if self._written.number - self._noted >= HEAD_LINES:
                self._write_head()
            return self._written

    def _line(self, at: str, event: str, facts: str) -> bytes:
        line, self._last = sealed(self._key, self._last, at, event, facts)
        return line

    @contextlib.contextmanager
    def _locked(self, most_bytes: float) -> Iterator[bytes]:
        """Hold the file alone; give what must be written first. Errors are translated here."""
        try:
            yield self._hold(most_bytes)
        except OSError as error:
            self._forget()
            raise AuditUnavailableError(self._path, error.strerror or str(error)) from None
        except BaseException:
            self._forget()
            raise
        if self._descriptor is not None:
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def _hold(self, most_bytes: float) -> bytes:
        """Lock the file that has the name, whoever moves it meanwhile; set a full one aside."""
        for _ in range(_MOST_OPENINGS):
            files.lock(self._open(), self._path)
            now = self._look()
            if now is None:
                self._forget()  # removed or set aside, by another process or an attacker
            elif now[2] >= most_bytes:
                self._set_aside()
            elif now == self._seen:
                self._last = self._written
                return b""
            else:
                self._seen = now
                return self._resumed()
        raise AuditUnavailableError(self._path, "something keeps moving it away")

    def _look(self) -> tuple[int, int, int] | None:
        """Give device, file and size of what has the name; None if it is not what is open."""
        try:
            facts = os.lstat(self._path)
        except FileNotFoundError:
            return None
        now = facts.st_dev, facts.st_ino, facts.st_size
        if self._seen is not None and now[:2] == self._seen[:2]:
            return now
        own = os.fstat(self._open())
        return now if (own.st_dev, own.st_ino) == now[:2] else None

    def _open(self) -> int:
        if self._descriptor is None:
            try:
                private_folder(self._folder)
            except PlaceUnsafeError as error:
                raise AuditUnavailableError(self._folder, error.message) from None
            self._key = load_key(self._folder)
            self._descriptor = files.open_log(self._path, to_write=True)
        return self._descriptor

    def _forget(self) -> None:
        """Close the file, which also unlocks it, and look anew next time."""
        if self._descriptor is not None:
            os.close(self._descriptor)
        self._descriptor = None
        self._seen = None

    def _set_aside(self) -> None:
        """Give the full file a number; the next look opens a new one."""
        numbers = files.set_aside(self._folder)
        number = max(numbers, default=0) + 1
        self._path.rename(files.aside_path(self._folder, number))
        for old in numbers:
            if old <= number - KEPT_FILES:
                files.aside_path(self._folder, old).unlink(missing_ok=True)
        self._forget()

    def _resumed(self) -> bytes:
        """Go on after the last line; give the line that says what is new or wrong, if any."""
        state = resumption(self._folder, self._open(), self._key, self._written)
        self._last = state.last
        self._noted = -HEAD_LINES if state.noted is None else state.noted.number
        if state.event is None:
            return state.glue  # the last line is whole but for its line break
        # the time of the line that it goes before: times in a file go up
        return state.glue + self._line(self._at, state.event, facts_text(state.facts))

    def _note_head(self) -> None:
        """Note the head under the lock: another process may have gone further."""
        with self._locked(math.inf) as start:
            if start:
                self._seen = None  # something is wrong, and the next line has to say so
            else:
                self._written = self._last
                self._write_head()

    def _write_head(self) -> None:
        """A note that cannot be made is made later: no line is lost by it."""
        with contextlib.suppress(OSError):
            files.write_head(self._folder, self._key, self._written)
            self._noted = self._written.number
