"""From the tools that a capability uses to how it may run: Story 14.3's approval mode.

A forecast, for display and for publishing: each call is still decided when it is made.
"""

from collections.abc import Iterable
from typing import Literal

from pml.config import Permissions
from pml.model import Outcome
from pml.policy.errors import CapabilityBlockedError
from pml.policy.permissions import decide

ApprovalMode = Literal["hil", "auto"]
"""`hil`: a human is in the loop; `auto`: nobody is asked."""


def infer_approval_mode(tools_used: Iterable[str], permissions: Permissions) -> ApprovalMode:
    """Give `auto` if every tool is allowed, `hil` if one asks or is unknown.

    Raises `CapabilityBlockedError`, with all that are denied, if any is.
    """
    decisions = [decide(tool, permissions) for tool in dict.fromkeys(tools_used)]
    denied = [decision for decision in decisions if decision.outcome is Outcome.DENY]
    if denied:
        raise CapabilityBlockedError(denied)
    asks = any(decision.outcome is Outcome.ASK for decision in decisions)
    return "hil" if asks else "auto"
