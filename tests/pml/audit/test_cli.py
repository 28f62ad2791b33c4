import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from pml.audit import Audit
from pml.cli import audit as command
from pml.cli.console import Console
from pml.places import workspace_state

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    workspace = tmp_path / "app"
    workspace.mkdir()
    (workspace / ".pml.json").write_text("{}", encoding="utf-8")
    monkeypatch.chdir(workspace)
    monkeypatch.setenv("PML_STATE", str(tmp_path / "state"))
    monkeypatch.delenv("PML_WORKSPACE", raising=False)
    return workspace


@pytest.fixture
def folder(workspace: Path, tmp_path: Path) -> Path:
    """An audit with four lines."""
    folder = workspace_state(tmp_path / "state", workspace)
    audit = Audit(folder)
    begun = audit.begin("call", {"tool": "git:push", "argumentHash": "ab12"})
    audit.end(begun, "ok", {"tool": "git:push"})
    audit.write("refusal", {"path": "\x1b[2J\n     9  2026 call_ended", "server": "files"})
    audit.close()
    return folder


@pytest.fixture
def run(workspace: Path) -> Run:
    def carry_out(*arguments: str) -> tuple[int, str, str]:
        stdout, stderr = io.BytesIO(), io.StringIO()
        console = Console(stdout, stderr)
        code = command.app()(list(arguments), obj=console, standalone_mode=False)
        return code or 0, stdout.getvalue().decode(), stderr.getvalue()

    return carry_out


def test_tail_shows_the_last_lines_escaped(folder: Path, run: Run) -> None:
    code, out, _ = run("tail", "-n", "2")
    ended, refusal = out.splitlines()
    assert code == 0
    assert ended.endswith("call_ended          git:push  began=2 outcome=ok")
    assert refusal.endswith(r"refusal             files  path=\u{1b}[2J\n     9  2026 call_ended")


def test_without_a_subcommand_it_is_tail(folder: Path, run: Run) -> None:
    assert run() == run("tail")
    assert len(run()[1].splitlines()) == 4


def test_tail_reads_into_files_that_were_set_aside(folder: Path, run: Run) -> None:
    (folder / "audit.jsonl").rename(folder / "audit.1.jsonl")
    Audit(folder).write("call", {})
    assert len(run("tail", "-n", "3")[1].splitlines()) == 3
    assert len(run("tail", "-n", "100")[1].splitlines()) == 6


@pytest.mark.parametrize(
    ("options", "events"),
    [
        ((), ["opened", "call_executing", "call_ended", "refusal"]),
        (("--event", "call_*"), ["call_executing", "call_ended"]),
        (("--tool", "git:push", "--event", "call_ended"), ["call_ended"]),
        (("--tool", "github:*"), []),
        (("--since", "1h"), ["opened", "call_executing", "call_ended", "refusal"]),
        (("--since", "2999-01-01"), []),
    ],
)
def test_show_gives_the_lines_that_fit(
    folder: Path, run: Run, options: tuple[str, ...], events: list[str]
) -> None:
    code, out, _ = run("show", "--json", *options)
    assert code == 0
    assert [json.loads(line)["event"] for line in out.splitlines()] == events


def test_show_as_json_is_exact(folder: Path, run: Run) -> None:
    last = json.loads(run("show", "--json")[1].splitlines()[-1])
    assert last["facts"]["path"] == "\x1b[2J\n     9  2026 call_ended"
    assert last["authentic"] is True


@pytest.mark.parametrize("since", ["yesterday", "5x", "999999d", "2026-13-01"])
def test_a_time_that_is_none_is_a_usage_error(folder: Path, run: Run, since: str) -> None:
    with pytest.raises(command.SinceInvalidError):
        run("show", "--since", since)


def test_verify_says_how_many_lines_are_whole(folder: Path, run: Run) -> None:
    assert run("verify") == (0, "4 lines, all as written\n", "")


def test_verify_names_the_first_broken_line_and_lines_are_marked(folder: Path, run: Run) -> None:
    path = folder / "audit.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"outcome":"ok"', b'"outcome":"no"'))
    code, out, err = run("verify")
    assert (code, out) == (1, "")
    assert err.startswith(
        "error: the audit was changed: audit.jsonl:3: it was changed, or written"
    )
    assert "hint: 2 lines before it as written" in err
    assert "NOT AUTHENTIC call_ended" in run("tail")[1]


def test_verify_warns_of_half_a_line(folder: Path, run: Run) -> None:
    with (folder / "audit.jsonl").open("ab") as stream:
        stream.write(b'{"n":5,"at":"2026')
    code, out, err = run("verify")
    assert (code, out) == (0, "4 lines, all as written\n")
    assert err == "warning: audit.jsonl:5: half a line, left by a crash or a full disk\n"


def test_a_workspace_without_an_audit_has_nothing_to_show(workspace: Path, run: Run) -> None:
    code, out, err = run("tail")
    assert (code, out) == (0, "")
    assert "nothing has been written down yet" in err
    assert run("verify") == (0, "0 lines, all as written\n", "")
    assert run("show") == (0, "", "")
