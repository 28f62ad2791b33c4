"""`pml` itself: version, help, wrong command lines, what it loads."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import pml as package
from pml.cli import run as command

from .conftest import Command

ROOT = Path(__file__).parents[2]


def test_version_is_the_packages_own(pml: Command) -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert package.__version__ == declared
    assert pml("--version").out == f"pml {declared}\n"


def test_without_a_command_the_help_is_shown_and_the_exit_code_is_2(pml: Command) -> None:
    ended = pml()
    assert ended.code == 2
    assert ended.out.startswith("Usage: pml ")


def test_an_unknown_option_is_a_usage_error_with_a_hint(pml: Command) -> None:
    ended = pml("run", "--nonsense")
    assert ended.code == 2
    assert ended.out == ""
    assert ended.err.startswith("error: no such option: --nonsense")
    assert ended.err.endswith("hint: pml run --help\n")


def test_an_unknown_command_is_a_usage_error(pml: Command) -> None:
    ended = pml("walk")
    assert (ended.code, ended.err) == (2, "error: no such command 'walk'\nhint: pml --help\n")


def test_a_bug_of_ours_is_told_as_one(pml: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(command, "read_source", broken)
    ended = pml("run", "-e", "1")
    assert ended.code == 2
    assert "ZeroDivisionError" in ended.err
    assert "error: this is a bug of pml\n" in ended.err


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["--version"], ["run"]])
def test_a_command_that_runs_nothing_does_not_load_the_sandbox(arguments: list[str]) -> None:
    check = (
        "import sys; from pml.cli.main import main; main(sys.argv[1:]); "
        "sys.exit(bool({'sandbox_host', 'wasmtime', 'anyio', 'asyncio'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", check, *arguments], capture_output=True, check=False
    )
    assert done.returncode == 0, done


def test_python_dash_m_pml_is_the_same_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pml", "--version"], capture_output=True, check=True
    )
    assert done.stdout.decode() == f"pml {package.__version__}\n"
