"""Which folders are too much to open to any server. Looks at the disk, changes nothing."""

from pathlib import Path

SYSTEM = tuple(
    map(
        Path,
        (
            "/usr",
            "/bin",
            "/sbin",
            "/lib",
            "/lib32",
            "/lib64",
            "/libx32",
            "/nix/store",
            "/gnu/store",
        ),
    )
)
"""What every program on the machine may read: programs and libraries, nobody's data."""

_SECRETS = (".ssh", ".aws", ".gnupg")
"""A folder that holds one of these is somebody's home, whatever it is called."""

_HOLDALLS = (".local", ".local/share", ".local/state", ".config", ".cache", "Library")
"""Folders of a home in which every program keeps something, keys and cookies included."""


def is_system(path: Path) -> bool:
    """Say whether a path lies where every server may read anyway."""
    return any(path.is_relative_to(folder) for folder in SYSTEM)


def too_wide(folder: Path, user_home: Path) -> bool:
    """Say whether opening this folder opens the user's own things. Links are followed."""
    real, home = folder.resolve(), user_home.resolve()
    if home.is_relative_to(real):  # the home itself, an ancestor, or the root
        return True
    if any(real == (home / name).resolve() for name in _HOLDALLS):
        return True
    return any((real / name).exists() for name in _SECRETS)
