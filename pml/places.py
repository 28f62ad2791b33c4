"""Folders that PML keeps outside the workspace: per user, private, by workspace.

A workspace is written by guests and servers, so what they must not touch is kept here. Nothing is
made before it is needed; what is made is for the user alone.
"""

import os
import secrets
import shutil
import stat
from collections.abc import Mapping
from pathlib import Path

import blake3

from pml.errors import MountRefusedError, PlaceUnsafeError

_ID_CHARACTERS = 16  # of a workspace's hash: 64 bits


def state_folder(environ: Mapping[str, str], user_home: Path) -> Path:
    """Give the user's folder for state: `PML_STATE`, else where the desktop keeps it."""
    given = environ.get("PML_STATE")
    if given:
        return Path(given)
    base = environ.get("XDG_STATE_HOME")
    root = Path(base) if base and Path(base).is_absolute() else user_home / ".local" / "state"
    return root / "pml"


def workspace_state(state: Path, workspace: Path) -> Path:
    """Give a workspace's own folder there; the name in front is for the reader alone."""
    digest = blake3.blake3(os.fsencode(workspace)).hexdigest()[:_ID_CHARACTERS]
    name = "".join(c if c.isalnum() or c in "-_" else "_" for c in workspace.name)[:40]
    return state / "workspaces" / f"{name or 'root'}-{digest}"


def private_folder(path: Path) -> Path:
    """Make a folder that only the user can enter; refuse one that others could have made."""
    missing = [one for one in (path, *path.parents) if not one.exists()]
    for one in reversed(missing):
        try:
            one.mkdir(mode=0o700)
        except FileExistsError:
            continue
        except NotADirectoryError:
            raise PlaceUnsafeError(in_the_way(path), "it is no folder") from None
        except OSError as error:
            raise PlaceUnsafeError(path, error.strerror or str(error)) from None
    facts = path.lstat()
    if not stat.S_ISDIR(facts.st_mode):
        raise PlaceUnsafeError(path, "it is no folder")
    if hasattr(os, "getuid") and facts.st_uid != os.getuid():
        raise PlaceUnsafeError(path, "it belongs to another user")
    if facts.st_mode & 0o077:
        path.chmod(0o700)
    return path


def in_the_way(path: Path) -> Path:
    """Give what is there of a path that cannot be made: itself, or the nearest above it."""
    return next(one for one in (path, *path.parents) if os.path.lexists(one))


def emptied_folder(path: Path) -> Path:
    """Make a private folder anew, without what was in it."""
    shutil.rmtree(path, ignore_errors=True)
    return private_folder(path)


def write_private(path: Path, content: bytes) -> None:
    """Write a file for the user alone: whole, on the disk, or not at all."""
    draft = path.with_name(f".{path.name}-{os.getpid()}-{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def refuse_state(folder: Path, state: Path) -> None:
    """Keep runs, keys and trust out of every program's reach, also from a folder above them."""
    host, kept = folder.resolve(), state.resolve()
    if host.is_relative_to(kept) or kept.is_relative_to(host):
        raise MountRefusedError(folder)
