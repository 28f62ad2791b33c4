"""PyPI: which version is meant, installing it from wheels into its own environment, starting it.

Only wheels: a source distribution runs its own code to be built. uv is used where the user's
command is uv's and uv is there; otherwise pip, our own or the one that Python carries with it.
Console scripts name the interpreter of the folder they were made in, which is renamed afterwards,
so they are started as the environment's python and the script.
"""

import configparser
import csv
import importlib.util
import json
import posixpath
import re
import shutil
import sys
import venv
from collections.abc import Iterator, Sequence
from pathlib import Path

import anyio

from pml.confinement import Program
from pml.confinement.environment import search_path
from pml.confinement.width import is_system
from pml.loader.installer.errors import (
    EntryUnclearError,
    InstallError,
    InstallFailedError,
    ManagerMissingError,
    NoWheelError,
    RegistryUnreachableError,
)
from pml.loader.installer.packages import Package, Wanted
from pml.loader.installer.running import Ended, Job, Tick, cache_of, run
from pml.loader.installer.settings import Machine
from pml.loader.installer.trees import Entry

LINKS = frozenset({"bin/python", "bin/python3", f"bin/python3.{sys.version_info.minor}"})
"""Links of an environment that lead out, to the Python it was made from."""

_WHEELS = ("--only-binary", ":all:")
_OFFLINE = (
    r"(?i)NewConnectionError|NameResolutionError|ConnectTimeoutError|Connection ?refused|"
    r"Failed to establish a new connection|Max retries exceeded|error sending request|"
    r"dns error|tcp connect error|Could not connect|client error \(Connect\)"
)
_NOTHING = (
    r"(?i)No matching distribution|Could not find a version|no solution found|"
    r"not found in the package registry|has no wheels|no usable wheels|were not found"
)
_MADE_HERE = ("RECORD", "INSTALLER", "REQUESTED", "direct_url.json", "uv_cache.json")
"""Of a dist-info folder: written by whoever installs, not by who published."""


async def resolve(machine: Machine, wanted: Wanted, draft: Path, tick: Tick) -> str:
    """Ask the registry which version is meant."""
    words: tuple[str, ...]
    if _uses_uv(machine, wanted.manager):
        python = await anyio.to_thread.run_sync(_environment, draft / "tree")
        asked = draft / "tree" / "wanted.txt"
        asked.write_text(f"{wanted}\n", encoding="utf-8")
        words = ("pip", "compile", "--no-deps", "--no-header", "--no-annotate", "--quiet")
        words = (*words, *_WHEELS, "--python", python, str(asked))
        ended = await _uv(machine, words, draft, str(wanted), tick)
        return _after(ended.output, "==", str(wanted))
    words = ("install", "--dry-run", "--ignore-installed", "--no-deps", "--quiet", *_WHEELS)
    words = (*words, "--target", str(draft / "tree"), "--report", "-", str(wanted))
    ended = await _pip(machine, words, draft, str(wanted), tick)
    try:
        return str(json.loads(ended.output)["install"][0]["metadata"]["version"])
    except (ValueError, LookupError, TypeError):
        raise InstallFailedError(str(wanted), "pip", ended.said) from None


def _after(output: str, joint: str, package: str) -> str:
    for line in output.splitlines():
        _, found, version = line.partition(joint)
        if found:
            return version.strip().split()[0]
    raise InstallFailedError(package, "uv", output.splitlines())


async def install(
    machine: Machine, package: Package, manager: str, draft: Path, tick: Tick
) -> None:
    """Make `draft/tree` an environment with the package and all that it depends on."""
    python = await anyio.to_thread.run_sync(_environment, draft / "tree")
    words: tuple[str, ...]
    if _uses_uv(machine, manager):
        words = ("pip", "install", "--python", python, "--link-mode", "copy", "--no-progress")
        words = (*words, "--compile-bytecode", *_WHEELS, package.requirement)
        await _uv(machine, words, draft, str(package), tick)
    else:
        words = ("--python", python, "install", "--progress-bar", "off", *_WHEELS)
        words = (*words, "--no-warn-script-location", package.requirement)
        await _pip(machine, words, draft, str(package), tick)


def _environment(tree: Path) -> str:
    """Make an environment without pip in it, of the Python that we run on; give its python."""
    venv.EnvBuilder(symlinks=True, with_pip=False).create(tree)
    return str(tree / "bin" / "python")


def _uses_uv(machine: Machine, manager: str) -> bool:
    return manager == "uv" and shutil.which("uv", path=search_path(machine.environ)) is not None


async def _uv(
    machine: Machine, words: Sequence[str], draft: Path, package: str, tick: Tick
) -> Ended:
    cache = f"--cache-dir={cache_of(machine, 'uv') / 'cache'}"
    base = () if is_system(Path(sys.base_prefix)) else (Path(sys.base_prefix),)
    job = Job("uv", Program("uv", (cache, *words)), draft, package, reads=base)
    return _checked("uv", package, await run(machine, job, tick))


async def _pip(
    machine: Machine, words: Sequence[str], draft: Path, package: str, tick: Tick
) -> Ended:
    own = (*_pip_words(), "--disable-pip-version-check", "--no-input", "--retries", "1")
    cache = f"--cache-dir={cache_of(machine, 'pip') / 'cache'}"
    job = Job("pip", Program(sys.executable, (*own, cache, *words)), draft, package)
    return _checked("pip", package, await run(machine, job, tick))


def _pip_words() -> tuple[str, ...]:
    """Give what runs pip with our Python: as a module, or out of the wheel that Python carries."""
    if importlib.util.find_spec("pip") is not None:
        return ("-m", "pip")
    spec = importlib.util.find_spec("ensurepip")
    folder = Path(spec.origin).parent / "_bundled" if spec and spec.origin else None
    wheels = sorted(folder.glob("pip-*.whl")) if folder else []
    if not wheels:
        raise ManagerMissingError("pip")
    return (str(wheels[-1] / "pip"),)


def _checked(manager: str, package: str, ended: Ended) -> Ended:
    if ended.code:
        raise _problem(manager, package, ended)
    return ended


def _problem(manager: str, package: str, ended: Ended) -> InstallError:
    said = "\n".join(ended.said)
    if re.search(_OFFLINE, said):
        return RegistryUnreachableError(package)
    if re.search(_NOTHING, said):
        return NoWheelError(package)
    return InstallFailedError(package, manager, ended.said)


def version_in(tree: Path, package: Package) -> str | None:
    """Give the version that lies in a tree."""
    found = _dist_info(tree, package)
    return found.name.removesuffix(".dist-info").rpartition("-")[2] if found else None


def own_entries(tree: Path, found: Sequence[Entry], package: Package) -> list[Entry]:
    """Give the entries that the package's own wheel brought, and that are the same everywhere."""
    folder = _dist_info(tree, package)
    if folder is None:
        return []
    base = folder.parent.relative_to(tree).as_posix()
    made = {f"{folder.name}/{name}" for name in _MADE_HERE}
    with (folder / "RECORD").open(encoding="utf-8", newline="") as file:
        rows = [row[0] for row in csv.reader(file) if row and row[0] not in made]
    named = {posixpath.normpath(f"{base}/{path}") for path in rows}
    return [one for one in found if one.path in named and not _differs(tree, one.path)]


def _differs(tree: Path, path: str) -> bool:
    """Say whether a file depends on where it is installed: bytecode, scripts with a `#!` line."""
    return path.endswith(".pyc") or (path.startswith("bin/") and _is_script(tree / path))


def entry(tree: Path, package: Package, program: str | None) -> tuple[str, ...]:
    """Give the command that starts one of the package's programs."""
    folder = _dist_info(tree, package)
    offered = list(_scripts(folder)) if folder else []
    name = program or next((one for one in offered if _normal(one) == package.name), "")
    file = tree / "bin" / name
    if not name or "/" in name or not file.is_file() or name.startswith("python"):
        raise EntryUnclearError(str(package), program, offered)
    return (str(tree / "bin" / "python"), str(file)) if _is_script(file) else (str(file),)


def _is_script(file: Path) -> bool:
    with file.open("rb") as opened:
        return opened.read(2) == b"#!"


def _dist_info(tree: Path, package: Package) -> Path | None:
    for folder in tree.glob("lib/python3.*/site-packages/*.dist-info"):
        name = folder.name.removesuffix(".dist-info").rpartition("-")[0]
        if _normal(name) == package.name:
            return folder
    return None


class _EntryPoints(configparser.ConfigParser):
    """Keeps the case of names."""

    def optionxform(self, optionstr: str) -> str:
        return optionstr


def _scripts(folder: Path) -> Iterator[str]:
    parser = _EntryPoints(delimiters=("=",), interpolation=None, strict=False)
    try:
        parser.read_string((folder / "entry_points.txt").read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, configparser.Error):
        return
    if parser.has_section("console_scripts"):
        yield from parser["console_scripts"]


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
