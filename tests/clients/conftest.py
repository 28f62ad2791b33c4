"""The real clients, each installed when a test first asks for it, and the workspace of the servers' tests."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ..servers.conftest import (  # noqa: TID252 - the tests are no package
    anyio_backend,
    configure,
    workspace,
)
from ..servers.terminal import Terminal  # noqa: TID252
from .claude import Place
from .inspector import Inspector

__all__ = ["Terminal", "anyio_backend", "configure", "workspace"]

Server = dict[str, Any]


@pytest.fixture
def asking() -> Server:
    """The small server of both eras."""
    return {"command": sys.executable, "args": [str(Path(__file__).parent / "asking_server.py")]}


@pytest.fixture
def inspector(installed: Any, tmp_path: Path) -> Callable[..., Inspector]:
    """Make an Inspector for a server and an era."""

    def make(server: Server, era: str, workspace: Path = tmp_path) -> Inspector:
        home = tmp_path / "inspector"
        home.mkdir(exist_ok=True)
        return Inspector(installed.inspector(), workspace, home, server, era)

    return make


@pytest.fixture
def claude(installed: Any, tmp_path: Path) -> Callable[..., Place]:
    """Make a place where Claude Code runs with a server."""

    def make(server: Server, workspace: Path = tmp_path) -> Place:
        home = tmp_path / "claude"
        home.mkdir(exist_ok=True)
        return Place(installed.claude(), workspace.resolve(), home, server)

    return make
