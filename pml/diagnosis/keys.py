"""The workspace's `.env`: who can read it, whether it can be read, whether git would publish it.

Names of keys are told, values never.
"""

import os
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path

from pml.confinement import ConfinementError, Support
from pml.diagnosis.finding import Finding, error, of_problem, ok, warning
from pml.diagnosis.git import Git, repository_of
from pml.keys import EnvFileError, EnvFileInvalidError, Keys
from pml.keys.lookup import FILE_NAME

_OTHERS, _OTHERS_WRITE = 0o077, 0o022
_TRACKED = f"git rm --cached {FILE_NAME}, then replace the keys in it: they are in the history"
_BY_HAND = f"ask git yourself: git check-ignore -v {FILE_NAME}; git ls-files {FILE_NAME}"


def look_at_env_file(workspace: Path, environ: Mapping[str, str]) -> list[Finding]:
    """Look at mode and content."""
    path = workspace / FILE_NAME
    if not os.path.lexists(path):
        return [ok(FILE_NAME, "there is none")]
    found = list(_of_mode(path))
    keys = Keys(environ, workspace)
    try:
        names = keys.names_in_file()
    except EnvFileError as problem:
        return [*found, of_problem(FILE_NAME, problem, f"correct {path}")]
    wrong = [value for value in names.values() if isinstance(value, EnvFileInvalidError)]
    found += [of_problem(FILE_NAME, one, f"correct {path}") for one in wrong]
    return found or [ok(FILE_NAME, f"{len(names)} names, for you alone")]


async def look_at_git(
    workspace: Path, support: Support, environ: Mapping[str, str], home: Path
) -> list[Finding]:
    """Say whether git would publish the file; nothing, where there is no file or no repository."""
    path, repository = workspace / FILE_NAME, _repository(workspace)
    if repository is None:
        return []
    try:
        kept = await Git(repository, support, environ, home).asked_of(path)
    except ConfinementError as problem:
        return [warning(FILE_NAME, f"git was not asked: {problem.message}", _BY_HAND)]
    if kept.tracked:
        return [error(FILE_NAME, "git has it: whoever has the repository has the keys", _TRACKED)]
    if kept.ignored is None or kept.tracked is None:
        return [warning(FILE_NAME, "git does not say whether it would publish it", _BY_HAND)]
    if not kept.ignored:
        rule = f"echo {FILE_NAME} >> {shlex.quote(str(workspace / '.gitignore'))}"
        return [warning(FILE_NAME, "no rule of the repository keeps it out of git", rule)]
    return [ok(FILE_NAME, "git ignores it")]


def _repository(workspace: Path) -> Path | None:
    """Give the repository that would publish the file, if there are both."""
    return repository_of(workspace) if os.path.lexists(workspace / FILE_NAME) else None


def _of_mode(path: Path) -> Iterator[Finding]:
    mode = path.lstat().st_mode
    fix = f"chmod 600 {shlex.quote(str(path))}"
    if path.is_symlink():
        return
    if mode & _OTHERS_WRITE:
        yield error(FILE_NAME, f"other users can change {path}", fix)
    elif mode & _OTHERS:
        yield warning(FILE_NAME, f"other users can read {path}", fix)
