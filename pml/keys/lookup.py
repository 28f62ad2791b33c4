"""Looks a key up, in the order that the package's docstring tells.

Reads `.env` once, without ever following it out of the workspace; asks the keyring only for what
is nowhere else. Values are hidden wherever an object is shown.
"""

import dataclasses
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from pml.config.expansion import is_placeholder
from pml.keys.dotenv import Value, parse_dotenv
from pml.keys.errors import EnvFileInvalidError, EnvFileUnreadableError, EnvFileUnsafeError
from pml.keys.system import KeyStore, SystemKeyring

FILE_NAME = ".env"

MOST_BYTES = 256 << 10
"""Hundreds of keys fit, certificates included."""

_STEERING = (
    "PML_", "XDG_", "LD_", "DYLD_", "PYTHON", "NODE_", "GIT_", "SSH_", "DBUS_", "BASH_", "SSL_",
    "PERL5", "RUBY",
)  # fmt: skip
_STEERING_NAMES = frozenset(
    ("PATH", "HOME", "SHELL", "USER", "LOGNAME", "IFS", "ENV", "TMPDIR", "TEMP", "TMP", "PWD",
     "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "HOSTALIASES", "LOCALDOMAIN",
     "GCONV_PATH")
)  # fmt: skip
"""A workspace must not choose where PML keeps its state, or which programs and code are loaded."""

_NO_KEYS = frozenset(("LANG", "LANGUAGE", "TZ", "TERM", "COLORTERM", "NO_COLOR"))
"""Asked for at every start, and never in a keyring; nor is `LC_*`."""

_OUR_KEYS = frozenset(("PML_API_KEY",))
"""Begins like what steers PML, and is a key: of the cloud that `.pml.json` names."""

Source = Literal["environment", ".env", "keyring"]


@dataclasses.dataclass(frozen=True, slots=True)
class Found:
    """A key, and where it was found."""

    value: str = dataclasses.field(repr=False)
    source: Source


class Keys:
    """The keys of one workspace; reads nothing before it is asked."""

    def __init__(
        self, environ: Mapping[str, str], workspace: Path, store: KeyStore | None = None
    ) -> None:
        """Take the process's environment and the workspace; `store` is the system's keyring."""
        self.environ = environ
        self._path = workspace / FILE_NAME
        self._store = store or SystemKeyring()
        self._asked: dict[str, str | None] = {}
        self._file: Mapping[str, Value] | None = None
        self._warnings: list[str] = []
        self.used: dict[str, str] = {}
        """What `environ_with` gave out: whoever masks secrets has to know it."""

    def __repr__(self) -> str:
        """Tell the place alone."""
        return f"Keys({self._path})"

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the user should know of `.env`; reads it."""
        self.names_in_file()
        return tuple(self._warnings)

    def lookup(self, name: str) -> Found | None:
        """Give a key; what is empty or a placeholder counts as missing.

        Raises an `EnvFileError` if the environment has no such key and `.env` cannot be used.
        """
        if name in self.environ:
            return _usable(self.environ[name], "environment")
        found = _usable(self.in_file(name), ".env")
        return found or _usable(self._from_store(name), "keyring")

    def in_file(self, name: str) -> str | None:
        """Give what `.env` sets a name to, be it a placeholder."""
        value = self.names_in_file().get(name)
        if isinstance(value, EnvFileInvalidError):
            raise value
        return value

    def names_in_file(self) -> Mapping[str, Value]:
        """Give what `.env` sets and may set, or what is wrong with a line of it."""
        if self._file is None:
            self._file = self._read()
        return self._file

    def _from_store(self, name: str) -> str | None:
        if not is_settable(name) or name in _NO_KEYS or name.startswith("LC_"):
            return None
        if name not in self._asked:
            self._asked[name] = self._store.get(name)
        return self._asked[name]

    def _read(self) -> Mapping[str, Value]:
        content = _content(self._path, self._warnings)
        if content is None:
            return {}
        try:
            text = content.decode()
        except UnicodeDecodeError:
            raise EnvFileUnreadableError(self._path, "it is not UTF-8 text") from None
        found = parse_dotenv(text, self._path)
        ignored = [name for name in found if not is_settable(name)]
        if ignored:
            names = ", ".join(ignored)
            self._warnings.append(f"{self._path} cannot set {names}: only the environment can")
        return {name: value for name, value in found.items() if name not in ignored}


class _Environ(Mapping[str, str]):
    """The environment with what `.env` and the keyring add."""

    def __init__(self, keys: Keys) -> None:
        self._keys = keys

    def __getitem__(self, name: str) -> str:
        value = self._value(name)
        if value is None:
            raise KeyError(name)
        self._keys.used[name] = value
        return value

    def _value(self, name: str) -> str | None:
        if name in self._keys.environ:
            return self._keys.environ[name]
        found = self._keys.lookup(name)
        # a placeholder is handed on, so that whoever reads can say what is wrong with it
        return self._keys.in_file(name) if found is None else found.value

    def __iter__(self) -> Iterator[str]:
        environ = self._keys.environ
        yield from environ
        for name, value in self._keys.names_in_file().items():
            if name not in environ and isinstance(value, str):
                yield name

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return f"environ_with({self._keys!r})"


def environ_with(keys: Keys) -> Mapping[str, str]:
    """Give the environment that configurations are read with."""
    return _Environ(keys)


def _usable(value: str | None, source: Source) -> Found | None:
    if value is None or not value.strip() or is_placeholder(value):
        return None
    return Found(value, source)


def is_settable(name: str) -> bool:
    """Say whether `.env` and the keyring may set a variable: not if it steers programs."""
    upper = name.upper()
    if upper in _OUR_KEYS:
        return True
    return not upper.startswith(_STEERING) and upper not in _STEERING_NAMES


def _content(path: Path, warnings: list[str]) -> bytes | None:
    """Read the file; None if there is none, or a folder: some virtual environments."""
    real = Path(os.path.realpath(path))
    if not os.path.lexists(path) or real.is_dir():
        return None
    if not real.is_relative_to(os.path.realpath(path.parent)):
        hint = "replace the link by a file"
        raise EnvFileUnsafeError(path, "it leads out of the workspace", hint)
    try:
        descriptor = os.open(real, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            _check(os.fstat(descriptor), path, warnings)
            content = os.read(descriptor, MOST_BYTES + 1)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise EnvFileUnreadableError(path, error.strerror or str(error)) from None
    if len(content) > MOST_BYTES:
        raise EnvFileUnreadableError(path, f"it is larger than {MOST_BYTES >> 10} KiB")
    return content


def _check(facts: os.stat_result, path: Path, warnings: list[str]) -> None:
    if not stat.S_ISREG(facts.st_mode):
        raise EnvFileUnreadableError(path, "it is no file")
    hint = f"chmod 600 {path}"
    if facts.st_uid not in (os.getuid(), 0):
        raise EnvFileUnsafeError(path, "it belongs to another user", "make it yours")
    if facts.st_mode & stat.S_IWOTH:
        raise EnvFileUnsafeError(path, "everybody can change it", hint)
    if facts.st_mode & (stat.S_IRGRP | stat.S_IROTH):
        warnings.append(f"other users can read {path}: {hint}")
