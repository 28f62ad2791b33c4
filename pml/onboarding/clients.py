"""The clients that `pml init` can set up: which file each reads, and what stands there.

A committed file holds nothing of this machine if that can be avoided, and no variable that the
client does not fill in: Claude Code fills in `${NAME:-default}` of its environment and starts
servers in the project; Cursor and VS Code fill in `${workspaceFolder}`; Codex fills in nothing.
"""

import dataclasses
import enum
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

NAME = "pml"
"""Of the entry, in every client."""

_PROJECT = {"claude": "${CLAUDE_PROJECT_DIR:-.}"}
_FOLDER = "${workspaceFolder}"


class Client(enum.StrEnum):
    """Whose file is written."""

    CLAUDE = "claude"
    CURSOR = "cursor"
    VSCODE = "vscode"
    CODEX = "codex"


_NEXT = {
    Client.CLAUDE: "restart Claude Code in {folder}, allow `pml` when it asks, then say:"
    ' "use pml to list the files here"',
    Client.CURSOR: "open {folder} in Cursor, switch `pml` on under Settings > MCP, then say in a"
    ' chat: "use pml to list the files here"',
    Client.VSCODE: "open {folder} in VS Code, start `pml` from .vscode/mcp.json, then say in agent"
    ' mode: "use pml to list the files here"',
    Client.CODEX: 'start codex in {folder}, then say: "use pml to list the files here"',
}


@dataclasses.dataclass(frozen=True, slots=True)
class Program:
    """How a client starts PML."""

    command: str
    args: tuple[str, ...] = ()
    """What stands before `stdio`."""

    note: str | None = None
    """What the user should know about it."""


@dataclasses.dataclass(frozen=True, slots=True)
class Surroundings:
    """Where `pml init` works; nothing of it is asked for elsewhere."""

    workspace: Path
    """Real."""

    environ: Mapping[str, str]
    home: Path
    platform: str
    """As `sys.platform`: where programs keep their files depends on it."""


def file_of(client: Client, around: Surroundings) -> Path:
    """Give the file that a client reads."""
    match client:
        case Client.CLAUDE:
            return around.workspace / ".mcp.json"
        case Client.CURSOR:
            return around.workspace / ".cursor" / "mcp.json"
        case Client.VSCODE:
            return around.workspace / ".vscode" / "mcp.json"
    # people keep such files elsewhere and link to them
    return Path(os.path.realpath(codex_home(around) / "config.toml"))


def codex_home(around: Surroundings) -> Path:
    """Give the folder of Codex."""
    given = around.environ.get("CODEX_HOME")
    return Path(given) if given else around.home / ".codex"


def section_of(client: Client) -> str:
    """Give the key below which a client has its servers."""
    return {Client.VSCODE: "servers", Client.CODEX: "mcp_servers"}.get(client, "mcpServers")


def entry_of(client: Client, program: Program, around: Surroundings) -> dict[str, Any]:
    """Give what stands below `pml` in a client's file."""
    command = _portable(program.command, client, around.workspace)
    arguments = [*program.args, "stdio"]
    workspace = {"env": {"PML_WORKSPACE": _FOLDER}}
    match client:
        case Client.CLAUDE:  # it would defer the tools, and a model never look for them
            return {"type": "stdio", "command": command, "args": arguments, "alwaysLoad": True}
        case Client.CODEX:
            return {"command": command, "args": arguments}
    return {"type": "stdio", "command": command, "args": arguments, **workspace}


def next_step(client: Client, workspace: Path) -> str:
    """Say what to do once the files are there."""
    return _NEXT[client].format(folder=workspace)


def find_program(script: str, python: str, environ: Mapping[str, str]) -> Program:
    """Say how clients start this PML: by name if every program finds it so, else by its path."""
    running = _script(script, python)
    found = shutil.which(NAME, path=environ.get("PATH", os.defpath))
    if found and running and os.path.realpath(found) == os.path.realpath(running):
        virtual = environ.get("VIRTUAL_ENV")
        if not virtual or not Path(found).is_relative_to(virtual):
            return Program(NAME)
    if running:
        return Program(str(running), note=f"pml is not on every program's PATH: {running}")
    return Program(python, ("-m", NAME), f"there is no command pml: {python} -m pml")


def runs_pml(server: Mapping[str, Any]) -> bool:
    """Tell an entry that starts PML itself, in whatever way."""
    command, args = server.get("command"), server.get("args")
    words = [command, *args] if isinstance(args, list) else [command]
    names = [Path(word).name for word in words if isinstance(word, str) and word]
    if names[:1] in ([NAME], [f"{NAME}.exe"]):
        return True
    plain = [word for word in names[1:] if not word.startswith("-")]
    return plain[:1] == [NAME] or ("stdio" in plain and NAME in plain)


def _script(script: str, python: str) -> Path | None:
    for path in (Path(script), Path(python).parent / NAME):
        if path.name == NAME and path.is_file() and os.access(path, os.X_OK):
            return Path(os.path.abspath(path))  # noqa: PTH100 - a link may be what stays
    return None


def _portable(command: str, client: Client, workspace: Path) -> str:
    """Spell a program in the workspace as any machine that has the workspace finds it."""
    path = Path(command)
    if not path.is_absolute() or not path.is_relative_to(workspace) or client is Client.CODEX:
        return command
    return f"{_PROJECT.get(client, _FOLDER)}/{path.relative_to(workspace).as_posix()}"
