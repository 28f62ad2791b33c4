"""What a check says: good, to be looked at, or to be repaired; and then how. Pure.

Text in it may come from files, servers and other processes: it is capped, and control and bidi
characters are escaped, so that whoever shows it can show it as it is.
"""

import dataclasses
from typing import Literal, Protocol

from sandbox_host.errors import printable

Level = Literal["ok", "warning", "error"]

MOST_CHARACTERS = 600
"""Of a fact or a fix: longer ones are told to be longer."""


class Problem(Protocol):
    """What `PmlError` and `SandboxError` have in common."""

    @property
    def message(self) -> str:
        """The fact."""

    @property
    def hint(self) -> str | None:
        """The next step, if one is known."""


@dataclasses.dataclass(frozen=True, slots=True)
class Finding:
    """One line of `pml doctor`. Made by the functions below."""

    level: Level
    subject: str
    """What was looked at: `wasmtime`, `server time`."""

    fact: str
    fix: str | None = None
    """What to do, a command if there is one; None only if all is well."""


def ok(subject: str, fact: str) -> Finding:
    """Say that something is as it should be."""
    return Finding("ok", _told(subject), _told(fact))


def warning(subject: str, fact: str, fix: str) -> Finding:
    """Say that something works, but less well or less safely than it could."""
    return Finding("warning", _told(subject), _told(fact), _told(fix))


def error(subject: str, fact: str, fix: str) -> Finding:
    """Say that something does not work, or does not hold."""
    return Finding("error", _told(subject), _told(fact), _told(fix))


def of_problem(subject: str, problem: Problem, fix: str) -> Finding:
    """Say what an error of ours says; `fix` is for one without a hint."""
    return error(subject, problem.message, problem.hint or fix)


def _told(text: str) -> str:
    lines = (line.strip() for line in text.splitlines())
    return printable("; ".join(line for line in lines if line), MOST_CHARACTERS)
