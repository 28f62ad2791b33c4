"""A registry on loopback that a user has set up as their mirror, and a store of that user."""

import dataclasses
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from pml.confinement import Support, probe
from pml.loader.installer import Installer, Machine

from .registry import Registry

KEY = b"k" * 32
SERVER = "#!/usr/bin/env node\nconsole.log('served')\n"


@pytest.fixture
def anyio_backend() -> str:
    """Only asyncio: its processes are what `pml` runs on."""
    return "asyncio"


@pytest.fixture(scope="session")
def support() -> Support:
    return probe(os.environ)


@pytest.fixture
def registry() -> Iterator[Registry]:
    made = Registry()
    yield made
    made.close()


@pytest.fixture
def machine(tmp_path: Path, support: Support, registry: Registry) -> Machine:
    """A user whose npm and pip are set to the registry, by the files that those clients read."""
    home = tmp_path / "user"
    (home / ".config" / "pip").mkdir(parents=True)
    (home / ".npmrc").write_text(f"registry={registry.url}/\n", encoding="utf-8")
    settings = f"[global]\nindex-url = {registry.url}/simple/\n"
    (home / ".config" / "pip" / "pip.conf").write_text(settings, encoding="utf-8")
    environ = {"PATH": os.environ["PATH"], "SECRET_KEY": "s3cr3t-of-the-user"}
    return Machine(environ, home, support, tmp_path / "state" / "packages")


@pytest.fixture
def installer(machine: Machine) -> Installer:
    return Installer(machine, KEY)


def without(machine: Machine, *programs: str) -> Machine:
    """Give a machine on whose PATH some programs are not."""
    folders = [
        folder
        for folder in machine.environ["PATH"].split(":")
        if not any((Path(folder) / program).exists() for program in programs)
    ]
    environ = {**machine.environ, "PATH": ":".join(folders) or "/nowhere"}
    return dataclasses.replace(machine, environ=environ)
