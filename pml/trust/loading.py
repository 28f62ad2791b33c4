"""Reads `.pml.json` once, and says of the same bytes what they configure and what they state.

Two readings of a file that servers may write could be two files. What the user's own variables
point to is checked too: a client's project file can set `PML_STATE` or `XDG_CONFIG_HOME`, so a
state folder or a user's file in the workspace is the word of whoever writes the workspace, and
does not count. What the workspace's `.env` fills in counts as said by the file.
"""

import datetime
import hashlib
import os
import secrets
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from pml.config import Config, user_file
from pml.config.errors import ConfigTooLargeError, ConfigUnreadableError
from pml.config.loading import FILE_NAME, MOST_BYTES
from pml.config.spots import Spot
from pml.config.values import Approvals
from pml.places import state_folder
from pml.trust.effect import Effective, Loaded, effective
from pml.trust.guarding import Guard
from pml.trust.record import TrustRecord, trust_added_allow
from pml.trust.statement import Statement
from pml.trust.store import Store
from pml.workspace import LOCKFILE

_MOST_LOCKFILE_BYTES = 64 << 20


class DotEnv(Protocol):
    """What the workspace's own `.env` adds to the environment; `pml.keys.Keys` is one."""

    @property
    def environ(self) -> Mapping[str, str]:
        """The process's environment, which wins."""

    def in_file(self, name: str) -> str | None:
        """Give what the file sets a variable to."""


def store_of(workspace: Path, environ: Mapping[str, str], user_home: Path) -> Store:
    """Give where the record of a workspace is kept."""
    return Store(state_folder(environ, user_home), Path(os.path.realpath(workspace)))


def load_trusted(
    workspace: Path,
    environ: Mapping[str, str],
    user_home: Path,
    dotenv: DotEnv | None = None,
) -> tuple[Loaded, Effective]:
    """Read the configuration of a workspace and give what of it may be used now.

    `environ` is what variables are filled in from, `dotenv` what of it lies in the workspace.
    Raises a `ConfigError` for a file that cannot be used at all: then nothing runs. A record that
    is damaged raises nothing: then nothing is trusted.
    """
    store = store_of(workspace, environ, user_home)
    # without a key no record counts, so any key will do to tell values apart
    key = store.key() or secrets.token_bytes(32)
    loaded = load(workspace, environ, user_home, key, dotenv)
    return loaded, effective(loaded, store.load())


def trust_workspace(
    workspace: Path,
    environ: Mapping[str, str],
    user_home: Path,
    now: datetime.datetime,
    dotenv: DotEnv | None = None,
) -> TrustRecord:
    """Trust the configuration as it is. For who has asked the human: `pml trust`, `pml init`."""
    store = store_of(workspace, environ, user_home)
    return trust_loaded(store, load(workspace, environ, user_home, store.made_key(), dotenv), now)


def trust_loaded(store: Store, loaded: Loaded, now: datetime.datetime) -> TrustRecord:
    """Trust exactly what was loaded, with the key of this store, and shown."""
    record = TrustRecord(loaded.statement, loaded.lockfile, now.isoformat(timespec="seconds"))
    store.save(record)
    return record


def trust_always(store: Store, loaded: Loaded, tool: str, now: datetime.datetime) -> TrustRecord:
    """Trust the rule that the human's Always added to the file of `loaded`, and nothing else.

    Where nothing was ever trusted and nothing waits to be, this is the first record. Otherwise
    raises `NothingTrustedError`: the rule then waits for `pml trust` with all the rest.
    """
    kept = store.load()
    if kept.record is None and not kept.problem and not effective(loaded, None).waiting:
        first = TrustRecord(loaded.statement, at=now.isoformat(timespec="seconds"))
        store.save(trust_added_allow(first, tool))
    return store.update(lambda record: trust_added_allow(record, tool))


def load(
    workspace: Path,
    environ: Mapping[str, str],
    user_home: Path,
    key: bytes,
    dotenv: DotEnv | None = None,
) -> Loaded:
    """Read the configuration of a workspace, without asking what was trusted."""
    folder = Path(os.path.realpath(workspace))
    file = folder / FILE_NAME
    content = _content(file, MOST_BYTES)
    lockfile = _hash(folder / LOCKFILE)
    approvals = _approvals(folder, user_file(environ, user_home))
    if content is None:
        return Loaded(Config(approvals=approvals), Statement(), folder, lockfile=lockfile)
    from pml.config import parsing  # noqa: PLC0415 - pydantic takes long to import
    from pml.trust.stating import stated  # noqa: PLC0415

    home = Path(os.path.realpath(user_home))
    around = parsing.Surroundings(folder, environ, home, approvals)
    config = parsing.parse_config(content, file, around)
    guard = Guard(key)

    def in_workspace(name: str) -> str | None:
        return None if dotenv is None or name in dotenv.environ else dotenv.in_file(name)

    statement = stated(content, file, guard, in_workspace)
    return Loaded(config, statement, folder, content, lockfile, guard.readable)


def _approvals(folder: Path, file: Path) -> Approvals:
    """Give what the user's own file says; in the workspace it is nobody's own."""
    if Path(os.path.realpath(file)).is_relative_to(folder):
        return "human"
    content = _content(file, MOST_BYTES)
    if content is None:
        return "human"
    from pml.config import parsing  # noqa: PLC0415 - as above

    return parsing.parse_approvals(content, file)


def _hash(file: Path) -> str | None:
    content = _content(file, _MOST_LOCKFILE_BYTES)
    return None if content is None else hashlib.sha256(content).hexdigest()


def _content(file: Path, most_bytes: int) -> bytes | None:
    """Read a file, None if it is not there. A link that leads nowhere is there."""
    if not os.path.lexists(file):
        return None
    try:
        # a named pipe planted in the workspace must not make us wait for its writer
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as stream:
            is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
            content = stream.read(most_bytes + 1) if is_file else None
    except OSError as error:
        raise ConfigUnreadableError(Spot(file), error.strerror or str(error)) from None
    if content is None:
        raise ConfigUnreadableError(Spot(file), "it is no file")
    if len(content) > most_bytes:
        raise ConfigTooLargeError(Spot(file), most_bytes)
    return content
