"""TypeScript to JavaScript, before a program enters the guest.

Owns the erasure of types: swc's own WebAssembly build, one fresh instance per source. Knows
nothing of runs, guests or permissions; above it is whoever loads a program, below it wasmtime.
"""

from sandbox_host.typescript.eraser import Erased, Eraser
from sandbox_host.typescript.errors import (
    EraserBrokenError,
    EraserError,
    EraserTimeoutError,
    SyntaxProblem,
)
from sandbox_host.typescript.screening import needs_erasing

__all__ = [
    "Erased",
    "Eraser",
    "EraserBrokenError",
    "EraserError",
    "EraserTimeoutError",
    "SyntaxProblem",
    "needs_erasing",
]
