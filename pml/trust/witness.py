"""Remembers which lockfile was last written by us, in the record of what the human trusted.

`pml.loader.lockfile` asks here whether the file in the workspace is ours. What we write counts as
trusted: a human said yes to each entry, or it was new. What anybody else writes waits for
`pml trust`. In a workspace that is not trusted yet nothing is recorded, so nothing is fetched.
"""

import dataclasses
import datetime
from collections.abc import Callable

from pml.trust.effect import Loaded, effective
from pml.trust.record import TrustRecord
from pml.trust.statement import Statement
from pml.trust.store import Store

Clock = Callable[[], datetime.datetime]


class LockfileWitness:
    """The `Witness` of one workspace's lockfile."""

    def __init__(self, store: Store, loaded: Loaded, clock: Clock) -> None:
        """Take where the record is, the configuration as it is, and a clock."""
        self._store = store
        self._clock = clock
        self._first = _first(loaded)
        self._seen: tuple[tuple[int, int, int], str | None] | None = None

    def last(self) -> str | None:
        """Give the sha256 of the lockfile that counts; None if none does."""
        signature = self._signature()
        # read at every call of every program otherwise; a change time cannot be put back
        if self._seen is not None and self._seen[0] == signature:
            return self._seen[1]
        record = self._store.load().record
        found = record.lockfile if record else None
        if signature is not None:
            self._seen = (signature, found)
        return found

    def wrote(self, sha256: str) -> None:
        """Remember a lockfile of ours; raises `NothingTrustedError` in an untrusted workspace."""
        kept = self._store.load()
        if kept.record is None and kept.problem is None and self._first is not None:
            at = self._clock().isoformat(timespec="seconds")
            self._store.save(TrustRecord(self._first, sha256, at))
            return
        self._store.update(lambda record: dataclasses.replace(record, lockfile=sha256))

    def _signature(self) -> tuple[int, int, int] | None:
        try:
            facts = self._store.path.lstat()
        except OSError:
            return None
        return facts.st_ino, facts.st_size, facts.st_ctime_ns


def _first(loaded: Loaded) -> Statement | None:
    """Give what the first record may say: all of it, where nothing waits for the human."""
    alone = dataclasses.replace(loaded, lockfile=None)
    return None if effective(alone, None).waiting else loaded.statement
