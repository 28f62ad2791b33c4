"""Installs one package in a process of its own, for tests that kill it or run two at once."""

import os
import sys
from pathlib import Path

import anyio

from pml.confinement import probe
from pml.loader.installer import Installer, Machine, wanted_in


async def main(command: str, home: str, packages: str) -> None:
    machine = Machine(dict(os.environ), Path(home), probe(os.environ), Path(packages))
    wanted = wanted_in(command)
    installer = Installer(machine, b"k" * 32)
    installed = await installer.install(await installer.resolve(wanted), wanted.manager)
    sys.stdout.write(installed.tree_integrity)


anyio.run(main, *sys.argv[1:])
