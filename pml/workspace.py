"""Which folder is the workspace: what servers may be given, and where `.pml.json` is looked for.

Asks the environment it is handed and the file system; knows nothing of what the configuration
holds. Above: whoever starts the gateway. Below: nothing but errors.

    WorkspaceError (PmlError)
    ├── WorkspaceMissingError     workspace_missing: what was named is no folder
    └── WorkspaceTooWideError     workspace_too_wide: it would be the whole file system
"""

import dataclasses
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from pml.errors import PmlError

VARIABLE = "PML_WORKSPACE"
CONFIG_NAME = ".pml.json"
LOCKFILE = Path(".pml", "mcp.lock")
"""In the workspace; meant to be committed."""

MARKERS = (
    ".git",
    CONFIG_NAME,
    "deno.json",
    "package.json",
    "pyproject.toml",
    "Cargo.toml",
    "go.mod",
)
"""What tells that a folder is a project, in the order in which one of several is named."""

_CWD = "cwd"


class WorkspaceError(PmlError):
    """No folder can be the workspace."""

    code = "workspace"


class WorkspaceMissingError(WorkspaceError):
    """The folder that was named is not there."""

    code = "workspace_missing"

    def __init__(self, source: str, path: Path) -> None:
        """Name the folder and who named it."""
        who = "the current folder" if source == _CWD else source
        super().__init__(f"{who} is no folder: {path}", hint=_missing_hint(path))


class WorkspaceTooWideError(WorkspaceError):
    """The whole file system is no workspace: servers would be given everything."""

    code = "workspace_too_wide"

    def __init__(self, source: str) -> None:
        """Name who chose it."""
        who = "the current folder" if source == _CWD else source
        super().__init__(
            f"{who} is the root of the file system, which is no workspace",
            hint=f"set {VARIABLE} to the folder of your project",
        )


@dataclasses.dataclass(frozen=True, slots=True)
class Workspace:
    """The folder, and how it was found."""

    path: Path
    """Real: absolute and without links."""

    source: str
    """`PML_WORKSPACE`, the marker that was found, or `cwd`."""

    warning: str | None = None
    """What the user should know about this choice."""


def resolve_workspace(*, environ: Mapping[str, str], cwd: Path) -> Workspace:
    """Give the workspace: `PML_WORKSPACE`, else the nearest project, else the current folder.

    The nearest folder with a marker wins, `cwd` itself first. In a tie (several markers in one
    folder) the folder is the same; `source` names the first in the order of `MARKERS`. When the
    winner has no `.pml.json` and a folder above it has one, that one is not used, and the warning
    says so.

    A marker does not count in the home folder (`HOME`), in a folder that holds it, in the root of
    the file system, nor in a shared temporary folder such as `/tmp`: a stray `package.json`
    or a dotfiles repository must not hand out everything that a person has, and in a shared folder
    anybody may have put it there. The home folder is taken when the user says so, by
    `PML_WORKSPACE` or by standing in it, with a warning; the root of the file system never is.
    """
    named = environ.get(VARIABLE)
    home = _home(environ)
    if named:
        path = _folder(cwd / named, VARIABLE)
        return Workspace(path, VARIABLE, _width_warning(path, home))
    start = _folder(cwd, _CWD, may_be_root=True)
    for folder in _projects(start, home):
        marker = _marker(folder)
        if marker is not None:
            return Workspace(folder, marker, _unused_warning(folder, home))
    path = _folder(start, _CWD)
    return Workspace(path, _CWD, _width_warning(path, home) or _unmarked_warning(path))


def _folder(path: Path, source: str, *, may_be_root: bool = False) -> Path:
    """Give the real folder; raise if it is none, or the root."""
    try:
        real = Path(os.path.realpath(path))
        found = real.is_dir()
    except (OSError, ValueError):  # a NUL byte, a loop of links
        found = False
    if not found:
        raise WorkspaceMissingError(source, path)
    if real == real.parent and not may_be_root:
        raise WorkspaceTooWideError(source)
    return real


def _home(environ: Mapping[str, str]) -> Path | None:
    home = environ.get("HOME")
    return Path(os.path.realpath(home)) if home else None


def _projects(start: Path, home: Path | None) -> Iterator[Path]:
    """Give the folders in which a marker counts, the nearest first."""
    for folder in (start, *start.parents):
        if folder == folder.parent or _holds(folder, home):
            return
        if folder == start or not _is_shared(folder):
            yield folder


def _holds(folder: Path, home: Path | None) -> bool:
    return home is not None and home.is_relative_to(folder)


def _is_shared(folder: Path) -> bool:
    """Tell a folder such as `/tmp`, in which everybody may make files."""
    try:
        mode = folder.stat().st_mode
    except OSError:
        return True
    return bool(mode & stat.S_IWOTH and mode & stat.S_ISVTX)


def _marker(folder: Path) -> str | None:
    # a link that leads nowhere counts: a broken `.pml.json` is to be reported, not passed over
    return next((name for name in MARKERS if os.path.lexists(folder / name)), None)


def _unused_warning(chosen: Path, home: Path | None) -> str | None:
    if os.path.lexists(chosen / CONFIG_NAME):
        return None
    for folder in _projects(chosen, home):
        if os.path.lexists(folder / CONFIG_NAME):
            return (
                f"the workspace is {chosen}; {folder / CONFIG_NAME} lies above it and is not used:"
                f" to use it, set {VARIABLE}={folder}"
            )
    return None


def _width_warning(path: Path, home: Path | None) -> str | None:
    if not _holds(path, home):
        return None
    what = "is" if path == home else "holds"
    return f"the workspace {path} {what} your home folder: set {VARIABLE} to a project in it"


def _unmarked_warning(path: Path) -> str:
    return (
        f"the workspace is the current folder, {path}: no project was found in it or above;"
        f" set {VARIABLE}, or write a {CONFIG_NAME}"
    )


def _missing_hint(path: Path) -> str:
    if "${" in str(path):
        return f"the client did not fill in the variable: write the folder into {VARIABLE}"
    if path.name.startswith("~") or "~" in path.parts:
        return "`~` is for shells: write the whole path"
    return f"make the folder, or set {VARIABLE} to one that exists"
