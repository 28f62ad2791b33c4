"""`pml` on a terminal of its own, answered like a human would."""

import os
import pty
import re
import select
import signal
import sys
import time
from pathlib import Path


class Terminal:
    """A running `pml`, and what it has written."""

    def __init__(self, workspace: Path, *arguments: str) -> None:
        self.pid, self._terminal = pty.fork()
        if self.pid == 0:
            os.chdir(workspace)
            os.environ["PML_STATE"] = str(workspace.parent / "state")
            os.execv(sys.executable, [sys.executable, "-m", "pml", *arguments])  # noqa: S606
        self.received = ""

    def read_until(self, words: str, seconds: float = 60) -> bool:
        """Read until it has written these words; False if it ended before."""
        until = time.monotonic() + seconds
        while words not in self.received:
            assert time.monotonic() < until, self.received
            if select.select([self._terminal], [], [], 0.1)[0]:
                try:
                    part = os.read(self._terminal, 65536)
                except OSError:
                    return words in self.received
                self.received += part.decode()
        return True

    def answer(self, words: str) -> None:
        """Type."""
        self.received = ""
        os.write(self._terminal, words.encode())

    def kill(self) -> None:
        """End it as nothing can prepare for."""
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self._terminal)

    def end(self) -> tuple[int, str]:
        """Give its exit code and the rest of what it wrote, without the status line."""
        self.read_until("\0never\0")
        os.close(self._terminal)
        code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return code, re.sub(r"[^\n]*\r\x1b\[K", "", self.received)
