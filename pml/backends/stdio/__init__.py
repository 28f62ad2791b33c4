"""Local MCP servers as child processes: started on first use, shared, confined, stopped."""

from pml.backends.stdio.backend import Patience, StdioBackend

__all__ = ["Patience", "StdioBackend"]
