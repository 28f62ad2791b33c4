"""Every console block shows what its commands really print, stdout and stderr together."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from .conftest import PAGES, ROOT, Block, blocks

BLOCKS = [block for page in PAGES for block in blocks(page, "console")]


def commands(block: Block) -> Iterator[tuple[str, str]]:
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        command, _, printed = part.partition("\n")
        yield command, printed


def demo_recipe() -> str:
    """What `make demo` does, as the Makefile says and make prints it."""
    [recipe] = re.findall(r"^demo:.*\n\t(.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    return str(recipe).replace("$(BIN)", ".venv/bin")


@pytest.fixture(autouse=True)
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `pml` be the one under test."""
    script = tmp_path / "pml"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m pml "$@"\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_it_shows_what_is_printed(block: Block) -> None:
    for command, shown in commands(block):
        expected, run = shown, command
        if command == "make demo":
            echoed, _, expected = shown.partition("\n")
            assert echoed == demo_recipe()
            run = echoed.removeprefix(".venv/bin/")
        done = subprocess.run(
            ["/bin/sh", "-c", run], cwd=ROOT, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        assert done.stdout.decode() == expected, command


def test_the_demo_and_the_help_are_among_them() -> None:
    shown = {command for block in BLOCKS for command, _ in commands(block)}
    assert {"make demo", "pml run --help"} <= shown
