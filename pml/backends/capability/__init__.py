"""Capabilities of registries: verified code, each call in a sandbox of its own.

    backend      the tools of one namespace, behind the port that all backends share
    shelf        what a namespace offers, once it is described
    running      one call: code in, value out
    arguments    whether arguments fit a schema that a stranger wrote

What a capability calls itself goes to whoever called it: in a run, through the same gate as the
program's own calls. Above: `pml.execution`. Below: `pml.loader`, which alone makes what may run.
"""

from pml.backends.capability.backend import (
    Capabilities,
    CapabilityBackend,
    capabilities_in_use,
    capability_backends,
)

__all__ = ["Capabilities", "CapabilityBackend", "capabilities_in_use", "capability_backends"]
