"""The configured servers: whether each starts, at its sandbox level, and lists its tools.

All at once, each within the start timeout of the configuration. What nobody has trusted is not in
the setup that comes in here, so it is never started.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from pml.assembly import Opened, Setup, confined, opened_servers, redactor_of
from pml.assembly.confining import remove_temporary
from pml.config import ServerConfig, StdioServerConfig
from pml.config.errors import MissingVariablesError
from pml.diagnosis.finding import Finding, error, of_problem, ok, warning
from pml.errors import PmlError
from pml.model import Listing, ServerStatus
from pml.trust import UntrustedError

CLOSING_SECONDS = 10.0
"""For all servers to end; each takes two at the most."""

_OFF = 'remove `"mode": "off"` from its `sandbox`, and grant what it needs'
_STDERR = "stderr: "


def seconds_for(setup: Setup) -> float:
    """Give how long starting, listing and closing may take together."""
    return 2 * setup.config.limits.start_timeout_seconds + CLOSING_SECONDS


async def start_servers(setup: Setup) -> tuple[Finding, ...]:
    """Start what may be started, ask for its tools, and stop it again."""
    names = [server.name for server in setup.servers]
    if not names:
        return tuple(_unusable(setup))
    async with opened_servers(setup, _Silence()) as opened:
        listings, problems = await opened.servers.list_all(names)
        statuses = {one.name: one for one in opened.servers.status()}
    found = [
        _started(statuses[name], listings[name])
        if name in listings
        else _failed(name, problems[name], opened)
        for name in names
    ]
    return (*found, *_unusable(setup))


def name_servers(setup: Setup) -> tuple[Finding, ...]:
    """Say what is configured and could be started; start nothing."""
    try:
        found = [_planned(setup, server) for server in setup.servers]
    finally:
        remove_temporary(setup, [one.name for one in setup.servers])
    return (*found, *_unusable(setup))


def _planned(setup: Setup, server: ServerConfig) -> Finding:
    subject = f"server {server.name}"
    if not isinstance(server, StdioServerConfig):
        return ok(subject, "not started, remote")
    try:
        level = confined(setup, server).level
    except PmlError as problem:
        return of_problem(subject, problem, "correct `.pml.json`")
    return ok(subject, f"not started, sandbox {level}")


def _started(status: ServerStatus, listing: Listing) -> Finding:
    subject = f"server {status.name}"
    count = len(listing.tools)
    where = "remote" if status.kind == "http" else f"sandbox {status.level}"
    fact = f"starts, {count} tool{'' if count == 1 else 's'}, {where}"
    if status.kind == "stdio" and status.level == "off":
        return warning(subject, f"{fact}: nothing confines it", _OFF)
    if listing.skipped:
        names = ", ".join(f"{one.name} ({one.reason})" for one in listing.skipped)
        return warning(subject, f"{fact}; left out: {names}", "tell those who make the server")
    return ok(subject, fact)


def _failed(name: str, problem: PmlError, opened: Opened) -> Finding:
    """Say how it ended: the first line is ours, the last one the server's."""
    first, *rest = opened.redactor.text(problem.message).splitlines() or [""]
    last = rest[-1].strip() if rest else ""
    said = f"; its last words: {last.removeprefix(_STDERR)}" if last.startswith(_STDERR) else ""
    by_hand = (
        "start its command by hand; if that works, grant what it needs in its `sandbox`;"
        f" `pml tools {name} --verbose` shows more"
    )
    return error(f"server {name}", f"{first}{said}", problem.hint or by_hand)


def _unusable(setup: Setup) -> Iterator[Finding]:
    redactor = redactor_of(setup)
    for name, problem in setup.config.unusable.items():
        subject = f"server {name}"
        if isinstance(problem, UntrustedError):
            yield warning(subject, f"not started: {problem.fact}", problem.hint or "pml trust")
        elif isinstance(problem, MissingVariablesError):
            missing = ", ".join(problem.names)
            fix = f"set {missing} where pml is started, or in `.env` of the workspace"
            yield error(subject, f"not started, keys missing: {missing}", fix)
        else:
            fix = problem.hint or "correct `.pml.json`"
            yield error(subject, redactor.text(problem.message), fix)


class _Silence:
    """Hears what servers do and say, and tells nobody: the findings do."""

    def started(self, server: str, record: Mapping[str, Any]) -> None:
        """Nothing."""

    def ready(self, server: str) -> None:
        """Nothing."""

    def logged(self, server: str, level: str, text: str) -> None:
        """Nothing."""

    def stopped(self, server: str, reason: str) -> None:
        """Nothing."""
