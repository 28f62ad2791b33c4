"""What git says of a file, asked of a git that can only read.

A repository's own settings name programs for git to run, and they may have come with a stranger's
folder. So git gets what a server without grants gets, and the repository to read: no other
process, no network, nothing to write.
"""

import dataclasses
import tempfile
from collections.abc import Mapping
from pathlib import Path

from pml.backends.stdio.process import opened
from pml.confinement import Confined, Grants, Places, Program, Support, confine

_QUIET = {
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
}
_NO_RULE = 1  # exit code of `check-ignore`
_END_SECONDS = 5.0
_MOST_BYTES = 1 << 16


@dataclasses.dataclass(frozen=True, slots=True)
class Kept:
    """What becomes of a file; None: git could not tell."""

    tracked: bool | None
    ignored: bool | None


@dataclasses.dataclass(frozen=True, slots=True)
class Git:
    """Git, in one repository."""

    repository: Path
    support: Support
    environ: Mapping[str, str]
    home: Path

    async def asked_of(self, path: Path) -> Kept:
        """Say whether a file is in the repository, or kept out of it by a rule there.

        Raises `ConfinementError` where git is missing or cannot be confined.
        """
        name = str(path.relative_to(self.repository))
        code, listed = await self._run("ls-files", "--cached", "--", name)
        tracked = bool(listed) if code == 0 else None
        code, _ = await self._run("check-ignore", "--no-index", "--quiet", "--", name)
        return Kept(tracked, code == 0 if code in (0, _NO_RULE) else None)

    async def _run(self, *words: str) -> tuple[int | None, bytes]:
        told = b""
        with tempfile.TemporaryDirectory(prefix="pml-doctor-") as made:
            async with opened("git", self._confined(Path(made), words)) as process:
                process.stdin.close()
                async for chunk in process.stdout:
                    told = (told + chunk)[:_MOST_BYTES]
                await process.wait(_END_SECONDS)
                return process.exit_code, told

    def _confined(self, folder: Path, words: tuple[str, ...]) -> Confined:
        places = Places(self.repository, folder / "home", folder / "tmp", self.home)
        places.home.mkdir(mode=0o700)
        places.tmp.mkdir(mode=0o700)
        grants = Grants(fs_read=(self.repository,), env=_QUIET)
        program = Program("git", ("-c", "core.fsmonitor=false", *words))
        return confine(program, grants, places, support=self.support, environ=self.environ)


def repository_of(folder: Path) -> Path | None:
    """Give the repository that a folder lies in, if its `.git` is a folder there."""
    return next((one for one in (folder, *folder.parents) if (one / ".git").is_dir()), None)
