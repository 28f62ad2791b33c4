"""Adds one rule to `permissions.allow` of a file and leaves every other byte as it is.

What PML writes into a `.pml.json` while it runs is only this, the human's "Always". What is added
is the exact id of one tool, never a pattern. Whoever calls adds the same rule to what was trusted
(`pml.trust`), or the rule would wait for `pml trust`. How a text is changed: `rewriting.py`.

    ConfigError
    ├── ConfigChangedError        config_changed: the file is not the one that was read
    └── ConfigNotEditableError    config_not_editable: a link, or nothing that can be written
"""

import contextlib
import json
import os
import secrets
import stat
from pathlib import Path

from pml.config import names
from pml.config.errors import ConfigError, InvalidValueError
from pml.config.rewriting import Rewriting, parsed, style_of, typed
from pml.config.spots import Spot

_NEW_MODE = 0o644  # as an editor would make it; it is meant to be shared
_SAMPLE = Path(".pml.json")


class ConfigChangedError(ConfigError):
    """The file changed between the question and the answer."""

    code = "config_changed"

    def __init__(self, spot: Spot) -> None:
        """Say what was not done."""
        super().__init__(
            "was changed meanwhile: nothing was written",
            spot,
            hint="look at the file, then answer again",
        )


class ConfigNotEditableError(ConfigError):
    """The file is not one that we write."""

    code = "config_not_editable"

    def __init__(self, spot: Spot, reason: str) -> None:
        """Name the reason."""
        super().__init__(f"cannot be changed: {reason}", spot, hint="change it by hand")


def with_allowed(text: str, tool: str, *, file: Path = _SAMPLE) -> str:
    """Give the text with a tool in `permissions.allow`: one insertion, in the style of the file.

    A tool that is there already changes nothing. Raises a `ConfigError` if the text is no JSON of
    the right shape, or `tool` is not the name of exactly one tool.
    """
    found = names.tool_id(tool)
    if found is not None:
        raise InvalidValueError(found.fact, Spot(file, path=("permissions", "allow")))
    document = parsed(text, file)
    root = typed(document, (), dict)
    style = style_of(text, root)
    rewriting = Rewriting(text, style)
    if "permissions" not in root.members:
        value = rewriting.written({"allow": [tool]}, style.line)
        return rewriting.member(root, "permissions", value)
    permissions = typed(document, ("permissions",), dict)
    if "allow" not in permissions.members:
        return rewriting.member(permissions, "allow", f"[{json.dumps(tool)}]")
    allow = typed(document, ("permissions", "allow"), list)
    return text if tool in allow.value else rewriting.item(allow, json.dumps(tool))


def allow_always(path: Path, tool: str, expected: bytes | None) -> None:
    """Add a tool to the file, if its content is still `expected`; None: if it is still not there.

    Written whole or not at all. What is written is `expected` and the rule: nobody can slip in
    something else meanwhile. Raises a `ConfigError`.
    """
    check_unchanged(path, expected)
    try:
        text = (expected if expected is not None else b"{}\n").decode()
    except UnicodeDecodeError:
        raise ConfigNotEditableError(Spot(path), "it is not UTF-8 text") from None
    replace_file(path, with_allowed(text, tool, file=path).encode(), expected)


def replace_file(
    path: Path, content: bytes, expected: bytes | None, *, new_mode: int = _NEW_MODE
) -> None:
    """Write a file whole, if its content is still `expected`; None: if it is still not there.

    An existing file keeps its mode. Raises a `ConfigError`; then nothing was written.
    """
    mode = check_unchanged(path, expected)
    try:
        write_whole(path, content, new_mode if mode is None else mode, new=mode is None)
    except FileExistsError:
        raise ConfigChangedError(Spot(path)) from None
    except OSError as error:
        raise ConfigNotEditableError(Spot(path), error.strerror or str(error)) from None


def write_whole(path: Path, content: bytes, mode: int, *, new: bool = False) -> None:
    """Put a file in place, whole and on disk; `new` raises `FileExistsError` if there is one."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        with os.fdopen(os.open(temporary, flags, 0o600), "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fchmod(stream.fileno(), mode)
            os.fsync(stream.fileno())
        if new:
            os.link(temporary, path)
        else:
            temporary.replace(path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)  # or the old name could come back after a crash
    finally:
        os.close(folder)


def check_unchanged(path: Path, expected: bytes | None) -> int | None:
    """Give the file's mode, None if there is none; raise unless its content is `expected`."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        if expected is None:
            return None
        raise ConfigChangedError(Spot(path)) from None
    except OSError as error:
        reason = "it is a link" if path.is_symlink() else error.strerror or str(error)
        raise ConfigNotEditableError(Spot(path), reason) from None
    with os.fdopen(descriptor, "rb") as stream:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            raise ConfigNotEditableError(Spot(path), "it is no file")
        if expected is None or stream.read(len(expected) + 1) != expected:
            raise ConfigChangedError(Spot(path))
    return stat.S_IMODE(facts.st_mode)
