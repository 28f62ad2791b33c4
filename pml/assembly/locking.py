"""The lockfile of a workspace, wired: its file, who remembers it, what is kept, who is asked.

Only what the human trusted counts here: registries and rules of a changed `.pml.json` wait.
"""

import contextlib
import dataclasses
import datetime
import secrets
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

from pml.backends.http.fetching import HttpFetch
from pml.config import Config, Permissions
from pml.keys import Keys, environ_with
from pml.loader.cache import Cache
from pml.loader.capabilities import CapabilityLoader
from pml.loader.lockfile import LockStore
from pml.loader.needs import Checks
from pml.loader.registry import Registries, Registry
from pml.places import state_folder, workspace_state
from pml.trust import LockfileWitness, effective, load, store_of

_CACHE = "registry"


@dataclasses.dataclass(frozen=True, slots=True)
class Locking:
    """All that has to do with the lockfile of one workspace."""

    store: LockStore
    cache: Cache
    config: Config
    """As far as it is trusted."""

    stated: Permissions
    """The rules that the file states, trusted or not."""

    rules: Permissions
    """What an entry is kept for: rules that the human trusted, and those that the file states."""


def now() -> datetime.datetime:
    """Give the time."""
    return datetime.datetime.now(datetime.UTC)


def locking_of(
    workspace: Path,
    environ: Mapping[str, str],
    user_home: Path,
    *,
    writes: bool = False,
    frozen: bool = False,
) -> Locking:
    """Wire the lockfile of a workspace; `writes`: the user's key is made if there is none."""
    trust, keys = store_of(workspace, environ, user_home), Keys(environ, workspace)
    # without a key no record counts and nothing is kept, so any key will do to read
    key = trust.made_key() if writes else trust.key() or secrets.token_bytes(32)
    loaded = load(workspace, environ_with(keys), user_home, key, keys)
    kept = trust.load()
    state = state_folder(environ, user_home)
    witness = LockfileWitness(trust, loaded, now)
    return Locking(
        LockStore(
            trust.workspace, workspace_state(state, trust.workspace), witness, frozen=frozen
        ),
        Cache(state / _CACHE, key),
        effective(loaded, kept).config,
        loaded.config.permissions,
        _keeping(kept.record.statement.permissions, loaded.config.permissions)
        if kept.record
        else Permissions(),
    )


def _keeping(trusted: Permissions, stated: Permissions) -> Permissions:
    """Give the rules of both: whoever writes the file can unlock nothing with it.

    None, where either has none: then everything asks, and every entry is kept.
    """
    if not all(one.allow or one.ask for one in (trusted, stated)):
        return Permissions()
    return Permissions((*trusted.allow, *stated.allow), (*trusted.ask, *stated.ask))


@contextlib.asynccontextmanager
async def opened_loader(
    locking: Locking, checks: Checks | None = None
) -> AsyncIterator[CapabilityLoader]:
    """Give who asks the trusted registries; without checks it loads nothing: nothing is ready."""
    checks = checks or Checks(locking.rules, lambda _: False, lambda _: False)
    async with HttpFetch() as fetch:
        yield CapabilityLoader(
            Registries(registries_of(locking.config), fetch),
            locking.cache,
            locking.store,
            checks,
            now,
        )


def registries_of(config: Config) -> tuple[Registry, ...]:
    """Give the registries in their order; the cloud's key goes to the cloud alone."""
    cloud = config.cloud
    return tuple(
        Registry(url, cloud.api_key if cloud is not None and cloud.url == url else None)
        for url in config.registries
    )
