"""The only place that prints. Data to stdout, words to stderr.

Nothing that a program wrote reaches a terminal with its control, ANSI or bidi characters; data
that goes to a file or a pipe is exact. Words are escaped wherever they go.
"""

import contextlib
import dataclasses
import json
import os
from collections.abc import Mapping
from typing import Any, BinaryIO, Literal, Self, TextIO

from pml.errors import OutputLostError

_COLOURS = {"error": "31", "warning": "33", "hint": "36"}  # ANSI: red, yellow, cyan

_STATUS_CHARACTERS = 79  # a status that wraps could not be taken back


@dataclasses.dataclass(frozen=True, slots=True)
class Console:
    """Where a command's output goes."""

    stdout: BinaryIO
    stderr: TextIO
    stdout_is_terminal: bool = False
    has_colour: bool = False
    _status: list[str] = dataclasses.field(default_factory=list)  # what stands on the status line

    @classmethod
    def standard(cls, stdout: TextIO, stderr: TextIO, environment: Mapping[str, str]) -> Self:
        """Give the console of a process; `NO_COLOR` and a dumb terminal are obeyed."""
        plain = environment.get("NO_COLOR") or environment.get("TERM") == "dumb"
        colour = stderr.isatty() and not plain
        return cls(stdout.buffer, stderr, stdout_is_terminal=stdout.isatty(), has_colour=colour)

    def result(self, value: Any) -> None:
        """Print a program's value: a string as it is, anything else as JSON."""
        if not isinstance(value, str):
            self.document(value)
        else:
            self._data(shown(value) if self.stdout_is_terminal else value)

    def document(self, value: Any) -> None:
        """Print JSON on one line."""
        text = to_json(value)
        self._data(_escaped_json(text) if self.stdout_is_terminal else text)

    def text(self, text: str) -> None:
        """Print our own text as data."""
        self._data(text)

    def log(self, level: str, text: str) -> None:
        """Print a line of a program's console output."""
        prefix = f"[{level}] " if level in ("warn", "error") else ""
        self._words(f"{prefix}{shown(text)}")

    def error(self, message: str, *, excerpt: str = "", hint: str | None = None) -> None:
        """Say what happened, where, and what to do next."""
        self._say("error", message)
        if excerpt:
            self._words(excerpt)
        if hint:
            self._say("hint", hint)

    def warning(self, message: str) -> None:
        """Say what the reader should know."""
        self._say("warning", message)

    def hint(self, message: str) -> None:
        """Say what to do next."""
        self._say("hint", message)

    def ask(self, question: str) -> None:
        """Put a question; the answer is read elsewhere."""
        self.status("")
        self.stderr.write(question)
        self.stderr.flush()

    def status(self, text: str) -> None:
        """Show what is being waited for, on one line that the next words replace."""
        if self.stderr.isatty() and (text or self._status):
            self.stderr.write(f"\r\x1b[K{shown(text)[:_STATUS_CHARACTERS]}")
            self.stderr.flush()
            self._status[:] = [text] if text else []

    def bug(self, error: BaseException) -> None:
        """Show what only we can mend."""
        import traceback  # noqa: PLC0415 - never needed, if all goes well

        self._words(shown("".join(traceback.format_exception(error)).rstrip()))
        self.error("this is a bug of pml", hint="please report it with the lines above")

    def _say(self, word: Literal["error", "warning", "hint"], message: str) -> None:
        # later lines are indented: a message must not be able to look like two of ours
        body = shown(message).replace("\n", f"\n{' ' * len(word)}  ")
        label = f"\x1b[1;{_COLOURS[word]}m{word}:\x1b[0m" if self.has_colour else f"{word}:"
        self._words(f"{label} {body}")

    def _words(self, text: str) -> None:
        self.status("")
        self.stderr.write(f"{text}\n")
        self.stderr.flush()

    def _data(self, text: str) -> None:
        try:
            self.stdout.write(f"{text}\n".encode(errors="backslashreplace"))
            self.stdout.flush()
        except OSError as error:
            self._forget_unwritten()
            if isinstance(error, BrokenPipeError):
                raise  # whoever reads has seen enough
            raise OutputLostError(error.strerror or str(error)) from None

    def _forget_unwritten(self) -> None:
        """Let what could not be written go: Python would try again at exit, and fail again."""
        with contextlib.suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.stdout.fileno())
            os.close(nowhere)


def shown(text: str) -> str:
    """Escape what a terminal would obey; line breaks and tabs stay."""
    return "".join(c if c.isprintable() or c in "\n\t" else f"\\u{{{ord(c):x}}}" for c in text)


def to_json(value: Any) -> str:
    """Give JSON as JavaScript writes it; `ValueError` for what JSON has no form for."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _escaped_json(text: str) -> str:
    """Escape the same characters inside JSON, which stays JSON."""
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)
