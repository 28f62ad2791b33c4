"""Servers as registries describe them: which package, promised how, with which keys.

A server is described by itself, or by a capability that calls it (`mcp_deps`). What is described
is a stranger's wish: nothing is installed, started or sent here, and all of it is what a human is
shown before that (`Served.terms` is the hash of what the yes is for). Pure.
"""

import dataclasses
import json

from pml.config.names import server_name
from pml.errors import PmlError
from pml.fqdn import Fqdn, integrity_of
from pml.keys.lookup import is_settable
from pml.loader.errors import MetadataInvalidError, RegistryRoutingError, RemoteServerError
from pml.loader.installer.commands import wanted as wanted_of
from pml.loader.installer.packages import Kind, Package, Wanted
from pml.loader.metadata import Dependency, McpType, Metadata
from pml.routing import Routing

_OURS = "PML_"  # the cloud's key is nobody else's


@dataclasses.dataclass(frozen=True, slots=True)
class Served:
    """One server that a registry describes."""

    name: str
    source: Fqdn
    """Who describes it, with its hash: the server itself, or a capability that needs it."""

    integrity: str
    """Of the package's own files, as promised."""

    wanted: Wanted
    """The package, with the version if one is named, and the program's arguments."""

    variables: tuple[str, ...] = ()
    """What it is given of the user's keys, and nothing else."""

    is_dependency: bool = False

    @property
    def terms(self) -> str:
        """Give the hash of all that a yes to it is for, beside the package."""
        told = [self.integrity, self.wanted.args, sorted(self.variables)]
        return integrity_of(json.dumps(told).encode())

    def pinned(self, package: str | None) -> "Served":
        """Give it with the version that was locked: `npm:name@1.2.3`; None changes nothing.

        Raises `MetadataInvalidError` if another package was.
        """
        if package is None:
            return self
        begin = f"{self.wanted.kind}:{self.wanted.name}{self.wanted.extras}@"
        if not package.startswith(begin):
            raise MetadataInvalidError(str(self.source), f"`{package}` is locked for it")
        found = _exactly(self.wanted, package.removeprefix(begin), self.source)
        return dataclasses.replace(self, wanted=found)


def packed_name(package: Package) -> str:
    """Give a package as the lockfile has it."""
    return f"{package.kind}:{package.name}{package.extras}@{package.version}"


def served_by(found: Metadata) -> tuple[Served, ...]:
    """Give what a description brings: the server that it is of, or those that a capability needs.

    Raises `MetadataInvalidError` for one that cannot be used, `RegistryRoutingError` for one that
    runs at the cloud, `RemoteServerError` for one that runs elsewhere.
    """
    if found.type is McpType.DENO:
        return tuple(dependency_of(found.fqdn, one) for one in found.mcp_deps)
    if found.routing is not Routing.CLIENT:
        raise RegistryRoutingError(str(found.fqdn))
    if found.type is McpType.HTTP:
        raise RemoteServerError(str(found.fqdn), found.proxy_to or "")
    return (_checked(_local(found)),)


def _local(found: Metadata) -> Served:
    install = found.install
    assert install is not None  # noqa: S101 - `read_metadata` has looked
    if install.integrity not in (None, found.integrity):
        raise MetadataInvalidError(str(found.fqdn), "it promises two hashes of one package")
    wanted = _package((install.command, *install.args), install.version, found.fqdn)
    name, variables = found.fqdn.namespace, found.variables
    return Served(name, found.fqdn, found.integrity, wanted, variables)


def dependency_of(source: Fqdn, one: Dependency) -> Served:
    """Give a server that a capability needs; raises `MetadataInvalidError`."""
    wanted = _package(one.install, one.version, source)
    return _checked(
        Served(one.name, source, one.integrity, wanted, one.env_required, is_dependency=True)
    )


def _package(words: tuple[str, ...], version: str | None, source: Fqdn) -> Wanted:
    try:
        found = wanted_of(words[0], words[1:]) if words else None
    except PmlError as error:
        raise MetadataInvalidError(str(source), error.message) from None
    if found is None:
        what = "its `install` is no command of npx, npm, uvx, pipx or pip"
        raise MetadataInvalidError(str(source), what)
    return found if version is None else _exactly(found, version, source)


def _exactly(wanted: Wanted, version: str, source: Fqdn) -> Wanted:
    spec = version if wanted.kind is Kind.NPM else f"=={version}"
    found = dataclasses.replace(wanted, spec=spec)
    if found.exact is None:
        raise MetadataInvalidError(str(source), f"`{version}` is no version")
    if wanted.exact not in (None, found.exact):
        raise MetadataInvalidError(str(source), "its `install` names another version")
    return found


def _checked(served: Served) -> Served:
    """Refuse names that no server has, and variables that steer programs: `HOME` is no key."""
    complaint = server_name(served.name)
    if complaint is not None:
        raise MetadataInvalidError(str(served.source), complaint.fact)
    for name in served.variables:
        if not is_settable(name) or name.upper().startswith(_OURS):
            raise MetadataInvalidError(str(served.source), f"`{name}` is no key")
    return served
