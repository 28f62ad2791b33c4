"""What the system before this one got wrong, each as what is done instead.

Numbers are those of its list of pitfalls. Most have more tests in the rooms they belong to; here
they stand together, through the highest face that shows them.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pml.analysis import analyse
from pml.config import Permissions, load_config
from pml.config.errors import ConfigError
from pml.execution.approvals import Verdict
from pml.execution.errors import WorkflowUnknownError
from pml.execution.report import run_report
from pml.execution.runner import Request, execute, resume
from pml.keys import Keys, environ_with
from pml.policy import decide
from sandbox_host import Completed, Failed, Limits, Mount, Suspended

from .conftest import Desk


async def run(desk: Desk, code: str, **more: Any) -> Any:
    return await execute(Request(code, **more), desk.rights, desk.office)


async def waiting(desk: Desk, code: str) -> str:
    ended = await run(desk, code)
    assert isinstance(ended.outcome, Suspended)
    stored: str = ended.waiting.id
    return stored


async def test_1_permissions_are_checked_at_every_call_whatever_was_called_before(
    desk: Desk,
) -> None:
    code = """const said = [];
        for (let i = 0; i < 3; i++) {
            await mcp.free.a({i});
            try { await mcp.never.b({i}) } catch (error) { said.push(error.code) }
        }
        return said"""
    assert (await run(desk, code)).outcome.value == ["call_denied"] * 3
    assert [tool for tool, _ in desk.tools.effects] == ["free:a"] * 3


async def test_2_an_approval_is_for_the_tool_and_arguments_that_asked(desk: Desk) -> None:
    desk.human.verdicts = {"asked:a": Verdict.YES}
    ended = await run(desk, "await mcp.asked.a({n: 1}); await mcp.asked.b({n: 1}); return 1")
    assert isinstance(ended.outcome, Suspended)
    assert desk.tools.effects == [("asked:a", {"n": 1})]


async def test_3_a_program_cannot_swallow_an_approval(desk: Desk) -> None:
    ended = await run(desk, "try { await mcp.asked.a({}) } catch {} return 'swallowed'")
    assert isinstance(ended.outcome, Suspended)


async def test_4_going_on_repeats_no_side_effect(desk: Desk) -> None:
    stored = await waiting(desk, "await mcp.free.a({}); await mcp.asked.b({}); return 1")
    [question] = desk.store.load(stored).pending
    desk.store.answer(question.id, Verdict.YES)
    await resume(stored, desk.rights, desk.office)
    assert [tool for tool, _ in desk.tools.effects] == ["free:a", "asked:b"]


async def test_5_an_unknown_workflow_is_an_error_not_a_success(desk: Desk) -> None:
    with pytest.raises(WorkflowUnknownError):
        await resume("aaaaaaaaaa", desk.rights, desk.office)


async def test_6_a_failure_has_its_own_status_code_and_place(desk: Desk) -> None:
    report = run_report(await run(desk, "const a = 1;\nthrow new TypeError('no')"))
    assert (report["status"], report["code"], report["line"]) == ("error", "uncaught_error", 2)
    assert report["message"] == "TypeError: no"


async def test_7_console_output_is_captured_and_never_reaches_stdout(
    desk: Desk, capfd: pytest.CaptureFixture[str]
) -> None:
    ended = await run(desk, "console.log('out'); console.error('err'); return 1")
    assert [log.text for log in ended.outcome.logs] == ["out", "err"]
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("code", "limits", "error"),
    [
        ("for (;;);", Limits(cpu_seconds=0.1), "cpu_limit"),
        ("const a = []; for (;;) a.push(new Array(1e5).fill(1))", Limits(), "memory_limit"),
        ("return 'x'.repeat(5e6)", Limits(), "output_limit"),
        ("for (;;) mcp.free.a({})", Limits(calls=10), "call_limit"),
    ],
)
async def test_8_limits_are_real(code: str, limits: Limits, error: str, desk: Desk) -> None:
    outcome = (await run(desk, code, limits=limits)).outcome
    assert isinstance(outcome, Failed)
    assert outcome.error.code == error


def test_12_servers_come_from_the_users_own_file_with_what_it_declares(tmp_path: Path) -> None:
    server = {"command": "x", "env": {"KEY": "${MINE}"}}
    (tmp_path / ".pml.json").write_text(json.dumps({"mcpServers": {"a": server}}))
    config = load_config(tmp_path, {"MINE": "m", "OTHER": "o"}, tmp_path)
    [found] = config.servers
    assert dict(found.environment) == {"KEY": "m"}  # type: ignore[union-attr]


async def test_14_traces_hold_no_arguments_and_stay_here(desk: Desk) -> None:
    await run(desk, "await mcp.free.a({password: 'hunter2'}); return 1")
    assert "hunter2" not in str(desk.lines)
    assert all(len(facts["argumentHash"]) == 64 for _, facts in desk.lines if "call" in facts)


def test_15_a_wrong_configuration_is_loud_and_globs_mean_what_they_say(tmp_path: Path) -> None:
    (tmp_path / ".pml.json").write_text('{"permissions": {"alow": []}}')
    with pytest.raises(ConfigError, match="unknown key"):
        load_config(tmp_path, {}, tmp_path)
    rules = Permissions(allow=("files:read_*",))
    assert decide("files:read_text", rules).outcome == "allow"
    assert decide("files:write", rules).outcome == "ask"


def test_15_env_never_overrides_the_environment(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("A=file\nB=file\n")
    (tmp_path / ".env").chmod(0o600)
    environ = environ_with(Keys({"A": "environment"}, tmp_path))
    assert (environ["A"], environ["B"]) == ("environment", "file")


async def test_16_effects_happen_in_the_order_of_the_program_whatever_the_analysis_says(
    desk: Desk,
) -> None:
    code = """for (const name of ["c", "a", "b"]) await mcp.free[name]({}); return 1"""
    assert analyse(code).dynamic
    await run(desk, code)
    assert [tool for tool, _ in desk.tools.effects] == ["free:c", "free:a", "free:b"]


async def test_17_runs_share_nothing(desk: Desk) -> None:
    await run(desk, "globalThis.left = 1; Array.prototype.left = 1; return 1")
    ended = await run(desk, "return [typeof globalThis.left, [].left ?? null]")
    assert isinstance(ended.outcome, Completed)
    assert ended.outcome.value == ["undefined", None]


def test_18_everything_local_works_without_a_cloud_and_without_a_key(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "pml", "run", "-e", "1 + 1"], cwd=tmp_path, check=False,
        capture_output=True, text=True, env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "2\n")


async def test_19_the_workspace_is_a_wall_not_a_promise(desk: Desk, tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "outside.txt").write_text("secret")
    code = """const said = [];
        for (const path of ["../outside.txt", args])
            try { said.push(await Deno.readTextFile(path)) } catch (error) { said.push("refused") }
        return said"""
    mounts = (Mount(inside, guest_path="/work"),)
    ended = await run(desk, code, args=str(tmp_path / "outside.txt"), mounts=mounts)
    assert ended.outcome.value == ["refused", "refused"]


def test_20_tests_go_through_the_real_entry_point() -> None:
    here = Path(__file__).parents[2] / "servers"
    used = [path.name for path in here.glob("test_*.py") if '"-m", "pml"' in path.read_text()]
    assert "test_cli.py" in used
