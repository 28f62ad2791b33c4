"""A machine of one's own: a user with a home, a state folder and a project in a repository."""

import datetime
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pml.confinement import Support, probe
from pml.diagnosis import Surroundings
from pml.keys import Keys, environ_with
from pml.trust import trust_workspace

Configure = Callable[..., Path]


@pytest.fixture
def anyio_backend() -> str:
    """Only asyncio: its processes are what `pml` runs on."""
    return "asyncio"


@pytest.fixture(scope="session")
def support() -> Support:
    return probe(os.environ)


@pytest.fixture
def around(tmp_path: Path) -> Surroundings:
    home = (tmp_path / "home").resolve()
    project = home / "project"
    project.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    environ = {
        **{name: os.environ[name] for name in ("PATH", "XDG_CACHE_HOME") if name in os.environ},
        "HOME": str(home),
        "PML_STATE": str(tmp_path / "state"),
    }
    return Surroundings(project, environ, home)


@pytest.fixture
def trusted(around: Surroundings) -> Callable[[], None]:
    """Say the human's yes to the project's configuration as it is."""

    def say_yes() -> None:
        keys = Keys(around.environ, around.cwd)
        now = datetime.datetime.now(datetime.UTC)
        trust_workspace(around.cwd, environ_with(keys), around.home, now, keys)

    return say_yes


@pytest.fixture
def configure(around: Surroundings, trusted: Callable[[], None]) -> Configure:
    """Write `.pml.json` with these servers, and trust it."""

    def write(*, trust: bool = True, servers: dict[str, Any], **more: Any) -> Path:
        path = around.cwd / ".pml.json"
        path.write_text(json.dumps({"mcpServers": servers, **more}), encoding="utf-8")
        if trust:
            trusted()
        return path

    return write
