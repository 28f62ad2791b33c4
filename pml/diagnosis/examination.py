"""All checks, in the order in which they are told: the room's spine.

One after the other: what a check makes must not be what the next one finds. File modes come
before whatever opens those files, because opening closes them again. Servers come last: they take
longest.
"""

import platform
import sys
from collections.abc import Awaitable, Callable, Iterable
from typing import NamedTuple

from pml.confinement import Level, Support, probe
from pml.diagnosis import (
    audit,
    clients,
    engine,
    guest,
    keys,
    leftovers,
    machine,
    os_sandbox,
    processes,
    servers,
    state,
)
from pml.diagnosis.bounded import CHECK_SECONDS, bounded, on_a_thread
from pml.diagnosis.configuration import Known, find_workspace, read_configuration
from pml.diagnosis.finding import Finding
from pml.diagnosis.surroundings import Surroundings
from pml.places import workspace_state
from sandbox_host.engine.version import installed_version

Watch = Callable[[str], None]
"""Told what is looked at now."""

Found = Finding | Iterable[Finding]


class Check(NamedTuple):
    """One thing to look at."""

    subject: str
    look: Callable[[], Awaitable[Found]]
    seconds: float = CHECK_SECONDS


async def examine(
    around: Surroundings, *, start_servers: bool = True, watch: Watch = lambda _: None
) -> tuple[Finding, ...]:
    """Look at everything; never raises for what it finds."""
    found = await carried_out(_of_machine(around), watch)
    support = await bounded("os sandbox", lambda: on_a_thread(lambda: probe(around.environ)))
    if isinstance(support, Finding):
        support = Support(Level.OFF, reason=support.fact)
    found += await carried_out([*_of_sandboxes(around, support), *_of_state(around)], watch)
    watch("configuration")
    known = await _known(around)
    checks = [
        *_of_workspace(around, known),
        *_of_keys(around, known, support),
        *_of_servers(known, start=start_servers),
    ]
    return (*found, *known.findings, *await carried_out(checks, watch))


async def carried_out(checks: Iterable[Check], watch: Watch = lambda _: None) -> list[Finding]:
    """Carry checks out, each within its time; give what they found."""
    found: list[Finding] = []
    for check in checks:
        watch(check.subject)
        told = await bounded(check.subject, check.look, check.seconds)
        found += [told] if isinstance(told, Finding) else told
    return found


async def _known(around: Surroundings) -> Known:
    """Read the workspace; if its configuration cannot be, the rest is still looked at."""
    workspace = await bounded("workspace", lambda: on_a_thread(lambda: find_workspace(around)))
    if isinstance(workspace, Finding):
        return Known(findings=(workspace,))
    known = await bounded(
        "configuration", lambda: on_a_thread(lambda: read_configuration(around, workspace))
    )
    return known if isinstance(known, Known) else Known(workspace, findings=(known,))


def _check(subject: str, work: Callable[[], Found]) -> Check:
    """Make a check of something that blocks."""

    def whole() -> Found:  # a generator does its work here, not where it is read
        told = work()
        return told if isinstance(told, Finding) else list(told)

    return Check(subject, lambda: on_a_thread(whole))


def _of_machine(around: Surroundings) -> Iterable[Check]:
    version = sys.version_info[:3]
    where = f"{platform.system()} {platform.release()}, {platform.machine()}"
    yield _check("python", lambda: machine.look_at_python(version, where))
    yield _check("disk", lambda: machine.look_at_disk(around.state))
    yield _check("wasmtime", lambda: engine.look_at_wasmtime(installed_version()))
    yield _check("guest", lambda: engine.look_at_guest_files(around.guest_folder))
    yield _check("compiled guest", lambda: engine.look_at_compiled(around.compiled))


def _of_sandboxes(around: Surroundings, support: Support) -> Iterable[Check]:
    yield Check("guest escapes", guest.attack)
    yield _check("os sandbox", lambda: os_sandbox.look_at_level(support))
    yield Check("escapes", lambda: os_sandbox.attack(support, around.environ, around.home))


def _of_state(around: Surroundings) -> Iterable[Check]:
    yield _check("state", lambda: state.look_at_state(around.state))
    yield _check("processes", lambda: processes.look_for_strays(around.processes, around.state))
    yield _check("leftovers", lambda: leftovers.look_for_folders(around.state, around.processes))


def _of_workspace(around: Surroundings, known: Known) -> Iterable[Check]:
    if known.workspace is None:
        return
    path = known.workspace.path
    folder = workspace_state(around.state, path)
    yield _check("audit", lambda: audit.look_at_audit(folder))
    yield _check("runs", lambda: leftovers.look_at_runs(folder, around.state))
    yield _check("client", lambda: clients.look_at_clients(path, around))


def _of_keys(around: Surroundings, known: Known, support: Support) -> Iterable[Check]:
    if known.workspace is None:
        return
    path, environ = known.workspace.path, around.environ
    yield _check(".env", lambda: keys.look_at_env_file(path, environ))
    yield Check(".env", lambda: keys.look_at_git(path, support, environ, around.home))


def _of_servers(known: Known, *, start: bool) -> Iterable[Check]:
    if known.prepared is None:
        return
    setup = known.prepared.setup
    if not start:
        yield _check("servers", lambda: servers.name_servers(setup))
        return
    yield Check("servers", lambda: servers.start_servers(setup), servers.seconds_for(setup))
