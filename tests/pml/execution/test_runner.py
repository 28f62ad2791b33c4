from pathlib import Path

from pml.execution.runner import Request, execute
from sandbox_host import Completed, Failed, Limits, Mount, UncaughtToolError


async def test_a_program_runs_to_its_value() -> None:
    run = await execute(Request("return args.n * 2", args={"n": 21}))
    assert run.outcome == Completed(42)


async def test_a_call_is_refused_as_long_as_no_servers_are_configured() -> None:
    outcome = (await execute(Request("await mcp.math.add({})"))).outcome
    assert isinstance(outcome, Failed)
    assert isinstance(outcome.error, UncaughtToolError)
    assert (outcome.error.tool, outcome.error.tool_code) == ("math:add", "no_tools")
    assert [call.outcome for call in outcome.calls] == ["error"]


async def test_a_run_that_cannot_begin_is_a_failure_too() -> None:
    outcome = (await execute(Request("1", mounts=(Mount("/no/such/folder"),)))).outcome
    assert isinstance(outcome, Failed)
    assert outcome.error.code == "mount_invalid"


async def test_limits_hold() -> None:
    outcome = (await execute(Request("for (;;);", limits=Limits(cpu_seconds=0.1)))).outcome
    assert isinstance(outcome, Failed)
    assert outcome.error.code == "cpu_limit"


async def test_refused_files_are_told(tmp_path: Path) -> None:
    code = "try { await Deno.mkdir('.git') } catch {}"
    run = await execute(Request(code, mounts=(Mount(tmp_path, writable=True),)))
    assert run.refused_files == (f"{tmp_path}/.git (protected: .git)",)
