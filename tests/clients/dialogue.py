"""Claude Code on a terminal of its own, its dialogs answered by keystrokes as a human would.

Its screen-reader mode writes each change as plain lines, so what is shown can be waited for. The
prompt is typed once the server is connected, or the first turn would not have its tools.
"""

import codecs
import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from .claude import NAME, Place
from .model_api import ModelApi

ENTER, ESCAPE, DOWN, RIGHT = "\r", "\x1b", "\x1b[B", "\x1b[C"
_ASKED = "Esc to cancel"
_AT_REST = "mode on"
"""In the line below the prompt, which a dialog hides."""

_ROWS, _COLUMNS = 60, 200
_HANG_SECONDS = 60.0


class Dialogue:
    """A conversation at a terminal."""

    def __init__(self, terminal: int, log: Path) -> None:
        self._terminal = terminal
        self._log = log
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.received = ""

    def start(self, prompt: str) -> None:
        """Type the prompt, once the server is there."""
        connected = f'[MCP] Server "{NAME}" connected'
        self._wait(lambda: self._log.exists() and connected in self._log.read_text("utf-8"))
        self._wait(lambda: _AT_REST in self.received)
        self._type(prompt, prompt)
        self._press(ENTER, f"you: {prompt}")

    def question(self) -> str:
        """Wait for a dialog; give what it shows the human."""
        self._wait(lambda: _ASKED in self.received)
        shown = re.sub(r"\x1b(\[[0-9;?]*[A-Za-z]|\][^\x07]*\x07|[78])", "", self.received)
        return shown[shown.rfind("MCP server") :].replace("\r\n", "\n")

    def choose(self, option: str) -> None:
        """Choose one of the answers of the dialog's only field, and accept."""
        self.question()
        self._type(RIGHT, "Space to select")
        while f"❯ ◯ {option}" not in self.received:
            self._type(DOWN, "Space to select")
        self._press(ENTER, "❯  Accept")
        self._press(ENTER, _AT_REST)

    def decline(self) -> None:
        """Decline the dialog."""
        self.question()
        self._type(DOWN, "❯  Accept")
        self._type(RIGHT, "❯  Decline")
        self._press(ENTER, _AT_REST)

    def cancel(self) -> None:
        """Leave the dialog without an answer."""
        self.question()
        self._press(ESCAPE, _AT_REST)

    def heard(self, words: str) -> None:
        """Wait until the model has said this."""
        self._wait(lambda: words in self.received)

    def _type(self, keys: str, shown: str = "") -> None:
        self.received = ""
        os.write(self._terminal, keys.encode())
        self._wait(lambda: shown in self.received)

    def _press(self, key: str, shown: str) -> None:
        """Press a key until it is taken: a dialog that has just come ignores what would end it."""
        self.received = ""
        until = time.monotonic() + _HANG_SECONDS
        while shown not in self.received:
            assert time.monotonic() < until, self.received
            os.write(self._terminal, key.encode())
            self._read_until(lambda: shown in self.received, time.monotonic() + 1)

    def _wait(self, seen: Callable[[], bool]) -> None:
        self._read_until(seen, time.monotonic() + _HANG_SECONDS)
        assert seen(), self.received

    def _read_until(self, seen: Callable[[], bool], until: float) -> None:
        while not seen() and time.monotonic() < until:
            if select.select([self._terminal], [], [], 0.05)[0]:
                self.received += self._decoder.decode(os.read(self._terminal, 65536))


@contextmanager
def interactive(place: Place, api: ModelApi, prompt: str = "go") -> Iterator[Dialogue]:
    """Start Claude Code, type the prompt, end it with the block."""
    log = place.home / "debug.log"
    words = [place.program, "--ax-screen-reader", "--debug-file", str(log), *place.arguments()]
    environ = place.environ(api)
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(place.workspace)
        os.execve(place.program, words, environ)  # noqa: S606
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, _COLUMNS, 0, 0))
    dialogue = Dialogue(terminal, log)
    try:
        dialogue.start(prompt)
        yield dialogue
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(terminal)
