"""What a human is asked before a package is installed. Pure: whoever can ask puts the question."""

import dataclasses
from typing import Any

from pml.loader.installer.doubts import Doubt, doubts
from pml.loader.installer.packages import Package, Wanted


@dataclasses.dataclass(frozen=True, slots=True)
class InstallQuestion:
    """A package that waits for a yes."""

    server: str
    wanted: Wanted
    package: Package
    """The exact version that a yes is for."""

    doubts: tuple[Doubt, ...]

    @property
    def words(self) -> str:
        """Give the question as one line."""
        return f"Install {self.server}@{self.package.version}?"

    def facts(self) -> dict[str, Any]:
        """Give it for machines."""
        return {
            "server": self.server,
            "registry": str(self.package.kind),
            "package": f"{self.package.name}{self.package.extras}",
            "version": self.package.version,
            "asked": str(self.wanted),
            "doubts": [{"kind": str(one.kind), "words": one.words} for one in self.doubts],
        }


def question_of(server: str, wanted: Wanted, package: Package) -> InstallQuestion:
    """Give the question for a server whose package was resolved."""
    return InstallQuestion(server, wanted, package, doubts(wanted))
