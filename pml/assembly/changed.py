"""What a call of a capability lacks: a word on code that is not what is locked, or a key.

Part of `provisions`.
"""

from pml.backends.capability import Capabilities
from pml.loader.lockfile import IntegrityApprovalRequired
from pml.loader.needs import Needs
from pml.model import Need
from pml.ports import OnProgress


class ChangedCapabilities:
    """Capabilities that are not what is locked, or that need a key."""

    def __init__(self, capabilities: Capabilities) -> None:
        """Ask who loads them."""
        self._capabilities = capabilities

    async def need(self, tool_id: str) -> Need | None:
        """Say what one needs before it may run."""
        needs = await self._capabilities.needs(tool_id)
        if needs is None or needs.is_ready:
            return None
        if needs.changed is not None:
            asked = IntegrityApprovalRequired(needs.changed, "")
            details = [f"{what}: {old} -> {new}" for what, old, new in needs.changed.differences]
            facts = {**asked.plain(), "details": details}
            return Need("integrity", asked.description, needs.changed.integrity, facts)
        return _missing_key(needs)

    async def provide(self, tool_id: str, token: str, on_progress: OnProgress) -> None:  # noqa: ARG002 - it takes no time
        """Lock what the human said yes to."""
        await self._capabilities.accept(tool_id, token)


def _missing_key(needs: Needs) -> Need | None:
    if not needs.keys:
        return None
    error = needs.error()
    names = list(dict.fromkeys(name for _, name in needs.keys))
    return Need("keys", error.message, facts={"missingKeys": names})
