"""The pins of one server, and its listings held against them."""

import dataclasses
from collections.abc import Callable, Mapping

from pml.loader.pins.store import PinStore, Stamp
from pml.loader.pins.values import Change, Pin, Pins, changes_of, pins_of, shown
from pml.model import Listing

Noted = Callable[[str, Mapping[str, object]], None]
"""Hears what is pinned: an event and its facts; it must not raise."""


@dataclasses.dataclass(frozen=True, slots=True)
class Look:
    """A listing, held against what is pinned."""

    listing: Listing
    """As the server gave it."""

    shown: Listing
    changes: Mapping[str, Change]
    stamp: Stamp
    """Of the file that it was held against."""


class ServerPins:
    """What is pinned of one server."""

    def __init__(
        self,
        store: PinStore,
        server: str,
        identity: Callable[[], str],
        *,
        now: Callable[[], str],
        noted: Noted,
        frozen: bool = False,
    ) -> None:
        """`identity` says which server it is now; `frozen`: nothing is ever pinned."""
        self._store = store
        self._server = server
        self._identity = identity
        self._now = now
        self._noted = noted
        self._frozen = frozen

    def is_current(self, look: Look) -> bool:
        """Say whether nobody has pinned anything since."""
        return self._store.stamp(self._server) == look.stamp

    def look(self, listing: Listing) -> Look:
        """Hold a listing against the pins; a server that was never seen is pinned as it is.

        A list without tools pins nothing: some servers offer theirs a moment later.
        """
        stamp = self._store.stamp(self._server)
        identity = self._identity()
        pins = self._pinned(identity)
        if pins is None and listing.tools and not self._frozen:
            pins = self._first(listing, identity)
            stamp = self._store.stamp(self._server)
        changes = changes_of(listing, pins)
        seen = listing if pins is None else shown(listing, changes)
        return Look(listing, seen, changes, stamp)

    def accept(self, change: Change) -> None:
        """Pin a tool as it is now, after a human's yes to exactly that."""
        tool, identity, now = change.tool, self._identity(), self._now()
        pin = Pin(tool.definition, change.hash, now)

        def replaced(there: Pins | None) -> Pins:
            if there is None or there.identity != identity:
                return Pins(identity, now, {tool.name: pin})
            return dataclasses.replace(there, tools={**there.tools, tool.name: pin})

        facts = {"tool": tool.id, "old": change.pin and change.pin.hash, "new": change.hash}
        self._store.update(self._server, replaced)
        self._noted("tool_pinned", facts)

    def _pinned(self, identity: str) -> Pins | None:
        pins = self._store.load(self._server)
        return pins if pins is not None and pins.identity == identity else None

    def _first(self, listing: Listing, identity: str) -> Pins:
        made = pins_of(listing, identity, self._now())

        def pinned(there: Pins | None) -> Pins:
            # another gateway may have been first
            return made if there is None or there.identity != identity else there

        pins = self._store.update(self._server, pinned)
        if pins is made:
            facts = {"server": self._server, "tools": len(made.tools)}
            self._noted("server_pinned", facts)
        return pins
