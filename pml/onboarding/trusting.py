"""What of a new setup is trusted: never more than `pml init` made itself or a human has seen.

A configuration that this very run wrote where there was none is trusted: by itself it starts
nothing and allows reading alone. Servers that were taken over from the user's own files, and a
cloud, are trusted only if a human at a terminal saw them and said yes: `--yes` may be typed by a
model or a script. What came with the workspace waits for `pml trust`, whoever runs `pml init`: its
`.pml.json`, its lockfile, servers of its `.mcp.json`, and a server of the user's that the
workspace's own `.env` would fill in.
"""

import dataclasses
import datetime
from collections.abc import Mapping
from typing import Any

from pml.keys import Keys, environ_with
from pml.onboarding.planning import KEY_NAME, SetupPlan
from pml.trust import Loaded, NothingTrustedError, TrustRecord, load, store_of, trust_loaded
from pml.trust.statement import ServerStatement, Statement


def prepare_trust(plan: SetupPlan, *, human: bool) -> None:
    """Raise, before anything is written, if what is to be trusted could not be kept."""
    if plan.config.before is None or human:
        around = plan.around
        store_of(around.workspace, around.environ, around.home).prepare()


def trust_written(plan: SetupPlan, now: datetime.datetime, *, human: bool) -> None:
    """Trust what may be of a plan that was carried out; `human`: one has seen it and agreed."""
    around = plan.around
    created = plan.config.before is None
    if not created and not human:
        return
    store = store_of(around.workspace, around.environ, around.home)
    keys = Keys(around.environ, around.workspace)
    key = store.made_key()
    loaded = load(around.workspace, environ_with(keys), around.home, key, keys)
    if loaded.content != plan.config.after:  # somebody has written it meanwhile
        return
    servers = _servers(plan, loaded, keys) if human else {}
    cloud = _cloud(plan, loaded, keys) if human else {}
    if created:
        statement = dataclasses.replace(loaded.statement, servers=servers, cloud=cloud)
        trust_loaded(store, dataclasses.replace(loaded, statement=statement, lockfile=None), now)
        return

    def extended(record: TrustRecord) -> TrustRecord:
        return dataclasses.replace(record, statement=_more(record.statement, servers, cloud))

    if servers or cloud:
        try:
            store.update(extended)
        except NothingTrustedError:
            return  # all of it waits, and `pml init` says so


def _more(
    old: Statement, servers: Mapping[str, ServerStatement], cloud: Mapping[str, Any]
) -> Statement:
    more = dataclasses.replace(old, servers={**old.servers, **servers})
    return dataclasses.replace(more, cloud=cloud) if cloud else more


def _servers(plan: SetupPlan, loaded: Loaded, keys: Keys) -> Mapping[str, ServerStatement]:
    """Give the servers that are the user's in every part."""
    found = {}
    for taken in plan.taken:
        said = loaded.statement.servers.get(taken.name)
        if said and taken.place.is_own and _is_filled_by(taken.variables, said.identity, keys):
            found[taken.name] = said
    return found


def _cloud(plan: SetupPlan, loaded: Loaded, keys: Keys) -> Mapping[str, Any]:
    """Give the cloud if it is the one that the human saw, with the key that they gave."""
    given, said = plan.wishes.cloud, loaded.statement.cloud
    filled_in = {KEY_NAME: given.key} if given.key else {}
    if not said or given.url != said.get("url") or not _is_filled_by(filled_in, said, keys):
        return {}
    return said


def _is_filled_by(ours: Mapping[str, str], said: Mapping[str, Any], keys: Keys) -> bool:
    """Say whether the workspace fills in nothing but our variables, with our values."""
    filled_in = set(said.get("variables", {}))
    if not filled_in <= {f"{name} in .env" for name in ours}:
        return False
    names = [name for name in ours if f"{name} in .env" in filled_in]
    return all(keys.in_file(name) == ours[name] for name in names)
