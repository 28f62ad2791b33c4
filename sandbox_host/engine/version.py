"""Which wasmtime may run guests: none with a known way out, none whose inside is unknown."""

import re
from pathlib import Path

import wasmtime

from sandbox_host.errors import WasmtimeRefused

KNOWN_GOOD = (50, 0, 1)
FIRST_UNKNOWN = (51,)

ADVISORIES = ("GHSA-vqjp-4c8c-hfgg", "GHSA-m9f7-9w4p-gv38")
"""What versions before the known good one suffer from."""

_OLDER = f"older than 50.0.1 it has file system escapes, {' and '.join(ADVISORIES)}"
_NEWER = "calls into guests use interfaces that are only known to be right before version 51"


def installed_version() -> str:
    """Give the version that is installed, by the folder name pip gives its metadata."""
    beside = Path(wasmtime.__file__).resolve().parent.parent
    found = [path.name for path in beside.glob("wasmtime-*.dist-info")]
    if len(found) == 1:
        return found[0].removeprefix("wasmtime-").removesuffix(".dist-info")
    # 20 ms to import, so only for installations that pip did not make
    from importlib.metadata import version  # noqa: PLC0415

    return version("wasmtime")


def check_version(version: str) -> None:
    """Refuse a version outside the known range."""
    numbers = tuple(int(part) for part in re.findall(r"\d+", version)[:3])
    if numbers < KNOWN_GOOD:
        raise WasmtimeRefused(version, _OLDER)
    if numbers >= FIRST_UNKNOWN:
        raise WasmtimeRefused(version, _NEWER)
