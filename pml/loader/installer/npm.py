"""npm: which version a range stands for, installing it without scripts, and what to start then.

`npm` and not `npx` is run, and only here: what it made is started as node and a file. Scripts of
packages are off, as they would run a stranger's code before anything was checked.
"""

import json
import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pml.confinement import Program
from pml.confinement.environment import search_path
from pml.loader.installer.errors import (
    EntryUnclearError,
    InstallError,
    InstallFailedError,
    ManagerMissingError,
    PackageUnknownError,
    RegistryUnreachableError,
)
from pml.loader.installer.packages import Package, Wanted
from pml.loader.installer.running import Ended, Job, Tick, cache_of, run
from pml.loader.installer.settings import Machine
from pml.loader.installer.trees import Entry

MODULES = "node_modules"
_MOST_JSON_BYTES = 1 << 20  # of a package.json
_CODE = r"npm (?:error|ERR!) code (\w+)"
_UNKNOWN = frozenset({"E404", "ETARGET", "ENOVERSIONS", "E405"})
_OFFLINE = frozenset({
    "ENOTFOUND", "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "EAI_AGAIN", "ENETUNREACH",
    "EHOSTUNREACH", "ERR_SOCKET_TIMEOUT", "ENOTCACHED", "EACCES_NET",
})  # fmt: skip
_PATIENCE = {"npm_config_fetch_retries": "1", "npm_config_fetch_retry_mintimeout": "1000"}
"""Unless the user says otherwise: npm alone tries for over a minute."""


async def resolve(machine: Machine, wanted: Wanted, draft: Path, tick: Tick) -> str:
    """Ask the registry which version is meant."""
    words = ("view", "--json", "--", str(wanted), "version", "dist-tags.latest")
    ended = await _npm(machine, words, draft, str(wanted), tick)
    try:
        found = json.loads(ended.output)
    except ValueError:
        found = None
    version = _chosen(found)
    if version is None:
        raise PackageUnknownError(str(wanted))
    return version


def _chosen(found: Any) -> str | None:
    """Choose as npm does: what is tagged latest if it fits, else the highest that fits.

    npm gives an object for one version and a list, in ascending order, for several.
    """
    fitting = found if isinstance(found, list) else [found]
    pairs = [one for one in fitting if isinstance(one, dict) and "version" in one]
    if not pairs:
        return None
    versions = [str(one["version"]) for one in pairs]
    latest = pairs[-1].get("dist-tags.latest")
    return str(latest) if latest in versions else versions[-1]


async def install(machine: Machine, package: Package, draft: Path, tick: Tick) -> None:
    """Make `draft/tree` with the package and all that it depends on."""
    words = (
        "install", "--ignore-scripts", "--omit=dev", "--no-audit", "--no-fund", "--no-progress",
        "--global=false", "--prefix", str(draft / "tree"), "--", package.requirement,
    )  # fmt: skip
    await _npm(machine, words, draft, str(package), tick)


async def _npm(
    machine: Machine, words: Sequence[str], draft: Path, package: str, tick: Tick
) -> Ended:
    if shutil.which("npm", path=search_path(machine.environ)) is None:
        raise ManagerMissingError("npm")
    cache = cache_of(machine, "npm") / ".npm"
    own = (words[0], "--loglevel=http", "--no-update-notifier", f"--cache={cache}", *words[1:])
    lower = {name.lower() for name in machine.environ}
    environment = {name: value for name, value in _PATIENCE.items() if name not in lower}
    ended = await run(machine, Job("npm", Program("npm", own), draft, package, environment), tick)
    if ended.code:
        raise _problem(package, ended)
    return ended


def _problem(package: str, ended: Ended) -> InstallError:
    codes = set(re.findall(_CODE, "\n".join(ended.said)))
    if codes & _UNKNOWN:
        return PackageUnknownError(package)
    if codes & _OFFLINE:
        return RegistryUnreachableError(package)
    said = [line for line in ended.said if not line.startswith("npm http")]
    return InstallFailedError(package, "npm", said)


def version_in(tree: Path, package: Package) -> str | None:
    """Give the version that lies in a tree."""
    found = _manifest(tree, package).get("version")
    return found if isinstance(found, str) else None


def own_entries(found: Sequence[Entry], package: Package) -> list[Entry]:
    """Give the entries that the package itself brought, not those of what it depends on."""
    start = f"{MODULES}/{package.name}/"
    return [
        entry
        for entry in found
        if entry.path.startswith(start)
        and f"/{MODULES}/" not in f"{entry.path[len(start) - 1 :]}/"
    ]


def entry(tree: Path, package: Package, program: str | None) -> tuple[str, ...]:
    """Give the command that starts one of the package's programs, as npx would choose it."""
    folder = tree / MODULES / package.name
    offered = _bins(_manifest(tree, package), package.name)
    name = program or package.name.rpartition("/")[2]
    if program is None and len(set(offered.values())) == 1:
        name = next(iter(offered))
    file = Path(os.path.normpath(folder / offered.get(name, "..")))
    if not file.is_relative_to(folder) or not file.is_file():
        raise EntryUnclearError(str(package), program, list(offered))
    with file.open("rb") as opened:
        has_interpreter = opened.read(2) == b"#!"
    return (str(file),) if has_interpreter else ("node", str(file))


def _manifest(tree: Path, package: Package) -> dict[str, Any]:
    try:
        with (tree / MODULES / package.name / "package.json").open("rb") as file:
            found = json.loads(file.read(_MOST_JSON_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _bins(manifest: dict[str, Any], name: str) -> dict[str, str]:
    bins = manifest.get("bin")
    if isinstance(bins, str):
        return {name.rpartition("/")[2]: bins}
    pairs = bins.items() if isinstance(bins, dict) else ()
    return {key: value for key, value in pairs if isinstance(value, str)}
