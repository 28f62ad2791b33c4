"""What a built-in capability is on disk: a program and what is said of it.

`NAME.json` describes the tools and says what each may see of the workspace (`access`) and what all
may ask of the host (`asks`); `NAME.ts` exports a function for each. A program is one file and
imports nothing, so code that two of them need is a part (`parts/PART.ts`), put in front of theirs.
Reads files, runs nothing.
"""

import dataclasses
import enum
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

STD_FOLDER = Path(__file__).parents[2] / "std"
"""Where the built-in ones lie."""

STD_NAMES = ("filesystem", "json", "text", "csv", "math", "datetime", "crypto", "diff")
"""In the order in which they are listed."""

_OURS = frozenset({"access", "media"})  # of a tool's entry: what is not part of its definition


class Access(enum.StrEnum):
    """What a tool sees of the workspace."""

    NONE = "none"
    READ = "read"
    WRITE = "write"


@dataclasses.dataclass(frozen=True, slots=True)
class BuiltinTool:
    """One exported function."""

    access: Access
    input_schema: Mapping[str, Any]
    media: bool = False
    """Whether the `content` of its value is a list of MCP's content blocks."""


@dataclasses.dataclass(frozen=True, slots=True)
class Capability:
    """A program, and the tools it offers."""

    source: str
    tools: Mapping[str, BuiltinTool]
    definitions: tuple[Mapping[str, Any], ...]
    """As a server would list them."""

    asks: tuple[str, ...] = ()
    """What of the host's services its functions may call, the workspace apart."""


def load_capability(name: str, folder: Path) -> Capability:
    """Read a capability."""
    about = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    parts = [folder / "parts" / f"{part}.ts" for part in about.get("parts", ())]
    files = [*parts, folder / f"{name}.ts"]
    return Capability(
        source="\n".join(file.read_text(encoding="utf-8") for file in files),
        tools={entry["name"]: _tool(entry) for entry in about["tools"]},
        definitions=tuple(
            {key: value for key, value in entry.items() if key not in _OURS}
            for entry in about["tools"]
        ),
        asks=tuple(about.get("asks", ())),
    )


def _tool(entry: Mapping[str, Any]) -> BuiltinTool:
    return BuiltinTool(Access(entry["access"]), entry["inputSchema"], entry.get("media", False))
