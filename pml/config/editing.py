"""Adds one rule to `permissions.allow` of a file and leaves every other byte as it is.

The only thing PML ever writes into a `.pml.json`: the human's "Always". What is added is the exact
id of one tool, never a pattern. Pure but for `allow_always` and `write_whole`. Whoever calls adds
the same rule to what was trusted (`pml.trust`), or the rule would wait for `pml trust`.

    ConfigError
    ├── ConfigChangedError        config_changed: the file is not the one that was read
    └── ConfigNotEditableError    config_not_editable: a link, or nothing that can be written
"""

import contextlib
import dataclasses
import json
import os
import re
import secrets
import stat
from pathlib import Path

from pml.config import names
from pml.config.errors import ConfigError, InvalidValueError, WrongTypeError, as_one
from pml.config.reader import Document, Node, read_json
from pml.config.spots import JsonPath, Spot

_SPACE = re.compile(r"[ \t\n\r]*")
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
        super().__init__(f"cannot be changed: {reason}", spot, hint="add the rule by hand")


def with_allowed(text: str, tool: str, *, file: Path = _SAMPLE) -> str:
    """Give the text with a tool in `permissions.allow`: one insertion, in the style of the file.

    A tool that is there already changes nothing. Raises a `ConfigError` if the text is no JSON of
    the right shape, or `tool` is not the name of exactly one tool.
    """
    found = names.tool_id(tool)
    if found is not None:
        raise InvalidValueError(found.fact, Spot(file, path=("permissions", "allow")))
    document = read_json(text, file)
    if document.errors or document.root is None:
        raise as_one(document.errors)
    editing = _Editing(text, _style(text, document.root))
    root = _typed(document, (), dict)
    if "permissions" not in root.members:
        return editing.member(root, "permissions", editing.permissions(tool))
    permissions = _typed(document, ("permissions",), dict)
    if "allow" not in permissions.members:
        return editing.member(permissions, "allow", f"[{json.dumps(tool)}]")
    allow = _typed(document, ("permissions", "allow"), list)
    return text if tool in allow.value else editing.item(allow, json.dumps(tool))


def allow_always(path: Path, tool: str, expected: bytes | None) -> None:
    """Add a tool to the file, if its content is still `expected`; None: if it is still not there.

    Written whole or not at all. What is written is `expected` and the rule: nobody can slip in
    something else meanwhile. Raises a `ConfigError`.
    """
    mode = _check_unchanged(path, expected)
    try:
        text = (expected if expected is not None else b"{}\n").decode()
    except UnicodeDecodeError:
        raise ConfigNotEditableError(Spot(path), "it is not UTF-8 text") from None
    changed = with_allowed(text, tool, file=path).encode()
    try:
        write_whole(path, changed, _NEW_MODE if mode is None else mode, new=mode is None)
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


def _check_unchanged(path: Path, expected: bytes | None) -> int | None:
    """Give the file's mode, None if there is none, as expected."""
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


@dataclasses.dataclass(frozen=True, slots=True)
class _Style:
    """How a file is written."""

    line: str
    """What begins a line at the top: a line break and the indentation; empty: all is one line."""

    colon: str
    comma: str
    """Between entries on one line."""


def _style(text: str, root: Node) -> _Style:
    first = _SPACE.match(text, root.start + 1)
    space = first[0] if first else ""
    line = _last_line(space) if root.members and "\n" in space else ""
    colon = ": "
    for key_start, value in root.members.values():
        colon = text[_end(text, key_start) : value.start]
        break
    plain = colon if colon in (":", ": ") else ": "
    return _Style(line, plain, ", " if plain == ": " else ",")


@dataclasses.dataclass(frozen=True, slots=True)
class _Editing:
    """Insertions into one text."""

    text: str
    style: _Style

    def permissions(self, tool: str) -> str:
        """Give a whole `permissions` object for the top."""
        line, colon = self.style.line, self.style.colon
        unit = line.lstrip("\r\n")
        inner = f'"allow"{colon}[{json.dumps(tool)}]'
        return f"{{{line}{unit}{inner}{line}}}" if line else f"{{{inner}}}"

    def member(self, node: Node, key: str, value: str) -> str:
        """Add a member at the end of an object."""
        starts = [start for start, _ in node.members.values()]
        last = [child for _, child in node.members.values()][-1:]
        ends = [_end(self.text, child.start) for _, child in node.members.values()][-2:]
        added = f"{json.dumps(key)}{self.style.colon}{value}"
        if not last:
            return self._first(node, added)
        return self._after(ends[-1], self._separator(node, starts, ends) + added)

    def item(self, node: Node, value: str) -> str:
        """Add an item at the end of a list."""
        starts = [child.start for child in node.items]
        if not starts:
            return self._first(node, value)
        ends = [_end(self.text, start) for start in starts[-2:]]
        return self._after(ends[-1], self._separator(node, starts, ends) + value)

    def _separator(self, node: Node, starts: list[int], ends: list[int]) -> str:
        """Give what stands between the last two entries; of one entry, what would."""
        if len(starts) > 1:
            return self.text[ends[-2] : starts[-1]]
        space = self.text[node.start + 1 : starts[0]]
        return f",{space}" if "\n" in space else self.style.comma

    def _first(self, node: Node, added: str) -> str:
        """Add the only entry; where the brackets stand on two lines, it gets its own."""
        match = _SPACE.match(self.text, node.start + 1)
        space = match[0] if match else ""
        if "\n" not in space:
            return self._after(node.start + 1, added)
        unit = self.style.line.lstrip("\r\n") or "  "
        return self._after(node.start + 1, f"{_last_line(space)}{unit}{added}")

    def _after(self, at: int, added: str) -> str:
        return f"{self.text[:at]}{added}{self.text[at:]}"


def _last_line(space: str) -> str:
    """Give the last line break of a space and what follows it."""
    at = space.rfind("\n")
    return space[at - 1 if space[at - 1 : at] == "\r" else at :]


def _end(text: str, start: int) -> int:
    _, end = json.JSONDecoder().raw_decode(text, start)
    return end


def _typed(document: Document, path: JsonPath, kind: type) -> Node:
    node = document.node(path)
    if node is None or not isinstance(node.value, kind):
        needed = "an object" if kind is dict else "a list"
        raise WrongTypeError(document.spot(path), needed, "this")
    return node
