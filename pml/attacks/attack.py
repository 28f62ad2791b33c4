"""One attack, and what came of it. Pure values.

An attack is made twice, each time on a stage of its own: on something that does not defend
itself, where it must get through, or it proves nothing; and on PML, where it must be refused.
Both times it is judged by what happened: a file, a port, a line of a listing.
"""

import dataclasses
import enum
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from pml.confinement import Support


class Risk(enum.StrEnum):
    """The OWASP MCP Top 10 of 2025: what an attack is about."""

    SECRETS = "MCP01"
    SCOPE = "MCP02"
    POISONING = "MCP03"
    SUPPLY_CHAIN = "MCP04"
    INJECTION = "MCP05"
    CONTEXT_INJECTION = "MCP06"
    AUTHORISATION = "MCP07"
    AUDIT = "MCP08"
    SHADOW = "MCP09"
    SHARING = "MCP10"


RISKS: Mapping[Risk, str] = {
    Risk.SECRETS: "tokens and secrets",
    Risk.SCOPE: "more rights than were granted",
    Risk.POISONING: "poisoned tools",
    Risk.SUPPLY_CHAIN: "supply chain and tampering",
    Risk.INJECTION: "commands and code",
    Risk.CONTEXT_INJECTION: "instructions in what is read",
    Risk.AUTHORISATION: "approvals and identity",
    Risk.AUDIT: "the record of what happened",
    Risk.SHADOW: "servers that nobody asked for",
    Risk.SHARING: "one program's context in another",
}
"""In words, in the order in which they are told."""


@dataclasses.dataclass(frozen=True, slots=True)
class Stage:
    """Where one attempt is made: a private folder, made for it and removed after it."""

    folder: Path
    """Real, empty, 0700."""

    token: str
    """What must not be read: different each time."""

    support: Support
    """What the operating system can hold a server with here."""

    environ: Mapping[str, str]
    home: Path


@dataclasses.dataclass(frozen=True, slots=True)
class Tried:
    """What came of one attempt. Made by `through` and `refused`."""

    got_through: bool
    words: str
    """What was taken, or what refused it: an error's code, an outcome."""


def through(words: str) -> Tried:
    """Say that the attack did what it was made for."""
    return Tried(got_through=True, words=words)


def refused(words: str) -> Tried:
    """Say what refused it."""
    return Tried(got_through=False, words=words)


class UnprovableError(Exception):
    """This machine cannot show whether an attack works, and why."""


Attempt = Callable[[Stage], Awaitable[Tried]]


@dataclasses.dataclass(frozen=True, slots=True)
class Attack:
    """One way to do harm."""

    id: str
    """`family/name`, in lower case: what a report and a test call it."""

    risk: Risk
    title: str
    """What the attacker does, in words."""

    unprotected: Attempt = dataclasses.field(repr=False)
    """On something that does not defend itself: must get through."""

    protected: Attempt = dataclasses.field(repr=False)
    """On PML: must be refused."""

    @property
    def family(self) -> str:
        """Which file of the corpus it is in."""
        return self.id.partition("/")[0]


class Verdict(enum.StrEnum):
    """What an attack has shown."""

    REFUSED = "refused"
    """It works, and not here."""

    THROUGH = "through"
    """It works here."""

    NOT_PROVED = "not proved"
    """It was not shown to work anywhere, so that its refusal means nothing."""

    BROKEN = "broken"
    """It could not be carried out."""


@dataclasses.dataclass(frozen=True, slots=True)
class Outcome:
    """An attack and what it has shown."""

    attack: Attack
    verdict: Verdict
    unprotected: str
    """What it took where nothing defends."""

    protected: str
    """What refused it here; of one that is not refused, why not."""
