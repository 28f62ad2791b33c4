"""`.gitignore`: PML's folder and keys stay out of git, the lockfile does not. Pure."""

import re
from collections.abc import Sequence

FOLDER_RULES = (".pml/*", "!.pml/mcp.lock")
"""The lockfile is shared with whoever has the repository."""

KEY_RULES = (".env",)

_WHOLE_FOLDER = frozenset((".pml", ".pml/", "/.pml", "/.pml/", "**/.pml/", ".pml/**"))
_KEYS = frozenset((".env", "/.env", "**/.env", "*.env", ".env*", "/.env*"))
_HEADING = "# PML: private to this machine, but for the lockfile"


def with_ignored(text: str, *, backups: Sequence[str] = ()) -> str:
    """Give the text with the rules that are missing at its end.

    A backup has the keys that its file may have, and no rule that the user has for that file.
    """
    rules = [_normal(line) for line in text.splitlines()]
    missing = list(_missing_folder_rules(rules))
    if not _ignores_keys(rules):
        missing += KEY_RULES
    missing += [f"/{one}" for one in backups if f"/{one}" not in rules]
    if not missing:
        return text
    end = "\r\n" if "\r\n" in text else "\n"
    gap = "" if not text else end if text.endswith("\n") else end * 2
    return f"{text}{gap}{_HEADING}{end}{''.join(f'{rule}{end}' for rule in missing)}"


def _missing_folder_rules(rules: Sequence[str]) -> Sequence[str]:
    if any(rule in _WHOLE_FOLDER for rule in rules):
        return ()  # as the user wants it: the lockfile is not shared
    return () if all(one in rules for one in FOLDER_RULES) else FOLDER_RULES


def _ignores_keys(rules: Sequence[str]) -> bool:
    """Say what the last rule about `.env` says: the last one counts."""
    about = [rule for rule in rules if rule.removeprefix("!") in _KEYS]
    return bool(about) and not about[-1].startswith("!")


def _normal(line: str) -> str:
    return re.sub(r"(?<!\\)\s+$", "", line)
