"""Folders that a guest may see, and the names inside them that no guest may write.

Pure but for `Mount.opened`, which looks the folder up. The decision is by name, at any depth, for
files that exist and files that do not: what a developer's tools execute or obey must not be
writable by the program that those tools will later run beside.
"""

import dataclasses
import os
import re
import unicodedata
from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath

from sandbox_host.errors import MountInvalid, printable

PROTECTED: tuple[tuple[str, ...], ...] = (
    (".pml.json",),  # our own permissions
    (".pml",),  # lockfile and state
    (".mcp.json",),  # what MCP clients start
    (".git",),  # hooks and config run programs; a .git file or commondir redirects to others
    (".gitmodules",),
    (".gitconfig",),
    (".envrc",),
    (".vscode",),
    (".cursor",),
    (".claude",),
    (".idea",),
    (".ssh",),
    (".bashrc",),
    (".bash_profile",),
    (".bash_login",),
    (".bash_logout",),
    (".profile",),
    (".zshrc",),
    (".zshenv",),
    (".zprofile",),
    (".zlogin",),
    (".zlogout",),
    (".kshrc",),
    (".cshrc",),
    (".tcshrc",),
    (".login",),
    (".inputrc",),
    (".config", "fish"),
)

_SHORT_NAME = re.compile(r"^git~\d+$")  # what Windows also calls .git

Conceals = Callable[[str], str | None]


@dataclasses.dataclass(frozen=True, slots=True)
class Mount:
    """A folder of the host. The guest sees it under its absolute path unless told otherwise."""

    path: str | os.PathLike[str]
    writable: bool = dataclasses.field(default=False, kw_only=True)
    guest_path: str | None = dataclasses.field(default=None, kw_only=True)
    conceals: Conceals | None = dataclasses.field(default=None, kw_only=True, repr=False)
    """Says of a path why the guest must neither read nor move it, or None."""

    def opened(self) -> "OpenedMount":
        """Look the folder up, following links once and for all."""
        try:
            host = Path(self.path).resolve(strict=True)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise MountInvalid(printable(str(self.path)), reason) from error
        if not host.is_dir():
            raise MountInvalid(str(self.path), "not a directory")
        guest = self.guest_path if self.guest_path is not None else _as_posix(host)
        if not guest.startswith("/") or "\0" in guest or ".." in PurePosixPath(guest).parts:
            raise MountInvalid(
                str(self.path), f"guest path {guest!r} is not a plain absolute path"
            )
        return OpenedMount(host, guest, writable=self.writable, conceals=self.conceals)


@dataclasses.dataclass(frozen=True, slots=True)
class OpenedMount:
    """A mount whose folder exists."""

    host: Path
    guest: str
    writable: bool
    conceals: Conceals | None = dataclasses.field(default=None, repr=False)


def _is_writable(mount: OpenedMount) -> bool:
    return mount.writable


def opened_together(mounts: Sequence[Mount]) -> tuple[OpenedMount, ...]:
    """Look all folders up; refuse those that would contradict each other.

    A read-only folder inside a writable one could be written through the outer.
    """
    opened = tuple(mount.opened() for mount in mounts)
    for number, one in enumerate(opened):
        for other in opened[:number]:
            if one.guest == other.guest:
                raise MountInvalid(str(one.host), f"{one.guest} is mounted twice")
    for outer in filter(_is_writable, opened):
        for inner in opened:
            if not inner.writable and inner.host.is_relative_to(outer.host):
                raise MountInvalid(str(inner.host), f"{outer.host} around it is writable")
    return opened


def protected_name(parts: Sequence[str]) -> str | None:
    """Give the protected name that a path touches, if any. The path is relative to its mount."""
    names = [_plain(part) for part in parts]
    for start in range(len(names)):
        for sequence in PROTECTED:
            if tuple(names[start : start + len(sequence)]) == sequence:
                return "/".join(sequence)
        if _SHORT_NAME.match(names[start]):
            return ".git"
    return None


def protected_by_move(parts: Sequence[str]) -> str | None:
    """As `protected_name`, for a path that is moved or removed: parents of protected names too."""
    names = tuple(_plain(part) for part in parts)
    for sequence in PROTECTED:
        for length in range(1, len(sequence)):
            if names[-length:] == sequence[:length]:
                return "/".join(sequence)
    return protected_name(parts)


def _plain(name: str) -> str:
    """Fold a name as the most lenient file system would: case, width, invisible characters."""
    folded = unicodedata.normalize("NFKC", name)
    visible = "".join(c for c in folded if unicodedata.category(c) != "Cf")
    return visible.casefold().split(":", 1)[0].rstrip(". ")


def _as_posix(path: Path) -> str:
    posix = path.as_posix()
    return posix if posix.startswith("/") else f"/{posix.replace(':', '', 1)}"
