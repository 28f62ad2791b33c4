"""What a call may lack that only the human can give, and bringing it after a yes.

    keys          a server's variables are not set: no question, the run waits until they are
    packages      a server's package is not installed: asked about in its exact version
    capabilities  a registry gives something else than what is locked
    registry      a server of a registry is not installed, or a name is only there: `fetching`
    tools         a server lists a tool otherwise than it is pinned; last: its server is started

Asked at every call, so each part says quickly that nothing is lacking. Above: `rights`.
"""

from collections.abc import Sequence
from typing import Protocol

from pml.assembly.frozen import FrozenProvisions
from pml.assembly.packages import (
    install,
    package_of,
    question_for,
    record_of,
)
from pml.assembly.pinning import ChangedTools
from pml.assembly.servers import Opened
from pml.assembly.setup import Setup
from pml.config import MissingVariablesError, StdioServerConfig
from pml.errors import NeedMovedError
from pml.keys.lookup import FILE_NAME as DOTENV
from pml.loader.installer import InstallQuestion
from pml.model import Need, Progress
from pml.ports import OnProgress, Provisions
from pml.redaction import Redactor


class Part(Protocol):
    """One reason why a call may lack something."""

    async def need(self, tool_id: str) -> Need | None:
        """Say what is lacking, None if nothing is; changes nothing."""

    async def provide(self, tool_id: str, token: str, on_progress: OnProgress) -> None:
        """Bring what the token names, or raise; what is there already is fine."""


class Provided:
    """All parts: the `Provisions` of a run."""

    def __init__(self, parts: Sequence[Part]) -> None:
        """Ask these, in this order."""
        self._parts = tuple(parts)

    async def need(self, tool_id: str, *, starting: bool = True) -> Need | None:
        """Give the first thing that is lacking."""
        for part in self._parts:
            if not starting and isinstance(part, ChangedTools):
                continue
            need = await part.need(tool_id)
            if need is not None:
                return need
        return None

    async def provide(
        self, tool_id: str, token: str, on_progress: OnProgress | None = None
    ) -> None:
        """Bring what the token names; raises `NeedMovedError` if something else is lacking now."""
        for part in self._parts:
            need = await part.need(tool_id)
            if need is None:
                continue
            if need.token != token:
                raise NeedMovedError(tool_id, need.words)
            await part.provide(tool_id, token, on_progress or _unheard)
            return


def provisions_of(setup: Setup, opened: Opened) -> Provisions:
    """Give who knows what is lacking in a workspace."""
    parts: list[Part] = [MissingKeys(setup)]
    if not setup.frozen:  # else a start without its package fails, and no registry is asked
        parts.append(MissingPackages(setup, opened.redactor))
    if opened.capabilities is not None:
        from pml.assembly.changed import ChangedCapabilities  # noqa: PLC0415 - as in `servers`

        parts.append(ChangedCapabilities(opened.capabilities))
    if opened.registry is not None:
        from pml.assembly.fetching import RegistryNeeds  # noqa: PLC0415

        parts.append(RegistryNeeds(setup, opened, opened.registry))
    parts.append(ChangedTools(opened.pinned, opened.redactor))
    return FrozenProvisions(Provided(parts)) if setup.frozen else Provided(parts)


class MissingKeys:
    """Variables that configured servers need."""

    def __init__(self, setup: Setup) -> None:
        """Take what the configuration says."""
        self._missing = {
            name: problem
            for name, problem in setup.config.unusable.items()
            if isinstance(problem, MissingVariablesError)
        }
        self._where = setup.workspace / DOTENV

    async def need(self, tool_id: str) -> Need | None:
        """Name the variables."""
        problem = self._missing.get(tool_id.partition(":")[0])
        return None if problem is None else self._of(problem)

    def _of(self, problem: MissingVariablesError) -> Need:
        names = ", ".join(problem.names)
        words = f"{problem.owner} requires {names}: set it in {self._where}, then run pml trust"
        return Need("keys", words, facts={"missingKeys": list(problem.names)})

    async def provide(self, tool_id: str, token: str, on_progress: OnProgress) -> None:
        """Nothing: the human sets them."""


class MissingPackages:
    """Packages of configured servers that nobody has said yes to yet."""

    def __init__(self, setup: Setup, redactor: Redactor) -> None:
        """Look nothing up yet."""
        self._setup = setup
        self._redactor = redactor
        self._wanted = {
            server.name: server
            for server in setup.servers
            if isinstance(server, StdioServerConfig) and package_of(server) is not None
        }
        self._asked: dict[str, InstallQuestion] = {}

    async def need(self, tool_id: str) -> Need | None:
        """Give the question about the exact version that would be installed."""
        server = self._wanted.get(tool_id.partition(":")[0])
        if server is None or self._is_approved(server):
            return None
        question = self._asked.get(server.name)
        if question is None:
            question = await question_for(self._setup, server, _unheard)
            self._asked[server.name] = question
        facts = question.facts()
        details = [f"{facts['package']}@{facts['version']} from {facts['registry']}"]
        details += [doubt["words"] for doubt in facts["doubts"]]
        return Need("install", question.words, _token(question), {**facts, "details": details})

    def _is_approved(self, server: StdioServerConfig) -> bool:
        wanted = package_of(server)
        if wanted is None or record_of(self._setup).approved(server.name, wanted) is not None:
            del self._wanted[server.name]  # from now on its start compares the hashes
            return True
        return False

    async def provide(self, tool_id: str, token: str, on_progress: OnProgress) -> None:  # noqa: ARG002 - `Provided` has compared it
        """Install it."""
        question = self._asked[tool_id.partition(":")[0]]
        await install(self._setup, question, self._redactor, on_progress)


def _token(question: InstallQuestion) -> str:
    package = question.package
    return f"{package.kind}:{package.name}{package.extras}@{package.version}"


def _unheard(_: Progress) -> None:
    """Nobody waits for it."""
