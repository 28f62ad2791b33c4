"""The built-in capabilities: TypeScript of `pml/std`, run in the sandbox like any other code."""

from pml.backends.std.backend import StdBackend, std_backends
from pml.backends.std.capability import STD_NAMES

__all__ = ["STD_NAMES", "StdBackend", "std_backends"]
