"""`pml bench` as a human runs it: real sandboxes, real servers, the real gateway; few samples."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from pml.measuring import example_server

from . import workspaces

FEW = ("bench", "--quick", "--samples", "3")
SERVER = {"command": sys.executable, "args": [str(Path(example_server.__file__).resolve())]}


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> workspaces.Workspace:
    cache = os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))
    monkeypatch.setenv("XDG_CACHE_HOME", cache)  # the compiled guest
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    return workspaces.made(tmp_path / "home", monkeypatch)


def bench(*arguments: str, command: tuple[str, ...] = FEW) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "pml", *command, *arguments], text=True, capture_output=True,
        check=False, timeout=120,
    )  # fmt: skip


def names(said: Any) -> set[str]:
    return {one["name"] for one in said["figures"]}


def test_without_a_configuration_all_sections_are_measured_and_nothing_is_left(
    workspace: workspaces.Workspace, tmp_path: Path
) -> None:
    picture = tmp_path / "picture.svg"
    done = bench("--json", "--plot", str(picture))
    assert (done.returncode, done.stderr) == (0, "")
    said = json.loads(done.stdout)
    assert {one["section"] for one in said["figures"]} == {"sandbox", "servers", "tokens"}
    assert names(said) >= {
        "sandbox.sandbox.start", "sandbox.sandbox.evaluation", "sandbox.sandbox.host_call",
        "sandbox.sandbox.parallel", "sandbox.sandbox.snapshot", "sandbox.sandbox.restore",
        "servers.example.direct", "servers.example.exposed", "servers.example.execute",
        "servers.example.exposed_overhead", "servers.example.execute_overhead",
        "tokens.example.list_direct", "tokens.example.list_pml",
        "tokens.task.task_calls", "tokens.task.task_execute",
    }  # fmt: skip
    assert all(one["summary"]["count"] <= 3 for one in said["figures"])
    assert ElementTree.parse(picture).getroot().tag.endswith("svg")  # noqa: S314 - our own
    assert not (workspace.home / "state").exists()
    assert not [*(tmp_path / "tmp").iterdir()]
    assert [one.name for one in workspace.path.iterdir()] == [".git"]


def test_of_configured_servers_only_what_is_allowed_and_reads_is_called(
    workspace: workspaces.Workspace,
) -> None:
    """One may be called, one would ask, one is denied, one does not start."""
    broken = {"command": sys.executable, "args": ["-c", "raise SystemExit(3)"]}
    workspace.configure(
        mcpServers={"free": SERVER, "asked": SERVER, "shut": SERVER, "broken": broken},
        permissions={"allow": ["free"], "deny": ["shut"]},
    )
    done = bench("--json")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    subjects = {one["subject"] for one in said["figures"] if one["section"] == "servers"}
    assert subjects == {"example", "free", "pml stdio"}
    missing = {one["subject"]: one["reason"] for one in said["missing"]}
    assert missing["asked"] == "not called: 3 would ask"
    assert missing["shut"] == "not called: 3 denied"
    assert missing["broken"].startswith("not called: ")
    audit = "".join(path.read_text() for path in (workspace.home / "state").rglob("*.jsonl"))
    calls = [line for line in audit.splitlines() if '"free:echo"' in line]
    assert calls, "calls through the gateway are audited as any"
    assert "asked:" not in audit
    assert "shut:" not in audit
    waiting = [
        path for path in (workspace.home / "state").rglob("*") if path.parent.name == "runs"
    ]
    assert not waiting


def test_a_workspace_that_nobody_trusted_has_no_server_started(
    workspace: workspaces.Workspace,
) -> None:
    workspace.write(".pml.json", json.dumps({"mcpServers": {"clone": SERVER}}))
    done = bench()
    assert done.returncode == 0, done.stderr
    [line] = [line for line in done.stdout.splitlines() if "clone" in line]
    assert "not called" in line


def test_a_run_is_compared_with_an_earlier_one(
    workspace: workspaces.Workspace, tmp_path: Path
) -> None:
    """Against results whose sizes were half as large, exit code 1 names what is worse."""
    said = json.loads(bench("--json").stdout)
    for one in said["figures"]:
        if one["name"] == "tokens.example.list_pml":
            one["summary"]["p50"] /= 2
    before = tmp_path / "before.json"
    before.write_text(json.dumps(said))
    done = bench("--compare", str(before))
    assert done.returncode == 1, done.stderr
    [line] = [line for line in done.stdout.splitlines() if "WORSE" in line and "listed" in line]
    assert "+100%" in line


@pytest.mark.usefixtures("workspace")
@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--compare", "nowhere.json", "cannot compare with nowhere.json: No such file"),
        ("--compare", ".git", "cannot compare with .git: Is a directory"),
        ("--plot", "nowhere/picture.svg", "cannot write the picture to nowhere/picture.svg"),
        ("--plot", ".git", "cannot write the picture to .git: it is a folder"),
    ],
)
def test_bad_input_is_told_before_anything_is_measured(
    option: str, value: str, words: str
) -> None:
    done = bench(option, value)
    assert (done.returncode, done.stdout) == (1, "")
    assert words in done.stderr


def test_an_interrupted_run_leaves_no_process_and_no_file(
    workspace: workspaces.Workspace, tmp_path: Path
) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "pml", "bench"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    temporary = tmp_path / "tmp"
    with process:
        while not [*temporary.glob("pml-bench-*/state")]:  # servers are being measured
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert process.returncode == 130
    assert not [*temporary.iterdir()]
    alive = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if os.fsencode(temporary) in path.read_bytes() and int(path.parts[2]) != os.getpid():
                alive.append(path)
        except OSError:
            continue
    assert not alive
