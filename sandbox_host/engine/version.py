"""Which wasmtime may run guests: not one with a known way out, nor one whose inside we have not seen."""

import importlib.metadata
import re

from sandbox_host.errors import WasmtimeRefused

KNOWN_GOOD = (50, 0, 1)
FIRST_UNKNOWN = (51,)

_OLDER = (
    "older than 50.0.1 it has file system escapes, GHSA-vqjp-4c8c-hfgg and GHSA-m9f7-9w4p-gv38"
)
_NEWER = "calls into guests use interfaces that are only known to be right before version 51"


def installed_version() -> str:
    """Give the version that is installed."""
    return importlib.metadata.version("wasmtime")


def check_version(version: str) -> None:
    """Refuse a version outside the known range."""
    numbers = tuple(int(part) for part in re.findall(r"\d+", version)[:3])
    if numbers < KNOWN_GOOD:
        raise WasmtimeRefused(version, _OLDER)
    if numbers >= FIRST_UNKNOWN:
        raise WasmtimeRefused(version, _NEWER)
