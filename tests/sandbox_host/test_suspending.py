"""Programs that wait for answers nobody has yet: frozen, answered one by one, rejected."""

from typing import Any

import anyio
import pytest

from sandbox_host import (
    SUSPEND,
    AnswersMismatch,
    Call,
    Completed,
    Host,
    NotSuspended,
    Sandbox,
    SandboxBusy,
    Suspended,
    ToolError,
)


async def test_suspended_calls_are_answered_one_by_one(host: Host) -> None:
    code = (
        "const [a, b] = await Promise.all([mcp.ask.human({q: 1}), mcp.ask.human({q: 2})]); [a, b]"
    )
    async with Sandbox() as sandbox:
        outcome = await sandbox.run(code, host=host)
        assert isinstance(outcome, Suspended)
        assert [call.args for call in outcome.calls] == [{"q": 1}, {"q": 2}]
        assert sandbox.waiting == outcome.calls
        with pytest.raises(SandboxBusy):
            await sandbox.run("1", host=host)
        for wrong in ({}, {7: 1}):
            with pytest.raises(AnswersMismatch):
                await sandbox.resume(wrong, host=host)
        outcome = await sandbox.resume({2: "second"}, host=host)
        assert isinstance(outcome, Suspended)
        assert [call.id for call in outcome.calls] == [1]
        assert (await sandbox.resume({1: "first"}, host=host)).value == ["first", "second"]
        with pytest.raises(NotSuspended):
            sandbox.snapshot()


async def test_a_suspended_call_can_be_rejected(host: Host) -> None:
    async with Sandbox() as sandbox:
        await sandbox.run("try { await mcp.ask.human({}) } catch (e) { return e.code }", host=host)
        outcome = await sandbox.resume(
            {1: ToolError("the human said no", code="denied")}, host=host
        )
        assert isinstance(outcome, Completed)
        assert outcome.value == "denied"
        assert outcome.calls[0].outcome == "error"


async def test_timers_stand_still_while_a_program_is_suspended(host: Host) -> None:
    code = (
        "const timer = new Promise(done => setTimeout(() => done('timer'), 60_000));"
        "return await Promise.race([timer, mcp.ask.human({})])"
    )
    async with Sandbox() as sandbox:
        with anyio.fail_after(20):
            assert isinstance(await sandbox.run(code, host=host), Suspended)
            assert (await sandbox.resume({1: "human"}, host=host)).value == "human"


async def test_a_host_that_suspends_everything_leaves_a_program_at_each_call() -> None:
    async def host(call: Call) -> Any:
        return SUSPEND

    async with Sandbox() as sandbox:
        outcome = await sandbox.run(
            "let n = 0; for (let i = 0; i < 3; i++) n += await mcp.a.b({i}); n", host=host
        )
        for i in range(3):
            assert isinstance(outcome, Suspended)
            assert outcome.calls[0].args == {"i": i}
            outcome = await sandbox.resume({outcome.calls[0].id: 10}, host=host)
        assert isinstance(outcome, Completed)
        assert outcome.value == 30
