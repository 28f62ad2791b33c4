"""`pml plan` in a process of its own, with servers in the configuration that must never start."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from .conftest import trusted

PROGRAM = """enum Zone { Utc = "UTC" }
const { read_text_file: read } = mcp.filesystem as any;
const [now, text] = await Promise.all([
  mcp.time.get_current_time({ timezone: Zone.Utc }),
  read({ path: "a.txt" }),
]);
await mcp.github.create_issue({ title: text });
await mcp.github["delete_repo"]({ name: "x" });
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A workspace whose servers leave a trace if they are started."""
    started = {"command": "/bin/sh", "args": ["-c", f"touch {tmp_path}/started"]}
    config = {
        "permissions": {"allow": ["time", "filesystem:read_*"], "deny": ["github:delete_*"]},
        "mcpServers": {
            "time": started,
            "filesystem": started,
            "github": {"url": "https://example.com/mcp"},
            "slack": {"command": "x", "env": {"KEY": "${PML_TEST_NO_SUCH_KEY}"}},
        },
    }
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / ".pml.json").write_text(json.dumps(config, indent=1), encoding="utf-8")
    (workspace / "program.ts").write_text(PROGRAM, encoding="utf-8")
    return trusted(workspace)


def plan(folder: Path, *arguments: str, text: str = "") -> "subprocess.CompletedProcess[str]":
    done = subprocess.run(
        [sys.executable, "-m", "pml", "plan", *arguments], cwd=folder, capture_output=True,
        text=True, input=text, check=False, timeout=120,
        env={**os.environ, "PML_STATE": str(folder.parent / "state")},
    )  # fmt: skip
    assert not (folder.parent / "started").exists()
    return done


def data(folder: Path, *arguments: str) -> Any:
    return json.loads(plan(folder, "--json", *arguments).stdout)


def test_tools_are_shown_with_lines_routes_rules_and_places(folder: Path) -> None:
    done = plan(folder, "program.ts")
    assert done.stdout.splitlines() == [
        "time:get_current_time      line 4  local stdio  allow  rule time in .pml.json:4:4",
        "filesystem:read_text_file  line 5  local stdio  allow  rule filesystem:read_* in .pml.json:5:4",
        "github:create_issue        line 7  remote http  ask    no rule",
        "github:delete_repo         line 8  remote http  deny   rule github:delete_* in .pml.json:8:4",
        "",
        "you will be asked about github:create_issue",
        "",
        "├─ Promise.all: together",
        "│  ├─ time:get_current_time (line 4, allow)",
        "│  └─ filesystem:read_text_file (line 5, allow)",
        "├─ github:create_issue (line 7, ask)",
        "└─ github:delete_repo (line 8, deny)",
    ]
    assert done.stderr == (
        "error: denied `github:delete_repo` by rule `github:delete_*` in `.pml.json:8:4`\n"
    )
    assert done.returncode == 1


@pytest.mark.parametrize(
    ("code", "exit_code"),
    [
        ("1 + 1", 0),
        ("await mcp.time.get_current_time({})", 0),
        ("await mcp.filesystem.write_file({})", 3),
        ("await mcp.filesystem.write_file({}); await mcp.github.delete_repo({})", 1),
        ("await mcp.slack.post({})", 1),
        ("await mcp.tiem.now({})", 1),
        ("await mcp[args.x].y({})", 0),
        ("const x: number = ;", 1),
    ],
)
def test_the_exit_code_tells_what_would_happen(folder: Path, code: str, exit_code: int) -> None:
    for arguments in ((), ("--json",), ("--mermaid",)):
        assert plan(folder, *arguments, "-e", code).returncode == exit_code


def test_a_missing_key_is_named_before_anything_starts(folder: Path) -> None:
    done = plan(folder, "-e", "await mcp.slack.post({})")
    assert "slack:post  line 1  unusable" in done.stdout
    assert "server `slack` requires PML_TEST_NO_SUCH_KEY" in done.stderr
    assert "asked about" not in done.stdout  # what cannot be called is not asked about


def test_an_unknown_server_is_told_with_the_likely_one(folder: Path) -> None:
    done = plan(folder, "-e", "await mcp.tiem.now({})")
    assert done.stderr == (
        "error: no server `tiem` is configured; configured are time, filesystem, github, slack\n"
        "hint: did you mean `time`?\n"
    )


def test_without_a_configuration_every_server_is_unknown(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = plan(tmp_path / "empty", "-e", "await mcp.time.now({})")
    assert done.returncode == 1
    assert "there is none" in done.stderr


def test_what_nobody_has_trusted_yet_is_no_part_of_a_plan(folder: Path) -> None:
    # attack: a cloned repository allows itself everything; only its denials hold
    (folder.parent / "state").rename(folder.parent / "elsewhere")
    done = plan(folder, "program.ts")
    assert done.returncode == 1
    assert "time:get_current_time      line 4  unusable  ask   no rule" in done.stdout
    assert "github:delete_repo         line 8  unusable  deny" in done.stdout
    assert "this workspace is not trusted yet\nhint: pml trust\n" in done.stderr


def test_what_is_computed_is_a_warning(folder: Path) -> None:
    done = plan(folder, "-e", "const f = x => x; f(mcp);\nawait mcp.time[args.name]({})")
    assert "calls no tool that is named in the source" in done.stdout
    assert "warning: line 1: handed to other code: `mcp` may call any tool;" in done.stderr
    assert "warning: line 2: a name that is computed:" in done.stderr
    assert "may call any tool of time;" in done.stderr


def test_json_has_all_of_it(folder: Path) -> None:
    report = data(folder, "program.ts")
    assert report["tools"][0] == {
        "tool": "time:get_current_time",
        "routing": "local stdio",
        "decision": "allow",
        "rule": "time",
        "place": ".pml.json:4:4",
        "calls": [
            {
                "call": "time:get_current_time", "line": 4, "column": 12,
                "arguments": [{"timezone": {"$expression": "Zone.Utc"}}],
            }
        ],
    }  # fmt: skip
    assert (report["denied"], report["asked"]) == (["github:delete_repo"], ["github:create_issue"])
    assert [next(iter(step)) for step in report["shape"]] == ["parallel", "call", "call"]
    assert (report["dynamic"], report["unusable"], report["problem"]) == ([], {}, None)
    lost = data(folder, "-e", "mcp.slack.post({}); mcp[x].y()")
    assert "PML_TEST_NO_SUCH_KEY" in lost["unusable"]["slack"]
    assert lost["dynamic"][0]["dynamic"] == "computed"


def test_mermaid_is_a_chart_on_stdout_alone(folder: Path) -> None:
    done = plan(folder, "--mermaid", "program.ts")
    assert done.stdout.startswith('flowchart TD\n  n0(["start"])\n')
    assert '"github:delete_repo #40;line 8, deny#41;"' in done.stdout
    assert "error: denied" in done.stderr


def test_a_program_is_read_from_stdin(folder: Path) -> None:
    assert "time:now" in plan(folder, "-", text="await mcp.time.now()").stdout


def test_a_syntax_error_has_its_place(folder: Path) -> None:
    done = plan(folder, "-e", "const x: number = ;")
    assert done.stdout == ""
    assert "--> -e:1:19" in done.stderr
    assert data(folder, "-e", "const x: number = ;")["line"] == 1


def test_a_wasm_module_has_no_source_to_read(folder: Path) -> None:
    (folder / "m.wasm").write_bytes(b"\0asm\1\0\0\0")
    done = plan(folder, "m.wasm")
    assert done.returncode == 0
    assert "no source to read" in done.stderr


def test_a_program_cannot_speak_to_the_terminal(folder: Path) -> None:
    # attack: the names of tools carry escape sequences, line breaks and chart syntax
    code = r"""mcp["a\u001b[2J\nerror: x"]["b\u202e\"] --> z"]({}); f(mcp["\u0007"])"""
    for arguments in ((), ("--mermaid",)):
        done = plan(folder, *arguments, "-e", code)
        for line in (done.stdout + done.stderr).split("\n"):
            assert line.isprintable(), line
        assert "\nerror: x" not in done.stderr
    assert '"] --> z' not in plan(folder, "--mermaid", "-e", code).stdout
