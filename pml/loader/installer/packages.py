"""What is installed: a package of npm or PyPI, as it is asked for and as it is pinned. Pure.

Only what a registry serves by name and version: no URLs, repositories, folders or aliases, since
no version stands for their content.
"""

import dataclasses
import enum
import re
from typing import Self

from pml.loader.installer.errors import PackageNameError

_MOST_CHARACTERS = 214  # npm's bound of a name; PyPI's names are shorter
_NPM_NAME = r"(?:@[a-z0-9~][a-z0-9._~-]*/)?[a-z0-9~][a-z0-9._~-]*"
_NPM_VERSION = r"\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?"
_NPM_SPEC = r"[0-9A-Za-z.^~<>=|*+ -]+"
_PYPI_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
_PYPI_VERSION = r"[0-9][0-9A-Za-z.!+_-]*"
_PYPI_SPEC = r"[0-9A-Za-z.!+_*<>=~, -]+"
_PYPI_WORD = r"(?s)([^\[<>=!~@\s]+)\s*(\[[^\]]*\])?\s*(.*)"
_EXTRAS = r"\[[A-Za-z0-9._, -]+\]"


class Kind(enum.StrEnum):
    """Which registry a package comes from."""

    NPM = "npm"
    PYPI = "pypi"


@dataclasses.dataclass(frozen=True, slots=True)
class Package:
    """One version of a package."""

    kind: Kind
    name: str
    version: str
    """Exact."""

    extras: str = ""
    """Of PyPI: `[cli]`, or nothing."""

    def __str__(self) -> str:
        """Give it as people write it."""
        return f"{self.name}{self.extras}@{self.version}"

    @property
    def requirement(self) -> str:
        """Give it as its package manager reads it."""
        joint = "@" if self.kind is Kind.NPM else "=="
        return f"{self.name}{self.extras}{joint}{self.version}"

    @property
    def command(self) -> str:
        """Give the command that would start just this version, without a program's arguments."""
        return f"{'npx' if self.kind is Kind.NPM else 'uvx'} {self}"


@dataclasses.dataclass(frozen=True, slots=True)
class Wanted:
    """A package as a command asks for it."""

    kind: Kind
    name: str
    spec: str = ""
    """A version, a range or a tag in the registry's own words; nothing: whatever is newest."""

    extras: str = ""
    program: str | None = None
    """Which of its programs; None: the one that the package is named after."""

    args: tuple[str, ...] = dataclasses.field(default=(), compare=False)
    """For the program. They may change without a new installation."""

    manager: str = dataclasses.field(default="", compare=False)
    """`npm`, `pip` or `uv`: whose settings the user has named by naming the command."""

    def __str__(self) -> str:
        """Give it as people write it."""
        joint = "@" if self.kind is Kind.NPM and self.spec else ""
        return f"{self.name}{self.extras}{joint}{self.spec}"

    @property
    def exact(self) -> Package | None:
        """Give the one version that is asked for; None for a range, a tag or nothing."""
        pattern = _NPM_VERSION if self.kind is Kind.NPM else _PYPI_VERSION
        version = self.spec.removeprefix("==" if self.kind is Kind.PYPI else "v").strip()
        is_one = re.fullmatch(pattern, version) and (
            self.kind is Kind.NPM or self.spec[:2] == "=="
        )
        return Package(self.kind, self.name, version, self.extras) if is_one else None

    @classmethod
    def npm(cls, text: str) -> Self:
        """Read `name`, `name@version`, `@scope/name@range`; raise `PackageNameError`."""
        name, _, spec = text[1:].partition("@")
        name = text[:1] + name
        _check(text, name, _NPM_NAME)
        if spec and not re.fullmatch(_NPM_SPEC, spec):
            raise PackageNameError(text, "it has no version, range or tag after the `@`")
        return cls(Kind.NPM, name, spec.strip(), manager="npm")

    @classmethod
    def pypi(cls, text: str, manager: str) -> Self:
        """Read `name`, `name==1.2`, `name[extra]>=1,<2`, `name@1.2`; raise `PackageNameError`."""
        found = re.fullmatch(_PYPI_WORD, text.strip())
        name, extras, spec = found.groups(default="") if found else (text, "", "")
        _check(text, name, _PYPI_NAME)
        if extras and not re.fullmatch(_EXTRAS, extras):
            raise PackageNameError(text, "its extras are no names")
        if spec.startswith("@"):  # as uvx writes it
            version = spec[1:].strip()
            spec = "" if version == "latest" else f"=={version}"
        if spec and not (re.fullmatch(_PYPI_SPEC, spec) and spec[0] in "<>=!~"):
            raise PackageNameError(text, "it has no version or range after its name")
        return cls(Kind.PYPI, _normal(name), spec, extras.replace(" ", ""), manager=manager)


def _check(text: str, name: str, pattern: str) -> None:
    strange = next((c for c in name if not c.isascii()), None)
    if strange is not None:
        raise PackageNameError(text, f"the letter U+{ord(strange):04X} only looks like another")
    if len(name) > _MOST_CHARACTERS or not re.fullmatch(pattern, name):
        raise PackageNameError(text, "only names of a registry are: no path, URL or repository")


def _normal(name: str) -> str:
    """Give PyPI's own form of a name: case and separators make no difference there."""
    return re.sub(r"[-_.]+", "-", name).lower()
