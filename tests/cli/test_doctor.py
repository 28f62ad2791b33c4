"""`pml doctor` as a human runs it, in a process of its own, with a real server."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pml.confinement import Level, probe
from pml.diagnosis import Surroundings, examine

SUPPORT = probe(os.environ)
Doctor = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = (tmp_path / "home" / "project").resolve()
    project.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    return project


@pytest.fixture
def environ(project: Path, tmp_path: Path) -> dict[str, str]:
    cache = os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))
    own = {"HOME": str(project.parent), "PML_STATE": str(tmp_path / "state")}
    return {**os.environ, "XDG_CACHE_HOME": cache, **own}


@pytest.fixture
def doctor(project: Path, environ: dict[str, str]) -> Doctor:
    def run(*arguments: str, **more: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-m", "pml", "doctor", *arguments], cwd=project, text=True,
            env={**environ, **more}, capture_output=True, check=False, timeout=120,
        )  # fmt: skip

    return run


@pytest.fixture
def well(project: Path, environ: dict[str, str], installed: Any) -> Path:
    """A workspace with nothing to complain about, trusted by a program that prepares machines."""
    servers = {"time": {"command": installed.python("mcp-server-time")}}
    (project / ".pml.json").write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    pml = {"command": sys.executable, "args": ["-m", "pml", "stdio"]}
    (project / ".mcp.json").write_text(json.dumps({"mcpServers": {"pml": pml}}), encoding="utf-8")
    code = """if True:
        import datetime, os, sys
        from pathlib import Path
        from pml.trust import trust_workspace
        trust_workspace(Path.cwd(), os.environ, Path.home(), datetime.datetime.now(datetime.UTC))
    """
    subprocess.run([sys.executable, "-c", code], cwd=project, env=environ, check=True)
    return project


def needs_full() -> None:
    if SUPPORT.best is not Level.FULL or not SUPPORT.landlock_abi:
        pytest.skip(f"this machine has something to complain about: {SUPPORT.reason}")


@pytest.mark.usefixtures("well")
def test_a_machine_that_is_well_has_a_line_for_each_check_and_exit_code_0(doctor: Doctor) -> None:
    needs_full()
    done = doctor()
    assert (done.returncode, done.stderr) == (0, "")
    *lines, last = done.stdout.splitlines()
    assert last == f"{len(lines)} ok, 0 warnings, 0 errors"
    assert all(line.startswith("ok       ") for line in lines), lines
    for words in ("wasmtime", "quickjs.wasm", "1 + 1 is 2", "os sandbox", "starts, 2 tools"):
        assert words in done.stdout


@pytest.mark.usefixtures("well")
def test_facts_stand_below_each_other_and_fixes_below_facts(doctor: Doctor, project: Path) -> None:
    (project / ".env").write_text("A=1\n")
    (project / ".env").chmod(0o644)
    lines = doctor("--no-servers").stdout.splitlines()
    [wrong] = [n for n, line in enumerate(lines) if "other users can read" in line]
    column = lines[0].index("3.")  # Python's version
    assert lines[wrong].startswith("warning  .env")
    assert lines[wrong].index("other users") == column
    assert lines[wrong + 1] == f"{' ' * column}fix: chmod 600 {project / '.env'}"


@pytest.mark.usefixtures("well")
def test_data_for_machines_has_the_same_findings(doctor: Doctor) -> None:
    done = doctor("--json", "--no-servers")
    report = json.loads(done.stdout)
    assert report.keys() == {"status", "findings"}
    assert all(one.keys() == {"level", "subject", "fact", "fix"} for one in report["findings"])
    [time] = [one for one in report["findings"] if one["subject"] == "server time"]
    assert (time["level"], time["fact"].partition(",")[0]) == ("ok", "not started")
    assert report["status"] == ("ok" if SUPPORT.best is Level.FULL else "warning")


def test_a_broken_configuration_is_told_with_its_place_and_exit_code_1(
    doctor: Doctor, project: Path
) -> None:
    (project / ".pml.json").write_text('{\n  "mcpServer": {}\n}', encoding="utf-8")
    done = doctor()
    assert done.returncode == 1
    assert ".pml.json:2:3" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    assert done.stdout.splitlines()[-1].endswith(" 1 error")


def test_without_bubblewrap_the_package_is_named_and_landlock_attacked(
    doctor: Doctor, tmp_path: Path
) -> None:
    if not SUPPORT.landlock_abi:
        pytest.skip("this machine has no Landlock")
    done = doctor("--no-servers", PATH=str(tmp_path))
    assert done.returncode == 0
    assert "landlock (bubblewrap: no" in done.stdout
    assert "fix: install bubblewrap" in done.stdout
    assert "escapes (landlock)" in done.stdout


def test_a_workspace_that_is_not_there_ends_nothing_but_what_needs_it(doctor: Doctor) -> None:
    done = doctor(PML_WORKSPACE="/nowhere/at/all")
    assert done.returncode == 1
    assert "guest program" in done.stdout
    [line] = [line for line in done.stdout.splitlines() if line.startswith("error")]
    assert "/nowhere/at/all" in line


async def test_another_guest_folder_and_a_planted_fault_are_found_together(
    project: Path, environ: dict[str, str], tmp_path: Path
) -> None:
    """The whole examination, on a machine where much is wrong at once."""
    state = tmp_path / "state"
    state.mkdir(mode=0o755)
    around = Surroundings(project, environ, project.parent, guest_folder=tmp_path / "no guest")
    found = await examine(around)
    wrong = {one.subject: one.level for one in found if one.level != "ok"}
    assert wrong["guest"] == "error"
    assert wrong["state"] == "warning"
    assert wrong["configuration"] == "warning"
    assert all(one.fix for one in found if one.level != "ok")
