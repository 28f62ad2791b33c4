"""What a capability needs before it may run, as a value: nobody is asked and nothing installed.

Looked at on every load, also of what ran before: a key may be gone, a rule may be new.
"""

import dataclasses
from collections.abc import Callable

from pml.config import Permissions
from pml.loader.errors import KeysMissingError, NotReadyError
from pml.loader.lockfile import Changed, IntegrityError
from pml.loader.metadata import Dependency, McpType, Metadata
from pml.policy import infer_approval_mode
from pml.policy.inference import ApprovalMode
from sandbox_host.errors import printable

_SHOWN = 200  # characters of a package and its command


@dataclasses.dataclass(frozen=True, slots=True)
class Checks:
    """What of the workspace decides whether a capability is ready."""

    permissions: Permissions
    has_key: Callable[[str], bool]
    """Whether a variable is set, wherever keys come from."""

    is_installed: Callable[[Dependency], bool]
    """Whether a dependency is installed in this version, or the user configured one."""


@dataclasses.dataclass(frozen=True, slots=True)
class Needs:
    """What is missing; empty, it is ready."""

    metadata: Metadata
    keys: tuple[tuple[str, str], ...] = ()
    """Who requires which variable: `("serena", "ANTHROPIC_API_KEY")`."""

    packages: tuple[Dependency, ...] = ()
    """To be installed, each after the human's word."""

    changed: Changed | None = None
    """It is not what was locked: a question of integrity, before all others."""

    mode: ApprovalMode = "hil"
    """Whether its own calls will ask, as far as it says what it calls."""

    @property
    def is_ready(self) -> bool:
        """Say whether nothing is missing."""
        return not self.keys and not self.packages and self.changed is None

    def error(self) -> NotReadyError | IntegrityError:
        """Give what is raised where nobody can be asked."""
        name = str(self.metadata.fqdn)
        if self.changed is not None:
            return self.changed.error()
        if self.keys:
            return KeysMissingError(name, self.keys)
        wanted = ", ".join(f"{one.name}@{one.version}" for one in self.packages)
        first = self.packages[0]
        command = " ".join(printable(word, _SHOWN) for word in first.install)
        hint = f"you are asked when it is called; or now: pml servers install ({command})"
        return NotReadyError(name, f"{printable(wanted, _SHOWN)} must be installed", hint)


def needs_of(found: Metadata, checks: Checks, changed: Changed | None = None) -> Needs:
    """Look what is missing; raises `CapabilityBlockedError` if it calls what is denied."""
    is_code = found.type is McpType.DENO  # of a server each call is decided by itself
    tools = (*found.tools, *found.tools_used) if is_code else ()
    mode = infer_approval_mode(tools, checks.permissions)
    wanted = [(found.fqdn.namespace, name) for name in found.variables]
    wanted += [(one.name, name) for one in found.mcp_deps for name in one.env_required]
    return Needs(
        found,
        tuple(pair for pair in dict.fromkeys(wanted) if not checks.has_key(pair[1])),
        tuple(one for one in found.mcp_deps if not checks.is_installed(one)),
        changed,
        mode,
    )
