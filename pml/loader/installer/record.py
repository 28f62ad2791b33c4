"""Which packages a workspace's servers use: the human's yes, kept; and `.pml/deps.json`, for all.

The yes is kept in the user's state, sealed: for this server, this package as the command asks for
it, with these hashes. `.pml/deps.json` tells the same in the original format to people and other
tools. It lies in the workspace, which others write: nothing is ever granted by it, nor read back.
"""

import dataclasses
import datetime
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pml.loader.installer.errors import RecordDamagedError
from pml.loader.installer.packages import Kind, Package, Wanted
from pml.loader.installer.sealing import read_sealed, write_sealed
from pml.loader.installer.store import Installed
from pml.places import private_folder, write_private

_VERSION = 1
_NAME = "packages"
DEPS = Path(".pml", "deps.json")
"""In the workspace."""


@dataclasses.dataclass(frozen=True, slots=True)
class Approved:
    """A package that a human said yes to, for one server."""

    wanted: Wanted
    package: Package
    integrity: str
    tree_integrity: str
    installed_at: datetime.datetime
    terms: str = ""
    """Of a server that a registry describes: the hash of what else the yes was for."""


class Record:
    """The packages of one workspace."""

    def __init__(self, state: Path, workspace: Path, key: bytes) -> None:
        """`state` is the workspace's own folder in the user's state."""
        self._path = state / _NAME
        self._deps = workspace / DEPS
        self._key = key
        self._seen: tuple[object, dict[str, Approved]] | None = None

    def approved(self, server: str, wanted: Wanted) -> Approved | None:
        """Give what was approved for a server that is started so; None if nothing was.

        Raises `RecordDamagedError` for a record that we did not write.
        """
        found = self._all().get(server)
        return found if found is not None and found.wanted == wanted else None

    def approve(self, server: str, approved: Approved) -> None:
        """Keep the human's yes, instead of one before; the caller has it."""
        if self._deps.parent.is_symlink():
            raise RecordDamagedError(self._deps.parent, "it is a link")
        known = {**self._all(), server: approved}
        facts = {name: _facts(one) for name, one in known.items()}
        private_folder(self._path.parent)
        write_sealed(self._path, {"version": _VERSION, "servers": facts}, self._key)
        self._tell(known)

    def _all(self) -> dict[str, Approved]:
        """Give what is kept; asked at every call, so read only if it was written since."""
        now = _signature(self._path)
        if self._seen is None or self._seen[0] != now:
            self._seen = now, self._read()
        return self._seen[1]

    def _read(self) -> dict[str, Approved]:
        facts = read_sealed(self._path, self._key)
        if facts is None:
            return {}
        if facts["version"] != _VERSION:
            raise RecordDamagedError(self._path, "another version of pml wrote it")
        return {name: _approved(one) for name, one in facts["servers"].items()}

    def _tell(self, known: Mapping[str, Approved]) -> None:
        """Write `.pml/deps.json` anew; a link in its place is replaced, never followed."""
        installed = {name: _told(one) for name, one in sorted(known.items())}
        text = json.dumps({"version": 1, "installed": installed}, indent=2, ensure_ascii=False)
        self._deps.parent.mkdir(exist_ok=True)
        write_private(self._deps, f"{text}\n".encode())


def approval_of(
    wanted: Wanted, installed: Installed, now: datetime.datetime, terms: str = ""
) -> Approved:
    """Say what a human's yes to an installation means."""
    hashes = installed.integrity, installed.tree_integrity
    return Approved(dataclasses.replace(wanted, args=()), installed.package, *hashes, now, terms)


def _signature(path: Path) -> object:
    """Say which file this is; the kernel sets its change time, and nobody can put that back."""
    try:
        facts = path.stat()
    except OSError:
        return None
    return facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns


def _told(one: Approved) -> dict[str, str]:
    return {
        "version": one.package.version,
        "integrity": one.integrity,
        "installedAt": one.installed_at.astimezone(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "installCommand": one.package.command,
        "package": one.package.name,
        "treeIntegrity": one.tree_integrity,
    }


def _facts(one: Approved) -> dict[str, Any]:
    wanted, package = one.wanted, one.package
    return {
        "kind": str(package.kind), "name": package.name, "version": package.version,
        "extras": package.extras, "spec": wanted.spec, "program": wanted.program,
        "manager": wanted.manager, "integrity": one.integrity, "tree": one.tree_integrity,
        "installedAt": one.installed_at.isoformat(), "terms": one.terms,
    }  # fmt: skip


def _approved(facts: Mapping[str, Any]) -> Approved:
    kind, name, extras = Kind(facts["kind"]), facts["name"], facts["extras"]
    return Approved(
        Wanted(kind, name, facts["spec"], extras, facts["program"], manager=facts["manager"]),
        Package(kind, name, facts["version"], extras),
        facts["integrity"],
        facts["tree"],
        datetime.datetime.fromisoformat(facts["installedAt"]),
        facts.get("terms", ""),
    )
