"""The engine below the guest: wasmtime's version, the guest's files, the compiled code.

Hashes are computed here, over the bytes on the disk, and compared with what the build wrote down.
"""

import os
import shlex
import stat
from collections.abc import Iterator
from pathlib import Path

from pml.diagnosis.finding import Finding, of_problem, ok, warning
from sandbox_host import GuestMissing, WasmtimeRefused
from sandbox_host.engine.runtime import ERASER, JAVASCRIPT, Manifest
from sandbox_host.engine.version import ADVISORIES, check_version

_BUILD = "install the package again: pip install --force-reinstall pml"
_SHOWN = 12  # characters of a hash


def look_at_wasmtime(version: str) -> Finding:
    """Compare the version with the advisories."""
    try:
        check_version(version)
    except WasmtimeRefused as refused:
        return of_problem("wasmtime", refused, _BUILD)
    return ok("wasmtime", f"{version}, not affected by {' and '.join(ADVISORIES)}")


def look_at_guest_files(folder: Path) -> Iterator[Finding]:
    """Hash the guest's files anew."""
    try:
        manifest = Manifest(folder)
    except GuestMissing as missing:
        yield of_problem("guest", missing, _BUILD)
        return
    for name in (JAVASCRIPT, ERASER):
        try:
            content = manifest.read(name)
        except KeyError:
            yield of_problem("guest", GuestMissing(f"{name} is not in its manifest"), _BUILD)
        except GuestMissing as damaged:
            yield of_problem("guest", damaged, _BUILD)
        else:
            shown = manifest.digest(name)[:_SHOWN]
            yield ok("guest", f"{name}, {len(content) >> 10} KiB, sha256 {shown} as it was built")


def look_at_compiled(folder: Path) -> Finding:
    """Say whether compiled guests can be kept: native code, so only where nobody else writes."""
    try:
        facts = folder.lstat()
    except FileNotFoundError:
        return ok("compiled guest", f"{folder} is made when it is needed")
    if stat.S_ISDIR(facts.st_mode) and facts.st_uid == os.getuid() and not facts.st_mode & 0o077:
        return ok("compiled guest", f"{folder} is yours alone")
    fact = f"{folder} is not yours alone, so it is not used: every start compiles for seconds"
    return warning("compiled guest", fact, f"chmod 700 {shlex.quote(str(folder))}")
