"""The built-in `shell`."""

from pml.backends.shell.backend import NAME, ShellBackend

__all__ = ["NAME", "ShellBackend"]
