"""The real entry point, in this process for speed (`pml`) or in its own (`process`)."""

import io
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from pml.cli.main import main


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str


Command = Callable[..., Ended]


@pytest.fixture
def pml(capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Command:
    def run(*arguments: str, stdin: bytes = b"") -> Ended:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = main(arguments)
        out, err = capfdbinary.readouterr()
        return Ended(code, out.decode(), err.decode())

    return run


@pytest.fixture
def process(tmp_path: Path) -> Command:
    def run(*arguments: str, stdin: bytes = b"") -> Ended:
        done = subprocess.run(
            [sys.executable, "-m", "pml.cli.main", *arguments],
            input=stdin,
            capture_output=True,
            cwd=tmp_path,
            check=False,
        )
        return Ended(done.returncode, done.stdout.decode(), done.stderr.decode())

    return run
