"""The workspace, its `.pml.json`, and what of it a human has trusted.

Reads once what several checks need; nothing is started.
"""

import dataclasses

from pml.assembly import Prepared, prepare
from pml.config import ConfigError
from pml.diagnosis.finding import Finding, error, of_problem, ok, warning
from pml.diagnosis.surroundings import Surroundings
from pml.errors import PmlError
from pml.trust import Effective
from pml.workspace import CONFIG_NAME, Workspace, resolve_workspace

_CORRECT = f"correct {CONFIG_NAME}"
_TRUST = "pml trust"
_MOST_NAMED = 5  # changes that wait


@dataclasses.dataclass(frozen=True, slots=True)
class Known:
    """What was read of a workspace, and what is to be said of it."""

    workspace: Workspace | None = None
    prepared: Prepared | None = None
    findings: tuple[Finding, ...] = ()


def find_workspace(around: Surroundings) -> Workspace:
    """Find it, or raise why there is none."""
    return resolve_workspace(environ=around.environ, cwd=around.cwd)


def read_configuration(around: Surroundings, workspace: Workspace) -> Known:
    """Read what is configured, and what of it may be used."""
    found = _of_workspace(workspace)
    try:
        prepared = prepare(workspace, around.environ, around.home)
    except ConfigError as problem:
        told = tuple(of_problem("configuration", one, _CORRECT) for one in problem.errors)
        return Known(workspace, None, (found, *told))
    except PmlError as problem:  # of `.env`, say
        return Known(workspace, None, (found, of_problem("configuration", problem, _CORRECT)))
    told = (found, _of_configuration(prepared), _of_trust(prepared.effect))
    return Known(workspace, prepared, told)


def _of_workspace(workspace: Workspace) -> Finding:
    if workspace.warning:
        return warning("workspace", workspace.warning, "pml init, in the folder that is meant")
    return ok("workspace", f"{workspace.path} (from {workspace.source})")


def _of_configuration(prepared: Prepared) -> Finding:
    config = prepared.setup.config
    if config.path is None:
        fact = f"there is no {CONFIG_NAME}: built-ins alone, and every call is asked about"
        return warning("configuration", fact, "pml init")
    count = len(prepared.setup.servers) + len(config.unusable)
    return ok("configuration", f"{config.path}: {count} server{'' if count == 1 else 's'}")


def _of_trust(effect: Effective) -> Finding:
    count = len(effect.waiting)
    if not count:
        if effect.problem:
            return error("trust", effect.problem, _TRUST)
        return ok("trust", "nothing waits for you")
    if not effect.is_trusted:
        why = f": {effect.problem}" if effect.problem else ""
        return warning("trust", f"this workspace is not trusted yet{why}", _TRUST)
    named = ", ".join(dict.fromkeys(change.path for change in effect.waiting[:_MOST_NAMED]))
    words = "1 change waits for you" if count == 1 else f"{count} changes wait for you"
    return warning("trust", f"{words}, not used so far: {named}", _TRUST)
