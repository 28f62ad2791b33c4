"""The workspace as one call of a built-in sees it: its mount, and where a path of it leads.

Confining is the sandbox's, which holds whatever is said here. This adds what WASI cannot tell a
guest: the real path behind links, permissions and the time of creation. Nothing outside is looked
at, so nothing is learnt of it.
"""

import ctypes
import dataclasses
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import anyio.to_thread

from pml.secret_files import is_secret_path
from sandbox_host import Call, Mount, ToolError
from sandbox_host.errors import printable

_PATH_ARGUMENTS = ("path", "paths", "source", "destination", "beforePath", "afterPath")
_LOCATE = "workspace:locate"

# statx(2), which Python has not: the flags, and where the time of birth is in its answer
_AT_FDCWD, _STATX_BTIME, _STATX_BYTES, _BTIME_AT = -100, 0x800, 256, 80


@dataclasses.dataclass(frozen=True, slots=True)
class Workspace:
    """A folder, under the name it was given and the one it really has."""

    given: Path
    real: Path

    def mount(self, arguments: Mapping[str, Any], *, writable: bool) -> Mount:
        """Give the folder to one call; files that look secret are hidden unless it names them."""
        named = frozenset(self._named_secrets(arguments))

        def conceals(path: str) -> str | None:
            return None if path in named else is_secret_path(path)

        return Mount(self.real, writable=writable, conceals=conceals)

    async def answer(self, call: Call) -> Any:
        """Answer a built-in's call."""
        path = call.args.get("path")
        if call.tool != _LOCATE or not isinstance(path, str):
            raise ToolError(f"a built-in cannot call `{call.tool}`")  # noqa: TRY003 - to a guest
        return await anyio.to_thread.run_sync(self._locate, path)

    def _named_secrets(self, arguments: Mapping[str, Any]) -> Iterator[str]:
        """Give the files about which the human was asked: those whose name, as it is written,
        looks secret. `x/.env/y/..` leads to one too, and nobody was asked.
        """  # noqa: D205 - one sentence
        for key in _PATH_ARGUMENTS:
            value = arguments.get(key)
            for text in value if isinstance(value, list) else [value]:
                if isinstance(text, str) and is_secret_path(text) and "\0" not in text:
                    yield self._absolute(text)

    def _absolute(self, path: str) -> str:
        """Give the path by its words alone, as if there were no links."""
        absolute = f"/{os.path.normpath(os.path.join(self.real, path)).lstrip('/')}"  # noqa: PTH118
        if _is_inside(absolute, self.given) and not _is_inside(absolute, self.real):
            return str(self.real / Path(absolute).relative_to(self.given))
        return absolute

    def _locate(self, path: str) -> dict[str, Any]:
        if path == "~" or path.startswith("~/") or "\0" in path:
            raise _denied("path", f"{printable(path)} not in {self.real}")
        absolute = self._absolute(path)
        if not _is_inside(absolute, self.real):
            raise _denied("path", f"{printable(absolute)} not in {self.real}")
        real = os.path.realpath(absolute)
        if not _is_inside(real, self.real):
            raise _denied("symlink target", f"{printable(absolute)} leads out of {self.real}")  # noqa: TRY003
        try:
            facts = os.stat(real)  # noqa: PTH116 - of a text that a guest gave
        except (OSError, ValueError):
            return {"path": real}
        return {
            "path": real,
            "permissions": f"{stat.S_IMODE(facts.st_mode) & 0o777:03o}",
            "createdMs": _born(real, facts) * 1000,
        }


def _is_inside(path: str, folder: Path) -> bool:
    return path == str(folder) or path.startswith(f"{str(folder).rstrip('/')}/")


def _denied(what: str, facts: str) -> ToolError:
    return ToolError(f"Access denied - {what} outside allowed directories: {facts}")


def _born(path: str, facts: os.stat_result) -> float:
    """Give the time of creation, or of the last change where that is not kept."""
    known = getattr(facts, "st_birthtime", None)
    if known is not None:
        return float(known)
    answer = ctypes.create_string_buffer(_STATX_BYTES)
    try:
        statx = ctypes.CDLL(None).statx
    except (OSError, AttributeError):
        return facts.st_ctime
    if statx(_AT_FDCWD, os.fsencode(path), 0, _STATX_BTIME, answer) != 0:
        return facts.st_ctime
    mask = int.from_bytes(answer.raw[:4], "little")
    if not mask & _STATX_BTIME:
        return facts.st_ctime
    return int.from_bytes(answer.raw[_BTIME_AT : _BTIME_AT + 8], "little", signed=True)
