"""Questions to the human and their verdicts, as values. Pure.

A question is about one call of one run: its tool and the hash of its arguments. A verdict for it
is worth nothing for any other call. What it shows is for people: escaped and capped by whoever
shows it, with secrets masked before it comes here.
"""

import dataclasses
import enum
from collections.abc import Mapping
from typing import Any, Literal

Kind = Literal["call", "uncertain", "install", "integrity", "keys"]
"""A call that waits for a word; one that may have happened when the process died; or one that
lacks something: a package, a word on what has changed, a key."""


class Verdict(enum.StrEnum):
    """What the human said."""

    YES = "yes"
    """This call; of an uncertain one: make it again."""

    ALWAYS = "always"
    """This call, and the tool from now on."""

    NO = "no"
    """Not this call; of an uncertain one: end the run."""

    SKIP = "skip"
    """Of an uncertain call: take this value as its answer."""


@dataclasses.dataclass(frozen=True, slots=True)
class Approval:
    """A question, and perhaps its answer."""

    id: str
    run: str
    call: int
    tool: str
    argument_hash: str
    arguments: str
    """As JSON, for people: masked and capped."""

    kind: Kind = "call"
    rule: str | None = None
    place: str | None = None
    """The rule that asks, and where it stands."""

    reason: str | None = None
    """Why it is asked although a rule allows it, or what it lacks."""

    token: str = ""
    """Of something that it lacks: what exactly a yes is for."""

    need: Mapping[str, Any] | None = None
    """The same for machines."""

    within: str | None = None
    """The capabilities within which the call is made, outermost first."""

    line: int | None = None
    source_line: str | None = None
    code_hash: str = ""
    level: str = ""
    """Of the server's OS sandbox."""

    created: float = 0.0
    expires: float = 0.0
    """Seconds since 1970."""

    verdict: Verdict | None = None
    value: Any = None
    """Of a skipped call."""

    def is_expired(self, now: float) -> bool:
        """Say whether it is too late to answer."""
        return now >= self.expires

    def takes(self, verdict: Verdict) -> bool:
        """Say whether a verdict fits. Where a rule asks, an allowed tool would still be asked."""
        if self.kind == "uncertain":
            return verdict != Verdict.ALWAYS
        if self.kind != "call":
            return verdict in (Verdict.YES, Verdict.NO)
        if verdict == Verdict.ALWAYS:
            return self.rule is None or self.reason is not None
        return verdict != Verdict.SKIP

    def answered(self, verdict: Verdict, value: Any = None) -> "Approval":
        """Give the same question with its answer."""
        return dataclasses.replace(self, verdict=verdict, value=value)

    def facts(self) -> dict[str, Any]:
        """Give it as JSON."""
        return dataclasses.asdict(self)


def approval_of(facts: Mapping[str, Any]) -> Approval:
    """Read what `facts` gave."""
    verdict = facts["verdict"]
    return Approval(**{**facts, "verdict": None if verdict is None else Verdict(verdict)})
