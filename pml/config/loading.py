"""Finds and reads the configuration files of a workspace and of its user.

Without a file nothing is parsed, and pydantic is not imported. Above: the gateway and the
commands. Below: `parsing.py`.
"""

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from pml.config.errors import ConfigTooLargeError, ConfigUnreadableError
from pml.config.spots import Spot
from pml.config.values import Config

FILE_NAME = ".pml.json"

MOST_BYTES = 1 << 20
"""Hundreds of servers fit; an endless file must not fill our memory."""


def load_config(workspace: Path, environ: Mapping[str, str], user_home: Path) -> Config:
    """Read `.pml.json` of the workspace, and the user's own file; without either, the defaults.

    Raises a `ConfigError` that has all that is wrong with a file in `errors`. A variable that a
    server needs and that is missing is not raised but kept, see `Config.unusable`.
    """
    folder = Path(os.path.realpath(workspace))
    file, own = folder / FILE_NAME, user_file(environ, user_home)
    content, own_content = _content(file), _content(own)
    if content is None and own_content is None:
        return Config()
    from pml.config import parsing  # noqa: PLC0415 - pydantic takes longer to import than the rest

    approvals = parsing.parse_approvals(own_content, own) if own_content is not None else "human"
    if content is None:
        return Config(approvals=approvals)
    home = Path(os.path.realpath(user_home))
    around = parsing.Surroundings(folder, environ, home, approvals)
    return parsing.parse_config(content, file, around)


def user_file(environ: Mapping[str, str], user_home: Path) -> Path:
    """Give the user's own file: `$XDG_CONFIG_HOME/pml/config.json`, or in `~/.config`."""
    chosen = Path(environ.get("XDG_CONFIG_HOME") or "")
    folder = chosen if chosen.is_absolute() else user_home / ".config"  # XDG: ignore relative ones
    return folder / "pml" / "config.json"


def _content(file: Path) -> bytes | None:
    """Read a file, None if it is not there. A link that leads nowhere is there."""
    if not os.path.lexists(file):
        return None
    try:
        # a named pipe planted in the workspace must not make us wait for its writer
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            content = _start_of(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise ConfigUnreadableError(Spot(file), error.strerror or str(error)) from None
    if content is None:
        raise ConfigUnreadableError(Spot(file), "it is no file")
    if len(content) > MOST_BYTES:
        raise ConfigTooLargeError(Spot(file), MOST_BYTES)
    return content


def _start_of(descriptor: int) -> bytes | None:
    """Read no more than tells that it is too much; None if it is no file."""
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        return None
    with open(descriptor, "rb", closefd=False) as stream:
        return stream.read(MOST_BYTES + 1)
