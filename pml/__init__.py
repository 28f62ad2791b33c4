"""The gateway and the command line around `sandbox_host`. Importing it loads nothing."""

__version__ = "0.1.0"
