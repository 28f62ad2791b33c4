"""Packages of npm and PyPI: installed once, hashed, verified at every start, started directly.

    found = wanted(command, args)                  # None: not a package runner's command
    package = await installer.resolve(found)       # one exact version
    question = question_of(server, found, package) # for the human; nobody is asked here
    installed = await installer.install(package, found.manager)
    record.approve(server, approval_of(found, installed, now))
    verified = installer.verify(installed, found)  # `verified.command` may be started

Package managers run confined, scripts of packages never. Above: the backends, assembly, the
commands. Below: `pml.confinement`, `pml.places`, `pml.redaction`.
"""

from pml.loader.installer.asking import InstallQuestion, question_of
from pml.loader.installer.commands import wanted, wanted_in
from pml.loader.installer.doubts import Doubt, DoubtKind, doubts, look_alike
from pml.loader.installer.errors import (
    EntryUnclearError,
    InstallCommandError,
    InstallError,
    InstallFailedError,
    InstallTimeoutError,
    IntegrityError,
    ManagerMissingError,
    NotInstalledError,
    NoWheelError,
    PackageNameError,
    PackageUnknownError,
    RecordDamagedError,
    RegistryUnreachableError,
    TreeUnsafeError,
)
from pml.loader.installer.installing import Installer, VerifiedPackage
from pml.loader.installer.packages import Kind, Package, Wanted
from pml.loader.installer.record import Approved, Record, approval_of
from pml.loader.installer.settings import Machine
from pml.loader.installer.store import Installed

__all__ = [
    "Approved",
    "Doubt",
    "DoubtKind",
    "EntryUnclearError",
    "InstallCommandError",
    "InstallError",
    "InstallFailedError",
    "InstallQuestion",
    "InstallTimeoutError",
    "Installed",
    "Installer",
    "IntegrityError",
    "Kind",
    "Machine",
    "ManagerMissingError",
    "NoWheelError",
    "NotInstalledError",
    "Package",
    "PackageNameError",
    "PackageUnknownError",
    "Record",
    "RecordDamagedError",
    "RegistryUnreachableError",
    "TreeUnsafeError",
    "VerifiedPackage",
    "Wanted",
    "approval_of",
    "doubts",
    "look_alike",
    "question_of",
    "wanted",
    "wanted_in",
]
