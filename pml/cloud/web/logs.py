"""One JSON line for each request and event: on stderr, for machines.

Written down are facts that we made ourselves: never a header, a key, an argument or a result. What
libraries log comes out the same way, with anything that looks like a secret masked.
"""

import json
import logging
import traceback
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

from pml.redaction import Redactor


class Journal:
    """Writes lines."""

    def __init__(self, stream: TextIO) -> None:
        """Write to this stream, which somebody else owns."""
        self._stream = stream

    def write(self, event: str, **facts: Any) -> None:
        """Write a line; a log that nobody takes does not stop the work."""
        line = {"time": datetime.now(UTC).isoformat(timespec="milliseconds"), "event": event}
        text = json.dumps({**line, **facts}, ensure_ascii=True, separators=(",", ":"))
        try:
            self._stream.write(f"{text}\n")
            self._stream.flush()
        except OSError:
            return

    def bug(self, error: BaseException) -> None:
        """Write that something of ours failed, and where; its words may hold anything."""
        frames = traceback.extract_tb(error.__traceback__)
        place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
        self.write("bug", exception=type(error).__name__, at=place)


class JournalHandler(logging.Handler):
    """Turns what libraries log into lines; warnings and worse."""

    def __init__(self, journal: Journal) -> None:
        """Write to this journal."""
        super().__init__(logging.WARNING)
        self._journal = journal
        self._redactor = Redactor({}, shapes=True)

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record, with the name of an exception and not its words."""
        failed = record.exc_info[0].__name__ if record.exc_info and record.exc_info[0] else None
        self._journal.write(
            "library",
            level=record.levelname.lower(),
            logger=record.name,
            message=self._redactor.text(record.getMessage())[:500],
            **({"exception": failed} if failed else {}),
        )
