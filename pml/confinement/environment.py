"""The variables a server gets: a few of the gateway's, its private folders, and what is declared.

Pure. An allow-list, because a list of dangerous names is never complete: tokens, agents' sockets
and loader options of the gateway do not pass. Of the declared ones those are refused by name that
would run code in the launcher, before it has confined anything.
"""

from collections.abc import Mapping
from pathlib import Path

from pml.confinement.errors import VariableRefusedError

_KEPT = frozenset({"PATH", "LANG", "TZ"})
_KEPT_PREFIX = "LC_"
_USUAL_PATH = "/usr/local/bin:/usr/bin:/bin"

_OURS = frozenset({"HOME", "TMPDIR", "PATH"})
_LOADING = frozenset({"NODE_OPTIONS", "GLIBC_TUNABLES", "GCONV_PATH", "LOCPATH", "BASH_ENV"})
_LOADING_PREFIXES = ("LD_", "DYLD_", "PYTHON", "BASH_FUNC_")
_HARMLESS = frozenset(
    {"PYTHONUNBUFFERED", "PYTHONIOENCODING", "PYTHONUTF8", "PYTHONDONTWRITEBYTECODE"}
)
"""Switches that load nothing, and that many configurations set."""


def child_environment(
    gateway: Mapping[str, str], declared: Mapping[str, str], *, home: Path, tmp: Path
) -> dict[str, str]:
    """Give the whole environment of the server."""
    for name, value in declared.items():
        _check(name, value)
    kept = {
        name: value
        for name, value in gateway.items()
        if name in _KEPT or name.startswith(_KEPT_PREFIX)
    }
    private = {"PATH": search_path(gateway), "HOME": str(home), "TMPDIR": str(tmp)}
    return {**kept, **private, **declared}


def search_path(gateway: Mapping[str, str]) -> str:
    """Give the gateway's PATH without entries that depend on the current folder.

    That folder is the workspace, and what lies there is not for us to start.
    """
    entries = gateway.get("PATH", _USUAL_PATH).split(":")
    return ":".join(entry for entry in entries if entry.startswith("/")) or _USUAL_PATH


def _check(name: str, value: str) -> None:
    if not name or "=" in name or "\0" in name or "\0" in value:
        raise VariableRefusedError(name, "it is no variable")
    if name in _OURS:
        raise VariableRefusedError(name, "every server has its own")
    if name in _HARMLESS:
        return
    if name in _LOADING or name.startswith(_LOADING_PREFIXES):
        raise VariableRefusedError(name, "it loads code before the sandbox is closed")
