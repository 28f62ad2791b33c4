"""From a configured command to the file that runs, and the folders it needs to be read for that.

Follows what the kernel and the shells would do (PATH, links, `#!` lines, `env`), because a sandbox
has to name the real interpreter and the real package. Looks at the disk, runs nothing.
"""

import dataclasses
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from pml.confinement.errors import (
    CommandNotFoundError,
    CommandUnreadableError,
    PackageRunnerError,
    ShimError,
)
from pml.confinement.model import Places, Program
from pml.confinement.width import is_system, too_wide

RUNNERS = frozenset(
    {"npx", "npm", "pnpm", "pnpx", "yarn", "bunx", "uvx", "uv", "pipx"}
)  # they fetch what they start
_SHIMS = {"volta-shim": "volta", "mise": "mise"}
_PYTHONS = ("python", "pypy")
_NODES = frozenset({"node", "nodejs", "bun", "deno"})
_OTHERS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "fish", "ruby", "perl", "php", "java"})
_TAKES_A_VALUE = frozenset(
    {"-r", "--require", "--import", "--loader", "--experimental-loader", "-W", "-X", "-C"}
)
_INLINE = frozenset({"-m", "-c", "-e", "--eval", "-p", "--print"})
"""After one of these comes no program file."""

_SHEBANG_BYTES = 256  # as much as the kernel reads
_SHEBANG_DEPTH = 4  # an interpreter may be a script itself; the kernel stops there too


@dataclasses.dataclass(frozen=True, slots=True)
class Resolved:
    """A program that exists."""

    file: Path
    """What is executed; no link."""

    argv: tuple[str, ...]
    prefixes: tuple[Path, ...]
    """Where the runtime lies; perhaps links, which then must work under this name too."""

    packages: tuple[Path, ...]
    """Where the program's own code lies: folders, or one file."""


def resolve(program: Program, *, path: str, places: Places, may_install: bool) -> Resolved:
    """Find the program, its runtime and its package."""
    workspace = places.workspace
    found = _found(program.command, path, workspace)
    if found.name in RUNNERS and not may_install:
        raise PackageRunnerError(found.name)
    argv = [str(found), *program.args]
    packages: list[Path] = []
    for _ in range(_SHEBANG_DEPTH):
        script = Path(argv[0]).resolve()
        interpreter = _interpreter(script, path, workspace)
        if interpreter is None:
            break
        packages += _packages_of_script(script, Path(interpreter[0]).name, places)
        argv = [*interpreter, str(script), *argv[1:]]
    else:
        raise CommandUnreadableError(found, "its interpreters are scripts, one after the other")
    file = Path(argv[0])
    if not packages and is_interpreter(file.name):
        packages += _packages_of_arguments(argv, places)
    return _with_runtime(file, argv, packages, places.user_home.resolve())


def is_interpreter(name: str) -> bool:
    """Say whether a program of this name runs another file."""
    return name.startswith(_PYTHONS) or name in _NODES or name in _OTHERS


def _found(command: str, path: str, workspace: Path) -> Path:
    """Look the command up as the gateway would; with a slash, from the workspace."""
    if not command or "\0" in command:
        raise CommandNotFoundError(command)
    name = str(workspace / command) if "/" in command else command
    found = shutil.which(name, path=path)
    if found is None:
        raise CommandNotFoundError(command)
    absolute = Path(os.path.normpath(found))
    if absolute.parent.name == "shims":
        raise ShimError(absolute, absolute.parent.parent.name.lstrip("."))
    target = absolute.resolve().name
    if target in _SHIMS and absolute.name != target:
        raise ShimError(absolute, _SHIMS[target])
    return absolute


def _interpreter(script: Path, path: str, workspace: Path) -> list[str] | None:
    """Give what the `#!` line names, looked up; None for a binary."""
    try:
        with script.open("rb") as opened:
            first = opened.read(_SHEBANG_BYTES).partition(b"\n")[0]
    except PermissionError:
        return None  # executable but not readable: then it is a binary
    except OSError as error:
        raise CommandUnreadableError(script, error.strerror or str(error)) from error
    if not first.startswith(b"#!"):
        return None
    words = first[2:].decode("utf-8", "surrogateescape").strip().split(None, 1)
    if words and Path(words[0]).name == "env":
        words = "".join(words[1:]).removeprefix("-S").split()
    if not words:
        raise CommandUnreadableError(script, "its first line names no interpreter")
    return [str(_found(words[0], path, workspace)), *words[1:]]


def _packages_of_script(script: Path, interpreter: str, places: Places) -> list[Path]:
    """Give the folder that a script needs to be read with it."""
    topmost = [parent for parent in script.parents if parent.name == "node_modules"]
    if topmost:
        return [topmost[-1]]
    venv = _venv_of(script)
    if venv is not None:
        return [venv, *_homes_of(venv)]
    if interpreter.startswith(_PYTHONS):
        return [_nearest(script, "pyproject.toml", places)]
    if interpreter in _NODES:
        return [_nearest(script, "package.json", places)]
    return [script]  # of others nothing beside it is known to belong to it


def _packages_of_arguments(argv: Sequence[str], places: Places) -> list[Path]:
    """Give the package of the first file that an interpreter is told to run."""
    for word in _plain_words(argv[1:]):
        named = (places.workspace / word).resolve()
        for candidate in (named, named.with_name(f"{named.name}.js")):
            if candidate.is_file():
                return _packages_of_script(candidate, Path(argv[0]).name, places)
        if named.is_dir():
            return [named]
    return []


def _plain_words(words: Sequence[str]) -> Iterator[str]:
    """Give the words that are no options, up to where no program file can follow."""
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word in _INLINE:
            return
        elif word in _TAKES_A_VALUE:
            skip = True
        elif word and not word.startswith("-") and "\0" not in word:
            yield word


def _nearest(script: Path, marker: str, places: Places) -> Path:
    """Give the closest folder above with a marker file; else the script's own.

    A `package.json` that someone left in the home makes no package of the home.
    """
    for parent in script.parents:
        if too_wide(parent, places.user_home):
            break
        if (parent / marker).is_file():
            return parent
    return script.parent


def _venv_of(path: Path) -> Path | None:
    """Give the virtual environment in whose `bin` a file lies."""
    folder = path.parent.parent
    return folder if (folder / "pyvenv.cfg").is_file() else None


def _with_runtime(file: Path, argv: list[str], packages: list[Path], user_home: Path) -> Resolved:
    real = file.resolve()
    prefixes = list(_prefixes(file, real, user_home))
    if file.name in {"uvx", "uv"}:
        prefixes += [real.with_name(name) for name in ("uv", "uvx")]  # the one starts the other
    known = [*prefixes, *packages]
    if not is_system(file) and not any(file.is_relative_to(folder) for folder in known):
        argv[0] = str(real)  # the link itself will not be visible
    return Resolved(real, tuple(argv), tuple(prefixes), tuple(packages))


def _prefixes(file: Path, real: Path, user_home: Path) -> Iterator[Path]:
    """Give the folders of a runtime: the folder around its `bin`, or only the file.

    A lone program in a home is taken as complete: around `~/.local/bin` lies everything else.
    """
    venv = _venv_of(file)
    if venv is not None:
        yield venv
        yield from _homes_of(venv)
    lone = real.is_relative_to(user_home) and not is_interpreter(real.name)
    if real.parent.name == "bin" and not lone and not is_system(real):
        yield real.parent.parent
    else:
        yield real


def _homes_of(venv: Path) -> Iterator[Path]:
    """Give the installation a virtual environment was made from, under the name it uses."""
    settings = (venv / "pyvenv.cfg").read_text("utf-8", "replace")
    for line in settings.splitlines():
        key, _, value = line.partition("=")
        folder = Path(value.strip())
        if key.strip() == "home" and folder.is_absolute():
            yield folder.parent if folder.name == "bin" else folder
