"""The machine itself: Python, the platform, room on the disk."""

import shutil
from pathlib import Path

from pml.diagnosis.finding import Finding, error, ok, warning

OLDEST, FIRST_UNTRIED = (3, 11), (3, 14)
"""As in pyproject.toml."""

ENOUGH_BYTES = 256 << 20
"""A run that waits takes up to 64 MiB, the audit of a workspace up to 176."""

LEAST_BYTES = 16 << 20
"""One file of the audit: without room for a line nothing is called."""


def look_at_python(version: tuple[int, int, int], platform: str) -> Finding:
    """Say whether this Python is one that PML was tried with."""
    fact = f"{'.'.join(map(str, version))} on {platform}"
    if OLDEST <= version[:2] < FIRST_UNTRIED:
        return ok("python", fact)
    return warning("python", f"{fact} is untried", "install pml with Python 3.11, 3.12 or 3.13")


def look_at_disk(
    state: Path, *, enough_bytes: int = ENOUGH_BYTES, least_bytes: int = LEAST_BYTES
) -> Finding:
    """Say whether there is room for runs that wait and for the audit."""
    there = next(one for one in (state, *state.parents) if one.exists())
    free = shutil.disk_usage(there).free
    fact = f"{free >> 20} MiB free for {state}"
    fix = "make room, or name a folder on another disk in PML_STATE"
    if free < least_bytes:
        return error("disk", fact, fix)
    return warning("disk", fact, fix) if free < enough_bytes else ok("disk", fact)
