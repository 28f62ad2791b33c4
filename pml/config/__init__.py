"""What the user configured: `.pml.json` read, checked, with its variables filled in.

    config = load_config(workspace, environ, home)
    server = config.server("github")  # raises if its variables are missing

Knows the file and nothing of what is done with it. Below: errors. Pydantic is imported only when
there is a file to read.
"""

from pml.config.errors import (
    ConfigError,
    MissingVariable,
    MissingVariablesError,
    SeveralConfigErrors,
)
from pml.config.loading import load_config, user_file
from pml.config.spots import Spot
from pml.config.values import (
    CloudConfig,
    Config,
    HttpServerConfig,
    LimitsConfig,
    Permissions,
    PrivateMcp,
    SandboxConfig,
    SandboxLimits,
    ServerConfig,
    StdioServerConfig,
)

__all__ = [
    "CloudConfig",
    "Config",
    "ConfigError",
    "HttpServerConfig",
    "LimitsConfig",
    "MissingVariable",
    "MissingVariablesError",
    "Permissions",
    "PrivateMcp",
    "SandboxConfig",
    "SandboxLimits",
    "ServerConfig",
    "SeveralConfigErrors",
    "Spot",
    "StdioServerConfig",
    "load_config",
    "user_file",
]
