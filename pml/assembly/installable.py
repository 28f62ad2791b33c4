"""The servers of a workspace that come as packages, whoever named them: to install them."""

import dataclasses
from collections.abc import Awaitable, Callable

from pml.assembly.fetching import details_of
from pml.assembly.locking import locking_of
from pml.assembly.packages import (
    Promise,
    installer_of,
    packaged_servers,
    problem_of,
    question_for,
    record_of,
)
from pml.assembly.registry import approved_in, locked_servers
from pml.assembly.setup import Setup
from pml.config import StdioServerConfig
from pml.loader.installer import InstallQuestion, question_of
from pml.loader.served import Served
from pml.ports import OnProgress


@dataclasses.dataclass(frozen=True, slots=True)
class Installable:
    """One of them."""

    name: str
    is_installed: Callable[[], bool]
    question: Callable[[OnProgress], Awaitable[InstallQuestion]]
    """Finds out which version it would be."""

    promise: Promise | None = None
    """What its registry says of it; such a version changes with the lockfile alone."""

    details: tuple[str, ...] = ()
    """What the human should see besides."""

    @property
    def can_change(self) -> bool:
        """Say whether there may be a newer version of it."""
        return self.promise is None


def installable(setup: Setup, name: str | None) -> list[Installable]:
    """Give all, or the one that is named; raises `ServerUnknownError`, or a `LockfileError`."""
    locked: dict[str, Served] = {}
    if setup.lockfile.is_file():
        locking = locking_of(setup.folder, setup.environ, setup.user_home)
        locked = locked_servers(setup, locking)
    wanted = [one for one in locked.values() if name in (None, one.name)]
    own = [] if name in locked else packaged_servers(setup, name)
    return [
        *(_configured(setup, server) for server in own),
        *(_described(setup, one) for one in wanted),
    ]


def _configured(setup: Setup, server: StdioServerConfig) -> Installable:
    return Installable(
        server.name,
        lambda: problem_of(setup, server) is None,
        lambda on_progress: question_for(setup, server, on_progress),
    )


def _described(setup: Setup, served: Served) -> Installable:
    async def question(on_progress: OnProgress) -> InstallQuestion:
        package = await installer_of(setup).resolve(served.wanted, on_progress)
        return question_of(served.name, served.wanted, package)

    return Installable(
        served.name,
        lambda: approved_in(record_of(setup), served) is not None,
        question,
        Promise(served.integrity, served.terms),
        tuple(details_of(served)),
    )
