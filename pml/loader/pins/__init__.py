"""What the tools of a configured server were when they were first seen: kept whole, and compared.

    pins = ServerPins(store, "github", identity, now=now, noted=audit.note)
    look = pins.look(listing)          # pins all of a server that was never seen
    look.shown                         # what may be shown: nothing that is not pinned
    look.changes["search"]             # what a human is asked: `Change`
    pins.accept(look.changes["search"])

A server may list other words, schemas or annotations at any time, and a model obeys what it
reads. So a tool is shown and called as it was pinned, until a human has seen what is new.
`values.py` and `differing.py` are pure, `store.py` is the file. Nobody is asked here. Above:
`pml.backends.pinned`, assembly.
"""

from pml.loader.pins.differing import changed_parts, difference_lines
from pml.loader.pins.errors import PinError, PinsDamagedError, ToolChangedError
from pml.loader.pins.server import Look, ServerPins
from pml.loader.pins.store import PinStore
from pml.loader.pins.values import Change, Pin, Pins

__all__ = [
    "Change",
    "Look",
    "Pin",
    "PinError",
    "PinStore",
    "Pins",
    "PinsDamagedError",
    "ServerPins",
    "ToolChangedError",
    "changed_parts",
    "difference_lines",
]
