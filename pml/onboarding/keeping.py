"""`.env`: where the keys of imported servers go, and under which names.

Lines are added at the end; what is there stays, and a variable that has another value there is
never overwritten. A file that git keeps is not written at all.
"""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from pml.config.expansion import is_placeholder
from pml.errors import PmlError
from pml.keys import EnvFileInvalidError
from pml.keys.dotenv import Value, parse_dotenv
from pml.keys.lookup import FILE_NAME, is_settable
from pml.onboarding.errors import FileRefusedError, KeyConflictError, NotTakenError
from pml.onboarding.files import PRIVATE_MODE, FileChange, read_own, text_of

_SIMPLE = re.compile(r"[A-Za-z0-9_./:@+=,~-]+")
_HEADING = "# keys of servers and clouds in .pml.json; never commit them"
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "$": "\\$"}
_MOST_INDEX_BYTES = 256 << 20
_CUT_NAMES = b"\0\0\0\4"  # version 4 of the index
_WORD = re.compile(r"[^A-Za-z0-9]+")
_UNWRITABLE = "has a value that no .env file can hold"


class Vault:
    """Values that are kept in `.env`, by the name of their variable."""

    def __init__(self, environ: Mapping[str, str], workspace: Path) -> None:
        """Read nothing yet: a file that cannot be used matters only to who has a key for it."""
        self._environ = environ
        self._workspace = workspace
        self._path = workspace / FILE_NAME
        self._file: tuple[bytes | None, Mapping[str, Value]] | None = None
        self.added: dict[str, str] = {}
        self.handed: dict[str, str] = {}
        """The names that `keep` gave, with their values, since whoever uses it emptied this."""

    def keep(self, names: Sequence[str], value: str) -> str:
        """Keep a value under the first name that is free or has it; give the name.

        A placeholder such as `your-key-here` is kept nowhere: the user has to set the variable.
        Raises `KeyConflictError` if no name can be had.
        """
        names = [name for name in names if is_settable(name)]
        if is_placeholder(value):
            return names[0]
        name = next((one for one in names if self._takes(one, value)), None)
        if name is None:
            raise KeyConflictError(names[0], self._path)
        if name not in self._read()[1]:
            _line(name, value)
            self.added[name] = value
        self.handed[name] = value
        return name

    def names(self) -> set[str]:
        """Give the variables that `.env` has or will have; none if it cannot be used."""
        try:
            return {*self.added, *self._read()[1]}
        except PmlError:
            return set(self.added)

    def change(self) -> FileChange | None:
        """Give what becomes of the file; None if nothing does."""
        if not self.added:
            return None
        before = self._read()[0]
        if is_committed(self._path, self._workspace):
            hint = f"git rm --cached {FILE_NAME}, then run pml init again"
            raise FileRefusedError(self._path, "git keeps it, and keys do not belong there", hint)
        text = text_of(before, self._path)
        gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
        heading = "" if _HEADING in text else f"{gap}{_HEADING}\n"
        start = heading or ("" if text.endswith("\n") else "\n")
        lines = "".join(_line(*entry) for entry in self.added.items())
        after = f"{text}{start}{lines}".encode()
        shown = "\n".join(f"{name}=(not shown)" for name in self.added)
        return FileChange(self._path, before, after, mode=PRIVATE_MODE, added=shown)

    def _takes(self, name: str, value: str) -> bool:
        """Say whether a name has this value or none; what `.env` says otherwise is a conflict."""
        there = self._read()[1]
        if name in there and there[name] != value:
            raise KeyConflictError(name, self._path)
        return value == self._environ.get(name, value) == self.added.get(name, value)

    def _read(self) -> tuple[bytes | None, Mapping[str, Value]]:
        """Give the file and its variables; raises an `EnvFileError` or `FileRefusedError`."""
        if self._file is None:
            before = read_own(self._path, self._workspace)
            self._file = before, parse_dotenv(text_of(before, self._path), self._path)
        return self._file


def names_for(server: str, key: str) -> tuple[str, ...]:
    """Give the names for a variable of a server, the best first."""
    prefixed = _variable(f"{server}_{key}")
    more = (prefixed, f"{prefixed}_2", f"{prefixed}_3")
    return (key, *more) if re.fullmatch(r"[A-Za-z_]\w*", key, re.ASCII) else more


def own_names_for(server: str, key: str) -> tuple[str, ...]:
    """Give names that begin with the server's: for what has no name of a variable."""
    return names_for(server, _WORD.sub("-", f"-{key}"))


def _variable(text: str) -> str:
    name = _WORD.sub("_", text).strip("_").upper()
    # a server may be called `git` or `node`, and their variables steer programs
    return name if is_settable(name) and not name[:1].isdigit() else f"SERVER_{name}"


def _line(name: str, value: str) -> str:
    """Write one variable so that it reads as what it is."""
    if _SIMPLE.fullmatch(value):
        return f"{name}={value}\n"
    if "'" not in value and "\r" not in value:
        written = f"{name}='{value}'\n"
    else:
        escaped = "".join(_ESCAPES.get(character, character) for character in value)
        written = f'{name}="{escaped}"\n'
    try:
        reads = parse_dotenv(written, Path(FILE_NAME)).get(name)
    except EnvFileInvalidError:
        reads = None
    if reads != value:
        raise NotTakenError(f"{name} {_UNWRITABLE}")
    return written


def is_committed(path: Path, workspace: Path) -> bool:
    """Say whether git keeps a file, by its index: also one that is not there at the moment.

    Where the index cannot tell, a file that is there may be kept.
    """
    top = next((f for f in (workspace, *workspace.parents) if os.path.lexists(f / ".git")), None)
    if top is None:
        return False
    try:
        index = _git_folder(top / ".git") / "index"
        content = read_own(Path(os.path.realpath(index)), None, most_bytes=_MOST_INDEX_BYTES)
    except PmlError:
        return os.path.lexists(path)
    if content is None:
        return False
    if content[4:8] == _CUT_NAMES:
        return os.path.lexists(path)
    name = os.fsencode(path.relative_to(top))
    # a name stands between its length, or flags that are 0, and a NUL
    before = b"[\\0" + re.escape(bytes([len(name) & 0xFF])) + b"]"
    return re.search(before + re.escape(name) + b"\\0", content) is not None


def _git_folder(path: Path) -> Path:
    """Follow the file that a worktree or submodule has in place of the folder."""
    if not path.is_file():
        return path
    text = (read_own(path, None) or b"").decode(errors="replace")
    return path.parent / text.removeprefix("gitdir:").strip()
