"""From a command that fetches and starts a package to the package. Pure.

`npx`, `npm exec`, `npm install`, `uvx`, `uv tool run`, `pipx run`, `pip install`, as far as they
name one package: an option that we do not know might change which, so it is an error. Words are
never given to a shell; a text is split as one would, and that is all.
"""

import dataclasses
import shlex
from collections.abc import Callable, Sequence

from pml.loader.installer.errors import InstallCommandError
from pml.loader.installer.packages import Wanted

_MOST_WORDS = 200

_NPX = frozenset({"-y", "--yes", "-q", "--quiet", "--prefer-offline", "--prefer-online"})
_NPM_INSTALL = frozenset({
    "-g", "--global", "-S", "--save", "-D", "--save-dev", "-E", "--save-exact", "--no-save",
    "--ignore-scripts", "--no-audit", "--no-fund", "-q", "--quiet", "-s", "--silent",
})  # fmt: skip
_UVX = frozenset({
    "-q", "--quiet", "-v", "--verbose", "-n", "--no-cache", "--isolated", "--refresh",
    "--no-progress", "--offline",
})  # fmt: skip
_PIPX = frozenset({"-q", "--quiet", "-v", "--verbose", "--no-cache"})
_PIP = frozenset({"-q", "--quiet", "-U", "--upgrade", "--user", "--no-input"})

_Make = Callable[[str], Wanted]


@dataclasses.dataclass(frozen=True, slots=True)
class _Form:
    """How a runner is written."""

    flags: frozenset[str]
    """Options without a value that change nothing for us."""

    source: tuple[str, ...]
    """Options whose value is the package; the first word is then its program."""

    make: _Make
    runs: bool = True
    """Whether it starts the package; else all its words are packages, of which there is one."""


def _uv(text: str) -> Wanted:
    return Wanted.pypi(text, "uv")


def _pip(text: str) -> Wanted:
    return Wanted.pypi(text, "pip")


_RUN_NPM = _Form(_NPX, ("-p", "--package"), Wanted.npm)
_RUN_UV = _Form(_UVX, ("--from",), _uv)
_INSTALL_NPM = _Form(_NPM_INSTALL, (), Wanted.npm, runs=False)
_INSTALL_PIP = _Form(_PIP, (), _pip, runs=False)
_FORMS: dict[tuple[str, ...], _Form] = {
    ("npx",): _RUN_NPM,
    ("npm", "exec"): _RUN_NPM,
    ("npm", "x"): _RUN_NPM,
    ("npm", "install"): _INSTALL_NPM,
    ("npm", "i"): _INSTALL_NPM,
    ("npm", "add"): _INSTALL_NPM,
    ("uvx",): _RUN_UV,
    ("uv", "tool", "run"): _RUN_UV,
    ("pipx", "run"): _Form(_PIPX, ("--spec",), _pip),
    ("pip", "install"): _INSTALL_PIP,
    ("pip3", "install"): _INSTALL_PIP,
    ("python", "-m", "pip", "install"): _INSTALL_PIP,
    ("python3", "-m", "pip", "install"): _INSTALL_PIP,
}  # fmt: skip


def wanted(command: str, args: Sequence[str]) -> Wanted | None:
    """Give the package that a command starts; None if it is no such command.

    Raises `InstallCommandError` or `PackageNameError` if it is one, and cannot be carried out.
    """
    if "/" in command and not command.startswith("/"):
        return None  # a file of the workspace, whatever its name
    words = (command.rpartition("/")[2], *args[:_MOST_WORDS])
    for start, form in _FORMS.items():
        if words[: len(start)] == start:
            line = shlex.join((command, *args))
            rest = (*words[len(start) :], *args[_MOST_WORDS:])
            return _run(line, form, rest) if form.runs else _install(line, form, rest)
    return None


def wanted_in(text: str) -> Wanted:
    """Give the package of a command that is written as one text, as registries have it."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise InstallCommandError(text, str(error).lower()) from None
    found = wanted(words[0], words[1:]) if words else None
    if found is None:
        raise InstallCommandError(text, "it is no command of npx, npm, uvx, pipx or pip")
    return found


def _run(line: str, form: _Form, words: Sequence[str]) -> Wanted:
    """Read options up to the first plain word; what follows that is the program's."""
    package: str | None = None
    rest = list(words)
    while rest and rest[0].startswith("-"):
        word = rest.pop(0)
        if word == "--":
            break
        option, joint, value = word.partition("=")
        if option in form.source and package is None:
            package = value if joint else (rest.pop(0) if rest else "")
        elif option in form.source:
            raise InstallCommandError(line, "it names more than one package")
        elif word not in form.flags:
            raise InstallCommandError(line, f"the option {word} is not understood")
    if not rest:
        raise InstallCommandError(line, "it names no program")
    first, *args = rest
    made = form.make(first if package is None else package)
    program = None if package is None else first
    return dataclasses.replace(made, program=program, args=tuple(args))


def _install(line: str, form: _Form, words: Sequence[str]) -> Wanted:
    unknown = [word for word in words if word.startswith("-") and word not in form.flags]
    if unknown:
        raise InstallCommandError(line, f"the option {unknown[0]} is not understood")
    packages = [word for word in words if not word.startswith("-")]
    if len(packages) != 1:
        raise InstallCommandError(line, "it does not name exactly one package")
    return form.make(packages[0])
