"""Least privilege for the processes of MCP servers, on Linux.

    support = probe(environ)
    confined = confine(program, grants, places, support=support, environ=environ)
    # start confined.argv with confined.environment in confined.cwd; later:
    ask_to_end(pid, confined); end_now(pid, confined)

Knows nothing of MCP, of configuration or of policy: what a server may is decided above, here it is
made to hold, or refused by name. The child side is `child/`.
"""

from pml.confinement.confining import confine
from pml.confinement.ending import ask_to_end, end_now
from pml.confinement.errors import (
    CommandNotFoundError,
    CommandUnreadableError,
    ConfinementError,
    GrantLeadsOutError,
    GrantMissingError,
    GrantTooWideError,
    HostsNotEnforceableError,
    LevelBelowFloorError,
    LevelUnavailableError,
    MachineUnsupportedError,
    NetInvalidError,
    PackageRunnerError,
    PrefixTooWideError,
    SecretsTooManyError,
    ShimError,
    VariableRefusedError,
)
from pml.confinement.model import (
    Confined,
    Grants,
    Level,
    Places,
    ProcessLimits,
    Program,
    Support,
)
from pml.confinement.probing import probe

__all__ = [
    "CommandNotFoundError",
    "CommandUnreadableError",
    "Confined",
    "ConfinementError",
    "GrantLeadsOutError",
    "GrantMissingError",
    "GrantTooWideError",
    "Grants",
    "HostsNotEnforceableError",
    "Level",
    "LevelBelowFloorError",
    "LevelUnavailableError",
    "MachineUnsupportedError",
    "NetInvalidError",
    "PackageRunnerError",
    "Places",
    "PrefixTooWideError",
    "ProcessLimits",
    "Program",
    "SecretsTooManyError",
    "ShimError",
    "Support",
    "VariableRefusedError",
    "ask_to_end",
    "confine",
    "end_now",
    "probe",
]
