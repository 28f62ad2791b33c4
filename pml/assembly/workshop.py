"""Benches for the gateway, as the configuration is now: looked at before every request.

A change of the rules takes effect with the next request and stops nothing; but what is denied is
denied to requests under way, too. When the servers themselves change, new ones are opened beside
the old, which are closed as soon as the requests that began with them have ended. A configuration
that cannot be used is an error of every request, until it is mended; no restart is needed for
that, nor for `pml trust` or a key in `.env`.
"""

import contextlib
import dataclasses
import os
import stat
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import anyio
import anyio.abc

from pml.assembly.fingerprints import fingerprints
from pml.assembly.rights import QuestionWords, rights_of, store_of
from pml.assembly.servers import Opened, opened_servers
from pml.assembly.setup import Prepared, Setup, prepare
from pml.config import Config, Permissions, user_file
from pml.discovery import ListingStore
from pml.gateway.bench import Bench
from pml.gateway.catalog import Catalog
from pml.keys.lookup import FILE_NAME as DOTENV
from pml.model import Decision, Outcome
from pml.policy import decide
from pml.ports import Observer
from pml.trust.key import made_key
from pml.workspace import CONFIG_NAME, LOCKFILE, Workspace

Seen = tuple[tuple[int, int, int] | None, ...]
_STRICTNESS = Outcome.ALLOW, Outcome.ASK, Outcome.DENY


class _Crew:
    """The servers of one configuration, and who works with them."""

    def __init__(self, opened: Opened, catalog: Catalog) -> None:
        self.opened = opened
        self.catalog = catalog
        self.users = 0
        self.is_retired = False
        self.done = anyio.Event()

    def leave(self) -> None:
        self.users -= 1
        self.retire(self.is_retired)

    def retire(self, is_retired: bool = True) -> None:
        self.is_retired = is_retired
        if is_retired and not self.users:
            self.done.set()


class Workshop:
    """Gives benches; open it with `opened_workshop`."""

    def __init__(
        self,
        workspace: Workspace,
        environ: Mapping[str, str],
        home: Path,
        observer: Observer,
        tasks: anyio.abc.TaskGroup,
        *,
        frozen: bool = False,
    ) -> None:
        """Read nothing yet; `frozen`: nothing new is locked, pinned or installed."""
        self._workspace = workspace
        self._environ = environ
        self._home = home
        self._observer = observer
        self._tasks = tasks
        self._frozen = frozen
        self._seen: Seen | None = None
        self._files: tuple[str, ...] = ()
        self._prepared: Prepared | None = None
        self._locked: tuple[int, int, int] | None = None
        self._crew: _Crew | None = None
        self._bench: Bench | None = None
        self._latest: tuple[Seen, Permissions] | None = None
        self._changing = anyio.Lock()

    @contextlib.asynccontextmanager
    async def using(self) -> AsyncIterator[Bench]:
        """Give the bench of now; it stays good until this is left."""
        if self._bench is None or self._looked() != self._seen:
            await self._renew()
        crew, bench = self._crew, self._bench
        assert crew is not None  # noqa: S101 - `_renew` makes both or raises
        assert bench is not None  # noqa: S101
        crew.users += 1
        try:
            yield bench
        finally:
            crew.leave()

    async def _renew(self) -> None:
        async with self._changing:
            seen = self._looked()
            if self._bench is not None and seen == self._seen:
                return
            self._bench = None
            made = prepare(self._workspace, self._environ, self._home, frozen=self._frozen)
            before = self._prepared.setup if self._prepared else None
            locked = _stamp(self._workspace.path / LOCKFILE)
            same = before is not None and _same_servers(before, made.setup)
            if self._crew is None or not same or locked != self._locked:
                retired, self._crew = self._crew, None
                if retired is not None:
                    retired.retire()
                self._crew = await self._tasks.start(self._live, made.setup)
            self._prepared, self._locked = made, locked
            self._bench = self._made_bench(made, self._crew)
            self._seen = seen  # as it was before it was read: it may be another by now

    async def _live(self, setup: Setup, *, task_status: anyio.abc.TaskStatus[_Crew]) -> None:
        """Keep servers open until nobody works with them any more."""
        key = made_key(setup.state.parent.parent)
        async with opened_servers(setup, self._observer) as opened:
            store = ListingStore(setup.state / "tools", key)
            catalog = Catalog(opened.servers, store, fingerprints(setup, key, opened.registry))
            crew = _Crew(opened, catalog)
            task_status.started(crew)
            try:
                await crew.done.wait()
            finally:
                catalog.close()

    def _made_bench(self, made: Prepared, crew: _Crew) -> Bench:
        setup, opened = made.setup, crew.opened
        began = setup.config.permissions
        rights = dataclasses.replace(
            rights_of(setup, opened),
            decide=lambda tool: self._decide(tool, began),
            check_tool=crew.catalog.check_tool,
        )
        return Bench(
            setup.workspace,
            setup.config,
            crew.catalog,
            rights,
            store_of(setup),
            QuestionWords(opened),
            opened.redactor,
            tuple(_notes(made)),
        )

    def _decide(self, tool: str, began: Permissions) -> Decision:
        """Decide by the rules that a request began with and by those of now: the stricter one.

        A request may last for hours, above all while a human is asked: what was denied meanwhile
        is denied, and with a configuration that cannot be used nothing is called.
        """
        now = self._rules()
        decisions = [decide(tool, rules) for rules in ((began,) if now is began else (began, now))]
        return max(decisions, key=lambda one: _STRICTNESS.index(one.outcome))

    def _rules(self) -> Permissions:
        seen = self._looked()
        if self._latest is None or self._latest[0] != seen:
            made = self._prepared if self._bench is not None and seen == self._seen else None
            made = made or prepare(self._workspace, self._environ, self._home)
            self._latest = seen, made.setup.config.permissions
        return self._latest[1]

    def _looked(self) -> Seen:
        if not self._files:
            from pml.places import state_folder, workspace_state  # noqa: PLC0415

            folder = self._workspace.path
            state = workspace_state(state_folder(self._environ, self._home), folder)
            own = user_file(self._environ, self._home)
            files = folder / CONFIG_NAME, folder / DOTENV, state / "trust.json", own
            self._files = tuple(map(str, (*files, folder / LOCKFILE)))
        return tuple(map(_stamp, self._files))


@contextlib.asynccontextmanager
async def opened_workshop(
    workspace: Workspace,
    environ: Mapping[str, str],
    home: Path,
    observer: Observer,
    *,
    frozen: bool = False,
) -> AsyncIterator[Workshop]:
    """Give a workshop; close its servers at the end."""
    async with anyio.create_task_group() as tasks:
        yield Workshop(workspace, environ, home, observer, tasks, frozen=frozen)
        tasks.cancel_scope.cancel()


def _notes(made: Prepared) -> list[str]:
    waiting = len(made.effect.waiting)
    if not waiting:
        return []
    what = "1 change" if waiting == 1 else f"{waiting} changes"
    where = f"{CONFIG_NAME} in {made.setup.workspace}"
    return [f"{what} of {where} wait for you and are not used: run `pml trust` in a terminal"]


def _same_servers(before: Setup, now: Setup) -> bool:
    def facts(setup: Setup) -> Any:
        config = setup.config
        unusable = {name: str(problem) for name, problem in config.unusable.items()}
        return (
            setup.workspace, setup.servers, unusable, config.limits, config.env, config.require,
            config.builtins, dict(setup.keys), _cloud_facts(config), config.registries,
        )  # fmt: skip

    return bool(facts(before) == facts(now))


def _cloud_facts(config: Config) -> Any:
    cloud = config.cloud
    return cloud and (cloud.url, cloud.api_key, dict(cloud.own_keys))


def _stamp(path: str | Path) -> tuple[int, int, int] | None:
    """Say which file this is, in which state; of a link, the file it leads to."""
    # at every decision: one call to the system for each file, whether it is there or not
    try:
        facts = os.lstat(path)
    except OSError:
        return None
    if stat.S_ISLNK(facts.st_mode):
        try:
            facts = os.stat(path)  # noqa: PTH116 - a text, as above
        except OSError:
            return 0, 0, 0
    return facts.st_mtime_ns, facts.st_size, facts.st_ino
