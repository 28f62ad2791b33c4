"""Attack: leave something behind when a limit ends the run, to act in the next program's name."""

import anyio
import pytest

from sandbox_host import SUSPEND, Completed, Failed, Limits, NotSuspended, Sandbox, SandboxBusy

LIMITS = Limits(
    memory_bytes=8 << 20,
    cpu_seconds=0.1,
    wall_seconds=5,
    log_bytes=2048,
    calls=20,
    output_bytes=2048,
)
ENDINGS = {
    "cpu_limit": "for (;;);",
    "memory_limit": "const a = []; for (;;) a.push('x'.repeat(1e5) + a.length)",
    "call_limit": "for (;;) mcp.a.b()",
    "log_limit": "for (;;) console.log('xxxxxxxxxxxx')",
    "output_limit": "return 'x'.repeat(1e4)",
    "uncaught_error": "throw new Error('x')",
    "deadlock": "await new Promise(() => {})",
    "result_not_json": "return 10n",
    "syntax_error": "return (",
    "code_limit": " " * (1 << 20) + " ",
}
PLANT = """globalThis.left = 1; Object.prototype.polluted = 1; setInterval(() => mcp.evil.call(), 1); Promise.reject(1);
(async () => { for (;;) { await mcp.a.b(); await mcp.evil.call() } })(); """


@pytest.mark.parametrize("code", ENDINGS)
async def test_the_next_program_starts_in_a_fresh_guest(code):
    tools = []

    async def host(call):
        tools.append(call.tool)

    async with Sandbox(limits=LIMITS) as sandbox:
        plant = (
            PLANT if code not in ("syntax_error", "code_limit", "deadlock", "call_limit") else ""
        )
        outcome = await sandbox.run(plant + ENDINGS[code], host=host)
        assert isinstance(outcome, Failed)
        assert outcome.error.code == code, outcome.error
        tools.clear()
        with pytest.raises(NotSuspended):
            sandbox.snapshot()
        fresh = await sandbox.run(
            "await mcp.good.call(); await new Promise((r) => setTimeout(r, 10)); return [typeof left, ({}).polluted ?? null]",
            host=host,
        )
        assert isinstance(fresh, Completed), fresh
        assert fresh.value == ["undefined", None]
        assert tools == ["good:call"]
        assert fresh.logs == ()


@pytest.mark.parametrize("when", [0.0, 0.001, 0.02])
async def test_a_cancelled_program_leaves_nothing_either(when):
    async def host(call):
        await anyio.sleep(1)

    async with Sandbox() as sandbox:
        for code in (
            "globalThis.left = 1; for (;;);",
            "globalThis.left = 1; await mcp.a.b()",
            "globalThis.left = 1; for (;;) await null",
        ):
            with anyio.move_on_after(when):
                await sandbox.run(code, host=host)
            outcome = await sandbox.run("return typeof left", host=host)
            assert isinstance(outcome, Completed)
            assert outcome.value == "undefined"


async def test_a_suspended_program_keeps_the_sandbox_until_it_is_resumed():
    async def host(call):
        return SUSPEND

    async with Sandbox() as sandbox:
        await sandbox.run("await mcp.a.b()", host=host)
        with pytest.raises(SandboxBusy):
            await sandbox.run("return 1", host=host)


async def test_limits_hold_over_a_suspension():
    """The budget that was spent before it is spent after it."""

    async def host(call):
        return SUSPEND if call.args.get("wait") else None

    async with Sandbox(limits=Limits(calls=10, log_bytes=2048)) as sandbox:
        suspended = await sandbox.run(
            "for (let i = 0; i < 8; i++) await mcp.a.b(); console.log('x'.repeat(1500)); await mcp.a.b({ wait: true });"
            "try { console.log('x'.repeat(5000)) } catch {} for (;;) await mcp.a.b()",
            host=host,
        )
        data = sandbox.snapshot()
    async with Sandbox.restore(data, limits=Limits(calls=10, log_bytes=2048)) as sandbox:
        outcome = await sandbox.resume({suspended.calls[0].id: 1}, host=host)
    assert outcome.error.code in {"log_limit", "call_limit"}


async def test_cpu_time_is_counted_over_suspensions():
    async def host(call):
        return SUSPEND

    burn = "const t = performance.now(); while (performance.now() - t < 80); "
    async with Sandbox(limits=Limits(cpu_seconds=0.2)) as sandbox:
        outcome = await sandbox.run(f"for (;;) {{ {burn} await mcp.a.b() }}", host=host)
        for _ in range(10):
            if isinstance(outcome, Failed):
                break
            outcome = await sandbox.resume({outcome.calls[0].id: 1}, host=host)
    assert isinstance(outcome, Failed)
    assert outcome.error.code == "cpu_limit"
