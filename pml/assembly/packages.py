"""Servers that come as packages: what a human is asked, installing, and what to start instead.

A command such as `npx PACKAGE` is not run. Until a human has said yes its server fails by name;
from then on the installed package is verified at each start, and started directly. A command that
names no package in a way we understand stays what it is, and is started only as `pml.confinement`
lets it.
"""

import contextlib
import dataclasses
import datetime
from collections.abc import Mapping

from pml.assembly.setup import Setup
from pml.audit import Audit
from pml.backends.errors import ServerUnknownError
from pml.config import StdioServerConfig
from pml.confinement import Program
from pml.loader.installer import (
    Approved,
    InstallCommandError,
    Installer,
    InstallError,
    InstallQuestion,
    Kind,
    Machine,
    NotInstalledError,
    PackageNameError,
    Record,
    RecordDamagedError,
    Wanted,
    approval_of,
    question_of,
    wanted,
)
from pml.ports import OnProgress
from pml.redaction import Redactor
from pml.trust.key import made_key

_NO_BYTECODE = {"PYTHONDONTWRITEBYTECODE": "1"}
"""A server that is not confined would otherwise change its own package, which then fails."""


@dataclasses.dataclass(frozen=True, slots=True)
class Start:
    """What is started for a server, and with which variables beside its own."""

    program: Program
    environment: Mapping[str, str] = dataclasses.field(default_factory=dict)


def start_of(setup: Setup, server: StdioServerConfig) -> Start:
    """Say what to start; of a package, after it was verified. Blocks while it reads the package.

    Raises `NotInstalledError` and `IntegrityError`.
    """
    package = package_of(server)
    if package is None:
        return Start(Program(server.command, tuple(server.args)))
    approved = record_of(setup).approved(server.name, package)
    if approved is None:
        raise NotInstalledError(server.name, str(package))
    return verified_start(setup, server.name, package, approved)


def verified_start(setup: Setup, server: str, package: Wanted, approved: Approved) -> Start:
    """Compare an approved package with its hash; say how its program is started."""
    installer = installer_of(setup)
    hashes = approved.integrity, approved.tree_integrity
    found = installer.find(approved.package, *hashes)
    verified = installer.verify(found, package, name=server)
    environment = _NO_BYTECODE if package.kind is Kind.PYPI else {}
    return Start(Program(verified.command[0], verified.command[1:]), environment)


def package_of(server: StdioServerConfig) -> Wanted | None:
    """Give the package that a server's command starts; None if it is no such command."""
    try:
        return wanted(server.command, server.args)
    except (InstallCommandError, PackageNameError):
        return None


def tree_of(setup: Setup, server: StdioServerConfig) -> str | None:
    """Give the hash of the package that a server is started from; None if there is none."""
    package = package_of(server)
    try:
        approved = record_of(setup).approved(server.name, package) if package else None
    except RecordDamagedError:
        return None  # whoever starts the server says so
    return approved.tree_integrity if approved else None


def packaged_servers(setup: Setup, name: str | None) -> list[StdioServerConfig]:
    """Give the servers that come as packages, or the one that is named."""
    known = [server.name for server in setup.servers]
    if name is not None and name not in known:
        raise ServerUnknownError(name, known)
    return [
        server
        for server in setup.servers
        if isinstance(server, StdioServerConfig)
        and name in (None, server.name)
        and package_of(server) is not None
    ]


def problem_of(setup: Setup, server: StdioServerConfig) -> InstallError | None:
    """Say why a server's package cannot be started as it is; None if it can."""
    try:
        start_of(setup, server)
    except InstallError as problem:
        return problem
    return None


async def question_for(
    setup: Setup, server: StdioServerConfig, on_progress: OnProgress
) -> InstallQuestion:
    """Find out which version would be installed; give what a human is to be asked."""
    package = package_of(server)
    if package is None:
        raise AssertionError
    resolved = await installer_of(setup).resolve(package, on_progress)
    return question_of(server.name, package, resolved)


@dataclasses.dataclass(frozen=True, slots=True)
class Promise:
    """What a registry says of a package that it names."""

    integrity: str
    terms: str
    """The hash of what else the human is shown."""


async def install(
    setup: Setup,
    question: InstallQuestion,
    redactor: Redactor,
    on_progress: OnProgress,
    promise: Promise | None = None,
) -> Approved:
    """Install what a human said yes to, and write it down: in the audit, then as approved.

    Raises `IntegrityError` if it is not what was promised.
    """
    installed = await installer_of(setup).install(
        question.package,
        question.wanted.manager,
        name=question.server,
        expected=promise.integrity if promise else None,
        on_progress=on_progress,
    )
    now = datetime.datetime.now(datetime.UTC)
    approved = approval_of(question.wanted, installed, now, promise.terms if promise else "")
    facts = {
        "server": question.server,
        "registry": str(approved.package.kind),
        "package": str(approved.package),
        "integrity": approved.integrity,
        "treeIntegrity": approved.tree_integrity,
    }
    with contextlib.closing(Audit(setup.state, redactor)) as audit:
        audit.write("package_installed", facts)
    record_of(setup).approve(question.server, approved)
    return approved


def installer_of(setup: Setup) -> Installer:
    """Give the installer of the user."""
    state = setup.state.parent.parent
    machine = Machine(setup.environ, setup.user_home, setup.support, state / "packages")
    return Installer(machine, made_key(state))


def record_of(setup: Setup) -> Record:
    """Give what was approved for this workspace."""
    return Record(setup.state, setup.workspace, made_key(setup.state.parent.parent))
