"""Which paths a server may read, execute or write, at any level; refuses what would open too much.

Looks at the disk, changes nothing. Landlock rules and bubblewrap mounts are both made from the
same `Reach`, so that the two cannot differ.
"""

import dataclasses
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from pml.confinement.errors import (
    GrantLeadsOutError,
    GrantMissingError,
    GrantTooWideError,
    PrefixTooWideError,
)
from pml.confinement.model import Grants, Places
from pml.confinement.programs import Resolved
from pml.confinement.width import is_system, too_wide

SETTINGS = tuple(
    Path("/etc", name)
    for name in (
        "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "ld-musl-x86_64.path", "ld-musl-aarch64.path",
        "alternatives", "localtime", "timezone", "locale.alias", "locale.conf", "os-release",
        "debian_version", "lsb-release", "redhat-release", "alpine-release",
        "passwd", "group", "nsswitch.conf", "mime.types", "gitconfig",
        "ssl/openssl.cnf", "ssl/certs", "ssl/cert.pem", "ca-certificates", "pki/tls/certs",
        "pki/tls/openssl.cnf", "pki/tls/cert.pem", "pki/ca-trust/extracted", "crypto-policies",
    )
)  # fmt: skip
"""What runtimes read at start. Public on every machine: no keys, no host's own secrets."""

NETWORK_SETTINGS = tuple(
    Path("/etc", name)
    for name in ("resolv.conf", "hosts", "host.conf", "gai.conf", "services", "protocols")
)

_KERNEL = (Path("/proc"), Path("/sys"), Path("/dev"))
"""A server has its own, or the few files of these that it needs."""


@dataclasses.dataclass(frozen=True, slots=True)
class Reach:
    """Real paths that exist, but for the names in `aliases`."""

    runs: tuple[Path, ...]
    """Runtime and package: read and execute, never write."""

    aliases: tuple[Path, ...]
    """Links to runtimes which the program knows by these names."""

    reads: tuple[Path, ...]
    writes: tuple[Path, ...]
    """Granted for writing."""

    private: tuple[Path, ...]
    """HOME and TMPDIR."""

    settings: tuple[Path, ...]

    def sees(self, path: Path) -> bool:
        """Say whether a path is visible at all."""
        shown = (*self.runs, *self.reads, *self.writes, *self.private)
        return any(path.is_relative_to(folder) for folder in shown)


def reach(resolved: Resolved, grants: Grants, places: Places) -> Reach:
    """Collect what the program needs and what it was granted."""
    needed = tuple(_needed(resolved, places.user_home))
    writes = tuple(_granted(grants.fs_write, "fs_write", places))
    reads = tuple(
        path
        for path in _granted(grants.fs_read, "fs_read", places)
        if not any(path.is_relative_to(folder) for folder in writes)
    )
    return Reach(
        runs=_outermost(path.resolve() for path in needed),
        aliases=tuple(dict.fromkeys(path for path in needed if path.resolve() != path)),
        reads=_outermost(reads),
        writes=tuple(dict.fromkeys(writes)),
        private=(places.home.resolve(), places.tmp.resolve()),
        settings=SETTINGS + (NETWORK_SETTINGS if grants.net else ()),
    )


def _needed(resolved: Resolved, user_home: Path) -> Iterator[Path]:
    for path in (*resolved.prefixes, *resolved.packages):
        if is_system(path.resolve()) or not path.exists():
            continue
        if path.is_dir() and too_wide(path, user_home):
            raise PrefixTooWideError(resolved.file, path)
        yield path


def _granted(paths: Sequence[Path], kind: str, places: Places) -> Iterator[Path]:
    for path in paths:
        try:
            real = (places.workspace / path).resolve(strict=True)
        except OSError as error:
            raise GrantMissingError(path, kind) from error
        if any(real.is_relative_to(folder) for folder in _KERNEL):
            raise GrantTooWideError(path, kind, "the kernel's own files")
        if places.user_home.resolve().is_relative_to(real):
            raise GrantTooWideError(path, kind, "the user's home folder")
        if any(own.resolve().is_relative_to(real) for own in (places.home, places.tmp)):
            raise GrantTooWideError(path, kind, "the private folders of servers")
        if _leads_out(places.workspace / path, real, places.workspace):
            raise GrantLeadsOutError(path, kind, real)
        yield real


def _leads_out(named: Path, real: Path, workspace: Path) -> bool:
    """Say whether a name inside the workspace stands for something outside.

    Another server may have put that link there.
    """
    inside = Path(os.path.normpath(named)).is_relative_to(workspace)
    return inside and not real.is_relative_to(workspace.resolve())


def _outermost(paths: Iterable[Path]) -> tuple[Path, ...]:
    """Drop what lies inside another."""
    found = set(paths)
    return tuple(
        sorted(path for path in found if not any(parent in found for parent in path.parents))
    )
