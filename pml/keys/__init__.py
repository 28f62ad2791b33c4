"""Where keys come from: the environment, the workspace's `.env`, the system's keyring.

    keys = Keys(environ, workspace)
    config = load_config(workspace, environ_with(keys), home)
    keys.lookup("GITHUB_TOKEN")  # Found(source=".env") or None

The first that has it counts. What the environment sets is never overridden, not even by being
empty there; `.env` is never executed, never filled into the process, and cannot set what steers
PML or other programs. Above: assembly and the commands. Below: the rules of `pml.config`.
"""

from pml.keys.errors import (
    EnvFileError,
    EnvFileInvalidError,
    EnvFileUnreadableError,
    EnvFileUnsafeError,
)
from pml.keys.lookup import Found, Keys, environ_with
from pml.keys.system import KeyStore, SystemKeyring

__all__ = [
    "EnvFileError",
    "EnvFileInvalidError",
    "EnvFileUnreadableError",
    "EnvFileUnsafeError",
    "Found",
    "KeyStore",
    "Keys",
    "SystemKeyring",
    "environ_with",
]
