"""Where the clients keep their servers, and what stands there; reads, and changes nothing.

Files of the user come first: where two have one name, theirs counts. A file that lies in the
workspace, wherever a variable may lead to it, is the word of whoever wrote the workspace.
"""

import dataclasses
import json
import os
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pml.config.rewriting import parsed
from pml.errors import PmlError
from pml.onboarding.clients import Surroundings, codex_home
from pml.onboarding.errors import FileRefusedError
from pml.onboarding.files import MOST_BYTES, read_own

_MOST_BYTES = 64 << 20
"""Of a user's file: Claude Code keeps its history in the one that has the servers."""

MOST_SERVERS = 200
"""Of one place; nobody has written more by hand, and a hostile file costs no more."""

_NO_FILE = "it is neither JSON nor a file that we know"
_NO_SERVERS = "its servers are no object"


@dataclasses.dataclass(frozen=True, slots=True)
class Place:
    """A part of a file in which a client has servers."""

    client: str
    path: Path
    section: tuple[str, ...]
    """The keys that lead to the servers."""

    is_own: bool
    """Whether it is the user's: no file of the workspace is."""

    def __str__(self) -> str:
        """Name it for a human."""
        return f"{self.client}, {self.path}"


def places(around: Surroundings) -> tuple[Place, ...]:
    """Give where servers may be, in the order in which a name counts."""
    folder, home = around.workspace, around.home
    programs = _programs_folder(around)
    claude = _claude_file(around)
    found = (
        ("Claude Code", claude, ("projects", str(folder), "mcpServers")),
        ("Claude Code", claude, ("mcpServers",)),
        ("Claude Desktop", programs / "Claude" / "claude_desktop_config.json", ("mcpServers",)),
        ("Cursor", home / ".cursor" / "mcp.json", ("mcpServers",)),
        ("VS Code", programs / "Code" / "User" / "mcp.json", ("servers",)),
        ("Codex", codex_home(around) / "config.toml", ("mcp_servers",)),
        ("Claude Code", folder / ".mcp.json", ("mcpServers",)),
        ("Cursor", folder / ".cursor" / "mcp.json", ("mcpServers",)),
        ("VS Code", folder / ".vscode" / "mcp.json", ("servers",)),
        ("Codex", folder / ".codex" / "config.toml", ("mcp_servers",)),
    )
    unique = {(path, section): client for client, path, section in found}
    made = (
        Place(client, path, section, is_own=_is_outside(path, folder))
        for (path, section), client in unique.items()
    )
    return tuple(sorted(made, key=lambda place: not place.is_own))


def servers_at(place: Place, workspace: Path) -> Iterator[tuple[str, Any]]:
    """Give what is below each name; raises a `PmlError` for a file that cannot be read."""
    if place.is_own:  # people keep such files elsewhere and link to them
        content = read_own(Path(os.path.realpath(place.path)), None, most_bytes=_MOST_BYTES)
    else:
        content = read_own(place.path, workspace)
    found: Any = {} if not content else _document(content, place.path)
    for key in place.section:
        found = found.get(key, {}) if isinstance(found, dict) else None
    if not isinstance(found, dict):
        raise FileRefusedError(place.path, _NO_SERVERS)
    if len(found) > MOST_SERVERS:
        raise FileRefusedError(place.path, f"it has more than {MOST_SERVERS} servers")
    yield from found.items()


def _document(content: bytes, path: Path) -> Mapping[str, Any]:
    try:
        text = content.decode("utf-8-sig")
        document = tomllib.loads(text) if path.suffix == ".toml" else _json(text, path)
    except PmlError:
        raise
    except (ValueError, RecursionError):  # what it quotes may be a key
        raise FileRefusedError(path, _NO_FILE) from None
    if not isinstance(document, dict):
        raise FileRefusedError(path, _NO_FILE)
    return document


def _json(text: str, path: Path) -> Any:
    """Read JSON, with comments and a last comma where it has them: editors allow both."""
    if not text.strip():
        return {}
    try:
        return json.loads(text)
    except ValueError:
        if len(text) > MOST_BYTES:
            raise
    root = parsed(text, path, relaxed=True).root
    return root.value if root else {}


def _claude_file(around: Surroundings) -> Path:
    given = around.environ.get("CLAUDE_CONFIG_DIR")
    return (Path(given) if given else around.home) / ".claude.json"


def _programs_folder(around: Surroundings) -> Path:
    """Give where programs with a window keep their settings."""
    if around.platform == "darwin":
        return around.home / "Library" / "Application Support"
    if around.platform == "win32":
        given = around.environ.get("APPDATA")
        return Path(given) if given else around.home / "AppData" / "Roaming"
    given = around.environ.get("XDG_CONFIG_HOME")
    return Path(given) if given else around.home / ".config"


def _is_outside(path: Path, workspace: Path) -> bool:
    # the folder too: a link in the workspace must not make a stranger's file the user's
    spelled = Path(os.path.abspath(path))  # noqa: PTH100 - as it is written
    return not any(
        one.is_relative_to(workspace) for one in (spelled, Path(os.path.realpath(path)))
    )
