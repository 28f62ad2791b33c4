"""The user's key of the audit: random, made once, in the root of the state folder, 0600.

Whoever has it can write lines that `verify` believes; guests and servers cannot reach it. It is
never made anew while there are logs made with the old one: that would hide what happened.
"""

import contextlib
import os
import stat
from pathlib import Path

from pml.audit.errors import AuditKeyLostError, AuditUnavailableError
from pml.audit.files import HEAD, log_files, open_flags, write_all
from pml.places import private_folder

NAME = "audit.key"
BYTES = 32
"""What blake3 takes."""


def root_of(folder: Path) -> Path:
    """Give the user's state folder from a workspace's: two above, as `places` has it.

    A folder that is not laid out so keeps its own key.
    """
    return folder.parent.parent if folder.parent.name == "workspaces" else folder


def load_key(folder: Path) -> bytes:
    """Give the key for a workspace's folder; make it if there is none and nothing needs one."""
    path = root_of(folder) / NAME
    key = existing_key(folder)
    if key is not None:
        return key
    private_folder(path.parent)
    with contextlib.suppress(FileExistsError):  # another process was first
        _make(path)
    return _read(path) or _lost(path, "the key vanished")


def existing_key(folder: Path) -> bytes | None:
    """Give the key, None if there is none and no log either; a key that is lost raises."""
    path = root_of(folder) / NAME
    key = _read(path)
    if key is None and _has_logs(folder):
        # looked for again: another process may just have made it, always before its first log
        return _read(path) or _lost(path, "the key is missing")
    return key


def _lost(path: Path, reason: str) -> bytes:
    raise AuditKeyLostError(path, reason)


def _has_logs(folder: Path) -> bool:
    folders = (folder, *(root_of(folder) / "workspaces").glob("*/"))
    return any(log_files(one) or (one / HEAD).exists() for one in folders)


def _read(path: Path) -> bytes | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | open_flags())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise AuditUnavailableError(path, error.strerror or str(error)) from None
    try:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode) or facts.st_uid != os.getuid():
            raise AuditUnavailableError(path, "it is no plain file of yours")
        if facts.st_mode & 0o077:
            hint = f"if you know why, close it again: chmod 600 {path}"
            raise AuditUnavailableError(path, "others can read or change it", hint=hint)
        key = os.read(descriptor, BYTES + 1)
    finally:
        os.close(descriptor)
    return key if len(key) == BYTES else _lost(path, "the key is damaged")


def _make(path: Path) -> None:
    """Write it elsewhere first: no other process may read half a key, or overwrite a whole one."""
    draft = path.with_name(f"{NAME}.{os.getpid()}")
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | open_flags(), 0o600)
    try:
        write_all(descriptor, os.urandom(BYTES))
        os.fsync(descriptor)
        os.link(draft, path)  # unlike a rename, never over a key that is there
    finally:
        os.close(descriptor)
        draft.unlink(missing_ok=True)
