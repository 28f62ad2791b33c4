"""Attack from behind: what a tool's answer makes the embedder's own function raise or return must not break the sandbox."""

import asyncio

import anyio
import pytest

from sandbox_host import Completed, Limits, Sandbox, ToolError

ONE = "try { await mcp.a.b(); return 'ok' } catch (e) { return e.name }"
TWO = "return (await Promise.allSettled([mcp.a.b(), mcp.a.c()])).map((x) => x.status)"


class WordlessError(Exception):
    """Cannot be shown."""

    def __str__(self):
        raise RuntimeError("no words")


class RaisingCodeError(ToolError):
    """Has a code that cannot be shown."""

    def __init__(self):
        super().__init__("x")
        self.code = WordlessError()


class Shifty(dict):
    def items(self):
        raise RuntimeError("no items")


@pytest.mark.parametrize(
    "raised",
    [StopAsyncIteration(), RecursionError(), MemoryError(), ExceptionGroup("g", [ValueError()]), WordlessError(), RaisingCodeError(),
     ToolError("x", data=object()), ToolError("x", data=float("nan")), ToolError(None), ToolError("x", code=None), ValueError(),
     Exception(b"\xff"), Exception("x" * 10**6), TimeoutError(), OSError(2, "gone")],
    ids=lambda error: type(error).__name__,
)  # fmt: skip
@pytest.mark.parametrize("code", [ONE, TWO], ids=["one", "two"])
async def test_whatever_it_raises_rejects_the_call(value, raised, code):
    async def host(call):
        raise raised

    assert await value(code, host=host) in ("McpError", ["rejected", "rejected"])


@pytest.mark.parametrize(
    "answer",
    [object(), {1, 2}, b"bytes", float("nan"), float("inf"), {"k": object()}, {(1, 2): 3}, 10**5000, Shifty(a=1), 1 + 2j, lambda: 1, Exception("x"),
     [float("-inf")], {"a": {"b": b""}}],
    ids=lambda answer: type(answer).__name__,
)  # fmt: skip
async def test_whatever_it_returns_is_an_answer_or_rejects_the_call(value, answer):
    async def host(call):
        return answer

    assert await value(ONE, host=host) in ("ok", "McpError")


@pytest.mark.parametrize("code", [ONE, TWO], ids=["one", "two"])
async def test_a_cancellation_that_nobody_asked_for_rejects_the_call(code):
    """`await task` of a task that was cancelled elsewhere raises it; nobody cancelled the run."""

    async def host(call):
        task = asyncio.ensure_future(asyncio.sleep(60))
        task.cancel()
        return await task

    async with Sandbox(limits=Limits(wall_seconds=1)) as sandbox:
        try:
            outcome = await sandbox.run(code, host=host)
        except asyncio.CancelledError:
            pytest.fail("the run was cancelled though nobody cancelled it")
        assert isinstance(outcome, Completed), outcome
        assert outcome.value in ("McpError", ["rejected", "rejected"])


class Stop(BaseException):
    """As KeyboardInterrupt, but harmless to the test runner."""


@pytest.mark.parametrize("code", [ONE, TWO], ids=["one", "two"])
async def test_what_must_pass_passes_and_leaves_the_sandbox_usable(code):
    async def host(call):
        raise Stop

    async with Sandbox() as sandbox:
        with pytest.raises((Stop, BaseExceptionGroup)) as caught:
            await sandbox.run(code, host=host)
        assert caught.errisinstance(Stop) or caught.group_contains(Stop)
        outcome = await sandbox.run("return 1", host=host)
    assert isinstance(outcome, Completed)


async def test_a_host_that_calls_the_sandbox_itself_is_told_that_it_is_busy(value):
    async with Sandbox() as sandbox:

        async def host(call):
            return await sandbox.run("return 1", host=host)

        outcome = await sandbox.run(
            "try { await mcp.a.b() } catch (e) { return e.message }", host=host
        )
    assert "running" in outcome.value


async def test_a_host_that_never_answers_ends_at_the_wall_and_is_cancelled(run):
    ended = []

    async def host(call):
        try:
            await anyio.sleep_forever()
        finally:
            ended.append(call.id)

    outcome = await run(
        "await Promise.all([mcp.a.b(), mcp.a.c()])", host=host, limits=Limits(wall_seconds=0.1)
    )
    assert outcome.error.code == "wall_limit"
    assert sorted(ended) == [1, 2]


async def test_a_host_that_changes_the_arguments_changes_nothing_else(value):
    async def host(call):
        call.args["x"] = "changed"
        call.args["more"] = call.args
        return 1

    assert await value("const a = { x: 1 }; await mcp.a.b(a); return a", host=host) == {"x": 1}


async def test_closing_a_sandbox_that_runs_does_not_take_the_process_down(in_child):
    """A worker is inside the guest while its store is freed."""
    done = in_child(
        """
import anyio
from sandbox_host import Sandbox, Limits, SandboxError
async def host(call): return None
async def main():
    for _ in range(5):
        sandbox = Sandbox(limits=Limits(cpu_seconds=1, wall_seconds=2))
        await sandbox.__aenter__()
        async def go():
            try:
                await sandbox.run("for (;;);", host=host)
            except SandboxError:
                pass
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(go)
            await anyio.sleep(0.05)
            try:
                await sandbox.aclose()
            except SandboxError:
                pass
    print("alive")
anyio.run(main)
""",
        timeout_seconds=30,
    )
    assert done.returncode == 0, done.stderr[-800:]
    assert done.stdout.strip() == "alive"
