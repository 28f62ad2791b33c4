"""A project and a home of its own, and `pml` in them: piped, or on a terminal."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from ..servers.terminal import Terminal  # noqa: TID252


class Project:
    def __init__(self, folder: Path) -> None:
        self.path = folder / "project"
        self.home = folder / "home"
        self.path.mkdir()
        self.home.mkdir()
        (self.path / ".git").mkdir()
        self.environ = {
            "PATH": os.environ["PATH"], "HOME": str(self.home), "PML_STATE": str(folder / "state"),
            "NO_COLOR": "1",
        }  # fmt: skip

    def pml(self, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "pml", *arguments], cwd=self.path, env=self.environ,
            input=stdin, capture_output=True, text=True, check=False, start_new_session=True,
        )  # fmt: skip

    def facts(self, *arguments: str) -> Any:
        return json.loads(self.pml("init", "--json", *arguments).stdout)

    def terminal(self, *arguments: str) -> Terminal:
        """Give `pml` on a terminal, with the environment of this project alone."""
        kept = dict(os.environ)
        os.environ.clear()
        os.environ.update(self.environ)
        try:
            return Terminal(self.path, *arguments)
        finally:
            os.environ.clear()
            os.environ.update(kept)

    def write(self, name: str, content: object) -> Path:
        """Write a file: of the home if the name begins with `~/`, else of the project."""
        path = self.home / name[2:] if name.startswith("~/") else self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = content if isinstance(content, str) else json.dumps(content)
        path.write_text(text, encoding="utf-8")
        return path

    def read(self, name: str) -> str:
        return (self.path / name).read_text("utf-8")

    @property
    def servers(self) -> Any:
        return json.loads(self.read(".pml.json"))["mcpServers"]

    def files(self) -> dict[str, tuple[bytes, int]]:
        return {
            str(path.relative_to(self.path)): (path.read_bytes(), path.stat().st_mtime_ns)
            for path in self.path.rglob("*")
            if path.is_file()
        }
