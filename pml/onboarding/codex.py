"""The file of Codex, which is TOML: our table is added, every other byte stays."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import ParseError, TOMLKitError

from pml.onboarding.clients import NAME
from pml.onboarding.errors import FileRefusedError, TomlInvalidError

_SECTION = "mcp_servers"


def parsed(text: str, file: Path) -> tomlkit.TOMLDocument:
    """Read a file; raises `TomlInvalidError` with the place."""
    try:
        return tomlkit.parse(text)
    except ParseError as error:
        reason = str(error).rpartition(" at line ")[0]
        # the reason may quote a key of the file, and what is meant as a key may be a secret
        fact = "this is no TOML" if '"' in reason else f"no TOML: {reason}"
        raise TomlInvalidError(file, fact, error.line, error.col) from None
    except (TOMLKitError, RecursionError, ValueError):
        raise TomlInvalidError(file, "this is no TOML", None, None) from None


def present(text: str, file: Path) -> Mapping[str, Any] | None:
    """Give the entry `pml` if there is one."""
    servers = parsed(text, file).unwrap().get(_SECTION, {})
    if not isinstance(servers, dict):
        raise FileRefusedError(file, f"`{_SECTION}` is no table")
    entry = servers.get(NAME)
    return entry if isinstance(entry, dict) or entry is None else {}


def with_entry(text: str, entry: Mapping[str, Any], file: Path) -> str:
    """Give the text with our table."""
    document = parsed(text, file)
    table = tomlkit.table()
    for key, value in entry.items():
        table.add(key, value)
    servers = document.get(_SECTION)
    if servers is None:
        parent = tomlkit.table(is_super_table=True)
        parent.add(NAME, table)
        document.add(_SECTION, parent)
    else:
        servers[NAME] = dict(entry) if isinstance(servers, tomlkit.items.InlineTable) else table
    changed = tomlkit.dumps(document)
    if parsed(changed, file).unwrap()[_SECTION][NAME] != dict(entry):
        raise FileRefusedError(file, f"`{_SECTION}` is written in a way that cannot be added to")
    return changed
