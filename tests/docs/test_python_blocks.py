"""Every Python block of the documentation runs as it stands."""

import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import Block, blocks

BLOCKS = [*blocks("README.md", "python"), *blocks("docs/embedding.md", "python")]


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_it_runs(block: Block, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", block.text],
        cwd=tmp_path, capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()


def test_there_are_some() -> None:
    assert len(BLOCKS) >= 5
