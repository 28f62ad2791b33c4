"""Workspaces with a trusted configuration, each with a state of its own."""

import dataclasses
import datetime
import json
import os
from pathlib import Path
from typing import Any

import pytest

from pml.keys import Keys, environ_with
from pml.trust import trust_workspace


@dataclasses.dataclass(frozen=True)
class Workspace:
    home: Path
    patch: pytest.MonkeyPatch

    @property
    def path(self) -> Path:
        return self.home / "work"

    def enter(self) -> None:
        """Make it the one that commands are run in."""
        self.patch.chdir(self.path)
        self.patch.setenv("HOME", str(self.home))
        self.patch.setenv("PML_STATE", str(self.home / "state"))

    def configure(self, **keys: Any) -> None:
        """Write a configuration and trust it."""
        self.enter()
        (self.path / ".pml.json").write_text(json.dumps(keys))
        keys, now = Keys(os.environ, self.path), datetime.datetime.now(datetime.UTC)
        trust_workspace(self.path, environ_with(keys), self.home, now, keys)

    def use_cloud(self, url: str, key: str | None, **keys: Any) -> None:
        """Configure a cloud, its key in `.env`."""
        if key is not None:
            self.write(".env", f"PML_API_KEY={key}\n").chmod(0o600)
        self.configure(cloud={"url": url, "apiKey": "${PML_API_KEY}"}, **keys)

    def write(self, name: str, text: str) -> Path:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path


def made(folder: Path, patch: pytest.MonkeyPatch) -> Workspace:
    """Make an empty one below a folder, and enter it."""
    patch.setenv("NO_COLOR", "1")
    patch.delenv("PML_API_KEY", raising=False)
    workspace = Workspace(folder.resolve(), patch)
    (workspace.path / ".git").mkdir(parents=True)
    workspace.enter()
    return workspace
