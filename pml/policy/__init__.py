"""What a call may do: allow, ask or deny, from the user's rules alone.

    decision = decide("github:delete_repo", config.permissions)

Pure: no await, no files, no network, no clock. The only room that makes a `Decision`. Knows rules
and tool ids, not who asks or how a human answers. Above: the runner, the gateway, the commands.
Below: `pml.config`, which says what a rule may look like, and `pml.model`.
"""

from pml.policy.errors import CapabilityBlockedError, PolicyError
from pml.policy.inference import infer_approval_mode
from pml.policy.patterns import rule_covers, rule_matches
from pml.policy.permissions import decide, visible

__all__ = [
    "CapabilityBlockedError",
    "PolicyError",
    "decide",
    "infer_approval_mode",
    "rule_covers",
    "rule_matches",
    "visible",
]
