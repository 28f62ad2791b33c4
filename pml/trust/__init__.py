"""Trust: what of a workspace's configuration a human has said yes to, and what may be used of it.

    loaded, effective = load_trusted(workspace, environ, home)
    effective.config      # what may be used now
    effective.waiting     # what waits for `pml trust`

`.pml.json` and the lockfile lie in the workspace, which comes from strangers (a clone) and which
servers may write. So the file is a proposal; the record of what was trusted lies in the user's
state folder. What tightens applies at once, what loosens keeps its trusted value. A fresh clone is
untrusted: nothing in it is allowed, no server starts, its denials hold.

Only a human at a terminal trusts (`pml trust`). There is no `--yes` and no variable such as
`PML_TRUST=always`, on purpose: a command line and an environment are things that a model with a
shell, a script of the repository, or the repository's own client settings (`.mcp.json` has `args`
and `env`) can write, and a grant must not be reachable from any of them. A model that may run any
command as the user can still act as the user, by making itself a terminal or by starting the
servers itself: that is not held off here, but by what the client lets it run. Programs that
prepare a machine, and tests, call `trust_workspace`.

What is trusted is the configuration, not the programs it starts: a server whose code lies in the
workspace is as safe as the workspace. A tightening is not remembered until it is trusted: whoever
writes the file can undo it, back to what was trusted and no further.

Above: assembly, the commands. Below: `pml.policy`, `pml.config`, `pml.places`. Pydantic is
imported only when there is a file.
"""

from pml.trust.change import Change
from pml.trust.effect import Effective, Loaded, effective
from pml.trust.errors import (
    NothingTrustedError,
    TrustError,
    TrustKeyError,
    TrustNeedsHumanError,
    UntrustedChangeError,
    UntrustedError,
    UntrustedWorkspaceError,
)
from pml.trust.loading import (
    load,
    load_trusted,
    store_of,
    trust_always,
    trust_loaded,
    trust_workspace,
)
from pml.trust.record import Kept, TrustRecord, trust_added_allow
from pml.trust.store import Store
from pml.trust.witness import LockfileWitness

__all__ = [
    "Change",
    "Effective",
    "Kept",
    "Loaded",
    "LockfileWitness",
    "NothingTrustedError",
    "Store",
    "TrustError",
    "TrustKeyError",
    "TrustNeedsHumanError",
    "TrustRecord",
    "UntrustedChangeError",
    "UntrustedError",
    "UntrustedWorkspaceError",
    "effective",
    "load",
    "load_trusted",
    "store_of",
    "trust_added_allow",
    "trust_always",
    "trust_loaded",
    "trust_workspace",
]
