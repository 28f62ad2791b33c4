"""What the policy refuses.

PolicyError
└── CapabilityBlockedError    capability_blocked: it uses tools that are denied

A single denied call is no error of this room: the runner refuses it by its `Decision`.
"""

from collections.abc import Sequence

from pml.errors import PmlError
from pml.model import Decision


class PolicyError(PmlError):
    """The policy refuses something."""

    code = "policy"


class CapabilityBlockedError(PolicyError):
    """A capability uses tools that are denied, so it cannot run at all."""

    code = "capability_blocked"

    def __init__(self, denied: Sequence[Decision]) -> None:
        """Name every tool with the rule that denies it."""
        self.denied = tuple(denied)
        super().__init__("; ".join(_told(decision) for decision in self.denied))


def _told(decision: Decision) -> str:
    place = f" in `{decision.place}`" if decision.place else ""
    return f"denied `{decision.tool}` by rule `{decision.rule}`{place}"
