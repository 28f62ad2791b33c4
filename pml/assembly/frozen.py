"""`--frozen`, for CI: nothing new is locked, pinned or installed, and nobody is asked about it."""

from pml.errors import FrozenError
from pml.model import Need
from pml.ports import OnProgress, Provisions


class FrozenProvisions:
    """Fails where others would ask; only a key may still come."""

    def __init__(self, provisions: Provisions) -> None:
        """Ask these what is lacking."""
        self._provisions = provisions

    async def need(self, tool_id: str, *, starting: bool = True) -> Need | None:
        """Give a missing key; raises `FrozenError` for anything else that is lacking."""
        need = await self._provisions.need(tool_id, starting=starting)
        if need is not None and need.kind != "keys":
            raise FrozenError(tool_id, need.words)
        return need

    async def provide(
        self,
        tool_id: str,
        token: str,  # noqa: ARG002 - the port's
        on_progress: OnProgress | None = None,  # noqa: ARG002
    ) -> None:
        """Bring nothing, also where a human said yes in another process."""
        raise FrozenError(tool_id, "what you said yes to would have to be written down")
